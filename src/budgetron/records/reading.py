"""Tables from lists of dicts, from frames of pandas, polars and pyarrow, and from cells of CSV files."""

import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from budgetron._util.extras import pip_install
from budgetron._util.text import shown
from budgetron.records.arrow import column_of_arrow, column_of_texts
from budgetron.records.table import NO_CELLS, RARE, Cells, Column, Layouts, Table, assembled
from budgetron.records.values import (
    NUMBERS,
    RefusedValueError,
    categories,
    column_of,
    placed,
    read_texts,
    seconds_of,
)

DEEPEST = 100  # dicts inside each other


def to_table(X: Any) -> Table:
    """The normal form of dicts, or of a frame."""
    if isinstance(X, Table):
        return X
    if is_frame(X):
        return from_frame(X)
    if isinstance(X, Mapping) or not isinstance(X, Iterable):
        raise TypeError(f"Records must be a list of dicts or a frame, got {shown(X)}.")
    return from_dicts(list(X))


def is_records(X: Any) -> bool:
    """Whether X holds records: dicts, or a frame of anything but numbers."""
    if isinstance(X, Table):
        return True
    if is_frame(X):
        return not holds_only_numbers(X)
    if isinstance(X, np.ndarray):
        return X.dtype == object and X.ndim == 1 and len(X) > 0 and isinstance(X[0], Mapping)
    return isinstance(X, Sequence) and len(X) > 0 and isinstance(X[0], Mapping)


