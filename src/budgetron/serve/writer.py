"""The only thread that changes a model: it learns requests on a copy, commits them, then publishes it."""

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import thread_time
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct

from budgetron._util.errors import DataError, ModelFileError, SaveError
from budgetron.evaluate.progressive import Estimator, Learned
from budgetron.serve import snapshot
from budgetron.serve.archive import ASKED, CHANGE, SCHEDULE, Archive
from budgetron.serve.changes import Change, change_of, changed
from budgetron.serve.entries import CHANGE as CHANGED
from budgetron.serve.entries import Answer, Group, LoggedRequest
from budgetron.serve.jobs import Job, Keep, Label, Learn, Replace, Snapshot
from budgetron.serve.learning import learn_group
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.rows import LINES, Whole, parse
from budgetron.serve.rows import Label as LabelValue
from budgetron.serve.team import OWN, Lessons, compare, lessons, look

if TYPE_CHECKING:
    from budgetron.serve.model import Model

report = logging.getLogger("budgetron.serve")
encode = msgspec.json.encode
SERVICE_KEY = "\0"  # begins the keys that are not a client's


class LearnAnswer(Struct):
    """The numbers of the rows that were learned, and the predictions made before learning each of them."""

    first: Whole
    rows: Whole
    version: Whole  # how many rows the model has learned then
    predictions: list[LabelValue]


