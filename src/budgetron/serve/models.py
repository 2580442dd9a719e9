"""A model in its folder, and all models of a service."""

import asyncio
import logging
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from budgetron._util.errors import DataError
from budgetron.estimators import OnlineRegressor
from budgetron.model.files import model_files
from budgetron.model.files.described import describe
from budgetron.serve import log as logs
from budgetron.serve import settings as all_settings
from budgetron.serve import snapshot
from budgetron.serve.end import FILE as END
from budgetron.serve.entries import FILE as LOG
from budgetron.serve.entries import Record
from budgetron.serve.events import Events
from budgetron.serve.learning import Estimator, learn_group
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows, parse
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally
from budgetron.serve.writer import Job, Published, Writer

report = logging.getLogger("budgetron.serve")
DEFAULT = "default"
ANY = Limits(
    body=2**60,
    json=2**60,
    values=2**60,
    rows=2**60,
    columns=2**60,
    text=2**60,
    classes=2**60,
    probabilities=2**60,
)
"""For what was learned under limits of its own time."""


class Model:
    """One model: what it predicts with, its writer and its events."""

    def __init__(self, name: str, folder: Path, limits: Limits) -> None:
        self.name, self.folder, self.limits = name, folder, limits
        self.settings = all_settings.read(folder)
        self.log = Log(folder, limits)
        try:
            state, self.tally, self.replayed = restored(folder, self.settings, self.log)
        except BaseException:
            self.log.close()
            raise
        self.events = Events(limits)
        self.writer = Writer(name, self.log, state, self.tally, limits, self.notify)
        self.writer.snapshot_version = state.version - self.replayed
        self.loop: asyncio.AbstractEventLoop | None = None
        self._drawn = -1

    @property
    def published(self) -> Published:
        """What predictions are made with now."""
        return self.writer.published

    @property
    def trouble(self) -> str | None:
        """Why the model does not learn."""
        return self.writer.stopped

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn."""
        self.loop = self.writer.loop = loop
        self.writer.start()

    def close(self) -> None:
        """Finish what is queued, save, close."""
        if self.writer.is_alive():
            self.writer.close()
        self.log.close()

    def submit(self, job: Job) -> None:
        """Queue a job for the writer, or raise a `Problem`."""
        self.writer.submit(job)

    def records(self, after: int, chain: bytes | None = None) -> list[Record]:
        """The requests that were learned after a version; ``chain`` is the running digest there."""
        begin, end = self.log.begin, self.published.version
        own = self.log.chain(after)
        removed = own is None and after < (end if begin is None else begin)
        if chain is not None and chain != own and not removed:
            raise Problem("other-history", f"the log has other rows before row {after} than you have.")
        if after > end or (after < end and (begin is None or after < begin)):
            raise Problem("log-removed", f"the log has no rows after {after}: fetch the model file.")
        return list(self.log.records(after))

    def notify(self, what: str, more: dict[str, Any]) -> None:
        """Tell those who read events; from any thread."""
        version = self.published.version
        if what != "snapshot":
            report.info(what, extra={"model": self.name, "version": version} | more)
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.events.notice, version, what, more)

    def fitted(self) -> Published:
        """What predictions are made with; a `Problem` before the first row."""
        published = self.published
        if not published.version:
            raise Problem("nothing-learned", "the model has learned nothing yet: POST rows to learn first.")
        return published

    def chain(self, version: int) -> bytes | None:
        """The running digest of the log up to a version."""
        return self.log.chain(version)

    def file(self) -> tuple[bytes, int, bytes | None]:
        """The bytes of the model file, the version, and the running digest of the log there."""
        estimator, version = self.fitted()
        chain = self.chain(version)
        return b"".join(model_files.encoded(estimator)), version, chain

    # ---- what is known about it

    def description(self) -> dict[str, Any]:
        """Everything that a client may want to know."""
        estimator, version = self.published
        found: dict[str, Any] = {"name": self.name, "version": version} | asdict(self.settings)
        found |= {"learning": self.trouble is None, "replica": False}
        found |= {"trouble": self.trouble, "queue_rows": self.writer.queued_rows}
        found |= {"snapshot_version": self.writer.snapshot_version, "log_bytes": self.log.file_bytes()}
        found |= {"log_id": self.log.id.hex()}
        return found | _fitted(estimator, version) | {"metrics": self.tally.values()}

    def numbers(self) -> dict[str, Any]:
        """The numbers of the metrics page."""
        estimator, version = self.published
        values, writer = self.tally.values(), self.writer
        return {
            "rows_learned_total": version,
            "mistakes_total": values["mistakes"],
            "error_window": values["window"]["rate"],
            "error_running": values["running"]["rate"],
            "support_vectors": int(estimator.n_support_) if version else 0,
            "model_bytes": int(estimator.memory_bytes_) if version else 0,
            "queue_rows": writer.queued_rows,
            "queue_bytes": writer.queued_bytes,
            "log_bytes": self.log.file_bytes(),
            "snapshot_age_seconds": round(time.monotonic() - writer.snapshot_time, 3),
            "learning": int(self.trouble is None),
            "commits": writer.commits,
        }

    def point(self) -> tuple[int, dict[str, Any]] | None:
        """A point of the curves, if there is something new."""
        estimator, version = self.published
        if version == self._drawn or not version:
            return None
        self._drawn = version
        values, writer = self.tally.values(), self.writer
        found: dict[str, Any] = {"version": version, "at": time.time(), "queue_rows": writer.queued_rows}
        found |= {"commits": writer.groups, "commit_seconds": writer.commits.quantile(0.5)}
        found |= {
            name: value for name, value in _fitted(estimator, version).items() if name != "fitted_learner"
        }
        return version, found | values


def _fitted(estimator: Estimator, version: int) -> dict[str, Any]:
    if not version:
        return {}
    found: dict[str, Any] = {"support_vectors": int(estimator.n_support_)}
    found |= {"model_bytes": int(estimator.memory_bytes_), "columns": int(estimator.n_features_in_)}
    found |= {"fitted_learner": describe(estimator.learner_, "learner")}
    if not isinstance(estimator, OnlineRegressor):
        found["classes"] = estimator.classes_.tolist()
    try:
        weights = np.asarray(estimator.expert_weights_, dtype=float).ravel()
    except (AttributeError, ValueError, TypeError):
        return found
    return found | {"expert_weights": weights.tolist()}


def restored(folder: Path, settings: Settings, log: Log) -> tuple[Published, Tally, int]:
    """The newest snapshot and the log after it: the model as it was when it stopped, bit for bit."""
    found, damaged = snapshot.newest(folder)
    for why in damaged:
        report.warning("a snapshot is damaged, an older one is used: %s", why)
    estimator, version, chain = settings.estimator(), 0, log.id
    tally = Tally(estimator)
    if found is not None:
        if type(found.estimator) is not type(estimator):
            raise DataError(f"{folder}: the snapshot is of another task than model.json says.")
        estimator, version, chain = found.estimator, found.version, found.chain
        if found.tally:
            tally = Tally(estimator)
            tally.restore(found.tally)
    if version > log.end:
        raise DataError(f"{folder}: the log ends at row {log.end}, before the snapshot of {version} rows.")
    before = version
    begin = log.begin
    if begin is not None and begin > version:
        raise DataError(
            f"{folder}: the log begins at row {begin}, and no snapshot of {begin} or more rows can be read:"
            " restore a backup."
        )
    for batch, first in _batches(log, version, chain):
        estimator, outcomes = learn_group(estimator, batch, ANY)
        for rows, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Problem):
                raise DataError(f"{log.path}: a request after row {first} is refused now: {outcome.detail}")
            tally.add(outcome, estimator)
            version += len(rows)
    return Published(estimator, version), tally, version - before


def _batches(log: Log, after: int, chain: bytes) -> Iterator[tuple[list[Rows], int]]:
    """The requests of the log, some thousand rows at a time."""
    batch, rows, first = list[Rows](), 0, after
    for record in log.replay(after, chain):
        batch.append(parse(record.media, record.body, ANY, labelled=True, label=record.label))
        if len(batch[-1]) != record.rows:
            raise DataError(f"{log.path}: the request of row {record.first} has another number of rows.")
        rows += record.rows
        if rows >= 5000:
            yield batch, first
            batch, rows, first = [], 0, record.first + record.rows
    if batch:
        yield batch, first


class Models:
    """All models of a folder, by name."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self.by_name: dict[str, Any] = {}
        self._creating = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, settings: Settings, start: Path | None = None) -> None:
        """Open every model; an empty folder gets the model ``default``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        names = folders(self.folder)
        for sentence in strays(self.folder):
            raise DataError(sentence)
        if not names and any(not path.name.startswith(".") for path in self.folder.iterdir()):
            raise DataError(f"{self.folder}: holds no models, and is not empty: give an empty folder.")
        make_private(self.folder, names)
        try:
            for name in names:
                self.by_name[name] = Model(name, self.folder / name, self.limits)
            if DEFAULT not in names:
                self.create(DEFAULT, settings, start)
        except BaseException:
            self.close()
            raise

    def create(self, name: str, settings: Settings, start: Path | None = None) -> Model:
        """Create the folder of a model, and open it."""
        if all_settings.NAME.fullmatch(name) is None:
            raise Problem(
                "malformed", "a name has 1 to 64 of a-z, 0-9, _ and -, and begins with none of both."
            )
        try:
            settings.estimator()
        except (ValueError, TypeError) as error:
            raise Problem("malformed", str(error)) from None
        with self._creating:
            if name in self.by_name:
                raise Problem("exists", f"there is a model {name!r} already.")
            if len(self.by_name) >= self.limits.models:
                raise Problem(
                    "too-large", f"there are {self.limits.models} models already, the most allowed."
                )
            folder = self._created(name, settings, start)
            model = self.by_name[name] = Model(name, folder, self.limits)
            if self._loop is not None:
                model.start(self._loop)
            return model

    def _created(self, name: str, settings: Settings, start: Path | None) -> Path:
        """A new folder, which gets its name when it is complete."""
        new, folder = self.folder / f".{name}.new", self.folder / name
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        if start is None:
            logs.create(new)
        else:
            begin_with(new, start, settings)
        settings.write(new)
        logs.sync_folder(new)
        try:
            new.rename(folder)
        except OSError:
            raise DataError(f"{folder}: is in the way of a new model: move it away.") from None
        logs.sync_folder(self.folder)
        return folder

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn."""
        self._loop = loop
        for model in self.by_name.values():
            model.start(loop)

    def close(self) -> None:
        """Finish, save and close all models."""
        for model in self.by_name.values():
            model.close()

    def unsaved(self) -> str | None:
        """Why the last snapshot of a model failed."""
        return next((why for each in self.by_name.values() if (why := each.writer.failed_snapshot)), None)

    def get(self, name: str) -> Any:
        """The model of that name, or a `Problem`."""
        try:
            return self.by_name[name]
        except KeyError:
            raise Problem("not-found", f"there is no model {name[:100]!r}.") from None


