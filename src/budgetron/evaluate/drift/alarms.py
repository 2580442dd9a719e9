"""What is said of a change, and when the same thing is not told again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

UNSEEN, MISSING = 6, 7
"""The cells of a column that are no values."""
OUTER = [0, 1, 4, 5]
"""The ranges of numbers in the outer thirds."""
SMALLEST = 0.05
"""The share of rows with another label or prediction that is told: models change a little all the time."""
SHORTEST, LONGEST = 1000, 2**17
"""Rows for which a changed thing is not told again."""
Key = tuple[str, int]


class Silence:
    """Not every change of what changes all the time is told.

    After an alarm a thing is silent for 1,000 rows, and for twice as many each time that it changes again
    before 16 times as many have passed.
    """

    def __init__(self) -> None:
        self._told: dict[Key, tuple[int, int]] = {}  # the row of the last alarm, and how long it is silent

    def may_tell(self, key: Key, row: int) -> bool:
        """Whether a change at a row is told; if so, the silence begins."""
        last, rows = self._told.get(key, (-LONGEST * 16, SHORTEST // 2))
        if row - last < rows:
            return False
        again = row - last < 16 * rows
        self._told[key] = row, min(2 * rows, LONGEST) if again else SHORTEST
        return True

    def state(self) -> list[list[Any]]:
        """As plain data."""
        return [[of, column, row, rows] for (of, column), (row, rows) in self._told.items()]

    def restore(self, state: Sequence[Sequence[Any]]) -> None:
        """Continue from a state."""
        self._told = {(of, column): (row, rows) for of, column, row, rows in state}


def as_error(change: Any) -> dict[str, Any] | None:
    """The rate of mistakes before and after a change; None if it fell."""
    before, now = (_share(counts, 1) for counts in (change.before, change.after))
    return None if now <= before else _said(before, now, change)


def as_share(change: Any, labels: Sequence[Any]) -> dict[str, Any] | None:
    """The label whose share changed most; None if all of them together changed little."""
    before, after = _shares(change)
    if np.abs(after - before).sum() / 2 < SMALLEST:
        return None
    code = int(np.argmax(np.abs(after - before)))
    label = labels[code] if code < len(labels) else "all others"
    return {"label": label} | _said(before[code], after[code], change)


def as_column(name: str, change: Any) -> dict[str, Any] | None:
    """What changed of a column: the share of missing or unseen values, the level, the spread, or texts.

    For a level ``before`` and ``now`` are shares of the values that are ``above`` a number, for a spread
    those of the values in the outer thirds, and for texts that of the text whose share changed most. None
    if fewer values are new than before.
    """
    before, after = _shares(change)
    was, now = (shares[:UNSEEN] / max(shares[:UNSEEN].sum(), 1e-9) for shares in (before, after))
    moved = {
        "missing": _moved(before[MISSING], after[MISSING]),
        "unseen": _moved(before[UNSEEN], after[UNSEEN]),
        "values": _distance(was, now),
    }
    what = max(moved, key=lambda each: moved[each])
    if what != "values":
        cell = MISSING if what == "missing" else UNSEEN
        fewer = what == "unseen" and after[cell] < before[cell]
        return None if fewer else {"column": name, "what": what} | _said(before[cell], after[cell], change)
    if change.texts:
        cell = int(np.argmax(np.abs(now - was)))
        return {"column": name, "what": "texts"} | _said(was[cell], now[cell], change)
    level, spread = ((was[cells].sum(), now[cells].sum()) for cells in (slice(change.above, None), OUTER))
    if _moved(*spread) > _moved(*level):
        return {"column": name, "what": "spread"} | _said(*spread, change)
    return {"column": name, "what": "level", "above": change.middle} | _said(*level, change)


def as_risen(change: Any) -> dict[str, Any] | None:
    """The share of large errors before and after a change; None if they became smaller."""
    was, now = _shares(change)
    ranges = np.arange(len(was))
    if ranges @ now <= ranges @ was:
        return None
    large = slice(change.above, None)
    return {"above": change.middle} | _said(was[large].sum(), now[large].sum(), change)


def _distance(was: npt.NDArray[Any], now: npt.NDArray[Any]) -> float:
    """How far apart two distributions are."""
    return float(((now - was) ** 2 / np.maximum(was + now, 1e-9)).sum())


def _moved(was: float, now: float) -> float:
    """The same for one share, and that of all others."""
    return _distance(np.array([was, 1 - was]), np.array([now, 1 - now]))


def _said(before: float, now: float, change: Any) -> dict[str, Any]:
    return {"before": round(float(before), 4), "now": round(float(now), 4), "rows": sum(change.after)}


def _shares(change: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    before, after = (np.asarray(counts, float) for counts in (change.before, change.after))
    return before / before.sum(), after / after.sum()


def _share(counts: Sequence[int], cell: int) -> float:
    return counts[cell] / sum(counts)
