"""The parts of Dask collections: arrays, data frames and bags."""

from __future__ import annotations

from typing import Any

import numpy as np

from budgetron._util.text import shown

Part = tuple[Any, Any]
"""The rows of a part and their labels, or a frame or records and the name of the label among them."""


def parts_of(X: Any, y: Any) -> list[Part]:
    """The parts of the rows and labels, not computed."""
    kind = _kind(X)
    if kind == "Array":
        return _of_arrays(X, y)
    if kind == "DataFrame":
        return _of_frames(X, y)
    if kind == "Bag":
        if not (y is None or isinstance(y, str)):
            raise TypeError(
                "distributed.fit: y must be the name of the label in the records of the bag, or None for "
                f"pairs (record, label), got {shown(y)}."
            )
        return [(part, y) for part in X.to_delayed()]
    raise TypeError(
        f"distributed.fit: X must be a Dask array, data frame or bag, got {shown(X)}; "
        "dask.array.from_array(X, chunks=...) makes one."
    )


def _kind(data: Any) -> str | None:
    """Which collection of Dask it is, without importing the modules of the others."""
    return type(data).__name__ if hasattr(data, "__dask_graph__") else None


def _of_arrays(X: Any, y: Any) -> list[Part]:
    if X.ndim != 2:
        raise ValueError(f"distributed.fit: X must have two dimensions, got {X.ndim}.")
    if _kind(y) not in ("Array", "Series"):
        raise TypeError(f"distributed.fit: y must be a Dask array, as X is, got {shown(y)}.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if _kind(y) == "Array":
        if y.ndim != 1:
            raise ValueError(f"distributed.fit: y must have one dimension, got {y.ndim}.")
        known = not np.isnan([*X.chunks[0], *y.chunks[0]]).any()
        if known and sum(X.chunks[0]) != sum(y.chunks[0]):
            raise ValueError(f"distributed.fit: X has {sum(X.chunks[0])} rows, y has {sum(y.chunks[0])}.")
        if known and X.chunks[0] != y.chunks[0]:
            y = y.rechunk((X.chunks[0],))
    return _paired(X.to_delayed().ravel().tolist(), y.to_delayed())


def _of_frames(X: Any, y: Any) -> list[Part]:
    if isinstance(y, str):
        if y not in X.columns:
            known = ", ".join(map(repr, X.columns))
            raise ValueError(f"distributed.fit: the frame has no column {y!r}; it has {known}.")
        return [(part, y) for part in X.to_delayed()]
    if _kind(y) not in ("Array", "Series"):
        raise TypeError(
            "distributed.fit: y must be the name of the column with the labels, or a Dask series, "
            f"got {shown(y)}."
        )
    return _paired(X.to_delayed(), y.to_delayed())


def _paired(X: list[Any], y: Any) -> list[Part]:
    y = y.ravel().tolist() if isinstance(y, np.ndarray) else list(y)
    if len(X) != len(y):
        raise ValueError(f"distributed.fit: X has {len(X)} parts, y has {len(y)}: cut them alike.")
    return list(zip(X, y, strict=True))
