"""Rows of input handed to the native core without a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from budgetron import _core

Matrix = Any
"""A dense C-ordered array of float32 or float64, or a CSR matrix of the same with sorted columns."""


def canonical(X: Matrix) -> Matrix:
    """X itself where its layout suits the core; else a copy in order (the caller's is not touched)."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    view = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
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
