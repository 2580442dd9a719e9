"""One Python value in normal form: a number, a date as seconds since 1970, a text, or missing."""

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from budgetron._util.errors import ROW, RefusedRow
from budgetron._util.text import printable, shown
from budgetron.records.table import Array, Column
from budgetron.records.texts import BLANKS, meaning, meanings

NUMBERS = frozenset({float, int, bool, np.bool_, *(np.dtype(code).type for code in "efdbhilqBHILQ")})
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LONG_UNITS = {"m": 60.0, "h": 3600.0, "D": 86400.0, "W": 604800.0}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class RefusedValueError(RefusedRow):
    """A value that is not a number, a text or a date. It has the ``column`` and the ``reason``."""

    def __init__(self, column: str, row: int, reason: str) -> None:
        super().__init__(f"column {printable(repr(column))}, row {ROW}: {printable(reason)}.", row)
        self.column, self.reason = column, reason

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.column, self.row, self.reason)


def a(noun: str) -> str:
    """The noun with its article."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def unexpected(noun: str) -> str:
    """Why a value of that kind is refused."""
    return f"expected a number, a text or a date, got {a(noun)}"


def column_of(values: Sequence[Any], name: str) -> Column:
    """The column of Python values."""
    kinds = set(map(type, values))
    if kinds <= NUMBERS:
        try:
            return Column(np.fromiter(values, np.float64, len(values)))
        except OverflowError:
            pass  # found again below, with its row
    if kinds == {str}:
        return _texts(values)
    numbers, dates = np.full(len(values), np.nan), np.zeros(len(values), np.bool_)
    texts: list[str] = [""] * len(values)
    for i, value in enumerate(values):
        normal = value if type(value) is float else placed(value, name, i)
        if isinstance(normal, str):
            texts[i] = normal
        elif isinstance(normal, tuple):
            numbers[i], dates[i] = normal[0], True
        elif normal is not None:
            numbers[i] = normal
    coded = _texts(texts)
    return Column(numbers, dates, coded.codes, coded.texts).compact()


def placed(value: Any, name: str, row: int) -> float | tuple[float] | str | None:
    """The value as `normalised`, with errors that say where it is."""
    try:
        return normalised(value)
    except OverflowError:
        reason = "expected a number that a double can hold, got a larger one"
        raise RefusedValueError(name, row, reason) from None
    except ValueError as error:
        raise RefusedValueError(name, row, str(error)) from None


def _texts(values: Iterable[str]) -> Column:
    places: dict[str, int] = {}
    codes = np.array([places.setdefault(value, len(places)) for value in values], np.int32)
    return read_texts(codes, list(places))


def read_texts(codes: Array, texts: list[str]) -> Column:
    """The column of texts, each different one of which is read once."""
    read = meanings(texts)
    if read is texts or read == texts:
        return Column(codes=codes, texts=texts)
    numbers = np.array([*map(_number_of, read), np.nan])  # the last one is for code -1
    dates = np.array([*(isinstance(m, tuple) for m in read), False])
    trimmed: dict[str, int] = {}
    new = [trimmed.setdefault(m, len(trimmed)) if isinstance(m, str) else -1 for m in read]
    return Column(
        numbers[codes], dates[codes], np.array([*new, -1], np.int32)[codes], list(trimmed)
    ).compact()


def _number_of(meaning: float | tuple[float] | str | None) -> float:
    if meaning is None or isinstance(meaning, str):
        return np.nan
    return meaning[0] if isinstance(meaning, tuple) else meaning


def coded(codes: Array, texts: Sequence[str]) -> Column:
    """A column of texts, of which blank ones are missing."""
    blank = [i for i, text in enumerate(texts) if not text.strip(BLANKS)]
    if blank:
        codes = np.where(np.isin(codes, blank), np.int32(-1), codes)
    return Column(codes=codes, texts=texts)


def categories(codes: Array, values: Sequence[Any]) -> Column:
    """A column of categories, which are texts: the user has said so, even if they look like numbers."""
    texts = [value if isinstance(value, str) else _label(value) for value in values]
    return coded(codes, texts)


def _label(value: Any) -> str:
    try:
        normal = normalised(value)
    except (ValueError, OverflowError):  # anything may be a category, such as an interval
        return str(value)
    return "" if normal is None else normal if isinstance(normal, str) else str(value)


def normalised(value: Any) -> float | tuple[float] | str | None:
    """A number, a date as ``(seconds,)``, a text, or None if missing; else ValueError with the reason."""
    kind = type(value)
    if value is None or (kind.__name__ in ("NAType", "NaTType") and kind.__module__.startswith("pandas")):
        return None
    if isinstance(value, str):
        return meaning(str.__str__(value))  # an Enum has a str of its own
    if isinstance(value, np.datetime64 | np.timedelta64):
        seconds = float(seconds_of(np.array([value]))[0])
        if seconds != seconds:
            return None
        return (seconds,) if isinstance(value, np.datetime64) else seconds
    if isinstance(value, Real | np.bool_ | Decimal):
        if isinstance(value, Decimal) and value.is_nan():
            return None
        number = float(value)
        if np.isinf(number) and not _is_infinite(value):
            raise OverflowError
        return None if number != number else number
    if isinstance(value, dt.datetime):
        return (
            _seconds(value.replace(tzinfo=dt.UTC) - _EPOCH if value.tzinfo is None else value - _EPOCH),
        )
    if isinstance(value, dt.date):
        return (float((value.toordinal() - _EPOCH.toordinal()) * 86400),)
    if isinstance(value, dt.timedelta):
        return _seconds(value)
    if isinstance(value, dt.time):
        return _seconds(
            dt.timedelta(
                hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
            )
        )
    if isinstance(value, bytes):
        try:
            return normalised(value.decode())
        except UnicodeDecodeError:
            raise ValueError(f"expected bytes that are UTF-8, got {shown(value)}") from None
    raise ValueError(unexpected(kind.__name__))


def _is_infinite(value: Any) -> bool:
    return value.is_infinite() if isinstance(value, Decimal) else bool(value in (np.inf, -np.inf))


def _seconds(span: dt.timedelta) -> float:
    parts = span.microseconds * 1000 + getattr(span, "nanoseconds", 0)  # pandas has nanoseconds
    return (span.days * 86400 + span.seconds) + parts / 1e9


def seconds_of(times: Array) -> Array:
    """Seconds (since 1970) of an array of datetime64 or timedelta64; NaN for NaT."""
    unit, step = np.datetime_data(times.dtype)
    missing = np.isnat(times)
    if unit == "generic" and not missing.all():
        raise ValueError("expected a time with a unit, got one without")
    if unit in _LONG_UNITS:  # as floats, since NumPy does not notice an overflow
        return np.where(missing, np.nan, times.view(np.int64) * (step * _LONG_UNITS[unit]))
    if step != 1 or unit not in PER_SECOND:
        unit = "ns" if unit in ("ps", "fs", "as") else "s"
        times = times.astype(f"{times.dtype.kind}8[{unit}]")
    return seconds_from(times.view(np.int64), PER_SECOND[unit], missing)


def seconds_from(counts: Array, per_second: int, missing: Array | None) -> Array:
    """Seconds from whole counts of a unit. Whole seconds and the rest are added, so all units agree."""
    if per_second == 1:
        seconds = counts.astype(np.float64)
    else:
        whole = counts // per_second
        seconds = whole + (counts - whole * per_second) / per_second
    if missing is not None:
        seconds[missing] = np.nan
    return seconds
