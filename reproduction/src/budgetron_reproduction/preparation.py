"""The rows of a table's data sets, loaded and prepared as in the paper."""

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
"""Rows are stored as a dense array if more than this share of their values is nonzero."""
CUT = 12345
"""The seed of random splits: into training and test rows, or into search rows and stream."""


@dataclass(frozen=True)
class Prepared:
    """The prepared rows of a data set of a table.

    ``training`` has one entry, or one for each draw of made-up data. ``testing`` is set in batch tables.
    ``tuning`` is set if some rows are for the search only.
    """

    table: Table
    source: Source
    training: tuple[Rows, ...]
    testing: Rows | None = None
    tuning: Rows | None = None

    @property
    def n(self) -> int:
        """The number of rows of a pass."""
        return len(self.training[0][1])

    @property
    def labels(self) -> dict[str, Any]:
        """What identifies these rows, for the labels of saved runs."""
        what = {name: value for name, value in asdict(self.source).items() if value is not None}
        return {**what, "draws": self.table.draws}

    def order(self, permutation: int) -> Rows:
        """The training rows in a random order; the permutation's number is the seed."""
        X, y = self.training[permutation % self.table.draws]
        order = np.random.default_rng(permutation // self.table.draws).permutation(len(y))
        return X[order], y[order]


@dataclass(frozen=True)
class Preparation:
    """Scalers of the columns and of the target, fitted to the training rows."""

    columns: Callable[[], Any] | None = None
    target: Callable[[], Any] | None = None

    def __call__(self, training: Rows, *others: Rows) -> list[Rows]:
        """Prepare the training rows, and other rows with the same scales."""
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
"""The preparations by their names in the tables' files."""


def prepared(table: Table, source: Source) -> Prepared:
    """Load and prepare the rows of a data set; `DataError` if its file is missing."""
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
    """Training and test rows: the parts of the data set, or one random split for all orders."""
    if source.train is not None:
        training, (X, y) = _cut(datasets.load(source.here, source.part), source.train)
        return training, (X[: source.test], y[: source.test])
    X, y = datasets.load(source.here, "train")
    return (X[: source.first], y[: source.first]), datasets.load(source.here, "test")


def _cut(rows: Rows, n: int) -> tuple[Rows, Rows]:
    """Split off n random rows; they, and the others."""
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
    """The same rows as a dense array or a CSR matrix, depending on how many values are nonzero."""
    X, y = rows
    filled = X.nnz if sparse.issparse(X) else np.count_nonzero(X)
    if filled > DENSE * X.shape[0] * X.shape[1]:
        return _array(X), y
    return sparse.csr_matrix(X), y