def refuse_near_records(X: Any) -> None:
    """Refuse what can be made records, but is not yet: NumPy would only say that it is no number."""
    if isinstance(X, Mapping):
        raise TypeError(
            f"X must be a list of records or a frame, got one dict, {shown(X)}: put it into a list, or use "
            "learn_one or predict_one."
        )
    if isinstance(X, Iterator):
        raise TypeError(
            f"X must be a list of rows, got an iterator, {shown(X)}: make a list of it, or give it to "
            "evaluate.prequential as pairs (x, y)."
        )
    if _is("polars", "LazyFrame", X):
        raise TypeError("X must be a frame with rows, got a polars LazyFrame: call its collect().")


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns: of pandas, or of a library that exports Arrow streams."""
    if _is("pandas", "DataFrame", X):
        return True
    if isinstance(X, type) or not any(hasattr(X, f"__arrow_c_{what}__") for what in ("stream", "array")):
        return False
    columns = (
        ("pandas", "Series"),
        ("polars", "Series"),
        ("pyarrow", "Array"),
        ("pyarrow", "ChunkedArray"),
    )
    return not any(_is(library, name, X) for library, name in columns)


def is_series(x: Any) -> bool:
    """Whether x is a column, or a row, of a pandas frame."""
    return _is("pandas", "Series", x)


def holds_only_numbers(frame: Any) -> bool:
    """Whether all columns of a frame hold numbers, by their types; Python objects are looked at."""
    if _is("pandas", "DataFrame", frame):
        return all(_pandas_numbers(frame.iloc[:, j]) for j in range(frame.shape[1]))
    if _is("polars", "DataFrame", frame):
        import polars as pl

        return all(kind.is_numeric() or kind == pl.Boolean for kind in frame.dtypes)
    import pyarrow as pa

    is_a = pa.types
    kinds = [field.type for field in _schema(frame)]
    return all(
        is_a.is_integer(k) or is_a.is_floating(k) or is_a.is_boolean(k) or is_a.is_decimal(k) for k in kinds
    )


def from_dicts(records: Sequence[Any]) -> Table:
    """The table of a list of dicts. Columns come in the order of their first values, row by row."""
    for i, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise TypeError(f"record {i} must be a dict, got {shown(record)}.")
    layouts: dict[tuple[str, ...], int] = {}
    of_row = [layouts.setdefault(names, len(layouts)) for names in _names_of_each(records)]
    orders = Layouts(list(layouts) or [()], np.array(of_row, np.int32))
    try:
        return _uniform(records, orders) if len(layouts) == 1 else _ragged(records, orders)
    except RefusedValueError:
        if any(map(_is_nested, records)):
            return from_dicts([flat(record, row) for row, record in enumerate(records)])
        for row, record in enumerate(records):  # the first bad value, row by row
            for name, value in record.items():
                placed(value, str(name), row)
        raise


def flat(record: Mapping[Any, Any], row: int = 0, depth: int = 0) -> Mapping[Any, Any]:
    """The values of a record, those of dicts inside it under their path: ``a.b``."""
    if not _is_nested(record):
        return record
    flattened: dict[str, Any] = {}
    for key, value in zip(_names(record), record.values(), strict=True):
        members = {key: value}
        if isinstance(value, Mapping):
            if depth == DEEPEST:
                raise RefusedValueError(key, row, f"expected at most {DEEPEST} dicts inside each other")
            inner = flat(value, row, depth + 1)
            paths = (f"{key}.{name}" for name in _names(inner))
            members = dict(zip(paths, inner.values(), strict=True))
        for name in members:
            if name in flattened or (name != key and name in record):
                reason = "expected one value, got two, of which one is inside a dict"
                raise RefusedValueError(name, row, reason)
        flattened |= members
    return flattened


FLAT = frozenset((int, float, str, bool, type(None)))
"""Types of most values; asking each whether it is a mapping takes three times as long."""


def _is_nested(record: Mapping[Any, Any]) -> bool:
    values = record.values()
    return not FLAT.issuperset(map(type, values)) and any(isinstance(value, Mapping) for value in values)


def _names_of_each(records: Sequence[Any]) -> Iterator[tuple[str, ...]]:
    """The names in each record, as texts."""
    texts = set(map(type, chain.from_iterable(records))) <= {str}
    return map(tuple, records) if texts else (tuple(_names(record)) for record in records)


def _uniform(records: Sequence[Any], orders: Layouts) -> Table:
    """The table of records that all have the same names, in the same order."""
    each = zip(*(record.values() for record in records), strict=True)
    columns = {name: column_of(values, name) for name, values in zip(orders.names[0], each, strict=True)}
    return assembled(len(records), columns, NO_CELLS, orders)


def _ragged(records: Sequence[Any], orders: Layouts) -> Table:
    """The table of any records. What few of them have becomes cells, in the memory of the values."""
    n, each = len(records), [orders.names[layout] for layout in orders.of_row.tolist()]
    counts = Counter(chain.from_iterable(each)).items()
    often: dict[str, tuple[list[int], list[Any]]] = {
        name: ([], []) for name, count in counts if count * RARE >= n
    }
    del counts  # it may hold a million names
    rare, numbers, rows, values = dict[str, int](), array("q"), array("q"), list[Any]()
    for row, (names, record) in enumerate(zip(each, records, strict=True)):
        for name, value in zip(names, record.values(), strict=False):
            if (cells := often.get(name)) is not None:
                cells[0].append(row)
                cells[1].append(value)
            else:
                numbers.append(rare.setdefault(name, len(rare)))
                rows.append(row)
                values.append(value)
    places: dict[str, Column | int] = {
        name: column_of(given, name).spread_to(at, n) for name, (at, given) in often.items()
    }
    return assembled(n, places | rare, _cells(numbers, rows, values), orders)


def _cells(numbers: Sequence[int], rows: Sequence[int], values: list[Any]) -> Cells:
    """The cells that have a value."""
    column = column_of(values, "")
    if column.first() is None:
        return NO_CELLS
    return Cells(np.array(rows, np.intp), np.array(numbers, np.intp), column).at(column.present())


def normal_record(record: Mapping[Any, Any]) -> dict[str, float | tuple[float] | str]:
    """The values of one record that are not missing, as `normalised` gives them."""
    if not isinstance(record, Mapping):
        raise TypeError(f"A record must be a dict, got {shown(record)}.")
    names = record if all(type(key) is str for key in record) else _names(record)
    values = ((name, placed(value, name, 0)) for name, value in zip(names, record.values(), strict=True))
    try:
        return {name: value for name, value in values if value is not None}
    except RefusedValueError:
        if _is_nested(record):
            return normal_record(flat(record))
        raise


def from_frame(frame: Any) -> Table:
    """The table of a frame of pandas, polars, pyarrow, or any other that exports an Arrow stream."""
    if _is("pandas", "DataFrame", frame):
        names = _names(frame.columns)
        return Table(
            len(frame), {name: _of_pandas(frame.iloc[:, j], name) for j, name in enumerate(names)}
        ).normal()
    try:
        import pyarrow as pa
    except ImportError:
        if not _is("polars", "DataFrame", frame):
            raise ImportError(f"Arrow tables need pyarrow: {pip_install('arrow')}.") from None
        series = dict(zip(_names(frame.columns), frame.get_columns(), strict=True))
        return Table(
            len(frame), {name: column_of(s.to_list(), name) for name, s in series.items()}
        ).normal()
    if _is("polars", "DataFrame", frame):
        return Table(len(frame), {s.name: _of_polars(s) for s in frame.get_columns()}).normal()
    if not isinstance(frame, pa.Table | pa.RecordBatch):
        frame = pa.table(frame)
    return from_arrow(frame)


def from_arrow(batch: Any, cells: Iterable[str] = ()) -> Table:
    """The table of a pyarrow table or record batch.

    Columns of strings, and of dictionaries of strings, that are named in ``cells`` hold the cells of a CSV
    file.
    """
    import pyarrow as pa

    texts = (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()))
    read = set(cells)
    columns = {
        name: column_of_texts(array)
        if name in read and array.type in texts
        else column_of_arrow(array, name)
        for name, array in zip(_names(batch.schema.names), batch.columns, strict=True)
    }
    return Table(batch.num_rows, columns).normal()


def _is(library: str, name: str, X: Any) -> bool:
    """Whether X is of that class. A library that is not imported has made no object."""
    kind = getattr(sys.modules.get(library), name, None)
    return kind is not None and isinstance(X, kind)


def _schema(frame: Any) -> Any:
    import pyarrow as pa

    if hasattr(frame, "schema") and isinstance(frame.schema, pa.Schema):
        return frame.schema
    return pa.schema(frame) if hasattr(frame, "__arrow_c_schema__") else pa.table(frame).schema


def _names(names: Iterable[Any]) -> list[str]:
    """The names as texts, each once."""
    texts, seen = [str(name) for name in names], set[str]()
    for name in texts:
        if name in seen:
            raise ValueError(f"There is more than one column {name!r}; rename all but one.")
        seen.add(name)
    return texts


def _pandas_numbers(series: Any) -> bool:
    from pandas.api import types

    if series.dtype == object:
        return set(map(type, series)) <= NUMBERS
    return bool(types.is_numeric_dtype(series.dtype)) and not types.is_complex_dtype(series.dtype)


def _of_pandas(series: Any, name: str) -> Column:
    import pandas as pd

    kind = series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return categories(series.cat.codes.to_numpy().astype(np.int32), list(series.cat.categories))
    if isinstance(kind, pd.ArrowDtype):
        import pyarrow as pa

        return column_of_arrow(pa.array(series.array), name)
    if isinstance(kind, pd.DatetimeTZDtype):
        series = series.dt.tz_convert(None)
        kind = series.dtype
    if isinstance(kind, pd.SparseDtype):
        return _of_pandas(series.sparse.to_dense(), name)
    if kind.kind in "mM" and isinstance(kind, np.dtype):
        seconds = seconds_of(series.to_numpy())
        return Column(seconds, ~np.isnan(seconds) if kind.kind == "M" else None)
    if kind.kind in "biuf":
        return Column(series.to_numpy(np.float64, na_value=np.nan))
    if isinstance(kind, pd.StringDtype):
        codes, texts = pd.factorize(series)
        return read_texts(codes.astype(np.int32), texts.tolist())
    return column_of(list(series), name)


def _of_polars(series: Any) -> Column:
    import polars as pl
    import pyarrow as pa

    if series.dtype != pl.Object:  # which would be exported as addresses
        try:
            return column_of_arrow(series.to_arrow(), series.name)
        except pa.ArrowException:  # integers of 128 bits
            pass
    return column_of(series.to_list(), series.name)
