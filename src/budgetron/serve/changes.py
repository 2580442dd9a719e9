"""Roll-backs, resets and challengers: entries of the log, so that it says which models there were when.

A change takes one number, as a row does: so every version is one model, before the change and after it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from budgetron._util.errors import DataError
from budgetron.evaluate.progressive import Learned
from budgetron.serve import archive, snapshot
from budgetron.serve.entries import CHANGE, LoggedRequest
from budgetron.serve.limits import UNLIMITED
from budgetron.serve.log import Log
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows, parse
from budgetron.serve.settings import settings_of
from budgetron.serve.team import Member, Team, look

BATCH = 5000  # rows that are learned together
Range = tuple[int, int]
"""Numbers of rows: the first, and the one after the last."""


class ReplayError(DataError):
    """A request of a log cannot be learned as it was."""


class Change(Struct):
    """The models begin again as they were after row ``to``, and may learn the rows since then.

    Or a challenger is added, which has learned nothing and may learn the rows since ``to``; or it gets
    another name, or is removed.
    """

    what: str  # "roll back", "reset", "add challenger", "rename challenger" or "remove challenger"
    to: int = 0  # 0: a model that has learned nothing
    replay: bool = False
    left_out: list[Range] = []  # rows that are not replayed
    name: str | UnsetType = UNSET  # of a challenger
    settings: dict[str, Any] | UnsetType = UNSET  # of one that is added
    new_name: str | UnsetType = UNSET

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
        begin, until = self.begin, self.until
        if isinstance(begin, datetime) and isinstance(until, datetime) and begin <= until:
            return log.written(begin.timestamp(), until.timestamp())
        if isinstance(begin, int) and isinstance(until, int) and 0 <= begin <= until:
            return [(begin, until)]
        what = "two times, or two numbers of rows from 0, the later one last"
        raise Problem("malformed", f"leave_out: from and until must be {what}.")


class Changed(NamedTuple):
    """What a change leaves: the models, and how many rows were replayed."""

    team: Team
    replayed: int = 0
    refused: int = 0  # rows that the model of the folder, or the challenger that is added, does not take


def change_of(request: LoggedRequest) -> Change:
    """The change that an entry of the log is."""
    return msgspec.json.decode(request.body, type=Change)


def rows_of(request: LoggedRequest) -> Rows:
    """The rows of a request. A `Problem` if it cannot be read, a ReplayError if it has other rows."""
    rows = parse(request.media, request.body, UNLIMITED, labelled=True, label=request.label)
    if len(rows) != request.rows:
        raise ReplayError(f"the request of row {request.first} has {len(rows)} rows, not {request.rows}.")
    return rows


def changed(folder: Path, team: Team, log: Log, change: Change, until: int) -> Changed:
    """Make a change again: from the snapshot that it names, and the rows of the log since then.

    ``until`` is the number of the change. The members of ``team`` are not changed.
    """
    team = replace(team)
    name = "" if change.name is UNSET else change.name
    if change.what == "remove challenger":
        team.remove(name)
    elif change.what == "rename challenger":
        assert change.new_name is not UNSET
        team.rename(name, change.new_name)
    elif change.what == "add challenger":
        assert change.settings is not UNSET
        new = Member.new(settings_of(change.settings), until + 1)
        counts = _replayed([new], log, change, None, until, own=False)
        team.add(name, new)
        return Changed(team, *counts)
    else:
        kept = None if change.to == 0 else snapshot.read(folder / archive.FOLDER, change.to)
        then = Team(Member.new(team.own.settings, 0)) if kept is None else kept.team(team.own.settings)
        team.own, there = then.own, {each.born: each for each in then.challengers.values()}
        team.challengers = {
            name: there.get(each.born) or Member.new(each.settings, each.born)
            for name, each in team.challengers.items()
        }
        team.anew(until + 1)
        members = [team.own, *team.challengers.values()]
        for each in members:
            each.tally.leave(change.to, until)
        chain = log.state.id if kept is None else kept.chain
        return Changed(team, *_replayed(members, log, change, chain, until))
    return Changed(team)


def _replayed(
    members: Sequence[Member],
    log: Log,
    change: Change,
    chain: bytes | None,
    until: int,
    own: bool = True,
) -> tuple[int, int]:
    """Let models learn the rows of a change; how many the first one learned and refused.

    ``own`` says whether that is the model of the folder. Alarms were told when the rows came.
    """
    replayed = refused = 0
    requests = _until(log, change.to, chain, until) if change.replay else iter(())
    for batch in _batches(requests, change.left_out):
        for member in members:
            outcomes = member.learn(batch)
            look(member.tally, batch, outcomes, 0, own and member is members[0])
            if member is members[0]:
                rows = [len(each) for each in batch]
                good = [isinstance(each, Learned) for each in outcomes]
                replayed += sum(n for n, taken in zip(rows, good, strict=True) if taken)
                refused += sum(n for n, taken in zip(rows, good, strict=True) if not taken)
    return replayed, refused


def _until(log: Log, after: int, chain: bytes | None, until: int) -> Iterator[LoggedRequest]:
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
