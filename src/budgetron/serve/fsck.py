"""Check the folder of a service: settings, log and snapshots, and that they fit together."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from budgetron._util.errors import DataError, ModelFileError
from budgetron.serve import archive, log_check, retention, settings, snapshot, webhooks
from budgetron.serve.changes import change_of, rows_of
from budgetron.serve.entries import CHANGE, LoggedRequest
from budgetron.serve.folders import folders, strays
from budgetron.serve.limits import Limits
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.replay import restored

Findings = Iterator[tuple[str, bool]]
"""Sentences, and whether each is good news."""


def check(folder: Path, cut: bool = False) -> Iterator[tuple[str, str, bool]]:
    """For each model, sentences about it, and whether each is good news. ``cut`` removes what is bad."""
    names = folders(folder)
    for sentence in strays(folder) if folder.is_dir() else ():
        yield folder.name, sentence, False
    if not names:
        raise DataError(f"{folder}: holds no models.")
    for name in names:
        try:
            for sentence, good in _check_model(folder / name, cut):
                yield name, sentence, good
        except (DataError, ModelFileError) as error:
            yield name, str(error), False


def _check_model(folder: Path, cut: bool) -> Findings:
    chosen, newest = settings.read(folder), None
    for version in snapshot.versions(folder):
        try:
            newest = version, snapshot.read(folder, version).chain
            yield f"snapshot of {version} rows: good.", True
        except ModelFileError as error:
            yield str(error), False
    yield from _check_archive(folder / archive.FOLDER)
    for read in (partial(retention.read, folder, Limits()), partial(webhooks.read, folder / webhooks.FILE)):
        try:
            read()
        except DataError as error:
            yield str(error), False
    try:
        yield from _check_log(folder, chosen)
    except DataError as error:
        yield str(error), False
        if not cut:
            return
        end = log_check.mend(folder, newest, _readable)
        yield f"the log is cut: it ends at row {end} now, and what came after is lost.", True
        yield from _check_log(folder, chosen)


def _check_archive(folder: Path) -> Findings:
    for version in snapshot.versions(folder) if folder.is_dir() else ():
        try:
            snapshot.read(folder, version)
            yield f"kept snapshot of version {version}: good.", True
        except ModelFileError as error:
            yield str(error), False


def _check_log(folder: Path, chosen: settings.Settings) -> Findings:
    with closing(Log(folder)) as log:
        begin, end = log.begin, log.state.end
        for request in log.replay(end if begin is None else begin):
            if not _readable(request):
                raise DataError(f"{log.path}: the request of row {request.first} cannot be read.")
        yield "the log is empty." if begin is None else f"log of rows {begin} to {end - 1}: good.", True
        found = restored(folder, chosen, log)
        yield f"the model loads: {found.version} rows, of which {found.replayed} are replayed.", True
        for name in found.team.challengers:
            yield f"its challenger {name!r} loads.", True


def _readable(request: LoggedRequest) -> bool:
    try:
        (change_of if request.media == CHANGE else rows_of)(request)
    except Problem as problem:
        if problem.name == "media-type":  # pyarrow is missing: the request is good
            sentence = f"the request of row {request.first} cannot be checked: {problem.detail}"
            raise DataError(sentence) from None
        return False
    except Exception:  # whatever a damaged body leads to
        return False
    return True
