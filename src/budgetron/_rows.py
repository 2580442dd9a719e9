"""Rows of input handed to the native core without a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from budgetron import _core

Matrix = Any
"""A dense C-ordered array of float32 or float64, or a CSR matrix of the same with sorted columns."""


def aligned(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself where its layout suits native loads, else a copy."""
    return np.require(a, requirements=["C", "A"])


def canonical(X: Matrix) -> Matrix:
    """X itself where its layout suits the core; else a copy in order (the caller's is not touched).

    The indices of a sparse X are always copied, and the copy is checked: another thread that changes X
    meanwhile cannot lead the core outside its arrays.
    """
    if not sparse.issparse(X):
        return aligned(X)
    view = type(X)((aligned(X.data), X.indices.copy(), X.indptr.copy()), shape=X.shape, copy=False)
    view.check_format(full_check=True)  # which may cut off what no row refers to
    if view.has_canonical_format:
        return view
    view = view.copy()
    view.sum_duplicates()
    return view


def views(X: Matrix) -> Callable[[slice], _core.Rows]:
    """A function from a slice of rows to the native view of them."""
    if not sparse.issparse(X):
        return lambda cut: _core.dense(X[cut])
    indices = X.indices.astype(np.int32, copy=False)
    indptr = X.indptr.astype(np.int64, copy=False)
    return lambda cut: _core.sparse(X.data, indices, indptr[cut.start : cut.stop + 1], X.shape[1])


def whole(X: Matrix) -> _core.Rows:
    """All rows of X in one piece."""
    return views(X)(slice(0, X.shape[0]))


def precision(dtype: npt.DTypeLike) -> _core.Precision:
    """The native name of a precision."""
    return _core.Precision.Single if np.dtype(dtype) == np.float32 else _core.Precision.Double


def first_too_large(X: Matrix, dtype: npt.DTypeLike) -> int:
    """The first row whose squared norm is within a factor of 8 of overflow; else how many there are."""
    return _core.first_too_large(whole(X), precision(dtype))


def refuse_too_large(X: Matrix, row: int) -> None:
    """One sentence where ``row``, as `first_too_large` gives it, is one of X."""
    if row < X.shape[0]:
        raise ValueError(f"Row {row} of X is too large: its squared norm overflows.")
