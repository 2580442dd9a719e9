"""Columns of pyarrow."""

from typing import Any

import numpy as np

from budgetron.records.table import Array, Column
from budgetron.records.texts import Meaning, meaning
from budgetron.records.values import (
    PER_SECOND,
    RefusedValueError,
    categories,
    column_of,
    read_texts,
    seconds_from,
    unexpected,
)


def column_of_arrow(array: Any, name: str) -> Column:
    """The column of a pyarrow array, chunked or not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(array, pa.DoubleArray):  # the usual cases first
        return Column() if array.null_count == len(array) else Column(array.to_numpy(zero_copy_only=False))
    if isinstance(array, pa.StringArray | pa.LargeStringArray):
        return column_of_texts(array)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.RunEndEncodedArray):
        array = pc.run_end_decode(array)
    kind, is_a = array.type, pa.types
    if array.null_count == len(array):
        return Column()
    if is_a.is_floating(kind) or is_a.is_integer(kind) or is_a.is_boolean(kind):
        numbers: Array = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return Column(numbers)
    if is_a.is_dictionary(kind):
        return categories(places_of(array.indices), array.dictionary.to_pylist())
    if str(kind) == "string_view":
        return column_of_texts(array)
    if is_a.is_timestamp(kind) or is_a.is_date(kind):
        seconds = seconds_of_arrow(array)
        return Column(seconds, ~np.isnan(seconds))
    if is_a.is_duration(kind) or is_a.is_time(kind):
        return Column(seconds_of_arrow(array))
    if is_a.is_decimal(kind):  # by way of texts, which are rounded correctly
        return Column(array.cast(pa.string()).cast(pa.float64()).to_numpy(zero_copy_only=False))
    if any(map(str(kind).startswith, ("binary", "large_binary", "fixed_size_binary"))):
        return column_of(array.to_pylist(), name)
    row = int(np.argmax(array.is_valid().to_numpy(zero_copy_only=False)))
    raise RefusedValueError(name, row, unexpected(_noun(kind)))


def _noun(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_nested(kind):
        return "list" if "list" in str(kind).partition("<")[0] else str(kind).partition("<")[0]
    return f"value of type {kind}"


def places_of(indices: Any) -> Array:
    """The indices of a dictionary; -1 for those that are missing."""
    import pyarrow as pa

    if indices.type != pa.int32():
        indices = indices.cast(pa.int32())
    if indices.null_count:
        indices = indices.fill_null(-1)
    places: Array = indices.to_numpy(zero_copy_only=False)
    return places


def seconds_of_arrow(array: Any) -> Array:
    """Seconds (since 1970) of an array of moments, dates, times or durations; NaN for missing ones."""
    import pyarrow as pa

    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    days = pa.types.is_date32(array.type)
    unit = "ms" if pa.types.is_date64(array.type) else "s" if days else array.type.unit
    if array.type.bit_width == 32:
        array = array.cast(pa.int32())
    array = array.cast(pa.int64())
    counts: Array = (array if missing is None else array.fill_null(0)).to_numpy(zero_copy_only=False)
    return seconds_from(counts * 86400 if days else counts, PER_SECOND[unit], missing)


def column_of_texts(cells: Any) -> Column:
    """The column of a pyarrow array of texts, or of a dictionary of texts: cells of a CSV file.

    pyarrow converts columns of numbers or dates at once. Others are read once for each different text. Both
    give what `texts.meaning` says.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(cells, pa.ChunkedArray):
        cells = cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()
    if pa.types.is_dictionary(cells.type):
        return Column() if cells.null_count == len(cells) else _read(cells)
    if str(cells.type) == "string_view":  # which pyarrow 15 does not have
        cells = cells.cast(pa.large_string())
    if cells.null_count == len(cells):
        return Column()
    if isinstance(_first(cells), str):
        return _read(cells)
    empty = pc.equal(cells, "")
    if pc.any(empty).as_py():
        cells = pc.if_else(empty, None, cells)
    if cells.null_count == len(cells):
        return Column()
    first = _first(cells)
    if isinstance(first, float) and (numbers := all_numbers(cells)) is not None:
        return Column(numbers)
    if isinstance(first, tuple) and (seconds := _all_dates(cells)) is not None:
        return Column(seconds, ~np.isnan(seconds))
    return _read(cells)


def _first(cells: Any) -> Meaning:
    """The meaning of the first cell that has a text."""
    import pyarrow.compute as pc

    if (first := cells[0].as_py()) is None:
        first = cells[pc.index(cells.is_valid(), True).as_py()].as_py()
    return meaning(first)


def all_numbers(cells: Any) -> Array | None:
    """The numbers, if pyarrow reads every cell as a finite one, and none has leading zeros."""
    import pyarrow as pa

    try:
        cast = cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    numbers: Array = cast.to_numpy(zero_copy_only=False)
    if np.count_nonzero(np.isfinite(numbers)) != len(cells) - cells.null_count:
        return None
    return None if _has_codes(cells, numbers) else numbers


def _all_dates(cells: Any) -> Array | None:
    """The seconds since 1970, if pyarrow reads every cell as a moment."""
    import pyarrow as pa

    for zone in (None, "UTC"):
        try:
            return seconds_of_arrow(cells.cast(pa.timestamp("us", zone)))
        except pa.ArrowInvalid:
            continue
    return None


def _has_codes(cells: Any, numbers: Array) -> bool:
    """Whether a number is written with leading zeros."""
    import pyarrow.compute as pc

    zeros = pc.starts_with(cells, "0").fill_null(False).to_numpy(zero_copy_only=False)
    return bool((zeros & (np.abs(numbers) >= 1)).any())


def _read(cells: Any) -> Column:
    """Each different text is read once."""
    encoded = cells if hasattr(cells, "dictionary") else cells.dictionary_encode()
    return read_texts(places_of(encoded.indices), encoded.dictionary.to_pylist())
