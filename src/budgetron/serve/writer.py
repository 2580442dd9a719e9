"""The only thread that changes a model: it learns requests on a copy, commits them, then publishes it."""

import logging
import sqlite3
import threading
import time
from asyncio import AbstractEventLoop
from asyncio import Future as LoopFuture
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from budgetron._util.errors import DataError, SaveError
from budgetron.serve import snapshot
from budgetron.serve.entries import Answer, Group, KeptRow, LoggedRequest, Place
from budgetron.serve.learning import Estimator, Learned, learn_group
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log
from budgetron.serve.metrics import Histogram
from budgetron.serve.problems import Problem
from budgetron.serve.rows import LINES, Rows, Whole, parse
from budgetron.serve.rows import Label as LabelValue
from budgetron.serve.tally import Tally

report = logging.getLogger("budgetron.serve")
encode = msgspec.json.encode
SERVICE_KEY = "\0"  # begins the keys that are not a client's
Future = LoopFuture[bytes] | ThreadFuture[bytes]
"""Handlers wait in the event loop, the input waits in its thread."""


class LearnAnswer(Struct):
    """The numbers of the rows that were learned, and the predictions made before learning each of them."""

    first: Whole
    rows: Whole
    version: Whole  # how many rows the model has learned then
    predictions: list[LabelValue]


class Published(NamedTuple):
    """What predictions are made with: a model that nobody changes, and its number of rows."""

    estimator: Estimator
    version: int


@dataclass
class Job:
    """A request to the writer. The future gets the body of the answer, or a `Problem`."""

    future: Future | None = None
    body: bytes = b""
    key: str | None = None
    digest: bytes = b""
    size: int = 0  # bytes of the queue

    @property
    def rows(self) -> int:
        """How many rows of the queue it takes."""
        return 0


@dataclass
class Learn(Job):
    """Learn rows."""

    media: str = ""
    label: str = "y"
    parsed: Rows | None = None
    place: Place | None = None  # in the messages of a broker, if the rows are from there

    @property
    def rows(self) -> int:
        return 1 if self.parsed is None else len(self.parsed)


@dataclass
class Keep(Job):
    """Keep rows until their labels come; ``answer`` gets their ids."""

    kept_rows: list[KeptRow] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(self.kept_rows)


@dataclass
class Label(Learn):
    """Learn kept rows with their labels."""

    labels: list[tuple[int, Any]] = field(default_factory=list)
    predicted: list[Any] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return len(self.labels)


@dataclass
class Advance(Job):
    """Move on in the messages of a broker, without rows."""

    place: Place | None = None


@dataclass
class Snapshot(Job):
    """Save a snapshot."""


@dataclass
class Flush(Job):
    """Flush the end mark of the log."""


Done = tuple[Job, bytes | Problem]


@dataclass
class Work:
    """What waits for a writer, and what it has written."""

    queued_rows: int = 0
    queued_bytes: int = 0
    groups: int = 0  # transactions since the start
    commits: Histogram = field(default_factory=Histogram)  # their seconds
    snapshot_version: int = 0
    snapshot_time: float = field(default_factory=time.monotonic)  # of the last snapshot, or the start


