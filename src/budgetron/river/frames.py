"""Answers to a frame: a series or a frame of the same library, with the same index."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from budgetron._util.text import shown


def values_of(y: Any) -> list[Any]:
    """The values of a series of pandas, polars or pyarrow, or of any other sequence."""
    for name in ("to_pylist", "to_list", "tolist"):
        if callable(convert := getattr(y, name, None)):
            return list(convert())
    try:
        return list(y)
    except TypeError:
        raise TypeError(f"y must be a series or a list with one value per row, got {shown(y)}.") from None


def series_like(X: Any, values: Sequence[Any]) -> Any:
    """The values as a series of the library of X."""
    library = _library(X)
    if library == "pandas":
        return sys.modules[library].Series(values, index=X.index, dtype=None if len(values) else object)
    if library == "polars":
        return sys.modules[library].Series(values=values)
    return sys.modules[library].chunked_array([values])


def frame_like(X: Any, columns: Mapping[Any, Any]) -> Any:
    """The columns as a frame of the library of X. Only pandas has names that are not texts."""
    library = _library(X)
    if library == "pandas":
        return sys.modules[library].DataFrame(dict(columns), index=X.index)
    named = {str(name): values for name, values in columns.items()}
    return (
        sys.modules[library].DataFrame(named) if library == "polars" else sys.modules[library].table(named)
    )


def _library(X: Any) -> str:
    library = type(X).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow"):
        return library
    raise TypeError(f"X must be a frame of pandas, polars or pyarrow, got {shown(X)}.")


def checked_frame(X: Any) -> Any:
    """X, if it is a frame of a library that is known."""
    library = _library(X)
    if type(X).__name__ not in ("DataFrame", "Table", "RecordBatch"):
        kind = f"{library} {type(X).__name__}"
        raise TypeError(f"X must be a frame of pandas, polars or pyarrow, got a {kind}.")
    return X


def names_of(X: Any) -> list[str]:
    """The names of the columns, as texts."""
    return [str(name) for name in (X.schema.names if _library(X) == "pyarrow" else X.columns)]
