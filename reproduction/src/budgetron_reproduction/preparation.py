"""The rows of a table's data sets, as its paper prepares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from budgetron import datasets
from budgetron_reproduction.printed import Source, Table

Matrix = Any
"""A dense array or a CSR matrix."""
Rows = tuple[Matrix, npt.NDArray[Any]]
DENSE = 0.3
"""Where more than this share of the numbers is not zero, rows are held dense."""
CUT = 12345
"""The seed of a cut in two: training and test rows, or rows for the search and for the stream."""


@dataclass(frozen=True)
class Prepared:
    """All rows of a data set of a table, prepared; orders are drawn from them.

    ``training`` has several draws of the rows where they are made up; ``testing`` is there in batch tables,
    ``tuning`` where a part of the rows is for the search alone.
    """

    table: Table
    source: Source
    training: tuple[Rows, ...]
    testing: Rows | None = None
    tuning: Rows | None = None

    @property
    def n(self) -> int:
        """How many rows a pass has."""
        return len(self.training[0][1])

    @property
    def labels(self) -> dict[str, Any]:
        """What tells these rows from others, for those who keep what they gave."""
        what = {name: value for name, value in asdict(self.source).items() if value is not None}
        return {**what, "draws": self.table.draws}

    def order(self, permutation: int) -> Rows:
        """The training rows, or the stream, in a random order."""
        X, y = self.training[permutation % self.table.draws]
        order = np.random.default_rng(permutation // self.table.draws).permutation(len(y))
        return X[order], y[order]


@dataclass(frozen=True)
class Preparation:
    """What is done to columns and to the target: scalers, which are fitted to the training rows."""

    columns: Callable[[], Any] | None = None
    target: Callable[[], Any] | None = None

    def __call__(self, training: Rows, *others: Rows) -> list[Rows]:
        """The training rows and others, prepared alike."""
        X, y = training
        columns = self.columns().fit(_array(X)) if self.columns else None
        target = self.target().fit(y[:, None]) if self.target else None
        return [_dense(_scaled(rows, columns, target)) for rows in (training, *others)]


def _by_255(X: Any) -> Any:
    return X / 255


PREPARATIONS = {
    "raw": Preparation(),
    "pixels / 255": Preparation(partial(FunctionTransformer, _by_255)),
    "columns to [0, 1]": Preparation(MinMaxScaler),
    "columns to [-1, 1]": Preparation(partial(MinMaxScaler, (-1, 1))),
    "columns and target to [0, 1]": Preparation(MinMaxScaler, MinMaxScaler),
    "columns to [-1, 1], target standardised": Preparation(partial(MinMaxScaler, (-1, 1)), StandardScaler),
}
"""What is done to rows, by what the tables' files call it."""


def prepared(table: Table, source: Source) -> Prepared:
    """The rows of a data set, loaded; `DataError` where there is no file of it."""
    prepare = PREPARATIONS[source.prepare]
    if source.here == "synthetic":
        draws = (prepare(datasets.synthetic(seed=seed))[0] for seed in range(table.draws))
        return Prepared(table, source, tuple(draws))
    if table.protocol == "batch":
        training, testing = prepare(*_parts(source))
        return Prepared(table, source, (training,), testing)
    [rows] = prepare(datasets.load(source.here, source.part))
    if source.half:
        tuning, stream = _cut(rows, len(rows[1]) // 2)
        return Prepared(table, source, (stream,), tuning=tuning)
    return Prepared(table, source, (rows,))


def _parts(source: Source) -> tuple[Rows, Rows]:
    """Training and test rows: the parts of the data set, or one cut of its rows for all orders."""
    if source.train is not None:
        training, (X, y) = _cut(datasets.load(source.here, source.part), source.train)
        return training, (X[: source.test], y[: source.test])
    X, y = datasets.load(source.here, "train")
    return (X[: source.first], y[: source.first]), datasets.load(source.here, "test")


def _cut(rows: Rows, n: int) -> tuple[Rows, Rows]:
    """So many random rows, and the others."""
    X, y = rows
    order = np.random.default_rng(CUT).permutation(len(y))
    return (X[order[:n]], y[order[:n]]), (X[order[n:]], y[order[n:]])


def _scaled(rows: Rows, columns: Any, target: Any) -> Rows:
    X, y = rows
    if columns is not None:
        X = columns.transform(_array(X))
    return X, target.transform(y[:, None])[:, 0] if target is not None else y


def _array(X: Matrix) -> npt.NDArray[Any]:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _dense(rows: Rows) -> Rows:
    """The same rows, sparse where few of their numbers are not zero, else an array."""
    X, y = rows
    filled = X.nnz if sparse.issparse(X) else np.count_nonzero(X)
    if filled > DENSE * X.shape[0] * X.shape[1]:
        return _array(X), y
    return sparse.csr_matrix(X), y