class Writer(threading.Thread):
    """The writer of one model."""

    def __init__(
        self,
        name: str,
        log: Log,
        state: Published,
        tally: Tally,
        limits: Limits,
        notify: Callable[[str, dict[str, Any]], None],
        work: Work,
    ) -> None:
        super().__init__(name=f"writer-{name}", daemon=True)
        self.model, self.log, self.tally, self.limits, self.notify = name, log, tally, limits, notify
        self.folder = log.path.parent
        self.published, self.work = state, work
        self.loop: AbstractEventLoop | None = None
        self.stopped: str | None = None  # why nothing is learned any more
        self.failed_snapshot: str | None = None
        self._snapshot_log = log.body_bytes
        self._queue: deque[Job] = deque()
        self._running: set[str] = set()
        self._changed = threading.Condition()
        self._closing = False

    # ---- from other threads

    def submit(self, job: Job) -> None:
        """Queue a job, or raise a `Problem`."""
        with self._changed:
            if self.stopped is not None:
                raise Problem("learning-stopped", self.stopped)
            if self._closing:
                raise Problem("stopping", "the service is stopping: try again soon.", retry_after=2)
            if job.key is not None and job.key in self._running:
                raise Problem("key-in-use", "the first request with this key is not answered yet: wait.")
            job.size = len(job.body)
            rows, size = self.work.queued_rows + job.rows, self.work.queued_bytes + job.size
            if self.work.queued_rows and (rows > self.limits.queue_rows or size > self.limits.queue_bytes):
                raise Problem(
                    "busy",
                    f"{self.work.queued_rows} rows are waiting, and the limit is {self.limits.queue_rows}: "
                    "try again soon.",
                    retry_after=1,
                )
            if job.key is not None:
                self._running.add(job.key)
            self.work.queued_rows, self.work.queued_bytes = rows, size
            self._queue.append(job)
            self._changed.notify()

    def close(self) -> None:
        """Finish what is queued, save a snapshot, end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self.join()

    # ---- the thread

    def run(self) -> None:
        """Take groups of jobs until `close`, then save a snapshot."""
        while jobs := self._take():
            asked: list[Job] = [job for job in jobs if isinstance(job, Snapshot)]
            others = [job for job in jobs if not isinstance(job, Snapshot)]
            try:
                done = self._treat(others)
                if any(isinstance(job, Flush) for job in others):  # then it is alone
                    self.log.sync()
            except (sqlite3.Error, DataError, OSError) as error:
                trouble = self.stop(f"the log could not be read or written: {str(error).rstrip('.')}")
                done = [(job, trouble) for job in others]
            except Exception:
                report.exception("a group of requests failed", extra={"model": self.model})
                trouble = Problem("internal", "the service failed; nothing of the request is learned.")
                done = [(job, trouble) for job in others]
            self._finish(others, done)
            if asked or self._due():
                answer = self._save()
                self._finish(asked, [(job, answer) for job in asked])
        if self.published.version > self.work.snapshot_version and self.stopped is None:
            self._save()

    def _take(self) -> list[Job]:
        """The next group; empty at the end. An idle model is flushed, and saved when a snapshot is due."""
        with self._changed:
            while not self._queue and not self._closing:
                self._changed.wait(timeout=1.0)
                if not self._queue and (self._due() or self._behind()):
                    break
            jobs, rows = list[Job](), 0
            while self._queue and (not jobs or rows + self._queue[0].rows <= self.limits.group_rows):
                jobs.append(self._queue.popleft())
                rows += jobs[-1].rows
            if not jobs and not self._closing:
                return [Snapshot() if self._due() else Flush()]
            return jobs

    def _behind(self) -> bool:
        return self.stopped is None and self.log.behind

    def _finish(self, jobs: list[Job], done: list[Done]) -> None:
        with self._changed:
            for job in jobs:
                self.work.queued_rows -= job.rows
                self.work.queued_bytes -= job.size
                self._running.discard(job.key or "")
        waiting = [(job.future, result) for job, result in done if job.future is not None]
        if waiting and self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(_resolve, waiting)

    def _treat(self, jobs: list[Job]) -> list[Done]:
        """Learn a group on a copy of the model, commit it, publish the copy; returns the answers."""
        if self.stopped is not None:  # since they were queued
            return [(job, Problem("learning-stopped", self.stopped)) for job in jobs]
        new, done = self._unanswered(jobs)
        estimator, learned, refused = self._learn([job for job in new if isinstance(job, Learn)])
        group, answers = self._to_commit(learned, new)
        if answers and (failure := self._commit(group)):
            answers = [(job, failure) for job, _ in answers]
        elif learned:
            before, version = self.published
            self.published = Published(estimator, version + sum(job.rows for job, _ in learned))
            self._count(before, estimator, learned)
        return done + refused + answers

    def _unanswered(self, jobs: list[Job]) -> tuple[list[Job], list[Done]]:
        """The jobs that are to be done, and the answers to those that were done before or are refused."""
        new, done, taken = list[Job](), list[Done](), set[int]()
        for job in jobs:
            try:
                answer = self._answered(job)
                if answer is not None:
                    done.append((job, answer))
                    continue
                if isinstance(job, Label):
                    self._look_up(job, taken)
                new.append(job)
            except Problem as problem:
                done.append((job, problem))
        return new, done

    def _learn(self, jobs: list[Learn]) -> tuple[Estimator, list[tuple[Learn, Learned]], list[Done]]:
        """A copy of the model that has learned the jobs, those that it took, and those that it refused."""
        estimator, learned, refused = self.published.estimator, list[tuple[Learn, Learned]](), list[Done]()
        if not jobs:
            return estimator, learned, refused
        rows = [job.parsed for job in jobs if job.parsed is not None]
        estimator, outcomes = learn_group(estimator, rows, self.limits)
        for job, outcome in zip(jobs, outcomes, strict=True):
            if isinstance(outcome, Problem):
                refused.append((job, outcome))
            else:
                learned.append((job, outcome))
        return estimator, learned, refused

    def _to_commit(self, learned: list[tuple[Learn, Learned]], jobs: list[Job]) -> tuple[Group, list[Done]]:
        """What one transaction writes, and the answers that are true when it is on disk."""
        group, answers, version = Group(), list[Done](), self.published.version
        for job, outcome in learned:
            group.requests.append(LoggedRequest(version, job.rows, job.media, job.label, job.body))
            end = version + job.rows
            answer = encode(LearnAnswer(version, job.rows, end, outcome.predicted.tolist()))
            version = end
            if job.key is not None:
                group.answers.append(Answer(job.key, job.digest, answer))
            if isinstance(job, Label):
                group.labelled += [i for i, _ in job.labels]
            if job.place is not None:
                group.places.append(job.place._replace(version=version))
            answers.append((job, answer))
        for other in jobs:
            if isinstance(other, Advance):
                assert other.place is not None
                group.places.append(other.place._replace(version=version))
                answers.append((other, b""))
            elif isinstance(other, Keep):
                answers.append((other, _keep(other, group, self.log.next_id)))
        return group, answers

    def _answered(self, job: Job) -> bytes | None:
        """The stored answer to a request that is repeated."""
        stored = None if job.key is None else self.log.answer(job.key)
        if stored is None:
            return None
        if stored.digest != job.digest:
            raise Problem("key-reused", "this Idempotency-Key was used for another body: use a new one.")
        return stored.answer

    def _look_up(self, job: Label, taken: set[int]) -> None:
        """The rows of a request that brings labels."""
        lines, ids = [], set[int]()
        for place, (number, label) in enumerate(job.labels):
            row = None if number in taken or number in ids else self.log.kept_row(number)
            if row is None:
                raise Problem(
                    "unknown-id",
                    f"no row is kept under the id {number}: it has a label already, or was kept for too "
                    "long. Send the row to learn.",
                    row=place,
                )
            ids.add(number)
            lines.append(b'{"x":%b,"y":%b}' % (row.body, encode(label)))
            job.predicted.append(msgspec.json.decode(row.predicted))
        taken |= ids
        job.body, job.media = b"\n".join(lines), LINES
        job.parsed = parse(LINES, job.body, self.limits, labelled=True)

    def _commit(self, group: Group) -> Problem | None:
        """Write the group. If that fails, nothing is ever written again: the disk is not to be trusted."""
        began = time.perf_counter()
        try:
            self.log.commit(group)
        except (sqlite3.Error, OSError) as error:
            return self.stop(f"the log could not be written: {error}")
        self.work.commits.add(time.perf_counter() - began)
        self.work.groups += 1
        return None

    def stop(self, why: str) -> Problem:
        """Learn nothing from now on; returns what jobs get."""
        self.stopped = f"Learning has stopped, because {why}. Make room or repair the disk, then restart."
        report.error(self.stopped, extra={"model": self.model})
        self.notify("stopped", {"why": self.stopped})
        return Problem("learning-stopped", self.stopped)

    def _count(self, before: Estimator, after: Estimator, learned: list[tuple[Learn, Learned]]) -> None:
        try:
            for job, outcome in learned:
                self.tally.add(outcome, after)
                if isinstance(job, Label):
                    for predicted, (_, y) in zip(job.predicted, job.labels, strict=True):
                        self.tally.add_late(predicted, y)
        except Exception:  # the rows are learned all the same
            report.exception("metrics failed", extra={"model": self.model})
        known, now = getattr(before, "classes_", ()), getattr(after, "classes_", ())
        if len(now) > len(known):
            new = set(map(str, now)) - set(map(str, known))
            self.notify("new class", {"classes": sorted(new)[:20]})

    # ---- snapshots

    def _due(self) -> bool:
        rows = self.published.version - self.work.snapshot_version
        now = time.monotonic()
        if not rows or self.stopped is not None or (self.failed_snapshot and now < self._retry):
            return False
        return (
            rows >= self.limits.snapshot_rows
            or self.log.body_bytes - self._snapshot_log >= self.limits.snapshot_bytes
            or now - self.work.snapshot_time >= self.limits.snapshot_seconds
        )

    _retry = 0.0

    def _save(self) -> bytes | Problem:
        """Save a snapshot, then remove what no restart needs."""
        estimator, version = self.published
        if not version:
            return Problem(
                "nothing-learned", "the model has learned nothing yet: there is nothing to save."
            )
        if self.stopped is not None:
            return Problem("learning-stopped", self.stopped)
        try:
            if version > self.work.snapshot_version:
                chain = self.log.chain(version)
                assert chain is not None
                oldest = snapshot.write(self.folder, version, estimator, self.tally.state(), chain)
                self.log.remove(0 if self.limits.keep_log else oldest)
        except (SaveError, OSError, MemoryError) as error:
            self.failed_snapshot, self._retry = str(error), time.monotonic() + 10
            report.error("no snapshot: %s", error, extra={"model": self.model})
            self.notify("snapshot failed", {"why": str(error)})
            return Problem("learning-stopped", f"the snapshot could not be saved: {error}")
        except sqlite3.Error as error:
            return self.stop(f"the log could not be written: {error}")
        except Exception as error:  # the writer goes on, and the log has everything
            self.failed_snapshot, self._retry = repr(error), time.monotonic() + 60
            report.exception("a snapshot failed", extra={"model": self.model})
            return Problem("internal", "the snapshot failed; nothing is lost.")
        self.work.snapshot_version, self.work.snapshot_time = version, time.monotonic()
        self._snapshot_log = self.log.body_bytes
        self.failed_snapshot = None
        self.notify("snapshot", {"version": version})
        return encode({"version": version})


def _keep(job: Keep, group: Group, next_id: int) -> bytes:
    """Give ids to rows that are to be kept."""
    begin = next_id + len(group.kept_rows)
    group.kept_rows += [(begin + i, row) for i, row in enumerate(job.kept_rows)]
    return encode(job.answer | {"ids": list(range(begin, begin + len(job.kept_rows)))})


def _resolve(waiting: list[tuple[Future, bytes | Problem]]) -> None:
    for future, result in waiting:
        if future.done():  # the client has gone
            continue
        if isinstance(result, Problem):
            future.set_exception(result)
        else:
            future.set_result(result)
