"""Check the folder of a service: settings, log and snapshots, and that they fit together."""

from collections.abc import Iterator
from pathlib import Path

from budgetron.errors import DataError, ModelFileError
from budgetron.serve import settings, snapshot
from budgetron.serve.log import FILE, Log
from budgetron.serve.models import ANY, folders, restored
from budgetron.serve.rows import parse


def check(folder: Path, cut: bool = False) -> Iterator[tuple[str, str, bool]]:
    """For each model, sentences about it, and whether each is good news. ``cut`` removes a bad tail."""
    names = folders(folder)
    if not names:
        raise DataError(f"{folder}: holds no models.")
    for name in names:
        try:
            for sentence, good in _check_model(folder / name, cut):
                yield name, sentence, good
        except (DataError, ModelFileError) as error:
            yield name, str(error), False


def _check_model(folder: Path, cut: bool) -> Iterator[tuple[str, bool]]:
    said = settings.read(folder)
    for version in snapshot.versions(folder):
        try:
            snapshot.read(folder, version)
            yield f"snapshot of {version} rows: good.", True
        except ModelFileError as error:
            yield str(error), False
    if not (folder / FILE).exists():
        raise DataError(
            f"{folder}: has no {FILE}: rows since the last snapshot are lost. Restore a backup."
        )
    log = Log(folder)
    try:
        for sentence in log.problems():
            yield f"{FILE}: {sentence}.", False
        end, bad = _good_rows(log)
        if bad is not None:
            yield bad, False
            if cut:
                log.cut(end)
                yield f"the log is cut: it ends at row {end} now, and what came after is lost.", True
        begin = log.begin
        yield f"log of rows {begin} to {end - 1}: good." if begin is not None else "the log is empty.", True
        if bad is None or cut:
            state, _, replayed = restored(folder, said, log)
            yield f"the model loads: {state.version} rows, of which {replayed} are replayed.", True
    finally:
        log.close()


def _good_rows(log: Log) -> tuple[int, str | None]:
    """The row after the last good request, and what is wrong with the next."""
    begin = log.begin
    end = 0 if begin is None else begin
    try:
        for record in log.replay(end):
            rows = parse(record.media, record.body, ANY, labelled=True, label=record.label)
            if len(rows) != record.rows:
                return end, f"{log.path}: the request of row {end} has {len(rows)} rows, not {record.rows}."
            end = record.first + record.rows
    except Exception as error:  # whatever a damaged body leads to
        return end, str(error)
    return end, None
