"""Sets and intervals that cover: conformal prediction along a stream.

Every row has a misfit: one minus the probability of its label, or the distance of its target from the
prediction, in deviations if the learner has them. A set has all labels, an interval all targets, whose
misfit is at most a quantile of the last misfits; a set may be empty. Which quantile is learned as well
(Gibbs and Candes 2021): after a row that was not covered it is a little higher, after one that was covered
a little lower. So the coverage is right in the long run whatever the stream does, and soon after a drift.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable
from math import exp2
from typing import Any, Self

import numpy as np

from budgetron._util import check
from budgetron._util.text import shown
from budgetron.learners.learner import Floats

KEPT = 500
"""The last misfits that are kept."""
STEP = 0.3
"""How far a row moves the level of the quantile, as a part of the share that may be outside, or inside."""
FEWEST = 20
"""Before so many rows everything is covered."""


def checked_coverage(coverage: Any) -> float:
    """A coverage, checked."""
    if not check.finite(coverage) or not 0 < coverage < 1:
        raise ValueError(f"coverage must be a number between 0 and 1, such as 0.9, got {shown(coverage)}.")
    return float(coverage)


class Conformal:
    """The last misfits of a stream, and the level of their quantile.

    The misfits of a batch are added in the order of its rows, so batches do not matter. Whoever needs them
    together with the state of the model holds ``learning_lock`` of this object.
    """

    def __init__(
        self,
        coverage: float,
        misfits: Iterable[float] = (),
        level: float | None = None,
        covered: Iterable[bool] = (),
    ) -> None:
        self.coverage = coverage
        self.level = coverage if level is None else level
        self._step = STEP * min(coverage, 1 - coverage)
        self._last = deque(misfits, KEPT)
        self._sorted = sorted(self._last)
        self._covered = deque(covered, KEPT)
        self.limit = self._limit()

    def copy(self) -> Conformal:
        """The same, to go on separately."""
        return Conformal(self.coverage, self._last, self.level, self._covered)

    def of(self, coverage: float) -> Conformal:
        """The same misfits for another coverage."""
        return Conformal(coverage, self._last)

    def state(self) -> tuple[Floats, Floats]:
        """The level; and each of the last misfits with whether it was covered, -1 if not known."""
        covered = [-1.0] * (len(self._last) - len(self._covered)) + list(map(float, self._covered))
        return np.array([self.level]), np.array([list(self._last), covered]).T.reshape(-1, 2)

    @classmethod
    def restored(cls, coverage: float, level: Floats, rows: Floats) -> Self:
        """Continue from a state, which may be forged."""
        good = level.shape == (1,) and rows.ndim == 2 and rows.shape[1] == 2 and len(rows) <= KEPT
        if (
            not good
            or level.dtype != np.float64
            or rows.dtype != np.float64
            or not np.isfinite(level).all()
        ):
            raise ValueError("its misfits have the wrong form")
        if level[0] < -1 or not (rows[:, 0] >= 0).all() or not np.isin(rows[:, 1], (-1, 0, 1)).all():
            raise ValueError("its misfits have values that cannot be")
        covered = rows[rows[:, 1] >= 0, 1]
        return cls(coverage, rows[:, 0].tolist(), float(level[0]), (covered > 0).tolist())

    def _limit(self) -> float:
        """The largest misfit that is covered now. Kept, so that readers in other threads see one number.

        Above a level of 1 it is the largest of the last misfits, about doubled by each row not covered.
        """
        n = len(self._sorted)
        if n < FEWEST:
            return np.inf
        place = int(np.ceil(min(self.level, 1.0) * (n + 1))) - 1
        if place < n:
            return self._sorted[place] if place >= 0 else 0.0
        beyond = max(self.level - 1, 0.0) / self._step
        return self._sorted[-1] * exp2(min(beyond, 1000.0))

    def add(self, misfits: Floats) -> None:
        """Take note of the misfits of rows, in their order: infinite for a label that was not known."""
        for misfit in misfits.tolist():
            covered = misfit <= self.limit
            if len(self._last) >= FEWEST:
                if misfit > 0 or self.limit > 0:  # else no row is in doubt, and no level would cover fewer
                    self.level += self._step * (self.coverage - covered)
                self._covered.append(covered and misfit < np.inf)
            if len(self._last) == KEPT:
                del self._sorted[bisect_left(self._sorted, self._last[0])]
            self._last.append(misfit)
            insort(self._sorted, misfit)
            self.limit = self._limit()

    @property
    def share_covered(self) -> float | None:
        """The share of the last rows that were covered; None before there are any."""
        return float(np.mean(self._covered)) if self._covered else None
