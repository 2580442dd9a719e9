"""Outcomes of runs, saved one by one, so that an interrupted reproduction continues where it stopped."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from budgetron import Progress, executors
from budgetron_reproduction.cases import Outcome
from budgetron_reproduction.files import write


@dataclass(frozen=True)
class Job:
    """A run: labels that identify it, as JSON, and the function that does it."""

    labels: Mapping[str, Any]
    run: Callable[[], Outcome]

    @property
    def key(self) -> str:
        """The labels as one text; equal for equal labels."""
        return json.dumps(self.labels, sort_keys=True)


class Store:
    """A file of outcomes, one line of JSON for each run. Lines that are cut short are ignored.

    >>> import os, tempfile
    >>> from budgetron_reproduction.cases import Outcome
    >>> from budgetron_reproduction.store import Job, Store
    >>> path = os.path.join(tempfile.mkdtemp(), "runs.jsonl")
    >>> job = Job({"dataset": "german", "permutation": 0}, lambda: Outcome(30.0, 0.01))
    >>> Store(path).outcomes([job])
    [Outcome(value=30.0, seconds=0.01, support=None, test_seconds=None)]
    >>> job = Job({"permutation": 0, "dataset": "german"}, lambda: 1 / 0)
    >>> Store(path).outcomes([job])[0].value
    30.0
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.taken = 0
        self._turn = threading.Lock()
        self._known: dict[str, Outcome] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def outcomes(
        self, jobs: Sequence[Job], workers: int | Executor = 1, label: str = "running"
    ) -> list[Outcome]:
        """The outcomes of the jobs, in their order. Only jobs that are not in the store are run.

        They run in that many threads, or on an executor. Each run has one thread: more LAPACK threads would
        slow down the other runs and spoil their times.
        """
        new = list({job.key: job for job in jobs if job.key not in self._known}.values())
        self.taken += len(jobs) - len(new)
        if isinstance(workers, Executor):
            self._run_on(workers, new, label)
        else:
            self._run_in_threads(workers, new, label)
        return [self._known[job.key] for job in jobs]

    def _run_on(self, executor: Executor, new: Sequence[Job], label: str) -> None:
        with Progress(len(new), label) as progress:

            def finished(i: int, outcome: Outcome) -> None:
                self._keep(new[i], outcome)
                progress.advance()

            # One list of all runs: the rows that they share are sent to a worker once.
            runs, places = [job.run for job in new], [(i,) for i in range(len(new))]
            executors.results(executor, _one_of, runs, places, finished)

    def _run_in_threads(self, threads: int, new: Sequence[Job], label: str) -> None:
        with (
            threadpool_limits(1),
            Progress(len(new), label) as progress,
            ThreadPoolExecutor(threads) as pool,
        ):
            futures = [pool.submit(self._run, job, progress) for job in new]
            try:
                for future in futures:
                    future.result()
            except BaseException as error:
                _end(pool, interrupted=isinstance(error, KeyboardInterrupt))
                raise

    def forget(self, concerns: Callable[[Mapping[str, Any]], bool]) -> None:
        """Drop the outcomes of the jobs for whose labels ``concerns`` is true."""
        self._known = {key: kept for key, kept in self._known.items() if not concerns(json.loads(key))}
        if self.path is not None and self.path.exists():
            write(self.path, b"".join(_line(json.loads(key), kept) for key, kept in self._known.items()))

    def _run(self, job: Job, progress: Progress) -> None:
        self._keep(job, job.run())
        progress.advance()

    def _keep(self, job: Job, outcome: Outcome) -> None:
        with self._turn:
            self._known[job.key] = outcome
            if self.path is not None:
                self._append(self.path, _line(job.labels, outcome))

    def _append(self, path: Path, line: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            if file.tell() and not _ends_line(file):
                file.write(b"\n")  # a line that was cut short must not spoil this one
            file.write(line)

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
                key = json.dumps(entry["job"], sort_keys=True)
                self._known[key] = Outcome.of(entry["outcome"])
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


def _one_of(runs: Sequence[Callable[[], Outcome]], i: int) -> Outcome:
    """One of the runs, on a worker."""
    with threadpool_limits(1):
        return runs[i]()


def _line(labels: Mapping[str, Any], outcome: Outcome) -> bytes:
    return json.dumps({"job": labels, "outcome": outcome.as_dict()}, sort_keys=True).encode() + b"\n"


def _end(pool: ThreadPoolExecutor, interrupted: bool) -> None:
    """Wait for the current runs, which are saved; start no others."""
    if interrupted:
        sentence = "stopping after the current runs; interrupt again to stop at once."
        print(f"budgetron-reproduce: {sentence}", file=sys.stderr)
    try:
        pool.shutdown(wait=True, cancel_futures=True)
    except KeyboardInterrupt:
        os._exit(130)  # threads in native code cannot be stopped otherwise; the file is complete


def _ends_line(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")
