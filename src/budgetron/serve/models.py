"""A model in its folder, and all models of a service."""

import asyncio
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from budgetron._util.errors import DataError
from budgetron.model.files import model_files
from budgetron.serve import log, settings, snapshot
from budgetron.serve.end import FILE as END
from budgetron.serve.entries import FILE as LOG
from budgetron.serve.entries import LoggedRequest
from budgetron.serve.jobs import Job
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.replay import restored
from budgetron.serve.served import ServedModel, ServedModels
from budgetron.serve.settings import Settings
from budgetron.serve.writer import Writer

DEFAULT = "default"
"""The model that every folder has, and that the paths mean which name none."""


class Model(ServedModel):
    """A model that learns: what it predicts with, its log and its writer."""

    log: Log

    def __init__(self, name: str, folder: Path, limits: Limits) -> None:
        chosen = settings.read(folder)
        self.log = Log(folder, limits)
        try:
            published, tally, replayed = restored(folder, chosen, self.log)
        except BaseException:
            self.log.close()
            raise
        super().__init__(name, limits, chosen, published, tally)
        self.work.snapshot_version = published.version - replayed
        self.writer = self.thread = Writer(self, self.log)

    def close(self) -> None:
        """Finish what is queued, save, close."""
        if self.writer.is_alive():
            self.writer.close()
        self.log.close()

    def submit(self, job: Job) -> None:
        """Queue a job for the writer, or raise a `Problem`."""
        self.writer.submit(job)

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


class Models(ServedModels):
    """All models of a folder, by name."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self.by_name: dict[str, Model] = {}
        self._creating = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, chosen: Settings, start: Path | None = None) -> None:
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
                self.create(DEFAULT, chosen, start)
        except BaseException:
            self.close()
            raise

    def create(self, name: str, chosen: Settings, start: Path | None = None) -> Model:
        """Create the folder of a model, and open it."""
        if settings.NAME.fullmatch(name) is None:
            raise Problem(
                "malformed",
                "a name has 1 to 64 characters a-z, 0-9, _ or -, and starts with a letter or digit.",
            )
        try:
            chosen.estimator()
        except (ValueError, TypeError) as error:
            raise Problem("malformed", str(error)) from None
        with self._creating:
            if name in self.by_name:
                raise Problem("exists", f"there is a model {name!r} already.")
            if len(self.by_name) >= self.limits.models:
                raise Problem(
                    "too-large", f"there are {self.limits.models} models already, the most allowed."
                )
            folder = self._created(name, chosen, start)
            model = self.by_name[name] = Model(name, folder, self.limits)
            if self._loop is not None:
                model.start(self._loop)
            return model

    def _created(self, name: str, chosen: Settings, start: Path | None) -> Path:
        """A new folder, which gets its name when it is complete."""
        new, folder = self.folder / f".{name}.new", self.folder / name
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        if start is None:
            log.create(new)
        else:
            begin_with(new, start, chosen)
        chosen.write(new)
        log.sync_folder(new)
        try:
            new.rename(folder)
        except OSError:
            raise DataError(f"{folder}: is in the way of a new model: move it away.") from None
        log.sync_folder(self.folder)
        return folder

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to learn."""
        self._loop = loop
        for model in self.by_name.values():
            model.start(loop)


def folders(folder: Path) -> list[str]:
    """The names of the models in a folder."""
    names = (path.parent.name for path in folder.glob(f"*/{settings.FILE}"))
    return sorted(name for name in names if not name.startswith("."))


def strays(folder: Path) -> Iterator[str]:
    """Folders that have lost what makes them models. Hidden ones were never made to the end."""
    for path in folder.iterdir():
        known = path.name.startswith(".") or (path / settings.FILE).exists()
        if not known and any((path / name).exists() for name in (LOG, END)):
            yield f"{path}: has a log, but no {settings.FILE}: restore a backup."


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


def begin_with(folder: Path, start: Path, chosen: Settings) -> None:
    """Make a model file the first snapshot, of one row, since version 0 is a model that learned nothing."""
    estimator = model_files.load(start)
    if type(estimator) is not type(chosen.estimator()):
        raise DataError(f"{start}: is a model of another task than {chosen.task}.")
    chain = log.create(folder, 1)
    snapshot.write(folder, 1, estimator, {}, chain)
