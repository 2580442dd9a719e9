"""Runs that are kept one by one, so that interrupted work goes on where it stopped."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from threadpoolctl import threadpool_limits

from budgetron._util import executors
from budgetron._util.progress import Progress


class Outcome(Protocol):
    """What comes out of a run."""

    def as_dict(self) -> Mapping[str, Any] | None:
        """The outcome as plain data for JSON; None if it is not to be kept."""


Out = TypeVar("Out", bound=Outcome)


@dataclass(frozen=True)
class Job(Generic[Out]):
    """A run: labels that identify it, as JSON, and the function that does it.

    The labels contain everything that the outcome depends on. For workers in other processes, the function
    can be pickled.

    Examples
    --------
    >>> from budgetron.evaluate import Job
    >>> Job({"order": 0, "data": "german"}, print).key == Job({"data": "german", "order": 0}, print).key
    True
    """

    labels: Mapping[str, Any]
    run: Callable[[], Out]

    @property
    def key(self) -> str:
        """The labels as one text; equal for equal labels."""
        return json.dumps(self.labels, sort_keys=True)


class RunStore(Generic[Out]):
    """A file of outcomes, one line of JSON for each run. A line that was cut short is ignored.

    An outcome has ``as_dict()``, and ``revive`` makes an outcome of that dict again. It raises an error if
    the dict is not one of an outcome, and the line is ignored, too.

    Parameters
    ----------
    path : path or None
        The file; None keeps the outcomes in memory only.
    revive : function
        Makes an outcome of its ``as_dict()``.

    Examples
    --------
    >>> import os, tempfile
    >>> from dataclasses import asdict, dataclass
    >>> from budgetron.evaluate import Job, RunStore
    >>> @dataclass
    ... class Error:
    ...     rate: float
    ...     as_dict = asdict
    >>> path = os.path.join(tempfile.mkdtemp(), "runs.jsonl")
    >>> RunStore(path, lambda kept: Error(**kept)).outcomes([Job({"order": 0}, lambda: Error(0.25))])
    [Error(rate=0.25)]
    >>> RunStore(path, lambda kept: Error(**kept)).outcomes([Job({"order": 0}, lambda: 1 / 0)])
    [Error(rate=0.25)]
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, revive: Callable[[Mapping[str, Any]], Out]
    ) -> None:
        self.path = None if path is None else Path(path)
        self.taken = 0
        self._revive = revive
        self._turn = threading.Lock()
        self._known: dict[str, Out] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def outcomes(
        self,
        jobs: Sequence[Job[Out]],
        workers: int | Executor = 1,
        label: str = "running",
        stop: Callable[[], None] = lambda: None,
    ) -> list[Out]:
        """The outcomes of the jobs, in their order. Only jobs that are not in the store are run.

        They run in that many threads, or on an executor. Each run has one thread: more LAPACK threads would
        slow down the other runs and spoil their times. An outcome is written as soon as its run ends. If a
        run fails or the wait is interrupted, no other starts, ``stop`` is called, and the current ones end.
        """
        new = list({job.key: job for job in jobs if job.key not in self._known}.values())
        self.taken += len(jobs) - len(new)
        if isinstance(workers, Executor):
            self._run_on(workers, new, label)
        else:
            self._run_in_threads(workers, new, label, stop)
        return [self._known[job.key] for job in jobs]

    def knows(self, job: Job[Out]) -> bool:
        """Whether the outcome of a job is in the store."""
        return job.key in self._known

    def forget(self, concerns: Callable[[Mapping[str, Any]], bool]) -> None:
        """Drop the outcomes of the jobs for whose labels ``concerns`` is true."""
        self._known = {key: kept for key, kept in self._known.items() if not concerns(json.loads(key))}
        if self.path is not None and self.path.exists():
            lines = [_line(json.loads(key), kept) for key, kept in self._known.items()]
            beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            beside.write_bytes(b"".join(lines))
            beside.replace(self.path)

    def _run_on(self, executor: Executor, new: Sequence[Job[Out]], label: str) -> None:
        with Progress(len(new), label) as progress:

            def finished(i: int, outcome: Out) -> None:
                self._keep(new[i], outcome)
                progress.advance()

            # One list of all runs: the rows that they share are sent to a worker once.
            runs, places = [job.run for job in new], [(i,) for i in range(len(new))]
            executors.results(executor, _one_of, runs, places, finished)

    def _run_in_threads(
        self, threads: int, new: Sequence[Job[Out]], label: str, stop: Callable[[], None]
    ) -> None:
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
                stop()
                self._end(pool, interrupted=isinstance(error, KeyboardInterrupt))
                raise

    def _end(self, pool: Executor, interrupted: bool) -> None:  # noqa: ARG002
        """Wait for the current runs, which are kept; start no others."""
        pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, job: Job[Out], progress: Progress) -> None:
        self._keep(job, job.run())
        progress.advance()

    def _keep(self, job: Job[Out], outcome: Out) -> None:
        with self._turn:
            self._known[job.key] = outcome
            if self.path is not None and outcome.as_dict() is not None:
                _append(self.path, _line(job.labels, outcome))

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
                key = json.dumps(entry["job"], sort_keys=True)
                self._known[key] = self._revive(entry["outcome"])
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


def _one_of(runs: Sequence[Callable[[], Out]], i: int) -> Out:
    """One of the runs, on a worker."""
    with threadpool_limits(1):
        return runs[i]()


def _line(labels: Mapping[str, Any], outcome: Outcome) -> bytes:
    return json.dumps({"job": labels, "outcome": outcome.as_dict()}, sort_keys=True).encode() + b"\n"


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell() and not _ends_line(file):
            file.write(b"\n")  # a line that was cut short must not spoil this one
        file.write(line)


def _ends_line(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")
