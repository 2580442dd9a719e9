"""Cells of CSV files: what a text means by itself, so that it never depends on the cells around it.

A cell is a number, true or false (1 or 0), an ISO date, or else a text; a blank cell is missing. Blanks
around a cell do not count. Columns of numbers alone and of dates alone are converted by pyarrow in one go,
others once for each different text. Both ways have the same meaning.
"""

import datetime as dt
import re
from functools import lru_cache
from typing import Any

import numpy as np

from budgetron.records.arrow import places_of, seconds_of_arrow
from budgetron.records.table import Array, Column
from budgetron.records.values import BLANKS, coded

NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[ T](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(?:(Z)|([+-])(\d\d):?(\d\d)?)?)?",
    re.ASCII,
)
_TRUTH = {"true": 1.0, "false": 0.0}
_EPOCH = dt.date(1970, 1, 1).toordinal()


def meaning(cell: str) -> float | tuple[float] | str | None:
    """The number, the date as ``(seconds,)``, the text, or None for a missing value."""
    return _of_short(cell) if len(cell) <= 64 else _of_any(cell)


def _of_any(cell: str) -> float | tuple[float] | str | None:
    cell = cell.strip(BLANKS)
    if NUMBER.fullmatch(cell):
        number = float(cell)
        return None if number != number else number
    if not cell:
        return None
    if (date := DATE.fullmatch(cell)) and (seconds := _moment(date)) is not None:
        return (seconds,)
    truth = _TRUTH.get(cell.lower())
    return cell if truth is None else truth


_of_short = lru_cache(maxsize=1 << 14)(_of_any)  # the texts of a category come in every block


def _moment(date: re.Match[str]) -> float | None:
    """The seconds since 1970 of a date, without a zone in UTC; None if there is no such moment."""
    year, month, day, hour, minute, second = (int(part or 0) for part in date.groups()[:6])
    fraction, _, sign, zone_hours, zone_minutes = date.groups()[6:]
    offset = int(zone_hours or 0) * 3600 + int(zone_minutes or 0) * 60
    if hour > 23 or minute > 59 or second > 59 or int(zone_hours or 0) > 23 or int(zone_minutes or 0) > 59:
        return None
    try:
        days = dt.date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    whole = days * 86400 + hour * 3600 + minute * 60 + second - (-offset if sign == "-" else offset)
    return whole + int((fraction or "").ljust(9, "0")) / 1e9


def column_of_cells(cells: Any) -> Column:
    """The column of a pyarrow array of texts, or of a dictionary of texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(cells, pa.ChunkedArray):
        cells = cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()
    if pa.types.is_dictionary(cells.type):
        return Column() if cells.null_count == len(cells) else _by_value(cells)
    empty = pc.equal(cells, "")
    if pc.any(empty).as_py():
        cells = pc.if_else(empty, None, cells)
    if cells.null_count == len(cells):
        return Column()
    first = meaning(cells[pc.index(cells.is_valid(), True).as_py() if cells.null_count else 0].as_py())
    if isinstance(first, float) and (numbers := all_numbers(cells)) is not None:
        return Column(numbers)
    if isinstance(first, tuple) and (seconds := _all_dates(cells)) is not None:
        return Column(seconds, ~np.isnan(seconds))
    return _by_value(cells)


def all_numbers(cells: Any) -> Array | None:
    """The numbers, if pyarrow reads every cell as a finite one."""
    import pyarrow as pa

    try:
        cast = cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    numbers: Array = cast.to_numpy(zero_copy_only=False)
    return numbers if np.count_nonzero(np.isfinite(numbers)) == len(cells) - cells.null_count else None


def _all_dates(cells: Any) -> Array | None:
    """The seconds since 1970, if pyarrow reads every cell as a moment."""
    import pyarrow as pa

    for zone in (None, "UTC"):
        try:
            return seconds_of_arrow(cells.cast(pa.timestamp("us", zone)))
        except pa.ArrowInvalid:
            continue
    return None


def _by_value(cells: Any) -> Column:
    """Each different text is read once."""
    encoded = cells if hasattr(cells, "dictionary") else cells.dictionary_encode()
    meanings = [meaning(text) for text in encoded.dictionary.to_pylist()]
    numbers = np.array([np.nan if m is None or isinstance(m, str) else m[0] if isinstance(m, tuple) else m
                        for m in meanings])  # fmt: skip
    dates = np.array([isinstance(m, tuple) for m in meanings])
    trimmed: dict[str, int] = {}
    codes = [trimmed.setdefault(m, len(trimmed)) if isinstance(m, str) else -1 for m in meanings]
    texts = coded(np.array(codes, np.int32), list(trimmed))
    return Column(numbers, dates, texts.codes, texts.texts).compact().spread(places_of(encoded.indices))
