"""What endpoints know of a model: one that learns (`models`), or one that follows another (`replica`)."""

import asyncio
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from budgetron.estimators import OnlineRegressor
from budgetron.evaluate.progressive import Estimator
from budgetron.model.files import model_files
from budgetron.model.files.described import describe
from budgetron.serve.entries import LoggedRequest
from budgetron.serve.events import Events
from budgetron.serve.jobs import Job, Published, Work
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally

report = logging.getLogger("budgetron.serve")


class ServedModel(ABC):
    """A model of a service. Its thread learns, and replaces what is published by one assignment."""

    thread: threading.Thread
    log: Log | None = None
    trouble: str | None = None  # why it does not learn

    def __init__(
        self, name: str, limits: Limits, settings: Settings, published: Published, tally: Tally
    ) -> None:
        self.name, self.limits, self.settings = name, limits, settings
        self.published, self.tally = published, tally
        self.work = Work()
        self.events = Events(limits)
        self.loop: asyncio.AbstractEventLoop | None = None
        self._drawn = -1

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn."""
        self.loop = loop
        self.thread.start()

    @abstractmethod
    def close(self) -> None:
        """End what `start` began."""

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Queue a job, or raise a `Problem`."""

    @abstractmethod
    def learned(self, after: int, chain: bytes | None = None) -> list[LoggedRequest]:
        """The requests that were learned after a version; ``chain`` is the running digest there."""

    def log_bytes(self) -> int:
        """The size of its log; 0 if it has none."""
        return 0 if self.log is None else self.log.file_bytes()

    def fitted(self) -> Published:
        """What predictions are made with; a `Problem` before the first row."""
        published = self.published
        if not published.version:
            raise Problem("nothing-learned", "the model has learned nothing yet: POST rows to learn first.")
        return published

    def file(self) -> tuple[bytes, int, bytes | None]:
        """The bytes of the model file, the version, and the running digest of the log there."""
        estimator, version = self.fitted()
        chain = None if self.log is None else self.log.chain(version)
        return b"".join(model_files.encoded(estimator)), version, chain

    def notify(self, what: str, more: dict[str, Any]) -> None:
        """Tell those who read events; from any thread."""
        version = self.published.version
        if what != "snapshot":
            report.info(what, extra={"model": self.name, "version": version} | more)
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.events.notice, version, what, more)

    # ---- what is known about it

    def description(self) -> dict[str, Any]:
        """Everything that a client may want to know."""
        estimator, version = self.published
        return {
            "name": self.name,
            "version": version,
            **asdict(self.settings),
            "learning": self.trouble is None,
            "replica": False,
            "trouble": self.trouble,
            "queue_rows": self.work.queued_rows,
            "snapshot_version": self.work.snapshot_version,
            "log_bytes": self.log_bytes(),
            "log_id": "" if self.log is None else self.log.state.id.hex(),
            **_fitted(estimator, version),
            "metrics": self.tally.values(),
        }

    def numbers(self) -> dict[str, Any]:
        """The numbers of the metrics page."""
        estimator, version = self.published
        values, work = self.tally.values(), self.work
        return {
            "rows_learned_total": version,
            "mistakes_total": values["mistakes"],
            "error_window": values["window"]["rate"],
            "error_running": values["running"]["rate"],
            "support_vectors": int(estimator.n_support_) if version else 0,
            "model_bytes": int(estimator.memory_bytes_) if version else 0,
            "queue_rows": work.queued_rows,
            "queue_bytes": work.queued_bytes,
            "log_bytes": self.log_bytes(),
            "snapshot_age_seconds": round(time.monotonic() - work.snapshot_time, 3),
            "learning": int(self.trouble is None),
            "commits": work.commits,
        }

    def point(self) -> tuple[int, dict[str, Any]] | None:
        """A point of the curves, if there is something new."""
        estimator, version = self.published
        if version == self._drawn or not version:
            return None
        self._drawn = version
        fitted = _fitted(estimator, version)
        del fitted["fitted_learner"]
        point = {
            "version": version,
            "at": time.time(),
            "queue_rows": self.work.queued_rows,
            "commits": self.work.commits.count,
            "commit_seconds": self.work.commits.quantile(0.5),
        }
        return version, point | fitted | self.tally.values()


def _fitted(estimator: Estimator, version: int) -> dict[str, Any]:
    if not version:
        return {}
    known: dict[str, Any] = {
        "support_vectors": int(estimator.n_support_),
        "model_bytes": int(estimator.memory_bytes_),
        "columns": int(estimator.n_features_in_),
        "fitted_learner": describe(estimator.learner_, "learner"),
    }
    if not isinstance(estimator, OnlineRegressor):
        known["classes"] = estimator.classes_.tolist()
    try:
        weights = np.asarray(estimator.expert_weights_, dtype=float).ravel()
    except (AttributeError, ValueError, TypeError):
        return known
    return known | {"expert_weights": weights.tolist()}


class ServedModels(ABC):
    """All models of a service, by name."""

    by_name: Mapping[str, ServedModel]
    why: str | None = None  # nobody knows which models there are

    def get(self, name: str) -> ServedModel:
        """The model of that name, or a `Problem`."""
        try:
            return self.by_name[name]
        except KeyError:
            raise Problem("not-found", f"there is no model {name[:100]!r}.") from None

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

    def unsaved(self) -> str | None:
        """Why the last snapshot of a model failed."""
        return next((why for each in self.by_name.values() if (why := each.work.unsaved)), None)
