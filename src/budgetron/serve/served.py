"""What endpoints know of a model: one that learns (`models`), or one that follows another (`replica`)."""

import asyncio
import logging
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from budgetron.estimators import OnlineRegressor
from budgetron.evaluate.drift.watch import Alarm
from budgetron.model.files import model_files
from budgetron.model.files.described import describe
from budgetron.serve import predicting
from budgetron.serve.changes import Change, LeftOut
from budgetron.serve.entries import LoggedRequest
from budgetron.serve.events import Events, curve
from budgetron.serve.history import History
from budgetron.serve.jobs import Job, Published, Work
from budgetron.serve.learning import Spare
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.retention import Wanted
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally
from budgetron.serve.webhooks import Webhooks

report = logging.getLogger("budgetron.serve")

COLUMNS, EXAMPLES = 100, 20
"""The columns of records that a description names, and the texts of each."""


class ServedModel(ABC):
    """A model of a service. Its thread learns, and replaces what is published by one assignment."""

    thread: threading.Thread
    log: Log | None = None
    webhooks: Webhooks | None = None  # none of a replica, or of a challenger
    stream: "ServedModel"  # the model that has the log: itself, or that beside which it learns
    born = 0  # of a challenger: the version with which it joined

    def __init__(
        self,
        name: str,
        limits: Limits,
        settings: Settings,
        published: Published,
        tally: Tally,
        history: History,
    ) -> None:
        self.name, self.limits, self.settings, self.stream = name, limits, settings, self
        self.published, self.tally = published, tally
        self.work, self.spare = Work(), Spare()
        self.events, self.history = Events(limits), history
        self.told: Counter[tuple[str, str]] = Counter()  # events since the start: what, and drift of what
        self.loop: asyncio.AbstractEventLoop | None = None
        self._drawn = -1
        self._importances: dict[str, Any] = {"version": -1}
        self._importances_due = 0.0
        self._importances_lock = threading.Lock()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn."""
        self.loop = loop
        self.thread.start()

    @property
    def trouble(self) -> str | None:
        """Why it does not learn."""
        return self.work.trouble

    @trouble.setter
    def trouble(self, why: str | None) -> None:
        self.work.trouble = why

    @property
    def frozen(self) -> bool:
        """Whether it only predicts, because someone wanted it so."""
        return self.work.frozen

    @frozen.setter
    def frozen(self, frozen: bool) -> None:
        self.work.frozen = frozen

    @property
    def challenger_of(self) -> str | None:
        """The name of the model beside which it learns."""
        return None if self.stream is self else self.stream.name

    @property
    def log_id(self) -> str:
        """Which log its rows are in."""
        return "" if self.log is None else self.log.state.id.hex()

    @abstractmethod
    def close(self) -> None:
        """End what `start` began."""

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Queue a job, or raise a `Problem`."""

    @abstractmethod
    def learned(self, after: int, chain: bytes | None = None) -> list[LoggedRequest]:
        """The requests that were learned after a version; ``chain`` is the running digest there."""

    @abstractmethod
    def freeze(self, frozen: bool) -> None:
        """Let it only predict from now on, or learn again; on disk when this returns."""

    @abstractmethod
    def retain(self, wanted: Wanted) -> dict[str, Any]:
        """Keep rows for labels within these limits; returns what is kept."""

    def kept(self) -> dict[str, Any]:
        """The rows that wait for labels; a replica keeps none."""
        return {"rows": 0, "bytes": 0, "dropped": 0}

    @abstractmethod
    def branches(self) -> dict[str, Any]:
        """The snapshots that are kept, and the roll-backs and resets that the log has."""

    @abstractmethod
    def replacing(self, to: int, replay: bool, left_out: Sequence[LeftOut]) -> Change:
        """The roll-back to a snapshot, or the reset, that is possible now; a `Problem` if it is not."""

    @abstractmethod
    def comparison(self) -> dict[str, Any]:
        """How it and its challengers compare."""

    def log_bytes(self) -> int:
        """The size of its log; 0 if it has none."""
        return 0 if self.log is None else self.log.file_bytes()

    def fitted(self) -> Published:
        """What predictions are made with; a `Problem` before the first row."""
        published = self.published
        if not published.fitted:
            raise Problem("nothing-learned", "the model has learned nothing yet: POST rows to learn first.")
        return published

    def file(self) -> tuple[bytes, int, bytes | None]:
        """The bytes of the model file, the version, and the running digest of the log there."""
        estimator, version = self.fitted()
        chain = None if self.log is None else self.log.chain(version)
        return b"".join(model_files.encoded(estimator)), version, chain

    def importances(self) -> dict[str, Any]:
        """Which columns matter. Computed again for a new version, in at most a twentieth of the time."""
        with self._importances_lock:
            published, began = self.fitted(), time.monotonic()
            known = self._importances["version"]
            if known != published.version and (known < 0 or began >= self._importances_due):
                self._importances = predicting.importances(published)
                now = time.monotonic()
                self._importances_due = now + 20 * (now - began)
            return self._importances

    def notify(
        self, what: str, more: dict[str, Any], version: int | None = None, key: str | None = None
    ) -> None:
        """Tell what happened, from any thread: the history, the messages, and those who read events.

        What has a ``key`` is told once.
        """
        version = self.published.version if version is None else version
        try:
            event = self.history.add(version, what, more, key)
        except sqlite3.Error as error:
            report.warning("an event is not in the history: %s", error, extra={"model": self.name})
            event = {"number": 0, "at": time.time(), "version": version, "what": what} | more
        if event is None:
            return
        if what != "snapshot":
            report.info(what, extra={"model": self.name, "version": version} | more)
        self.announce(event)

    def announce(self, event: dict[str, Any]) -> None:
        """Count an event, and send it to those who read events."""
        self.told[event["what"], event.get("of", "")] += 1
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.events.notice, event)

    def alarm(self, alarms: Iterable[Alarm]) -> None:
        """Tell of drift, once."""
        for alarm in alarms:
            key = f"drift of {alarm.of} at {alarm.row}"
            self.notify("drift", {"of": alarm.of} | alarm.more, alarm.row, key)

    # ---- what is known about it

    def description(self) -> dict[str, Any]:
        """Everything that a client may want to know."""
        published = self.published
        return {
            "name": self.name,
            "version": published.version,
            **asdict(self.settings),
            "learning": self.trouble is None,
            "frozen": self.frozen,
            "replica": False,
            "challenger_of": self.challenger_of,
            "trouble": self.trouble,
            "queue_rows": self.work.queued_rows,
            "snapshot_version": self.work.snapshot_version,
            "log_bytes": self.log_bytes(),
            "kept": self.kept(),
            **self._log_place(published.version),
            **_fitted(published),
            "columns_of_records": _columns_of(published),
            "has_importances": published.fitted and predicting.has_importances(published),
            "metrics": self.tally.values(),
        }

    def _log_place(self, version: int) -> dict[str, str]:
        """Which log it has, and the running digest at a version, unless it has just moved on."""
        if self.log is None:
            return {"log_id": "", "log_chain": ""}
        state = self.log.state  # `Log.chain` would wait for the disk
        return {"log_id": state.id.hex(), "log_chain": state.chain.hex() if state.end == version else ""}

    def figures(self) -> dict[str, Any]:
        """How good its predictions were, in short: for the list of snapshots."""
        values = self.tally.values()
        return {name: values[name] for name in ("rows", "mistakes", "running", "window")}

    def summary(self, figures: bool) -> dict[str, Any]:
        """What a list of models says of it."""
        known: dict[str, Any] = {"version": self.published.version, "frozen": self.frozen}
        if self.challenger_of is not None:
            known["challenger_of"] = self.challenger_of
        if not figures:
            return known
        return known | {
            "task": self.settings.task,
            "learning": self.trouble is None,
            "figures": self.figures(),
        }

    def numbers(self) -> dict[str, Any]:
        """The numbers of the metrics page; those of the stream are not repeated for each challenger."""
        estimator, version = published = self.published
        values = self.tally.values()
        return {
            "rows_learned_total": version if self.challenger_of is None else values["rows"],
            "mistakes_total": values["mistakes"],
            "error_window": values["window"]["rate"],
            "error_running": values["running"]["rate"],
            "support_vectors": int(estimator.n_support_) if published.fitted else 0,
            "model_bytes": int(estimator.memory_bytes_) if published.fitted else 0,
            "covered": estimator.covered_ if covers(published) else None,
            "rare": values.get("rare", []),
            "told": dict(self.told),
        } | (self._numbers_of_stream() if self.stream is self else {})

    def _numbers_of_stream(self) -> dict[str, Any]:
        work, kept = self.work, self.kept()
        return {
            "queue_rows": work.queued_rows,
            "queue_bytes": work.queued_bytes,
            "log_bytes": self.log_bytes(),
            "snapshot_age_seconds": round(time.monotonic() - work.snapshot_time, 3),
            "learning": int(self.trouble is None),
            "commits": work.commits,
            "kept_rows": kept["rows"],
            "kept_bytes": kept["bytes"],
            "kept_dropped_total": kept["dropped"],
        }

    def point(self) -> tuple[int, dict[str, Any]] | None:
        """A point of the curves, if there is something new; it is also in the history."""
        published = self.published
        version = published.version
        if version == self._drawn or not published.fitted:
            return None
        self._drawn = version
        fitted = _fitted(published)
        del fitted["fitted_learner"]
        point = {
            "version": version,
            "at": time.time(),
            "queue_rows": self.work.queued_rows,
            "commits": self.work.commits.count,
            "commit_seconds": self.work.commits.quantile(0.5),
        }
        point |= fitted | self.tally.values()
        with suppress(sqlite3.Error):  # those who look now see it all the same
            self.history.add_point(version, curve(point))
        return version, point


