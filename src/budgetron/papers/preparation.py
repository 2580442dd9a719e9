"""The rows of a table's data sets, as its paper prepares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.preprocessing import minmax_scale, scale

from budgetron import datasets
from budgetron._rows import Matrix
from budgetron.datasets.loading import synthetic
from budgetron.papers.printed import Source, Table

Rows = tuple[Matrix, npt.NDArray[Any]]
DENSE = 0.3
"""Where more than this share of the numbers is not zero, rows are held dense."""
HALVES = 12345
"""The seed of a cut in two halves."""


@dataclass(frozen=True)
class Prepared:
    """All rows of a data set of a table, prepared; orders and splits are drawn from them."""

    table: Table
    source: Source
    training: tuple[Rows, ...]
    testing: Rows | None = None
    tuning: Rows | None = None

    @property
    def n(self) -> int:
        """How many rows a pass has."""
        return self.source.train or len(self.training[0][1])

    def online(self, permutation: int) -> Rows:
        """The stream of a permutation."""
        X, y = self.training[permutation % self.table.draws]
        order = np.random.default_rng(permutation // self.table.draws).permutation(len(y))
        return X[order], y[order]

    def batch(self, permutation: int) -> tuple[Rows, Rows]:
        """Training rows in a random order, and test rows."""
        X, y = self.online(permutation)
        if self.testing is not None:
            return (X, y), self.testing
        n = self.source.train or len(y) * 4 // 5
        end = n + self.source.test if self.source.test else len(y)
        return (X[:n], y[:n]), (X[n:end], y[n:end])


def prepared(table: Table, source: Source) -> Prepared:
    """The rows of a data set, loaded; `DataError` where there is no file of it."""
    if source.here == "synthetic":
        draws = tuple(_dense(synthetic(seed=seed)) for seed in range(table.draws))
        return Prepared(table, source, draws)
    prepare = PREPARATIONS[source.prepare]
    parts = datasets.describe(source.here).rows
    if table.protocol == "batch" and source.train is None and {"train", "test"} <= set(parts):
        training, testing = (datasets.load(source.here, part) for part in ("train", "test"))
        X, y = training
        training = X[: source.first], y[: source.first]
        return Prepared(table, source, (_dense(prepare(*training)),), _dense(prepare(*testing)))
    rows = _dense(prepare(*datasets.load(source.here, source.part)))
    if source.half:
        tuning, stream = _halves(*rows)
        return Prepared(table, source, (stream,), tuning=tuning)
    return Prepared(table, source, (rows,))


def _halves(X: Matrix, y: Any) -> tuple[Rows, Rows]:
    order = np.random.default_rng(HALVES).permutation(len(y))
    first, second = order[: len(y) // 2], order[len(y) // 2 :]
    return (X[first], y[first]), (X[second], y[second])


def _raw(X: Matrix, y: Any) -> Rows:
    return X, y


def _columns(low: float, high: float) -> Callable[[Matrix, Any], Rows]:
    def to_range(X: Matrix, y: Any) -> Rows:
        return minmax_scale(_array(X), (low, high)), y

    return to_range


def _columns_and_target(X: Matrix, y: Any) -> Rows:
    return minmax_scale(_array(X)), minmax_scale(y)


def _standardised_target(X: Matrix, y: Any) -> Rows:
    return minmax_scale(_array(X), (-1, 1)), scale(y)


def _pixels(X: Matrix, y: Any) -> Rows:
    return X / 255, y


PREPARATIONS: dict[str, Callable[[Matrix, Any], Rows]] = {
    "raw": _raw,
    "pixels / 255": _pixels,
    "columns to [0, 1]": _columns(0, 1),
    "columns to [-1, 1]": _columns(-1, 1),
    "columns and target to [0, 1]": _columns_and_target,
    "columns to [-1, 1], target standardised": _standardised_target,
}
"""What is done to rows, by what the tables' files call it."""


def _array(X: Matrix) -> npt.NDArray[Any]:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _dense(rows: Rows) -> Rows:
    """The same rows, as an array where most numbers are not zero."""
    X, y = rows
    if sparse.issparse(X) and X.nnz > DENSE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return X, y
