"""Where the array code runs: NumPy here; a card is a subclass, with kernels for the walks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from budgetron.learners.cuda import walks

ROWS, WALK = 256, 64
"""Rows of a block, and how many of them a filter walks over at once."""
SUPER = 4096
"""The most rows of one run on the card; the next are prepared meanwhile."""
MOST_OUTPUTS = 256
"""Scores of a row, on the card."""


class Limits(NamedTuple):
    """What a type of numbers can bear: see cpp/linalg/posterior.hpp and cpp/linalg/limits.hpp."""

    input: float  # larger rows, labels and weights are learned by the native twin
    largest: float  # of scores and steps; beyond it a row is refused
    largest_square: float
    least: float  # S is at least this, times the share of the diagonal
    most: float  # what one row may tell: precision times S
    told: float  # what makes a repair necessary
    repair: float  # the factor of the diagonal


LIMITS = {
    "float64": Limits(1e60, 1e150, 1e250, 2.0**-49, 2.0**40, 1e6, 1 + 2.0**-48),
    "float32": Limits(1e15, 1e30, 1e36, 2.0**-20, 2.0**12, 1e4, 1 + 2.0**-19),
}


class Arrays:
    """NumPy's arrays, for tests and as the definition. ``real`` is the type of numbers."""

    xp: Any = np

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.real = np.dtype(dtype)
        self.limits = LIMITS[self.real.name]

    def array(self, values: Any, dtype: npt.DTypeLike | None = None) -> Any:
        """A new array on the card."""
        return np.array(values, dtype=self.real if dtype is None else dtype)

    def host(self, values: Any) -> npt.NDArray[Any]:
        """The same numbers in memory."""
        return np.array(values)

    def taken(self, X: Any, as_they_are: bool = False) -> Any:
        """Rows that are on the card already, without a copy."""
        rows = np.asarray(X)
        return rows if as_they_are else rows.astype(self.real, copy=False)

    def labels(self, y: Any, weights: Any) -> tuple[Any, Any]:
        """Labels or targets and weights of rows."""
        weights = np.ones(len(y)) if weights is None else weights
        return self.array(y, np.float64), self.array(weights, np.float64)

    def zeros(self, *shape: int, dtype: npt.DTypeLike | None = None) -> Any:
        return self.xp.zeros(shape, dtype=self.real if dtype is None else dtype)

    def use(self) -> AbstractContextManager[None]:
        """In it, work is done on the card."""
        return nullcontext()

    @property
    def most_features(self) -> float:
        """Of a filter."""
        return np.inf

    @property
    def free_bytes(self) -> float:
        """The memory that new arrays may take."""
        return np.inf

    def turn(self, angles: Any, scale: float, sines: Any, cosines: Any) -> None:
        """Sines and cosines times a scale."""
        np.multiply(np.sin(angles), scale, out=sines)
        np.multiply(np.cos(angles), scale, out=cosines)

    def add_product(
        self,
        C: Any,
        A: Any,
        B: Any,
        of_A: str = "N",
        of_B: str = "N",
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """C = beta C + alpha A B, with "T" of the transposed matrix."""
        C *= beta
        C += alpha * ((A.T if of_A == "T" else A) @ (B.T if of_B == "T" else B))

    def times(self, A: Any, B: Any, of_A: str = "N", of_B: str = "N") -> Any:
        """A B, as a new array."""
        C = self.zeros(A.shape[of_A == "T"], B.shape[of_B == "N"])
        self.add_product(C, A, B, of_A, of_B)
        return C

    def repair(self, diagonal: Any, most: float, counts: Any) -> None:
        """The diagonal of P, at most ``most``, a little larger for each of ``counts[1]`` repairs."""
        for _ in range(int(counts[1])):
            diagonal *= self.limits.repair
        np.clip(diagonal, 0, most, out=diagonal)

    def prepare(self, filters: Sequence[Any], rules: Sequence[Any]) -> None:
        """What the walks need to know of these experts."""
        self._filters, self._rules = filters, rules

    def block(self, program: Any, rows: int) -> None:
        """Learn a block of rows."""
        program.block(rows)

    def side_by_side(self, works: Sequence[Callable[[], None]]) -> None:
        """Do what does not depend on each other; a card does it at the same time."""
        for work in works:
            work()

    def walk_filters(
        self, y: Any, weights: Any, first_row: Any, begin: int, rows: int, plain: bool
    ) -> None:
        """Walk with the filters over columns ``begin`` .. of the block that begins at a row of the run."""
        at, walk = int(first_row[0]) + begin, walks.walk_plain if plain else walks.walk_filter
        for each in self._filters:
            if each.plain == plain:
                walk(each.columns(begin, at, rows), *_cut(y, weights, at, rows), at)

    def walk_rules(self, y: Any, weights: Any, first_row: Any, rows: int) -> None:
        """The same with all learners that step along z."""
        first = int(first_row[0])
        for each in self._rules:
            walks.walk_rule(each.rule, each.at(first, rows), *_cut(y, weights, first, rows), first)

    def finish(self) -> None:
        """Wait for what was begun."""


def _cut(y: Any, weights: Any, first: int, rows: int) -> tuple[Any, Any]:
    return y[first : first + rows], weights[first : first + rows]
