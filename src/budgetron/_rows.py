"""Rows of input handed to the native core without a copy."""

from __future__ import annotations

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
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def blocks(X: Matrix, size: int) -> list[tuple[slice, _core.Rows]]:
    """X cut into blocks of at most ``size`` rows, as views."""
    n = X.shape[0]
    cuts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    if not sparse.issparse(X):
        return [(cut, _core.dense(X[cut])) for cut in cuts]
    indices = X.indices.astype(np.int32, copy=False)
    indptr = X.indptr.astype(np.int64, copy=False)
    return [
        (cut, _core.sparse(X.data, indices, indptr[cut.start : cut.stop + 1], X.shape[1])) for cut in cuts
    ]


def whole(X: Matrix) -> _core.Rows:
    """All rows of X in one piece."""
    if not sparse.issparse(X):
        return _core.dense(X)
    return blocks(X, max(1, X.shape[0]))[0][1]
