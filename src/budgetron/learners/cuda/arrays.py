"""Where the array code runs: NumPy here; a card is a subclass, with kernels for the walks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from budgetron.learners.cuda import walks

ROWS, WALK = 256, 64
"""Rows of a block, and how many of them a filter walks over at once."""
SUPER = 4096
"""The most rows of one run on the card; the next are prepared meanwhile."""


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
        """Labels or targets and weights of rows; weights may be None."""
        return self.array(y, np.float64), None if weights is None else self.array(weights, np.float64)

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

    def product(self, A: Any, B: Any, out: Any) -> None:
        """A B, into an array that exists."""
        self.xp.matmul(A, B, out=out)

    def subtract_gram(self, P: Any, U: Any) -> None:
        """P -= U'U."""
        P -= U.T @ U

    def prepare(self, filters: Sequence[Any], rules: Sequence[Any]) -> None:
        """What the walks need to know of these experts."""
        self._filters, self._rules = filters, rules

    def walk_filters(self, y: Any, weights: Any, first: int, begin: int, rows: int) -> None:
        """Walk with all filters over columns ``begin`` .. of a block, whose first row is ``first``."""
        at = first + begin
        for each in self._filters:
            view = each.columns(begin, at, rows)
            walks.walk_filter(view, *_cut(y, weights, at, rows), at)

    def walk_rules(self, y: Any, weights: Any, first: int, rows: int) -> None:
        """The same with all learners that step along z."""
        for each in self._rules:
            walks.walk_rule(each.rule, each.at(first, rows), *_cut(y, weights, first, rows), first)

    def finish(self) -> None:
        """Wait for what was begun."""


def _cut(y: Any, weights: Any, first: int, rows: int) -> tuple[Any, Any]:
    return y[first : first + rows], None if weights is None else weights[first : first + rows]
