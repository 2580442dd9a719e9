"""The requests of a log, learned again: by a restart, by ``fsck`` and by replicas."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from budgetron._util.errors import DataError
from budgetron.evaluate.drift.watch import Alarm
from budgetron.serve import archive, changes, snapshot
from budgetron.serve.changes import BATCH, ReplayError, rows_of
from budgetron.serve.entries import CHANGE, LoggedRequest
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows
from budgetron.serve.settings import Settings
from budgetron.serve.team import Member, Team

report = logging.getLogger("budgetron.serve")


Alarms = list[tuple[str, Alarm]]
"""Alarms, with the names of challengers."""


def learn_again(team: Team, batch: Sequence[Rows], first: int) -> Alarms:
    """Learn requests of which none was refused when it was learned; returns the alarms."""
    outcomes, alarms = team.learn(batch, first)
    for outcome in outcomes:
        if isinstance(outcome, Problem):
            raise ReplayError(f"a request after row {first} is refused now: {outcome.detail}")
    return alarms


class Restored(NamedTuple):
    """Models as they were, the number of rows that they have learned, those of the log, and alarms."""

    team: Team
    version: int
    replayed: int
    alarms: Alarms


def restored(folder: Path, settings: Settings, log: Log) -> Restored:
    """The newest snapshot and the log after it: the models as they were when they stopped, bit for bit."""
    newest, damaged = snapshot.newest(folder, folder / archive.FOLDER)
    for why in damaged:
        report.warning("a snapshot is damaged, an older one is used: %s", why)
    team, version, chain = Team(Member.new(settings, 0)), 0, log.state.id
    if newest is not None:
        if type(newest.estimator) is not type(team.own.estimator):
            raise DataError(f"{folder}: the snapshot is of another task than model.json says.")
        team, version, chain = newest.team(settings), newest.version, newest.chain
    _refuse_gap(folder, log, version)
    before, alarms = version, Alarms()
    try:
        for batch in _batches(log, version, chain):
            if batch[0].media == CHANGE:
                change = changes.change_of(batch[0])
                team = changes.changed(folder, team, log, change, version).team
            else:
                alarms += learn_again(team, list(map(rows_of, batch)), version)
            version = batch[-1].end
    except ReplayError as error:
        raise DataError(f"{log.path}: {error}") from None
    return Restored(team, version, version - before, alarms)


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