def covers(published: Published) -> bool:
    """Whether the model has sets or intervals."""
    return published.fitted and published.estimator.fitted_.conformal is not None


def _fitted(published: Published) -> dict[str, Any]:
    if not published.fitted:
        return {}
    estimator = published.estimator
    known: dict[str, Any] = {
        "support_vectors": int(estimator.n_support_),
        "model_bytes": int(estimator.memory_bytes_),
        "columns": int(estimator.n_features_in_),
        "fitted_learner": describe(estimator.learner_, "learner"),
    }
    if not isinstance(estimator, OnlineRegressor):
        known["classes"] = estimator.classes_.tolist()
    if covers(published):
        known["covered"] = estimator.covered_
    try:
        weights = np.asarray(estimator.expert_weights_, dtype=float).ravel()
    except (AttributeError, ValueError, TypeError):
        return known
    return known | {"expert_weights": weights.tolist()}


def _columns_of(published: Published) -> list[dict[str, Any]]:
    """The first columns of the records, what they are if that is decided, and some of their texts."""
    encoding = published.estimator.fitted_.encoding if published.fitted else None
    if encoding is None:
        return []
    texts = {name: list[str]() for name in encoding.names[:COLUMNS]}
    for slot in encoding.columns:
        name, _, text = slot.partition("=")
        if text and name in texts:
            texts[name].append(text)
    kinds = encoding.kinds
    return [
        {"name": name, "kind": kinds[name].kind, "values": values[:EXAMPLES]}
        for name, values in texts.items()
    ]


