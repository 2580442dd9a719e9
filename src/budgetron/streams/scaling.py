"""Transforms that scale columns, with statistics of the rows seen so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from budgetron import _core
from budgetron._util import check
from budgetron._util.errors import DataError
from budgetron._util.rows import Matrix, canonical, whole
from budgetron.records.table import Table
from budgetron.streams.stream import Block, Transform


class Scaling(Transform):
    """Scales each row with statistics of the rows before it. A column that was constant so far becomes 0.

    Dense and sparse rows are scaled differently, so one transform cannot take both.
    """

    _dense: ClassVar[Any]
    _sparse: ClassVar[Any]
    _missing: ClassVar[bool] = False  # whether NaN is a missing value

    def __init__(self) -> None:
        self._native: Any = None

    def learn_transform(self, block: Block) -> Block:
        """Scale each row with the statistics of the rows before it, then update the statistics."""
        X = self._checked(block.X, block.start)
        return replace(block, X=self._scaled(X, self._native.scale_and_count))

    def transform(self, X: Matrix) -> Matrix:
        """Scale rows with the statistics of all rows seen so far, without updating them."""
        if self._native is None:
            raise ValueError(
                f"{type(self).__name__}: transform needs statistics: call learn_transform first."
            )
        X = self._checked(X, 0)
        return self._scaled(X, self._native.scale)

    def state(self) -> dict[str, Any]:
        """The number of rows so far and the statistics of each column; empty before the first row."""
        return {} if self._native is None else self._native.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        for kind in (self._dense, self._sparse):
            native = kind(0)
            if set(native.state()) == set(state):
                columns = {np.size(v) for name, v in state.items() if name != "rows"}
                if len(columns) != 1:
                    raise ValueError(f"{type(self).__name__}: the arrays of the state differ in length.")
                native.restore(state)
                self._native = native
                return
        if state:
            raise ValueError(
                f"{type(self).__name__}: not a state of this transform: arrays {sorted(state)}."
            )
        self._native = None

    def _checked(self, X: Matrix, start: int) -> Matrix:
        """X in the core's layout; its kind and width must be those of the rows before."""
        name = type(self).__name__
        if isinstance(X, Table):
            inside = "Ranged" if isinstance(self, MinMax) else "Standardised"
            raise TypeError(
                f"{name}: cannot scale records: scale inside the model, with {inside}(learner)."
            )
        kind = self._sparse if sparse.issparse(X) else self._dense
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        with check.in_range(f"{name}: X"):
            X = canonical(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))
        row = _core.first_too_large(whole(X), _core.Precision.Double, self._missing)
        if row < X.shape[0]:
            raise DataError(f"{name}: row {start + row} (the first is 0) is too large or not finite.")
        if self._native is None:
            self._native = kind(X.shape[1])
        if not isinstance(self._native, kind):
            raise ValueError(f"{name}: dense and sparse rows cannot be mixed.")
        if not self._native.is_consistent(X.shape[1]):
            raise ValueError(f"{name}: X has {X.shape[1]} columns, but the rows before had another number.")
        return X

    @staticmethod
    def _scaled(X: Matrix, scale: Any) -> Matrix:
        if not sparse.issparse(X):
            return scale(X)
        indices = X.indices.astype(np.int32, copy=False)
        data = scale(X.data, indices, X.indptr.astype(np.int64, copy=False))
        return type(X)((data, X.indices, X.indptr), shape=X.shape)


class Standardise(Scaling):
    """Scales columns to mean 0 and variance 1, with the running mean and variance of each column.

    Values are clipped at 10 deviations, and one absurd value changes the statistics little. NaN is a
    missing value: it becomes 0, the mean. :class:`~budgetron.Standardised` has the same scaling inside a
    model, where it is saved and used to predict.

    Sparse rows are divided by the running root mean square and not centred, so that 0 stays 0.

    >>> import numpy as np
    >>> from budgetron import streams
    >>> X = np.array([[1.0], [3.0], [4.0]])
    >>> [block] = streams.from_arrays(X).through(streams.Standardise())
    >>> block.X  # the third row is (4 - 2) / 1: mean and deviation of the first two
    array([[0.],
           [0.],
           [2.]])
    """

    _dense = _core.Moments
    _sparse = _core.Squares
    _missing = True


class MinMax(Scaling):
    """Scales columns to the range 0 to 1, with the smallest and largest value of each column so far.

    A new smallest or largest value becomes less than 0 or more than 1. Sparse rows are divided by the
    largest absolute value, so that 0 stays 0.

    Examples
    --------
    >>> from budgetron import streams
    >>> [block] = streams.from_arrays([[0.0], [4.0], [1.0], [8.0]], [0, 1, 0, 1]).through(streams.MinMax())
    >>> block.X.ravel()
    array([0.  , 0.  , 0.25, 2.  ])
    """

    _dense = _core.Range
    _sparse = _core.Largest
