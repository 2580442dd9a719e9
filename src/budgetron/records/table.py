"""The normal form of a batch of records: every value is a number, a text or missing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_LARGEST = 2**31 - 1
RARE = 4  # a column is kept as cells if fewer than one row in so many has a value


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
        numbers, dates, codes = (
            None if array is None else array[index] for array in (self.numbers, self.dates, self.codes)
        )
        return Column(numbers, dates, codes, self.texts)

    def spread_to(self, rows: Any, n_rows: int) -> "Column":
        """A longer column, which has the values of this one in these rows, and no others."""
        places = np.full(n_rows, -1)
        places[rows] = np.arange(len(rows))
        return self.spread(places)

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

    def at(self, row: int) -> float | tuple[float] | str | None:
        """The value of one row; a date as ``(seconds,)``."""
        if self.codes is not None and self.codes[row] >= 0:
            return str(self.texts[self.codes[row]])
        if self.numbers is None or (number := float(self.numbers[row])) != number:
            return None
        return (number,) if self.dates is not None and self.dates[row] else number

    def used(self) -> list[int]:
        """The codes that some row has, sorted."""
        return [] if self.codes is None else _used(self.codes, len(self.texts)).tolist()

    def compact(self) -> "Column":
        """The same without parts and texts that no row uses."""
        numbers, dates, codes = self.numbers, self.dates, self.codes
        if numbers is not None and np.isnan(numbers).all():
            numbers = None
        if dates is not None and not dates.any():
            dates = None
        if codes is None or not (codes >= 0).any():
            return Column(numbers, dates)
        used = _used(codes, len(self.texts))
        if len(used) == len(self.texts):
            return Column(numbers, dates, codes, self.texts)
        new = np.searchsorted(used, codes).astype(np.int32)
        new[codes < 0] = -1
        return Column(numbers, dates, new, [self.texts[code] for code in used.tolist()])

    def values(self) -> list[float | str | None]:
        """The values one by one, dates as seconds."""
        n = len(self.present())
        numbers = [np.nan] * n if self.numbers is None else self.numbers.tolist()
        codes = [-1] * n if self.codes is None else self.codes.tolist()
        return [
            self.texts[code] if code >= 0 else None if number != number else number
            for number, code in zip(numbers, codes, strict=True)
        ]


def _used(codes: Array, texts: int) -> Array:
    """The codes of so many texts that are used, sorted."""
    if texts > len(codes):
        return np.unique(codes[codes >= 0])
    used = np.zeros(texts + 1, bool)  # the last place is for code -1
    used[codes] = True
    return np.flatnonzero(used[:-1])


@dataclass(frozen=True)
class Cells:
    """Values of columns that few rows have, row by row: the memory is that of the values.

    Cell i is the value of column number ``columns[i]`` in row ``rows[i]``. Every cell has a value.
    """

    rows: Array
    columns: Array
    values: Column

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, index: Any) -> "Cells":
        """The cells that a slice or an index array selects."""
        return Cells(self.rows[index], self.columns[index], self.values.rows(index))

    def of_rows(self, chosen: Array) -> "Cells":
        """The cells of these rows, which become rows 0, 1, ..."""
        if not len(self):
            return self
        begins, ends = (np.searchsorted(self.rows, chosen, side) for side in ("left", "right"))
        rows = np.repeat(np.arange(len(chosen)), ends - begins)
        return replace(self.at(_ranges(begins, ends)), rows=rows)

    def of_columns(self, numbers: Sequence[int]) -> "Cells":
        """The cells of these columns, one column after the other."""
        order, known, ends = self._by_column
        places = np.searchsorted(known, numbers)
        return self.at(order[_ranges(ends[places], ends[places + 1])])

    def column(self, number: int, n_rows: int) -> Column:
        """The cells of one column as a column of so many rows."""
        cells = self.of_columns([number])
        return cells.values.compact().spread_to(cells.rows, n_rows)

    def firsts(self) -> dict[int, int]:
        """The first row of each column."""
        if not len(self):
            return {}
        order, numbers, ends = self._by_column
        return dict(zip(numbers.tolist(), self.rows[order[ends[:-1]]].tolist(), strict=True))

    def split(self, n_rows: int) -> tuple[dict[int, Column], "Cells"]:
        """What many of so many rows have as columns, by number, and the other cells."""
        _, numbers, ends = self._by_column
        often = numbers[np.diff(ends) * RARE >= n_rows]
        rest = self.at(np.isin(self.columns, often, invert=True))
        columns = {number: self.column(number, n_rows) for number in often.tolist()}
        return columns, replace(rest, values=rest.values.compact())

    @cached_property
    def _by_column(self) -> tuple[Array, Array, Array]:
        """The cells sorted by column, the columns, and where each begins; then the end of the last."""
        order = np.argsort(self.columns, kind="stable")
        numbers, begins = np.unique(self.columns[order], return_index=True)
        return order, numbers, np.append(begins, len(order))


def _ranges(begins: Array, ends: Array) -> Array:
    """The numbers from each begin to its end, one after the other."""
    counts = ends - begins
    numbers: Array = np.arange(counts.sum()) + np.repeat(begins - np.cumsum(counts) + counts, counts)
    return numbers


def _together(parts: Sequence[Cells]) -> Cells:
    """The cells of all parts."""
    rows, columns = ([getattr(part, name) for part in parts] for name in ("rows", "columns"))
    values = concatenated([part.values for part in parts], list(map(len, parts)))
    return Cells(np.concatenate(rows), np.concatenate(columns), values)


NO_CELLS = Cells(np.zeros(0, np.intp), np.zeros(0, np.intp), Column())


class Columns(Mapping[str, Column]):
    """The columns of a table. Those that few rows have are made of their cells each time."""

    def __init__(self, table: "Table") -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table.places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.places)

    def __contains__(self, name: object) -> bool:
        return name in self._table.places

    def __getitem__(self, name: str) -> Column:
        table, place = self._table, self._table.places[name]
        return table.rare.column(place, table.n_rows) if isinstance(place, int) else place


@dataclass(frozen=True, slots=True)
class Layouts:
    """The order of the values in each row: row i has that of ``names[of_row[i]]``."""

    names: Sequence[tuple[str, ...]]
    of_row: Array

    def in_order(self, firsts: Mapping[str, int]) -> list[str]:
        """Columns in the order of their first values: by row, and within a row as the row has them."""
        by_row: dict[int, list[str]] = {}
        for name, row in firsts.items():
            by_row.setdefault(row, []).append(name)
        for row, names in by_row.items():
            if len(names) > 1:
                given = dict.fromkeys(names)
                by_row[row] = list(
                    {name: None for name in self.names[self.of_row[row]] if name in given} | given
                )
        return [name for row in sorted(by_row) for name in by_row[row]]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """An immutable batch of records: its columns by name, in the order of their first values.

    ``places`` has the columns, and numbers for those that few rows have: their values are the ``rare``
    cells. ``layouts`` are the orders of the values within the rows; None for that of the columns. With
    them, a part of a table is the table of these records alone.

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
    places: Mapping[str, Column | int]
    layouts: Layouts | None = None
    rare: Cells = NO_CELLS

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.n_rows, len(self.places)

    @property
    def columns(self) -> Columns:
        """The columns by name."""
        return Columns(self)

    @property
    def order(self) -> Layouts:
        """The orders of the values within the rows."""
        return self.layouts or Layouts([tuple(self.places)], np.zeros(self.n_rows, np.int32))

    def __getitem__(self, index: Any) -> "Table":
        """The rows that a slice, an array of row numbers or a mask selects, as a table of these alone."""
        if not isinstance(index, slice):
            index = np.asarray(index)
            if index.ndim != 1 or index.dtype.kind not in "iub":
                if index.size:
                    raise TypeError("Rows of a Table are selected by a slice or an array of row numbers.")
                index = np.zeros(0, np.intp)
        order = self.order
        of_row = order.of_row[index]
        cells = self.rare.of_rows(np.arange(self.n_rows)[index]) if len(self.rare) else self.rare
        known = cells.firsts()
        places = {
            name: place if isinstance(place, int) else place.rows(index)
            for name, place in self.places.items()
            if not isinstance(place, int) or place in known
        }
        return assembled(len(of_row), places, cells, Layouts(order.names, of_row))

    def __eq__(self, other: object) -> bool:
        """Whether the rows have equal values. The order of columns counts, that of texts does not."""
        if not isinstance(other, Table):
            return NotImplemented
        mine, theirs = self.normal(), other.normal()
        return len(mine) == len(theirs) and list(mine._content()) == list(theirs._content())

    def _content(self) -> Iterator[Any]:
        for name, column in self.columns.items():
            dates = [] if column.dates is None else np.flatnonzero(column.dates).tolist()
            yield name, column.values(), dates

    def normal(self) -> "Table":
        """The same with columns in the order of their first values, and none that has no value."""
        return assembled(self.n_rows, self.places, self.rare, self.order)

    def firsts(self, names: Iterable[str]) -> dict[str, int]:
        """The first rows of these columns, as far as they have a value."""
        of_cells, firsts = self.rare.firsts(), dict[str, int]()
        for name in names:
            place = self.places[name]
            row = of_cells.get(place) if isinstance(place, int) else place.first()
            if row is not None:
                firsts[name] = row
        return firsts

    def with_columns(self, more: Mapping[str, Column]) -> "Table":
        """The same with more columns, after the others."""
        return replace(self, places={**self.places, **more})

    def cells(self) -> Cells:
        """All values as cells, row by row, columns in their order."""
        new, usual = np.zeros(self.rare.columns.max(initial=0) + 1, np.intp), list[Cells]()
        for j, place in enumerate(self.places.values()):
            if isinstance(place, int):
                new[place] = j
            else:
                there = np.flatnonzero(place.present())
                usual.append(Cells(there, np.full(len(there), j), place.rows(there)))
        joint = _together([replace(self.rare, columns=new[self.rare.columns]), *usual])
        return joint.at(np.lexsort((joint.columns, joint.rows)))

    def records(self) -> Iterator[dict[str, float | str]]:
        """The records one by one, without missing values."""
        cells, names = self.cells(), list(self.columns)
        ends = np.searchsorted(cells.rows, np.arange(self.n_rows), "right").tolist()
        columns, values, begin = cells.columns.tolist(), cells.values.values(), 0
        for end in ends:
            row = zip(columns[begin:end], values[begin:end], strict=True)
            yield {names[column]: value for column, value in row if value is not None}
            begin = end

    def as_arrays(self) -> dict[str, Array]:
        """The table as plain arrays, for files."""
        cells, number = self.cells(), {name: j for j, name in enumerate(self.columns)}
        values, layouts = cells.values.compact(), self.order
        names, name_ends = packed(self.columns)
        texts, text_ends = packed(values.texts)
        orders = [[number[name] for name in layout if name in number] for layout in layouts.names]

        def part(array: Array | None, none: Any, dtype: npt.DTypeLike) -> Array:
            return np.full(len(cells), none, dtype) if array is None else array.astype(dtype)

        return {
            "rows": np.array([self.n_rows], np.int64),
            "names": names,
            "name_ends": name_ends,
            "cell_rows": cells.rows.astype(np.int32),
            "cell_columns": cells.columns.astype(np.int32),
            "numbers": part(values.numbers, np.nan, np.float64),
            "dates": part(values.dates, False, np.bool_),
            "codes": part(values.codes, -1, np.int32),
            "texts": texts,
            "text_ends": text_ends,
            "layouts": np.array([j for order in orders for j in order], np.int32),
            "layout_ends": np.cumsum([0, *map(len, orders)])[1:].astype(np.int64),
            "layout_of_row": layouts.of_row.astype(np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Table":
        """The table of these arrays; ValueError if they do not fit together."""
        parts = _Parts(arrays)
        rows = parts.array("rows", np.int64)
        if len(rows) != 1 or not 0 <= rows[0] <= _LARGEST:
            raise ValueError("a table has an invalid number of rows")
        n = int(rows[0])
        names = unpacked(parts.array("names", np.uint8), parts.array("name_ends", np.int64))
        numbers = {name: j for j, name in enumerate(names)}
        if len(numbers) != len(names):
            raise ValueError("two columns of a table have the same name")
        return assembled(n, numbers, parts.cells(n, len(names)), parts.layouts(n, names))


def assembled(n_rows: int, places: Mapping[str, Column | int], cells: Cells, layouts: Layouts) -> Table:
    """The table of columns and of cells, whose columns have these numbers; in the order of first values.

    Cells of columns that many rows have become a column.
    """
    if len(cells):
        often, cells = cells.split(n_rows)
        if often:
            places = {
                name: often.get(place, place) if isinstance(place, int) else place
                for name, place in places.items()
            }
    order = layouts.in_order(Table(n_rows, places, layouts, cells).firsts(places))
    return Table(n_rows, {name: places[name] for name in order}, layouts, cells)


def joined(tables: Sequence[Table]) -> Table:
    """The rows of all tables, in order."""
    n, layouts = sum(map(len, tables)), _joined_layouts(tables)
    numbers = {name: j for j, name in enumerate(dict.fromkeys(chain(*(table.places for table in tables))))}
    if not any(len(table.rare) for table in tables):
        usual = {name: _joined_column(tables, name).compact() for name in numbers}
        return assembled(n, usual, NO_CELLS, layouts)
    parts = [NO_CELLS]
    for table, start in zip(tables, accumulate(map(len, tables), initial=0), strict=False):
        cells, new = table.cells(), np.array([numbers[name] for name in table.places], np.intp)
        parts.append(Cells(cells.rows + start, new[cells.columns], cells.values))
    return assembled(n, numbers, _together(parts), layouts)


def _joined_layouts(tables: Sequence[Table]) -> Layouts:
    """The layouts of all rows, each once, and none that no row has."""
    numbered, parts = dict[tuple[str, ...], int](), [np.zeros(0, np.int32)]
    for layouts in (table.order for table in tables):
        new = np.zeros(len(layouts.names), np.int32)
        for used in np.unique(layouts.of_row).tolist():
            new[used] = numbered.setdefault(layouts.names[used], len(numbered))
        parts.append(new[layouts.of_row])
    return Layouts(list(numbered) or [()], np.concatenate(parts))


def _joined_column(tables: Sequence[Table], name: str) -> Column:
    parts = [table.columns[name].compact() if name in table.columns else Column() for table in tables]
    return concatenated(parts, list(map(len, tables)))


def concatenated(parts: Sequence[Column], lengths: Sequence[int]) -> Column:
    """The values of columns of these lengths, one after the other."""
    n, at = sum(lengths), 0
    numbers = np.full(n, np.nan) if any(c.numbers is not None for c in parts) else None
    dates = np.zeros(n, np.bool_) if any(c.dates is not None for c in parts) else None
    codes = np.full(n, -1, np.int32) if any(c.codes is not None for c in parts) else None
    places: dict[str, int] = {}
    for column, length in zip(parts, lengths, strict=True):
        rows = slice(at, at + length)
        if numbers is not None and column.numbers is not None:
            numbers[rows] = column.numbers
        if dates is not None and column.dates is not None:
            dates[rows] = column.dates
        if codes is not None and column.codes is not None:
            new = [places.setdefault(text, len(places)) for text in column.texts]
            codes[rows] = np.array([*new, -1], np.int32)[column.codes]
        at += length
    return Column(numbers, dates, codes, list(places))


class _Parts:
    """Arrays from a file, checked for kind and dimension as they are taken."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays

    def array(self, name: str, dtype: Any) -> Array:
        """The array of that name."""
        array = self._arrays.get(name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"a table has no valid {name!r}")
        return array

    def cells(self, n_rows: int, n_columns: int) -> Cells:
        """The cells, each with one value, in order, within the rows and columns."""
        rows, columns = (
            self.array(f"cell_{what}", np.int32).astype(np.intp) for what in ("rows", "columns")
        )
        texts = unpacked(self.array("texts", np.uint8), self.array("text_ends", np.int64))
        numbers, dates = self.array("numbers", np.float64), self.array("dates", np.bool_)
        codes = self.array("codes", np.int32)
        if len({len(array) for array in (rows, columns, numbers, dates, codes)}) > 1:
            raise ValueError("the cells of a table have different lengths")
        if len(rows) and (
            min(rows.min(), columns.min()) < 0 or rows.max() >= n_rows or columns.max() >= n_columns
        ):
            raise ValueError("a cell of a table is outside of it")
        if (np.diff(rows * n_columns + columns) <= 0).any():
            raise ValueError("the cells of a table are not in order")
        column = Column(numbers, dates, codes, texts)
        if not _is_consistent(column) or not column.present().all():
            raise ValueError("a cell of a table is inconsistent")
        return Cells(rows, columns, column)

    def layouts(self, n_rows: int, names: Sequence[str]) -> Layouts:
        """The layouts, within the names and for all rows."""
        flat, ends = self.array("layouts", np.int32), self.array("layout_ends", np.int64)
        of_row = self.array("layout_of_row", np.int32)
        if len(flat) and not 0 <= flat.min() <= flat.max() < len(names):
            raise ValueError("a layout of a table names no column")
        if (np.diff(ends, prepend=0) < 0).any() or (ends[-1] if len(ends) else 0) != len(flat):
            raise ValueError("the layouts of a table have invalid ends")
        if len(of_row) != n_rows or (n_rows and not 0 <= of_row.min() <= of_row.max() < len(ends)):
            raise ValueError("a row of a table has no layout")
        numbers, cuts = flat.tolist(), [0, *ends.tolist()]
        layouts = [tuple(names[j] for j in numbers[a:b]) for a, b in pairwise(cuts)]
        return Layouts(layouts or [()], of_row)


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