class Writer(threading.Thread):
    """The writer of one model."""

    def __init__(self, model: "Model", log: Log, archive: Archive) -> None:
        super().__init__(name=f"writer-{model.name}", daemon=True)
        self.model, self.log, self.limits, self.work = model, log, model.limits, model.work
        self.archive = archive
        self._snapshot_log = log.state.counts["log"].bytes
        self._dropped = log.state.dropped  # kept rows, as far as it was told
        self._retry = 0.0  # when a snapshot that failed is tried again
        self._queue: deque[Job] = deque()
        self._running: set[str] = set()
        self._changed = threading.Condition()
        self._closing = False

    # ---- from other threads

    def submit(self, job: Job) -> None:
        """Queue a job, or raise a `Problem`."""
        with self._changed:
            if self.model.trouble is not None:
                raise Problem("learning-stopped", self.model.trouble)
            if self._closing:
                raise Problem("stopping", "the model is being closed: try again soon.", retry_after=2)
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
        while (jobs := self._take()) is not None:
            asked = [job for job in jobs if isinstance(job, Snapshot)]
            replacing = [job for job in jobs if isinstance(job, Replace)]
            others = [job for job in jobs if not isinstance(job, Snapshot | Replace)]
            with self._failing(others):
                self._treat(others)
                if not jobs and self._behind():
                    self.log.mark.sync()
            self._finish(others)
            for job in replacing:
                with self._failing([job]):
                    job.result = self._replace(job)
                self._finish([job])
            if asked or self._due():
                _answer(asked, self._save(ASKED if asked else SCHEDULE))
                self._finish(asked)
        published = self.model.published
        if published.version > self.work.snapshot_version and published.fitted and not self.model.trouble:
            self._save()

    @contextmanager
    def _failing(self, jobs: list[Job]) -> Iterator[None]:
        """Answer jobs that fail. If the log does, nothing is learned any more."""
        try:
            yield
        except (sqlite3.Error, DataError, OSError) as error:
            why = f"the log could not be read or written: {str(error).rstrip('.')}"
            _answer(jobs, self.stop(why))
        except Exception:
            report.exception("a group of requests failed", extra={"model": self.model.name})
            sentence = "the service failed; nothing of the request is learned."
            _answer(jobs, Problem("internal", sentence))

    def _take(self) -> list[Job] | None:
        """The next group; None at the end. An idle model is flushed, and saved when a snapshot is due."""
        with self._changed:
            while not self._queue and not self._closing:
                self._changed.wait(timeout=1.0)
                if not self._queue and (self._due() or self._behind()):
                    return []
            jobs, rows = list[Job](), 0
            while self._queue and (not jobs or rows + self._queue[0].rows <= self.limits.group_rows):
                jobs.append(self._queue.popleft())
                rows += jobs[-1].rows
            return jobs or None

    def _behind(self) -> bool:
        return self.model.trouble is None and self.log.mark.behind

    def _finish(self, jobs: Sequence[Job]) -> None:
        with self._changed:
            for job in jobs:
                self.work.queued_rows -= job.rows
                self.work.queued_bytes -= job.size
                self._running.discard(job.key or "")
        waiting, loop = [job for job in jobs if job.future is not None], self.model.loop
        if waiting and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, waiting)

    def _treat(self, jobs: list[Job]) -> None:
        """Learn a group on a copy of the model, commit it, publish the copy; each job gets its result."""
        if self.model.trouble is not None:  # since they were queued
            _answer(jobs, Problem("learning-stopped", self.model.trouble))
            return
        taken, known = set[int](), {0, *(each.born for each in self.model.challengers.values())}
        for job in jobs:
            try:
                job.result = self._stored(job)
                if job.result is None and job.asked not in known:
                    sentence = "the challenger was removed while the request waited."
                    raise Problem("not-found", sentence)
                if job.result is None and isinstance(job, Learn) and self.model.frozen:
                    raise Problem("frozen", f"the model {self.model.name!r} is frozen: thaw it to learn.")
                if job.result is None and isinstance(job, Label):
                    self._look_up(job, taken)
            except Problem as problem:
                job.result = problem
        before, version = self.model.published
        new = [job for job in jobs if job.result is None]
        found, learned = self._learn([job for job in new if isinstance(job, Learn)])
        new = [job for job in new if job.result is None]
        if new and (failure := self._commit(self._group(new))):
            _answer(new, failure)
        elif learned:
            rows = sum(job.rows for job in learned)
            self.model.publish({name: each.estimator for name, each in found.items()}, version + rows)
            self._count(before, version, found, learned)

    def _learn(self, jobs: list[Learn]) -> tuple[dict[str, Lessons], list[Learn]]:
        """What copies of the models made of the jobs, and the jobs that are learned; others are refused."""
        beside = self.model.challengers
        began = thread_time() if beside else 0.0
        batch, seen = [job.parsed for job in jobs], self.model.tally.watched
        before, spare = self.model.published.estimator, self.model.spare
        estimator, outcomes = learn_group(before, batch, self.limits, seen, spare)
        learned, taken = list[Learn](), list[Learned | Problem]()
        for job, outcome in zip(jobs, outcomes, strict=True):
            if isinstance(outcome, Problem):
                job.result = outcome
            else:
                job.learned = job.answered = outcome
                learned.append(job)
                taken.append(outcome)
        found = {OWN: Lessons(estimator, taken, thread_time() - began if beside else 0.0)}
        batch = [job.parsed for job in learned]
        for name, each in beside.items():
            found[name] = lessons(each.published.estimator, batch, each.tally.watched, each.spare)
        by_birth = {each.born: found[name] for name, each in beside.items()}
        if _refused_by_the_one_asked(learned, by_birth):
            return self._learn([job for job in learned if job.result is None])
        return found, learned

    def _group(self, jobs: list[Job]) -> Group:
        """What one transaction writes; the jobs get the answers that are true when it is on disk."""
        group, version = Group(), self.model.published.version
        for job in jobs:
            answer = b""
            if isinstance(job, Learn):
                first, version = version, version + job.rows
                group.requests.append(LoggedRequest(first, job.rows, job.media, job.label, job.body))
                assert job.answered is not None
                answer = encode(LearnAnswer(first, job.rows, version, job.answered.predicted.tolist()))
            elif isinstance(job, Keep):
                begin = self.log.state.next_id + len(group.kept_rows)
                numbered = list(enumerate(job.kept_rows, begin))
                group.kept_rows += numbered
                answer = encode(job.answer | {"ids": [row.name or number for number, row in numbered]})
            if isinstance(job, Label):
                group.labelled += job.found
                group.replaced += [job.key] if job.again and job.key else []
            if job.key is not None:
                group.answers.append(Answer(job.key, job.digest, answer))
            if job.place is not None:
                group.places.append(job.place._replace(version=version))
            job.result = answer
        return group

    def _stored(self, job: Job) -> bytes | None:
        """The stored answer to a request that is repeated."""
        stored = None if job.key is None else self.log.answer(job.key)
        if stored is None:
            return None
        if stored.digest != job.digest:
            raise Problem("key-reused", "this Idempotency-Key was used for another body: use a new one.")
        if isinstance(job, Label) and str(job.key).startswith(SERVICE_KEY):
            job.again = all(self.log.kept_row(key) for key, _ in job.labels)
        return None if isinstance(job, Label) and job.again else stored.answer

    def _look_up(self, job: Label, taken: set[int]) -> None:
        """The rows of a request that brings labels."""
        lines = []
        for place, (key, label) in enumerate(job.labels):
            number, row = self.log.kept_row(key) or (0, None)
            if row is None or number in taken or number in job.found:
                raise Problem("unknown-id", self._unknown(key), row=place)
            job.found.append(number)
            lines.append(b'{"x":%b,"y":%b}' % (row.body, encode(label)))
            said = msgspec.json.decode(row.predicted)
            job.predicted.append(said if isinstance(said, list) else [said, 0, 0])  # of an older service
        taken |= {*job.found}
        job.body, job.media = b"\n".join(lines), LINES
        job.parsed = parse(LINES, job.body, self.limits, labelled=True)

    def _unknown(self, key: int | str) -> str:
        sentence = f"no row is kept under the id {key}: it has a label already, or was kept for too long"
        if dropped := self.log.state.dropped:
            sentence += f" ({dropped} rows were dropped so far: see retention)"
        return f"{sentence}. Send the row to learn."

    def _commit(self, group: Group) -> Problem | None:
        """Write the group. If that fails, nothing is ever written again: the disk is not to be trusted."""
        began = time.perf_counter()
        try:
            self.log.commit(group)
        except (sqlite3.Error, OSError) as error:
            return self.stop(f"the log could not be written: {error}")
        self.work.commits.add(time.perf_counter() - began)
        self.tell_dropped()
        return None

    def tell_dropped(self) -> None:
        """Tell of kept rows that were dropped, when they are 1, 10, 100, ..."""
        told, self._dropped = self._dropped, self.log.state.dropped
        if len(str(self._dropped)) > len(str(told)) or self._dropped > told == 0:
            self.model.notify("rows dropped", {"dropped": self._dropped})

    def stop(self, why: str) -> Problem:
        """Learn nothing from now on; returns what jobs get."""
        sentence = f"Learning has stopped, because {why}. Make room or repair the disk, then restart."
        self.model.trouble = sentence
        report.error(sentence, extra={"model": self.model.name})
        self.model.notify("stopped", {"why": sentence})
        return Problem("learning-stopped", sentence)

    def _count(self, before: Estimator, version: int, found: dict[str, Lessons], jobs: list[Learn]) -> None:
        after, tallies = found[OWN].estimator, {OWN: self.model.tally}
        tallies |= {name: each.tally for name, each in self.model.challengers.items()}
        batch = [job.parsed for job in jobs]
        try:
            for name, each in found.items():
                for outcome in each.outcomes:
                    if isinstance(outcome, Learned):
                        tallies[name].add(outcome, each.estimator)
                alarms = look(tallies[name], batch, each.outcomes, version, name == OWN)
                self.model.named(name).alarm(alarms)
            for job in jobs:
                if isinstance(job, Label):
                    self._count_late(job)
            if self.model.compared is not None:
                compare(self.model.compared, version, found)
        except Exception:  # the rows are learned all the same
            report.exception("metrics failed", extra={"model": self.model.name})
        known, now = getattr(before, "classes_", ()), getattr(after, "classes_", ())
        if len(now) > len(known):
            new = set(map(str, now)) - set(map(str, known))
            self.model.notify("new class", {"classes": sorted(new)[:20]})

    def _count_late(self, job: Label) -> None:
        """Count predictions for the models that made them, whichever was asked to learn their labels."""
        tallies = {each.born: each.tally for each in (self.model, *self.model.challengers.values())}
        for (predicted, version, born), (_, y) in zip(job.predicted, job.labels, strict=True):
            if born in tallies:
                tallies[born].add_late(predicted, version, y)

    # ---- roll-backs, resets, and challengers

    def _replace(self, job: Replace) -> bytes | Problem:
        """Make a change of the models. Those that are replaced are saved before, and kept."""
        try:
            if (stored := self._stored(job)) is not None:
                return stored
            if self.model.trouble is not None:
                raise Problem("learning-stopped", self.model.trouble)
            change, version = job.change(), self.model.published.version
            if self.model.published.fitted and change.name is UNSET:
                failed = self._save(CHANGE, [change.to])
                if isinstance(failed, Problem):
                    return failed
            done = changed(self.log.path.parent, self.model.team(), self.log, change, version)
        except Problem as problem:
            return problem
        except ModelFileError as error:
            return Problem("internal", f"the snapshot cannot be read: {error}")
        told: dict[str, Any] = {"to": change.to, "replayed": done.replayed, "refused": done.refused}
        told |= {} if change.name is UNSET else {"challenger": change.name}
        told |= {} if change.new_name is UNSET else {"new_name": change.new_name}
        answer = encode({"version": version + 1} | told)
        group = Group(requests=[LoggedRequest(version, 1, CHANGED, "", change.body)])
        if job.key is not None:
            group.answers.append(Answer(job.key, job.digest, answer))
        if failure := self._commit(group):
            return failure
        self._follow(change)
        self.model.adopt(done.team, version + 1)
        self.model.notify(change.what, told)
        if self.model.published.fitted:
            self._save()
        return answer

    def _follow(self, change: Change) -> None:
        """Let the history of a challenger follow its name."""
        with suppress(sqlite3.Error):  # the history is of use, but not needed
            if change.what == "rename challenger":
                self.model.history.rename(str(change.name), str(change.new_name))
            elif change.what == "remove challenger":
                self.model.history.forget(str(change.name))

    # ---- snapshots

    def _due(self) -> bool:
        rows = self.model.published.version - self.work.snapshot_version
        now = time.monotonic()
        if not rows or not self.model.published.fitted or self.model.trouble is not None:
            return False
        if self.work.unsaved and now < self._retry:
            return False
        return (
            rows >= self.limits.snapshot_rows
            or self.log.state.counts["log"].bytes - self._snapshot_log >= self.limits.snapshot_bytes
            or now - self.work.snapshot_time >= self.limits.snapshot_seconds
        )

    def _save(self, why: str = SCHEDULE, needed: Sequence[int] = ()) -> bytes | Problem:
        """Save a snapshot, then remove what nobody needs; ``needed`` are versions that must stay."""
        version = self.model.published.version
        if not self.model.published.fitted:
            return Problem(
                "nothing-learned", "the model has learned nothing yet: there is nothing to save."
            )
        if self.model.trouble is not None:
            return Problem("learning-stopped", self.model.trouble)
        try:
            if version > self.work.snapshot_version:
                chain = self.log.chain(version)
                assert chain is not None
                snapshot.write(self.log.path.parent, version, self.model.team(), chain)
            self._keep(version, why, needed)
        except (SaveError, OSError, MemoryError) as error:
            self.work.unsaved, self._retry = str(error), time.monotonic() + 10
            report.error("no snapshot: %s", error, extra={"model": self.model.name})
            self.model.notify("snapshot failed", {"why": str(error)})
            return Problem("learning-stopped", f"the snapshot could not be saved: {error}")
        except sqlite3.Error as error:
            return self.stop(f"the log could not be written: {error}")
        except Exception as error:  # the writer goes on, and the log has everything
            self.work.unsaved, self._retry = repr(error), time.monotonic() + 60
            report.exception("a snapshot failed", extra={"model": self.model.name})
            return Problem("internal", "the snapshot failed; nothing is lost.")
        self.work.snapshot_version, self.work.snapshot_time = version, time.monotonic()
        self._snapshot_log = self.log.state.counts["log"].bytes
        self.work.unsaved = None
        self.model.notify("snapshot", {"version": version})
        return encode({"version": version})

    def _keep(self, version: int, why: str, needed: Sequence[int]) -> None:
        """Keep the snapshot if it is to be kept, and the rows that may be replayed."""
        oldest = snapshot.oldest(self.log.path.parent)
        needed = [*needed, *(change_of(request).to for request in self.log.changes(oldest))]
        self.archive.keep(version, why, self.model.figures(), needed)
        if version > self.work.snapshot_version and not self.limits.keep_log:
            wanted = max(self.archive.oldest(oldest), self.log.beyond(self.limits.log_bytes))
            self.log.remove(min([oldest, wanted, *needed]))
            self.tell_dropped()


def _refused_by_the_one_asked(jobs: Sequence[Learn], found: dict[int, Lessons]) -> bool:
    """Whether a challenger that was asked refuses; other jobs get what it has learned as their answer."""
    refused = False
    for i, job in enumerate(jobs):
        outcome = found[job.asked].outcomes[i] if job.asked in found else job.learned
        if isinstance(outcome, Problem):
            job.result, refused = outcome, True
        else:
            job.answered = outcome
    return refused


def _resolve(jobs: list[Job]) -> None:
    for job in jobs:
        job.resolve()


def _answer(jobs: Sequence[Job], result: bytes | Problem) -> None:
    for job in jobs:
        job.result = result
