"""A model that learns, in its folder: what it predicts with, its log, its snapshots and its writer."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future as ThreadFuture
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import msgspec

from budgetron.evaluate.progressive import Estimator
from budgetron.serve import log, retention, settings
from budgetron.serve.archive import Archive
from budgetron.serve.challengers import Challenger
from budgetron.serve.changes import Change, LeftOut, change_of
from budgetron.serve.comparison import Comparison
from budgetron.serve.entries import LoggedRequest
from budgetron.serve.history import opened
from budgetron.serve.jobs import Job, Published, Replace
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.replay import restored
from budgetron.serve.retention import Wanted
from budgetron.serve.served import ServedModel
from budgetron.serve.settings import Settings
from budgetron.serve.team import OWN, Member, Team
from budgetron.serve.webhooks import Webhooks
from budgetron.serve.writer import Writer

FROZEN = "frozen"
"""The empty file in the folder of a model that only predicts."""


class Model(ServedModel):
    """A model that learns: what it predicts with, its log and its writer."""

    log: Log
    webhooks: Webhooks
    challengers: dict[str, Challenger]
    compared: Comparison | None  # if there are challengers

    def __init__(self, name: str, folder: Path, limits: Limits) -> None:
        chosen = settings.read(folder)
        self.log, self._folder = Log(folder, limits), folder
        self._closing, self._filing = False, threading.Lock()  # whose holder writes to the folder
        try:
            self.retention = retention.read(folder, limits)
            self.log.retain(self.retention)
            self.archive = Archive(folder, limits)
            team, version, replayed, alarms = restored(folder, chosen, self.log)
            history = opened(folder)
        except BaseException:
            self.log.close()
            raise
        published = Published(team.own.estimator, version)
        super().__init__(name, limits, chosen, published, team.own.tally, history)
        self.work.snapshot_version = version - replayed
        self.frozen = (folder / FROZEN).exists()
        self.webhooks = Webhooks(folder, limits, history, self.log.state.id.hex()[:16])
        self.writer = self.thread = Writer(self, self.log, self.archive)
        self.challengers = {}
        self.adopt(team, version)
        for each, alarm in alarms:
            if each == OWN or each in self.challengers:
                self.named(each).alarm([alarm])
        self.events.load(history)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn, and to send events to webhooks."""
        for each in self.challengers.values():
            each.start(loop)
        super().start(loop)
        self.webhooks.start(self.name)

    def close(self) -> None:
        """Finish what is queued, save, close."""
        with self._filing:
            self._closing = True
        if self.writer.is_alive():
            self.writer.close()
        self.webhooks.close()
        self.history.close()
        self.log.close()

    def submit(self, job: Job) -> None:
        """Queue a job for the writer, or raise a `Problem`."""
        self.writer.submit(job)

    # ---- from the writer

    def named(self, name: str) -> ServedModel:
        """The model itself, or a challenger."""
        return self if name == OWN else self.challengers[name]

    def team(self) -> Team:
        """The model with its challengers, as they are now."""
        beside = {
            name: Member(each.settings, each.published.estimator, each.tally, each.born)
            for name, each in self.challengers.items()
        }
        return Team(Member(self.settings, self.published.estimator, self.tally), beside, self.compared)

    def adopt(self, team: Team, version: int) -> None:
        """Have other models from now on."""
        now = dict[str, Challenger]()
        for name, member in team.challengers.items():
            now[name] = self.challengers.get(name) or Challenger(name, self, member, version)
            now[name].tally = member.tally
        self.tally, self.compared, self.challengers = team.own.tally, team.comparison, now
        found = {name: member.estimator for name, member in team.challengers.items()}
        self.publish({OWN: team.own.estimator, **found}, version)

    def publish(self, estimators: Mapping[str, Estimator], version: int) -> None:
        """Predict with other models from now on."""
        for name, each in self.challengers.items():
            each.published = Published(estimators[name], version)
        self.published = Published(estimators[OWN], version)

    # ---- from other threads

    def comparison(self) -> dict[str, Any]:
        """How it and its challengers compare."""
        compared, members = self.compared, {OWN: self, **self.challengers}
        if compared is None:
            return {"model": self.name, "since": None, "rows": 0, "models": [], "tests": []}
        values = compared.values()
        known = [(name, members[name]) for name in values["models"] if name in members]
        told = {
            "models": [
                {"name": each.name, "learner": each.settings.learner}
                | values["models"][name]
                | {"recent": each.figures()["window"]}
                for name, each in known
            ],
            "tests": [
                test
                | {"models": [name or self.name for name in test["models"]]}
                | {"better": self.name if test["better"] == OWN else test["better"]}
                for test in values["tests"]
            ],
        }
        return {"model": self.name} | values | told

    def changed(self, change: Callable[[], Change]) -> dict[str, Any]:
        """Let the writer make a change, and wait for it; not in the event loop."""
        job = Replace(ThreadFuture(), change=change)
        self.submit(job)
        assert job.future is not None
        answer: dict[str, Any] = msgspec.json.decode(cast(ThreadFuture[bytes], job.future).result())
        return answer

    def adding(self, name: str, chosen: Settings, replay: bool) -> Change:
        """The change that adds a challenger: with what the log has now, or with nothing learned."""
        begin = self.log.begin
        replay = replay and begin is not None
        to = begin if replay and begin is not None else self.published.version
        return Change("add challenger", to, replay, name=name, settings=asdict(chosen))

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Its folder is not moved meanwhile; a `Problem` if the model is being closed."""
        with self._filing:
            if self._closing:
                raise Problem(
                    "busy", f"the model {self.name!r} is being changed: try again.", retry_after=1
                )
            yield

    def freeze(self, frozen: bool) -> None:
        """Let it only predict from now on, or learn again; on disk when this returns."""
        with self._in_place():
            if frozen:
                (self._folder / FROZEN).touch(mode=0o600)
            else:
                (self._folder / FROZEN).unlink(missing_ok=True)
            log.sync_folder(self._folder)
            self.frozen = frozen

    def retain(self, wanted: Wanted) -> dict[str, Any]:
        """Keep rows for labels within these limits, from now on and after restarts."""
        chosen = wanted.beside(self.limits)
        with self._in_place():
            if self.trouble is not None:  # nothing is written any more
                raise Problem("learning-stopped", self.trouble)
            wanted.write(self._folder)
            self.retention = chosen
            self.log.retain(chosen)
            try:
                self.log.trim()
            except sqlite3.Error as error:
                raise self.writer.stop(f"the log could not be written: {error}") from None
            self.writer.tell_dropped()
        return self.kept()

    def kept(self) -> dict[str, Any]:
        """The rows that wait for labels, those that were dropped, and the limits."""
        state = self.log.state
        count = state.counts["kept"]
        figures = {"rows": count.entries, "bytes": count.bytes, "dropped": state.dropped}
        return figures | {"limits": msgspec.to_builtins(self.retention)}

    def branches(self) -> dict[str, Any]:
        """The snapshots that are kept, and the roll-backs and resets that the log has."""
        changes = [(request.first, change_of(request)) for request in self.log.changes(0)]
        return {
            "snapshots": msgspec.to_builtins(self.archive.kept),
            "changes": [{"row": row} | msgspec.to_builtins(change) for row, change in changes],
            "log_begin": self.log.begin,
        }

    def replacing(self, to: int, replay: bool, left_out: Sequence[LeftOut]) -> Change:
        """The roll-back to a snapshot, or the reset, that is possible now; a `Problem` if it is not."""
        if to and self.archive.find(to) is None:
            kept = ", ".join(str(each.version) for each in self.archive.kept) or "none"
            raise Problem("not-found", f"no snapshot of version {to} is kept; there are: {kept}.")
        if replay and self.log.chain(to) is None:
            begin = self.log.begin
            raise Problem("log-removed", f"the log begins at row {begin}, so rows are gone: do not replay.")
        ranges = [each for one in left_out for each in one.ranges(self.log)]
        return Change("roll back" if to or replay else "reset", to, replay, ranges)

    def learned(self, after: int, chain: bytes | None = None) -> list[LoggedRequest]:
        """The requests that were learned after a version; ``chain`` is the running digest there."""
        begin, end = self.log.begin, self.published.version
        known = self.log.chain(after)
        removed = known is None and after < (end if begin is None else begin)
        if chain is not None and chain != known and not removed:
            raise Problem("other-history", f"the log has other rows before row {after} than you have.")
        if after > end or (after < end and (begin is None or after < begin)):
            raise Problem("log-removed", f"the log has no rows after {after}: fetch the model file.")
        return list(self.log.requests(after))
