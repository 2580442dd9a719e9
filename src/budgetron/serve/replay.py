"""The requests of a log, learned again: by a restart, by ``fsck`` and by replicas."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from budgetron._util.errors import DataError
from budgetron.evaluate.drift.watch import Alarm
from budgetron.evaluate.progressive import Estimator
from budgetron.serve import archive, changes, snapshot
from budgetron.serve.changes import BATCH, ReplayError, rows_of
from budgetron.serve.entries import CHANGE, LoggedRequest
from budgetron.serve.jobs import Published
from budgetron.serve.learning import learn_group
from budgetron.serve.limits import UNLIMITED
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally

report = logging.getLogger("budgetron.serve")


def learn_again(
    estimator: Estimator, batch: Sequence[Rows], tally: Tally, first: int
) -> tuple[Estimator, list[Alarm]]:
    """The model after these requests, of which none was refused when it was learned; and their alarms."""
    estimator, outcomes = learn_group(estimator, batch, UNLIMITED, tally.watched)
    alarms = list[Alarm]()
    for rows, outcome in zip(batch, outcomes, strict=True):
        if isinstance(outcome, Problem):
            raise ReplayError(f"a request after row {first} is refused now: {outcome.detail}")
        tally.add(outcome, estimator)
        alarms += tally.watch(rows, outcome, first)
        first += len(rows)
    return estimator, alarms


class Restored(NamedTuple):
    """A model as it was when it stopped: its metrics, the rows that were replayed, and their alarms."""

    published: Published
    tally: Tally
    replayed: int
    alarms: list[Alarm]


def restored(folder: Path, settings: Settings, log: Log) -> Restored:
    """The newest snapshot and the log after it: the model as it was when it stopped, bit for bit."""
    newest, damaged = snapshot.newest(folder, folder / archive.FOLDER)
    for why in damaged:
        report.warning("a snapshot is damaged, an older one is used: %s", why)
    estimator, version, chain = settings.estimator(), 0, log.state.id
    if newest is not None:
        if type(newest.estimator) is not type(estimator):
            raise DataError(f"{folder}: the snapshot is of another task than model.json says.")
        estimator, version, chain = newest.estimator, newest.version, newest.chain
    tally = Tally(estimator)
    if newest is not None and newest.tally:  # none if the service began with a model file
        tally.restore(newest.tally)
    _refuse_gap(folder, log, version)
    before, alarms = version, list[Alarm]()
    try:
        for batch in _batches(log, version, chain):
            if batch[0].media == CHANGE:
                change = changes.change_of(batch[0])
                estimator, tally, *_ = changes.changed(folder, settings, log, change, version)
            else:
                estimator, more = learn_again(estimator, list(map(rows_of, batch)), tally, version)
                alarms += more
            version = batch[-1].end
    except ReplayError as error:
        raise DataError(f"{log.path}: {error}") from None
    return Restored(Published(estimator, version), tally, version - before, alarms)


def _refuse_gap(folder: Path, log: Log, version: int) -> None:
    """Refuse a log that does not continue a snapshot."""
    begin, end = log.begin, log.state.end
    if version > end:
        raise DataError(f"{folder}: the log ends at row {end}, before the snapshot of {version} rows.")
    if begin is not None and begin > version:
        raise DataError(
            f"{folder}: the log begins at row {begin}, and no snapshot of {begin} or more rows can be read:"
            " restore a backup."
        )


def _batches(log: Log, after: int, chain: bytes) -> Iterator[list[LoggedRequest]]:
    """The requests of the log, some thousand rows at a time; a change of the model is alone."""
    batch, rows = list[LoggedRequest](), 0
    for request in log.replay(after, chain):
        alone = request.media == CHANGE
        if batch and (alone or rows >= BATCH):
            yield batch
            batch, rows = [], 0
        if alone:
            yield [request]
            continue
        batch.append(request)
        rows += request.rows
    if batch:
        yield batch
