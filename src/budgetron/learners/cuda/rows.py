"""Rows that are on a card already: CuPy's, and those of others that speak DLPack, such as PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from budgetron._util.errors import ROW, RefusedRow
from budgetron._util.rows import too_large

CARDS = 2, 13  # of DLPack: memory of CUDA, and managed memory


def is_on_card(X: Any) -> bool:
    """Whether an array is on a card."""
    if type(X) is np.ndarray:
        return False
    device = getattr(X, "__dlpack_device__", None)
    return callable(device) and device()[0] in CARDS


def on_host(y: Any) -> Any:
    """Labels, which are few, in memory."""
    if not is_on_card(y):
        return y
    from budgetron.learners.cuda import engine

    arrays = engine.ARRAYS(np.float64)
    return arrays.host(arrays.taken(y, as_they_are=True))


def check_rows_on_card(X: Any, missing: bool, dtype_for: Callable[[Any], np.dtype[Any]]) -> Any:
    """The rows as the engine takes them: numbers of double or single precision whose squares are finite."""
    from budgetron.learners.cuda import engine

    arrays: Any = engine.ARRAYS(np.float64)
    X = arrays.taken(X, as_they_are=True)
    if X.ndim != 2 or not X.shape[0]:
        raise ValueError(f"X must have rows and columns, got an array of shape {X.shape}.")
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    with np.errstate(over="ignore"):
        squares = X**2
    if missing:
        squares[arrays.xp.isnan(squares)] = 0
    fine = squares.sum(axis=1) <= np.finfo(min(X.dtype, dtype_for(X))).max / 8
    if not bool(fine.all()):
        row = int(arrays.host(fine).argmin())
        if np.isinf(arrays.host(X[row])).any() or np.isnan(arrays.host(squares[row])).any():
            raise RefusedRow(f"Row {ROW} of X is not finite.", row)
        raise too_large(row)
    return X