class ServedModels(ABC):
    """All models of a service, by name."""

    by_name: Mapping[str, ServedModel]
    loop: asyncio.AbstractEventLoop | None = None
    changing: frozenset[str] = frozenset()  # names of models that are made or changed just now
    why: str | None = None  # nobody knows which models there are

    def get(self, name: str) -> ServedModel:
        """The model of that name or alias, or a `Problem`."""
        model = self.by_name.get(name) or self.by_name.get(self.aliases.get(name, ""))
        if model is None:
            raise self._unknown(name)
        return model

    def _unknown(self, name: str) -> Problem:
        """Why there is no model of that name or alias."""
        if self.changing & {name, self.aliases.get(name, "")}:
            return self._is_changing(name)
        return Problem("not-found", f"there is no model {name[:100]!r}.")

    def _is_changing(self, name: str) -> Problem:
        return Problem("busy", f"the model {name!r} is being made or changed: try again.", retry_after=1)

    @property
    @abstractmethod
    def aliases(self) -> Mapping[str, str]:
        """The models of all aliases."""

    @abstractmethod
    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn."""

    def close(self) -> None:
        """Finish, save and close all models."""
        for model in self.by_name.values():
            model.close()

    @abstractmethod
    def create(self, name: str, chosen: Settings) -> ServedModel:
        """Create a model, or raise a `Problem`."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a model with all that it learned, or raise a `Problem`."""

    @abstractmethod
    def rename(self, name: str, to: str) -> None:
        """Give a model another name, or raise a `Problem`."""

    @abstractmethod
    def challenge(self, beside: str, name: str, chosen: Settings, replay: bool) -> dict[str, Any]:
        """Let one more model learn beside another one, or raise a `Problem`."""

    @abstractmethod
    def alias(self, alias: str, name: str | None) -> None:
        """Let an alias be another name of a model, or remove it; a `Problem` if that cannot be."""

    def end_events(self, model: ServedModel) -> None:
        """End the streams of events of a model that is gone."""
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(model.events.close)

    def unsaved(self) -> str | None:
        """Why the last snapshot of a model failed."""
        return next((why for each in self.by_name.values() if (why := each.work.unsaved)), None)
