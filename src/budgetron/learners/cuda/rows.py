"""Rows that are on a card already: CuPy's, and those of others that speak DLPack, such as PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from budgetron._util.errors import ROW, RefusedRow

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


def check_rows_on_card(X: Any, missing: bool) -> Any:
    """The rows as the engine takes them: finite numbers of double or single precision."""
    from budgetron.learners.cuda import engine

    arrays: Any = engine.ARRAYS(np.float64)
    X = arrays.taken(X, as_they_are=True)
    if X.ndim != 2 or not X.shape[0]:
        raise ValueError(f"X must have rows and columns, got an array of shape {X.shape}.")
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    fine = arrays.xp.isfinite(X)
    if missing:
        fine |= arrays.xp.isnan(X)
    if not bool(fine.all()):
        row = int(arrays.host(fine.all(axis=1)).argmin())
        raise RefusedRow(f"Row {ROW} of X is not finite.", row)
    return X
