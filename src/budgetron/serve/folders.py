"""The folders of models on disk: found, made, cleared away, and kept private."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from budgetron._util.errors import DataError
from budgetron.model.files import model_files
from budgetron.serve import log, settings, snapshot
from budgetron.serve.end import FILE as END
from budgetron.serve.entries import FILE as LOG
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally
from budgetron.serve.team import Member, Team


def folders(folder: Path) -> list[str]:
    """The names of the models in a folder."""
    names = (path.parent.name for path in folder.glob(f"*/{settings.FILE}"))
    return sorted(name for name in names if not name.startswith("."))


def remove_unfinished(folder: Path) -> None:
    """Remove what is left of models that were made or deleted when the service ended."""
    for path in (*folder.glob(".*.new"), *folder.glob(".*.deleted")):
        shutil.rmtree(path, ignore_errors=True)


def strays(folder: Path) -> Iterator[str]:
    """Folders that have lost what makes them models. Hidden ones were never made to the end."""
    for path in folder.iterdir():
        known = path.name.startswith(".") or (path / settings.FILE).exists()
        if not known and any((path / name).exists() for name in (LOG, END)):
            yield f"{path}: has a log, but no {settings.FILE}: restore a backup."


def make_private(folder: Path, names: list[str]) -> None:
    """Rows are nobody else's business: the folders get the mode 0700, the files of models 0600."""
    models = [folder / name for name in names]
    known = [*folder.glob("*.json"), *(path for model in models for path in model.rglob("*"))]
    for path in (folder, *models, *(path for path in known if not path.is_symlink())):
        if path.stat().st_mode & 0o077:
            with suppress(OSError):  # of another owner, or on a read-only disk
                os.chmod(path, 0o700 if path.is_dir() else 0o600)


def created(parent: Path, name: str, chosen: Settings, start: Path | None) -> Path:
    """A new folder, which gets its name when it is complete."""
    new, folder = parent / f".{name}.new", parent / name
    shutil.rmtree(new, ignore_errors=True)
    try:
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
    finally:  # a full disk has no room for what is left of it
        shutil.rmtree(new, ignore_errors=True)
    log.sync_folder(parent)
    return folder


def begin_with(folder: Path, start: Path, chosen: Settings) -> None:
    """Make a model file the first snapshot, of one row, since version 0 is a model that learned nothing."""
    estimator = model_files.load(start)
    if type(estimator) is not type(chosen.estimator()):
        raise DataError(f"{start}: is a model of another task than {chosen.task}.")
    chain = log.create(folder, 1)
    snapshot.write(folder, 1, Team(Member(chosen, estimator, Tally(estimator))), chain)
