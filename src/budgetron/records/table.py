"""The normal form of a batch of records: every value is a number, a text or missing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
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


@dataclass(frozen=True, slots=True)
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
        begins, ends = (np.searchsorted(self.rows, chosen, side) for side in ("left", "right"))
        each = _ranges(begins, ends)
        rows = np.repeat(np.arange(len(chosen)), ends - begins)
        return Cells(rows, self.columns[each], self.values.rows(each))

    def column(self, n_rows: int) -> Column:
        """All cells as one column of so many rows."""
        places = np.full(n_rows, -1)
        places[self.rows] = np.arange(len(self))
        return narrowed(self.values).spread(places)


def narrowed(column: Column) -> Column:
    """The same without parts and texts that no row uses, however many texts there are."""
    if column.codes is None:
        return column.compact()
    used, codes = np.unique(column.codes, return_inverse=True)
    missing = int(used.size > 0 and used[0] < 0)
    texts = [column.texts[code] for code in used[missing:].tolist()]
    return Column(column.numbers, column.dates, (codes - missing).astype(np.int32), texts).compact()


def _ranges(begins: Array, ends: Array) -> Array:
    """The numbers from each begin to its end, one after the other."""
    counts = ends - begins
    numbers: Array = np.arange(counts.sum()) + np.repeat(begins - np.cumsum(counts) + counts, counts)
    return numbers


class Columns(Mapping[str, Column]):
    """The columns of a table, of which those that few rows have are cells until they are asked for."""

    def __init__(self, n_rows: int, places: Mapping[str, Column | int], cells: Cells) -> None:
        self.n_rows, self.places, self.cells = n_rows, places, cells

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __getitem__(self, name: str) -> Column:
        place = self.places[name]
        return self.cells_of([place]).column(self.n_rows) if isinstance(place, int) else place

    def cells_of(self, numbers: Sequence[int]) -> Cells:
        """The cells of some columns, one column after the other."""
        order, ends = self._by_column
        wanted = np.asarray(numbers, np.intp)
        return self.cells.at(order[_ranges(ends[wanted], ends[wanted + 1])])

    def firsts(self, numbers: Sequence[int]) -> list[int]:
        """The first rows of some columns that are cells."""
        order, ends = self._by_column
        rows: list[int] = self.cells.rows[order[ends[np.asarray(numbers, np.intp)]]].tolist()
        return rows

    @cached_property
    def _by_column(self) -> tuple[Array, Array]:
        counts = np.bincount(self.cells.columns)
        return np.argsort(self.cells.columns, kind="stable"), np.concatenate([[0], np.cumsum(counts)])


@dataclass(frozen=True, slots=True)
class Layouts:
    """The order of the values in each row: row i has that of ``names[of_row[i]]``; None for the first."""

    names: Sequence[tuple[str, ...]]
    of_row: Array | None = None

    def rows(self, index: Any) -> "Layouts":
        """Those of the rows that a slice or an index array selects."""
        return self if self.of_row is None else Layouts(self.names, self.of_row[index])

    def of(self, row: int) -> tuple[str, ...]:
        """The names in a row, in order."""
        return self.names[0 if self.of_row is None else int(self.of_row[row])]

    def numbers(self, n_rows: int) -> Array:
        """The layout of each row, as its place in ``names``."""
        return np.zeros(n_rows, np.int32) if self.of_row is None else self.of_row

    def in_order(self, firsts: Mapping[str, int]) -> list[str]:
        """Columns in the order of their first values: by row, and within a row as the row has them."""
        by_row: dict[int, list[str]] = {}
        for name, row in firsts.items():
            by_row.setdefault(row, []).append(name)
        for row, names in by_row.items():
            if len(names) > 1:
                given = dict.fromkeys(names)
                by_row[row] = list({name: None for name in self.of(row) if name in given} | given)
        return [name for row in sorted(by_row) for name in by_row[row]]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """An immutable batch of records: its columns by name, in the order of their first values.

    ``layouts`` are the orders of the values within the rows; None for that of the columns. With them, a
    part of a table is the table of these records alone.

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
    layouts: Layouts | None = None

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.n_rows, len(self.columns)

    @property
    def rare(self) -> Cells | None:
        """The cells of columns that few rows have."""
        return self.columns.cells if isinstance(self.columns, Columns) else None

    @property
    def places(self) -> Mapping[str, Column | int]:
        """The columns, and the numbers of those that are cells."""
        return self.columns.places if isinstance(self.columns, Columns) else self.columns

    def members(self) -> tuple[dict[str, Column], list[str], Cells | None, Layouts]:
        """The columns, the names of those that are cells, the cells, and the layouts."""
        usual, rare = dict[str, Column](), dict[int, str]()
        for name, place in self.places.items():
            if isinstance(place, int):
                rare[place] = name
            else:
                usual[name] = place
        layouts = Layouts([tuple(self.columns)]) if self.layouts is None else self.layouts
        return usual, [rare[i] for i in range(len(rare))], self.rare, layouts

    def __getitem__(self, index: Any) -> "Table":
        """The rows that a slice, an array of row numbers or a mask selects, as a table of these alone."""
        if not isinstance(index, slice):
            index = np.asarray(index)
            if index.ndim != 1 or index.dtype.kind not in "iub":
                if index.size:
                    raise TypeError("Rows of a Table are selected by a slice or an array of row numbers.")
                index = np.zeros(0, np.intp)
        chosen = np.arange(self.n_rows)[index]
        usual, names, cells, layouts = self.members()
        usual = {name: column.rows(index) for name, column in usual.items()}
        cells = None if cells is None else cells.of_rows(chosen)
        return assembled(len(chosen), usual, names, cells, layouts.rows(index))

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
        return assembled(self.n_rows, *self.members())

    def firsts(self, names: Iterable[str]) -> dict[str, int]:
        """The first rows of these columns, as far as they have a value."""
        firsts, numbers, rare = dict[str, int | None](), list[int](), list[str]()
        for name in names:
            place = self.places[name]
            firsts[name] = None if isinstance(place, int) else place.first()
            if isinstance(place, int):
                numbers.append(place)
                rare.append(name)
        if isinstance(self.columns, Columns):
            firsts.update(zip(rare, self.columns.firsts(numbers), strict=True))
        return {name: first for name, first in firsts.items() if first is not None}

    def cells_of(self, numbers: Sequence[int]) -> Cells:
        """The cells of the columns with these numbers, one column after the other."""
        assert isinstance(self.columns, Columns)
        return self.columns.cells_of(numbers)

    def with_columns(self, more: Mapping[str, Column]) -> "Table":
        """The same with more columns, after the others."""
        places = {**self.places, **more}
        cells = self.rare
        columns: Any = places if cells is None else Columns(self.n_rows, places, cells)
        return Table(self.n_rows, columns, self.layouts)

    def pieces(self, cells: int) -> Iterator[slice]:
        """Slices of rows, in order, with about so many cells of rare columns each."""
        rare, start = self.rare, 0
        while rare is not None and start < self.n_rows:
            begin = int(np.searchsorted(rare.rows, start))
            if len(rare) - begin <= cells:
                break
            stop = max(int(rare.rows[begin + cells]), start + 1)
            yield slice(start, stop)
            start = stop
        yield slice(start, self.n_rows)

    def cells(self) -> Cells:
        """All values as cells, row by row, columns in their order."""
        usual, names, rare, _ = self.members()
        number = {name: j for j, name in enumerate(self.columns)}
        parts = (
            []
            if rare is None
            else [replace(rare, columns=np.array([number[n] for n in names])[rare.columns])]
        )
        for name, column in usual.items():
            there = np.flatnonzero(column.present())
            parts.append(Cells(there, np.full(len(there), number[name]), column.rows(there)))
        joint = Cells(
            np.concatenate([np.zeros(0, np.intp), *(part.rows for part in parts)]),
            np.concatenate([np.zeros(0, np.intp), *(part.columns for part in parts)]),
            concatenated([part.values for part in parts], list(map(len, parts))),
        )
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
        values, layouts = narrowed(cells.values), self.members()[3]
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
            "layout_of_row": layouts.numbers(self.n_rows).astype(np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Table":
        """The table of these arrays; ValueError if they do not fit together."""
        got = _Parts(arrays)
        rows = got.array("rows", np.int64)
        if len(rows) != 1 or not 0 <= rows[0] <= _LARGEST:
            raise ValueError("a table has an invalid number of rows")
        n = int(rows[0])
        names = unpacked(got.array("names", np.uint8), got.array("name_ends", np.int64))
        if len(set(names)) != len(names):
            raise ValueError("two columns of a table have the same name")
        cells = got.cells(n, len(names))
        return assembled(n, {}, names, cells, got.layouts(n, names))


def assembled(
    n_rows: int, usual: Mapping[str, Column], names: Sequence[str], cells: Cells | None, layouts: Layouts
) -> Table:
    """The table of columns and of cells, whose columns have these names; in the order of first values.

    Cells of columns that many rows have become a column.
    """
    columns = dict(usual)
    if cells is not None:
        numbers, counts = np.unique(cells.columns, return_counts=True)
        often = counts * RARE >= n_rows
        columns |= dict(_often(n_rows, names, cells, numbers[often]))
        cells, names = _renumbered(cells, names, numbers[~often])
    order = layouts.in_order(_firsts(columns, names, cells))
    if cells is None or not len(cells):
        return Table(n_rows, {name: columns[name] for name in order}, layouts)
    rare = {name: i for i, name in enumerate(names)}
    places = {name: columns[name] if name in columns else rare[name] for name in order}
    return Table(n_rows, Columns(n_rows, places, cells), layouts)


def _often(n_rows: int, names: Sequence[str], cells: Cells, numbers: Array) -> Iterator[tuple[str, Column]]:
    """The columns with these numbers, made of their cells."""
    if not len(numbers):
        return
    mine = cells.at(np.flatnonzero(np.isin(cells.columns, numbers)))
    mine = mine.at(np.argsort(mine.columns, kind="stable"))
    ends = np.searchsorted(mine.columns, numbers, "right").tolist()
    for number, begin, end in zip(numbers.tolist(), [0, *ends], ends, strict=False):
        yield names[number], mine.at(slice(begin, end)).column(n_rows)


def _renumbered(cells: Cells, names: Sequence[str], kept: Array) -> tuple[Cells, list[str]]:
    """The cells of the columns that are kept, which get the numbers 0, 1, ..."""
    mine = cells.at(np.flatnonzero(np.isin(cells.columns, kept)))
    mine = Cells(mine.rows, np.searchsorted(kept, mine.columns), narrowed(mine.values))
    return mine, [names[number] for number in kept.tolist()]


def _firsts(columns: Mapping[str, Column], names: Sequence[str], cells: Cells | None) -> dict[str, int]:
    """The first row of each column that has a value."""
    firsts = {name: first for name, column in columns.items() if (first := column.first()) is not None}
    if cells is not None:
        numbers, at = np.unique(cells.columns, return_index=True)
        rows = cells.rows[at].tolist()
        firsts |= {names[j]: row for j, row in zip(numbers.tolist(), rows, strict=True)}
    return firsts


def joined(tables: Sequence[Table]) -> Table:
    """The rows of all tables, in order."""
    n, names = sum(map(len, tables)), dict[str, int]()
    for table in tables:
        for name in table.columns:
            names.setdefault(name, len(names))
    layouts = _joined_layouts(tables)
    if all(table.rare is None for table in tables):
        usual = {name: _joined_column(tables, name).compact() for name in names}
        return assembled(n, usual, [], None, layouts)
    each = [table.cells() for table in tables]
    starts = np.cumsum([0, *map(len, tables)])
    numbers = [np.array([names[name] for name in table.columns], np.intp) for table in tables]
    cells = Cells(
        np.concatenate([cells.rows + start for cells, start in zip(each, starts, strict=False)]),
        np.concatenate([places[cells.columns] for cells, places in zip(each, numbers, strict=True)]),
        concatenated([cells.values for cells in each], list(map(len, each))),
    )
    return assembled(n, {}, list(names), cells, layouts)


def _joined_layouts(tables: Sequence[Table]) -> Layouts:
    """The layouts of all rows, each once, and none that no row has."""
    numbered, parts = dict[tuple[str, ...], int](), []
    for table in tables:
        layouts = table.members()[3]
        numbers = layouts.numbers(len(table))
        new = np.zeros(len(layouts.names), np.int32)
        for used in np.unique(numbers).tolist():
            new[used] = numbered.setdefault(layouts.names[used], len(numbered))
        parts.append(new[numbers])
    return Layouts(list(numbered) or [()], np.concatenate([np.zeros(0, np.int32), *parts]))


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
