"""Roll-backs and resets: entries of the log, so that its history says which model there was at each row.

A change takes one number, as a row does: so every version is one model, before the change and after it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct

from budgetron._util.errors import DataError
from budgetron.evaluate.progressive import Estimator
from budgetron.serve import archive, snapshot
from budgetron.serve.entries import CHANGE, LoggedRequest
from budgetron.serve.learning import learn_group
from budgetron.serve.limits import UNLIMITED
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows, parse
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally

BATCH = 5000  # rows that are learned together
Range = tuple[int, int]
"""Numbers of rows: the first, and the one after the last."""


class ReplayError(DataError):
    """A request of a log cannot be learned as it was."""


class Change(Struct):
    """The model begins again as it was after row ``to``, and may learn the rows since then."""

    what: str  # "roll back" or "reset"
    to: int = 0  # 0: a model that has learned nothing
    replay: bool = False
    left_out: list[Range] = []  # rows that are not replayed

    @property
    def body(self) -> bytes:
        """Its bytes in the log."""
        return msgspec.json.encode(self)


class LeftOut(Struct, forbid_unknown_fields=True, rename={"begin": "from"}):
    """Rows that are not replayed: those between two times, or by their numbers."""

    begin: int | Annotated[datetime, Meta(tz=True)]
    until: int | Annotated[datetime, Meta(tz=True)]

    def ranges(self, log: Log) -> list[Range]:
        """Their numbers. Rows of one request were written at one time."""
        if isinstance(self.begin, datetime) and isinstance(self.until, datetime):
            return log.written(self.begin.timestamp(), self.until.timestamp())
        if isinstance(self.begin, datetime) or isinstance(self.until, datetime):
            raise Problem(
                "malformed", "leave_out: from and until must be two times, or two numbers of rows."
            )
        return [(self.begin, self.until)]


class Changed(NamedTuple):
    """What a change leaves: the model, its metrics, and how many rows were replayed."""

    estimator: Estimator
    tally: Tally
    replayed: int
    refused: int  # rows that this model does not take


def change_of(request: LoggedRequest) -> Change:
    """The change that an entry of the log is."""
    return msgspec.json.decode(request.body, type=Change)


def rows_of(request: LoggedRequest) -> Rows:
    """The rows of a request. A `Problem` if it cannot be read, a ReplayError if it has other rows."""
    rows = parse(request.media, request.body, UNLIMITED, labelled=True, label=request.label)
    if len(rows) != request.rows:
        raise ReplayError(f"the request of row {request.first} has {len(rows)} rows, not {request.rows}.")
    return rows


def changed(folder: Path, settings: Settings, log: Log, change: Change, until: int) -> Changed:
    """Make a change again: from the snapshot that it names, and the rows of the log since then."""
    estimator, chain, metrics = settings.estimator(), log.state.id, None
    if change.to:
        kept = snapshot.read(folder / archive.FOLDER, change.to)
        estimator, chain, metrics = kept.estimator, kept.chain, kept.tally
    tally = Tally(estimator)
    if metrics:
        tally.restore(metrics)
    replayed = refused = 0
    if change.replay:
        for batch in _batches(_until(log, change.to, chain, until), change.left_out):
            estimator, outcomes = learn_group(estimator, batch, UNLIMITED, tally.watched)
            for rows, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, Problem):
                    refused += len(rows)
                else:
                    replayed += len(rows)
                    tally.add(outcome, estimator)
                    tally.watch(rows, outcome, 0)  # alarms that were told when the rows came
    return Changed(estimator, tally, replayed, refused)


def _until(log: Log, after: int, chain: bytes, until: int) -> Iterator[LoggedRequest]:
    """The requests of clients from one row to another: those of all branches, in their order."""
    for request in log.replay(after, chain):
        if request.first >= until:
            return
        if request.media != CHANGE:
            yield request


def _batches(requests: Iterator[LoggedRequest], left_out: Sequence[Range]) -> Iterator[list[Rows]]:
    """The rows that are not left out, some thousand at a time."""
    batch, size = list[Rows](), 0
    for request in requests:
        rows = _without(request, left_out)
        if rows is None:
            continue
        batch.append(rows)
        size += len(rows)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _without(request: LoggedRequest, left_out: Sequence[Range]) -> Rows | None:
    """The rows of a request that are not left out; None if there are none."""
    overlapping = [each for each in left_out if each[0] < request.end and request.first < each[1]]
    if any(begin <= request.first and request.end <= end for begin, end in overlapping):
        return None
    rows = rows_of(request)
    stay = np.ones(len(rows), dtype=bool)
    for begin, end in overlapping:
        stay[max(begin - request.first, 0) : max(end - request.first, 0)] = False
    places = np.flatnonzero(stay)
    if len(places) in (0, len(rows)):
        return rows if len(places) else None
    assert rows.y is not None
    X = [rows.X[i] for i in places] if isinstance(rows.X, list) else rows.X[places]
    return Rows(X, [rows.y[i] for i in places])
