"""The normal form of a batch of records: every value is a number, a text or missing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one column. A part that no row needs is None.

    ``numbers`` has NaN and ``codes`` has -1 where there is none. ``dates`` says which numbers are moments,
    in seconds since 1970 (UTC). ``codes`` are places in ``texts``. No row has both a number and a text.
    """

    numbers: Array | None = None
    dates: Array | None = None
    codes: Array | None = None
    texts: Sequence[str] = ()

    def rows(self, index: Any) -> "Column":
        """The values of the rows that a slice or an index array selects."""

        def part(array: Array | None) -> Array | None:
            return None if array is None else array[index]

        return Column(part(self.numbers), part(self.dates), part(self.codes), self.texts)

    def spread(self, places: Array) -> "Column":
        """A longer column: row i has the value in ``places[i]`` of this one, and none if that is -1."""

        def at(array: Array | None, none: Any) -> Array | None:
            return None if array is None else np.append(array, array.dtype.type(none))[places]

        return Column(at(self.numbers, np.nan), at(self.dates, False), at(self.codes, -1), self.texts)

    def present(self) -> Array:
        """Which rows have a value."""
        if self.numbers is None:
            return np.zeros(0, bool) if self.codes is None else self.codes >= 0
        known = ~np.isnan(self.numbers)
        return known if self.codes is None else known | (self.codes >= 0)

    def first(self) -> int | None:
        """The first row that has a value."""
        firsts = []
        if self.numbers is not None and len(self.numbers):
            row = 0 if self.numbers[0] == self.numbers[0] else int(np.argmin(np.isnan(self.numbers)))
            firsts += [row] if self.numbers[row] == self.numbers[row] else []
        if self.codes is not None and len(self.codes):
            row = int(np.argmax(self.codes >= 0)) if self.codes[0] < 0 else 0
            firsts += [row] if self.codes[row] >= 0 else []
        return min(firsts, default=None)

    def compact(self) -> "Column":
        """The same without parts and texts that no row uses."""
        numbers, dates, codes = self.numbers, self.dates, self.codes
        if numbers is not None and np.isnan(numbers).all():
            numbers = None
        if dates is not None and not dates.any():
            dates = None
        if codes is None or not (codes >= 0).any():
            return Column(numbers, dates)
        used = np.zeros(len(self.texts) + 1, bool)  # the last place is for code -1
        used[codes] = True
        used[-1] = False
        if used[:-1].all():
            return Column(numbers, dates, codes, self.texts)
        new = np.full(len(used), -1, np.int32)
        new[used] = np.arange(np.count_nonzero(used))
        return Column(numbers, dates, new[codes], [self.texts[i] for i in np.flatnonzero(used).tolist()])

    def values(self) -> list[float | str | None]:
        """The values one by one, dates as seconds."""
        n = len(self.present())
        numbers = [np.nan] * n if self.numbers is None else self.numbers.tolist()
        codes = [-1] * n if self.codes is None else self.codes.tolist()
        return [
            self.texts[code] if code >= 0 else None if number != number else number
            for number, code in zip(numbers, codes, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """An immutable batch of records: its columns by name, in the order of their first values.

    Examples
    --------
    >>> from budgetron.records.reading import to_table
    >>> table = to_table([{"amount": 3, "country": "DE"}, {"country": "FR"}])
    >>> table.shape
    (2, 2)
    >>> list(table[1:].records())
    [{'country': 'FR'}]
    """

    n_rows: int
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.n_rows, len(self.columns)

    def __getitem__(self, index: Any) -> "Table":
        """The rows that a slice, an array of row numbers or a mask selects."""
        if not isinstance(index, slice):
            index = np.asarray(index)
            if index.ndim != 1 or index.dtype.kind not in "iub":
                if index.size:
                    raise TypeError("Rows of a Table are selected by a slice or an array of row numbers.")
                index = np.zeros(0, np.intp)
        n = len(np.empty(self.n_rows, np.bool_)[index])
        return Table(n, {name: column.rows(index) for name, column in self.columns.items()})

    def __eq__(self, other: object) -> bool:
        """Whether the rows have equal values. The order of columns counts, that of texts does not."""
        if not isinstance(other, Table):
            return NotImplemented
        mine, theirs = self.normal(), other.normal()
        return len(mine) == len(theirs) and list(mine._content()) == list(theirs._content())

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> Iterator[Any]:
        for name, column in self.columns.items():
            dates = [] if column.dates is None else np.flatnonzero(column.dates).tolist()
            yield name, column.values(), dates

    def normal(self) -> "Table":
        """The same with columns in the order of their first values, and none that has no value."""
        firsts = {name: first for name, c in self.columns.items() if (first := c.first()) is not None}
        return Table(
            self.n_rows, {name: self.columns[name] for name in sorted(firsts, key=firsts.__getitem__)}
        )

    def records(self) -> Iterator[dict[str, float | str]]:
        """The records one by one, without missing values."""
        values = {name: column.values() for name, column in self.columns.items()}
        for i in range(self.n_rows):
            yield {name: v for name, column in values.items() if (v := column[i]) is not None}

    def as_arrays(self) -> dict[str, Array]:
        """The table as plain arrays, for files."""
        columns = [column.compact() for column in self.columns.values()]
        texted = [c for c in columns if c.codes is not None]
        names, name_ends = packed(self.columns)
        texts, text_ends = packed(text for c in texted for text in c.texts)

        def stacked(part: Callable[[Column], Array | None], dtype: npt.DTypeLike) -> Array:
            rows = [array for c in columns if (array := part(c)) is not None]
            return np.array(rows, dtype).reshape(len(rows), self.n_rows)

        parts = [(c.numbers is not None, c.dates is not None, c.codes is not None) for c in columns]
        return {
            "rows": np.array([self.n_rows], np.int64),
            "names": names,
            "name_ends": name_ends,
            "parts": np.array(parts, np.bool_).reshape(len(parts), 3),
            "numbers": stacked(lambda c: c.numbers, np.float64),
            "dates": stacked(lambda c: c.dates, np.bool_),
            "codes": stacked(lambda c: c.codes, np.int32),
            "texts": texts,
            "text_ends": text_ends,
            "text_counts": np.array([len(c.texts) for c in texted], np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The table of these arrays; ValueError if they do not fit together.

        If there is no column, nothing but ``rows`` says how many rows there are: the caller compares it.
        """
        got = _Parts(arrays)
        rows = got.array("rows", np.int64, 1)
        if len(rows) != 1 or not 0 <= rows[0] <= _LARGEST:
            raise ValueError("a table has an invalid number of rows")
        n = int(rows[0])
        names = unpacked(got.array("names", np.uint8, 1), got.array("name_ends", np.int64, 1))
        parts = got.array("parts", np.bool_, 2)
        if parts.shape != (len(names), 3) or len(set(names)) != len(names):
            raise ValueError("the columns of a table do not match their names")
        counts = dict(zip(("numbers", "dates", "codes"), parts.sum(axis=0).tolist(), strict=True))
        numbers, dates, codes = (
            got.array(name, dtype, 2)
            for name, dtype in (("numbers", np.float64), ("dates", np.bool_), ("codes", np.int32))
        )
        for name, array in (("numbers", numbers), ("dates", dates), ("codes", codes)):
            if array.shape != (counts[name], n):
                raise ValueError(f"the {name} of a table have the wrong shape")
        texts = unpacked(got.array("texts", np.uint8, 1), got.array("text_ends", np.int64, 1))
        sizes = got.array("text_counts", np.int64, 1)
        if len(sizes) != counts["codes"] or (sizes < 0).any() or (sizes > len(texts)).any():
            raise ValueError("the texts of a table do not match its columns")
        if sum(sizes.tolist()) != len(texts):
            raise ValueError("the texts of a table do not match its columns")
        each_numbers, each_dates, each_codes = iter(numbers), iter(dates), iter(codes)
        each_texts = iter(np.split(np.array(texts, object), np.cumsum(sizes)[:-1]) if len(sizes) else ())
        columns = {}
        for name, (has_numbers, has_dates, has_codes) in zip(names, parts.tolist(), strict=True):
            column = Column(
                next(each_numbers).copy() if has_numbers else None,
                next(each_dates).copy() if has_dates else None,
                next(each_codes).copy() if has_codes else None,
                next(each_texts).tolist() if has_codes else (),
            )
            if not _is_consistent(column):
                raise ValueError("a column of a table is inconsistent")
            columns[name] = column
        return cls(n, columns)


def joined(tables: Sequence[Table]) -> Table:
    """The rows of all tables, in order."""
    n = sum(map(len, tables))
    names = dict.fromkeys(name for table in tables for name in table.columns)
    columns = {name: _joined_column(tables, name, n).compact() for name in names}
    return Table(n, {name: c for name, c in columns.items() if c.first() is not None})


def _joined_column(tables: Sequence[Table], name: str, n: int) -> Column:
    parts, at = list[tuple[slice, Column]](), 0
    for table in tables:
        if name in table.columns:
            parts.append((slice(at, at + len(table)), table.columns[name].compact()))
        at += len(table)
    numbers = np.full(n, np.nan) if any(c.numbers is not None for _, c in parts) else None
    dates = np.zeros(n, np.bool_) if any(c.dates is not None for _, c in parts) else None
    codes = np.full(n, -1, np.int32) if any(c.codes is not None for _, c in parts) else None
    places: dict[str, int] = {}
    for rows, column in parts:
        if numbers is not None and column.numbers is not None:
            numbers[rows] = column.numbers
        if dates is not None and column.dates is not None:
            dates[rows] = column.dates
        if codes is not None and column.codes is not None:
            new = [places.setdefault(text, len(places)) for text in column.texts]
            codes[rows] = np.array([*new, -1], np.int32)[column.codes]
    return Column(numbers, dates, codes, list(places))


class _Parts:
    """Arrays from a file, checked for kind and dimension as they are taken."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays

    def array(self, name: str, dtype: Any, ndim: int) -> Array:
        array = self._arrays.get(name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
            raise ValueError(f"a table has no valid {name!r}")
        return array


def _is_consistent(column: Column) -> bool:
    numbers, dates, codes = column.numbers, column.dates, column.codes
    if codes is not None:
        if ((codes < -1) | (codes >= len(column.texts))).any():
            return False
        if numbers is not None and ((codes >= 0) & ~np.isnan(numbers)).any():
            return False
    return dates is None or (numbers is not None and not (dates & np.isnan(numbers)).any())


def packed(texts: Any) -> tuple[Array, Array]:
    """Texts as the bytes of all, and where each ends."""
    coded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return np.frombuffer(b"".join(coded), np.uint8), np.cumsum([0, *map(len, coded)])[1:].astype(np.int64)


def unpacked(data: Array, ends: Array) -> list[str]:
    """The texts of `packed`; ValueError if the arrays do not fit together."""
    if len(data) != (ends[-1] if len(ends) else 0) or (np.diff(ends, prepend=0) < 0).any():
        raise ValueError("the texts of a table have invalid ends")
    whole, begin, texts = data.tobytes(), 0, list[str]()
    try:
        for end in ends.tolist():
            texts.append(whole[begin:end].decode("utf-8", "surrogatepass"))
            begin = end
    except UnicodeDecodeError:
        raise ValueError("the texts of a table are not valid UTF-8") from None
    return texts
