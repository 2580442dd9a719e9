"""Rows and labels as JSON has them: of dicts, lists, arrays, and frames of pandas, polars and pyarrow."""

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any

from budgetron._util.text import shown
from budgetron.records.reading import is_frame

SLICE = 1000
"""Rows of a frame that are made plain at once."""


def is_one(x: Any) -> bool:
    """Whether x is one row, not a table of rows."""
    if is_frame(x):
        return False
    if not hasattr(x, "__len__"):
        raise TypeError(
            f"expected a row or a table of rows, got {shown(x)}: learn_stream takes an iterator."
        )
    if hasattr(x, "ndim"):  # an array, or a column of a frame, which is a row where it stands alone
        return bool(x.ndim == 1)
    if isinstance(x, Mapping) or not len(x):
        return True
    return not (
        isinstance(x[0], Mapping) or (hasattr(x[0], "__len__") and not isinstance(x[0], str | bytes))
    )


def row(x: Any) -> Any:
    """One row: an object of names and values, or a list."""
    if hasattr(x, "to_dict"):  # of a frame of pandas
        x = x.to_dict()
    if isinstance(x, Mapping):
        return {str(name): value(each) for name, each in x.items()}
    return [value(each) for each in listed(x)]


def rows(x: Any) -> Iterator[Any]:
    """The rows of a table."""
    if not is_frame(x):
        yield from map(row, x)
        return
    if not any(hasattr(x, name) for name in ("iloc", "to_dicts", "to_pylist")):  # another Arrow stream
        import pyarrow as pa

        x = pa.table(x)
    refuse_duplicates(list(map(str, getattr(x, "column_names", x.columns))))
    for start in range(0, len(x), SLICE):
        part = x.iloc[start : start + SLICE] if hasattr(x, "iloc") else x.slice(start, SLICE)
        yield from map(row, _records(part))


def refuse_duplicates(names: list[str]) -> None:
    """Refuse columns of which one would hide the other."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"the frame has two columns with the name {shown(twice)}: rename one.")


def labels(y: Any) -> list[Any]:
    """The labels of rows."""
    return [value(each) for each in listed(y)]


def listed(values: Any) -> list[Any]:
    """The values of a list, an array, or a column of a frame, as objects of Python where it has them."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return list(getattr(values, name)())
    return list(values)


def _records(frame: Any) -> list[Any]:
    if hasattr(frame, "iloc"):  # pandas
        names = list(frame.columns)
        columns = [frame.iloc[:, i].tolist() for i in range(len(names))]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return list(frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_pylist())  # polars, pyarrow


def value(given: Any) -> Any:
    """A value as JSON has it: null for a missing one, a text for a time, seconds for a duration."""
    kind = type(given)
    if kind is str or kind is int or kind is bool or given is None:
        return given
    if kind is not float and hasattr(given, "item") and not isinstance(given, float):  # of NumPy
        return _of_numpy(given)
    if isinstance(given, float | Decimal):
        number = float(given)
        if math.isinf(number):
            raise ValueError(f"a value is {number}, which JSON cannot say: leave it out, or take a number.")
        return None if math.isnan(number) else number
    if kind.__name__ in ("NAType", "NaTType"):  # of pandas
        return None
    if isinstance(given, dt.datetime | dt.date | dt.time):
        return given.isoformat()
    if isinstance(given, dt.timedelta):
        return given.total_seconds()
    if isinstance(given, Enum):
        return value(given.value)
    if isinstance(given, bytes):
        return given.decode()
    if isinstance(given, str | int):
        return given
    raise TypeError(f"expected a number, a text, a time or None as a value, got {shown(given)}.")


def _of_numpy(given: Any) -> Any:
    if given.dtype.kind == "M":
        text = str(given)
        return None if text == "NaT" else text
    if given.dtype.kind == "m":
        seconds = given / given.dtype.type(1, "s")
        return value(float(seconds))
    return value(given.item())
