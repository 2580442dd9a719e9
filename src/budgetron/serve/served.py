"""What endpoints know of a model: one that learns (`models`), or one that follows another (`replica`)."""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from budgetron.estimators import OnlineRegressor
from budgetron.model.files import model_files
from budgetron.model.files.described import describe
from budgetron.serve.entries import LoggedRequest
from budgetron.serve.events import Events
from budgetron.serve.learning import Estimator
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally
from budgetron.serve.writer import Job, Published, Work

report = logging.getLogger("budgetron.serve")


class ServedModel(ABC):
    """A model of a service. ``work`` and ``log_id`` are those of the writer and the log, if there are."""

    log_id = b""

    def __init__(
        self, name: str, limits: Limits, settings: Settings, tally: Tally, work: Work | None = None
    ) -> None:
        self.name, self.limits, self.settings, self.tally = name, limits, settings, tally
        self.work = work or Work()
        self.events = Events(limits)
        self.loop: asyncio.AbstractEventLoop | None = None
        self._drawn = -1

    @property
    @abstractmethod
    def published(self) -> Published:
        """What predictions are made with now."""

    @property
    @abstractmethod
    def trouble(self) -> str | None:
        """Why the model does not learn."""

    @abstractmethod
    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn."""

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
        return 0

    def chain(self, _: int) -> bytes | None:
        """The running digest of the log up to a version; None if it is not known."""
        return None

    def fitted(self) -> Published:
        """What predictions are made with; a `Problem` before the first row."""
        published = self.published
        if not published.version:
            raise Problem("nothing-learned", "the model has learned nothing yet: POST rows to learn first.")
        return published

    def file(self) -> tuple[bytes, int, bytes | None]:
        """The bytes of the model file, the version, and the running digest of the log there."""
        estimator, version = self.fitted()
        chain = self.chain(version)
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
            "log_id": self.log_id.hex(),
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
            "commits": self.work.groups,
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

    @abstractmethod
    def close(self) -> None:
        """End all models."""

    @abstractmethod
    def create(self, name: str, chosen: Settings) -> ServedModel:
        """Create a model, or raise a `Problem`."""

    def unsaved(self) -> str | None:
        """Why the last snapshot of a model failed."""
        return None