def folders(folder: Path) -> list[str]:
    """The names of the models in a folder."""
    found = (path.parent.name for path in folder.glob(f"*/{all_settings.FILE}"))
    return sorted(name for name in found if not name.startswith("."))


def strays(folder: Path) -> Iterator[str]:
    """Folders that have lost what makes them models. Hidden ones were never made to the end."""
    for path in folder.iterdir():
        known = path.name.startswith(".") or (path / all_settings.FILE).exists()
        if not known and any((path / name).exists() for name in (LOG, END)):
            yield f"{path}: has a log, but no {all_settings.FILE}: restore a backup."


def make_private(folder: Path, names: list[str]) -> None:
    """Rows are nobody else's business: the folders get the mode 0700, the files of models 0600."""
    models = [folder / name for name in names]
    files = [
        path for model in models for path in model.iterdir() if path.is_file() and not path.is_symlink()
    ]
    for path in (folder, *models, *files):
        if path.stat().st_mode & 0o077:
            with suppress(OSError):  # of another owner, or on a read-only disk
                os.chmod(path, 0o700 if path.is_dir() else 0o600)


def begin_with(folder: Path, start: Path, settings: Settings) -> None:
    """Make a model file the first snapshot, of one row, since version 0 is a model that learned nothing."""
    estimator = model_files.load(start)
    if type(estimator) is not type(settings.estimator()):
        raise DataError(f"{start}: is a model of another task than {settings.task}.")
    chain = logs.create(folder, 1)
    snapshot.write(folder, 1, estimator, {}, chain)
