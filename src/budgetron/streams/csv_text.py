"""CSV text: cut into whole rows, which pyarrow reads; rows that it cannot read are found and kept apart."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from budgetron import _core
from budgetron._util.errors import DataError
from budgetron.records.arrow import all_numbers
from budgetron.streams.bad_rows import BadRow
from budgetron.streams.sources import LINE_END, Source, without_mark

LEAST = 1 << 20  # bytes of a file that are read at a time
LONGEST_QUOTE = 1 << 20  # bytes; a quote that does not end within them is a stray one
LONGEST = 1000  # characters of a row or a message that are kept


@dataclass
class Rows:
    """Consecutive rows of a table as a pyarrow table, and those between them that cannot be read."""

    table: Any
    numbers: Any  # of the rows in the table: their places in the file
    bad: list[BadRow]

    def bad_row(self, place: int, reason: str, name: str | None) -> BadRow:
        """The report on a row of the table that cannot be used."""
        values = {key: values[0] for key, values in self.table.slice(place, 1).to_pydict().items()}
        return BadRow(int(self.numbers[place]), reason, str(values), id=name)


@dataclass
class TextRows(Rows):
    """Rows of CSV text."""

    text: "Text"

    def bad_row(self, place: int, reason: str, name: str | None) -> BadRow:
        return self.text.bad_row(int(self.numbers[place]), reason, name)


class Quotes:
    """Quoted cells: a quote begins one only at the start of a cell."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = ord(delimiter)
        # The quote comes first, since that is what a regular expression can search for quickly.
        start = rb'"(?:(?<=[\r\n%b]")|(?<=\A"))' % re.escape(delimiter.encode())
        self.cell = re.compile(start + rb'[^"]*(?:""[^"]*)*("?)')  # the group is empty if it does not end
        self._with_line_end = re.compile(start + rb'[^"\r\n]*(?:""[^"\r\n]*)*[\r\n]')

    def have_line_end(self, data: bytes) -> bool:
        """Whether a cell may be quoted over more than one line. True is not certain."""
        if b'"' not in data or self._are_plain(np.frombuffer(data, np.uint8)):
            return False
        return self._with_line_end.search(data) is not None

    def open_at(self, data: bytes) -> int | None:
        """Where a cell begins that does not end in the data."""
        return next((match.start() for match in self.cell.finditer(data) if not match[1]), None)

    def _are_plain(self, data: Any) -> bool:
        """Whether every cell that a quote begins ends in its line: the usual case, found quickly."""
        quotes, ends = np.flatnonzero(data == 34), np.flatnonzero((data == 10) | (data == 13))
        if len(quotes) % 2 or (np.searchsorted(quotes, ends) % 2).any():
            return False
        first = quotes[::2]
        before = data[first - 1]  # of a quote at the very start it is the last byte
        starts = (before == self._delimiter) | (before == 10) | (before == 13) | (before == 34)
        return bool((starts | (first == 0)).all())


@dataclass
class Text:
    """Whole rows of CSV text; ``row`` and ``line`` (from 1) are the numbers of the first."""

    data: bytes
    row: int
    line: int
    quotes: Quotes
    over_lines: bool  # whether a cell may be quoted over more than one line

    @cached_property
    def _starts(self) -> list[tuple[int, int, int]]:
        """For every row that is not empty: its line, and where it begins and ends."""
        masked = self.data
        if self.over_lines:
            masked = self.quotes.cell.sub(_without_line_ends, masked)
        starts, at, line = [], 0, self.line
        for end in LINE_END.finditer(masked):
            if end.start() > at:
                starts.append((line, at, end.start()))
            line += 1 + len(LINE_END.findall(self.data, at, end.start()))
            at = end.end()
        return starts + ([(line, at, len(masked))] if at < len(masked) else [])

    def __len__(self) -> int:
        return len(self._starts)

    def count_rows(self) -> int:
        """The number of rows, counted without finding each of them if possible."""
        if self.over_lines or b"\r" in self.data:
            return len(self)
        ends = np.flatnonzero(np.frombuffer(self.data, np.uint8) == 10)
        empty = int(np.count_nonzero(np.diff(ends, prepend=-1) == 1))
        return len(ends) - empty + (self.data[-1:] not in (b"", b"\n"))

    def head_and_rest(self) -> "tuple[Text | None, Text]":
        """The first row that is not empty, if there is one, and the text after it."""
        if self.over_lines and len(self) > 1:
            return self.part(0, 1), self.part(1, len(self))
        begin = len(self.data) - len(self.data.lstrip(b"\r\n"))
        if begin == len(self.data):
            return None, self
        line_end = None if self.over_lines else LINE_END.search(self.data, begin)
        end = line_end.end() if line_end else len(self.data)
        line = self.line + len(LINE_END.findall(self.data, 0, begin))
        head = Text(self.data[begin:end], self.row, line, self.quotes, self.over_lines)
        return head, Text(self.data[end:], self.row + 1, line + 1, self.quotes, self.over_lines)

    def stray_quote(self) -> int | None:
        """The index of the row with a quote that does not end, if there is one."""
        if not self.over_lines or (place := self.quotes.open_at(self.data)) is None:
            return None
        return next(i for i, (_, _, end) in enumerate(self._starts) if place < end)

    def part(self, begin: int, end: int) -> "Text":
        """The rows from ``begin`` to ``end``."""
        starts = self._starts[begin:end]
        data = self.data[starts[0][1] : starts[-1][2]]
        return Text(data, self.row + begin, starts[0][0], self.quotes, self.over_lines)

    def bad_row(self, row: int, reason: str, name: str | None = None) -> BadRow:
        line, begin, end = self._starts[row - self.row]
        text = self.data[begin:end].decode("utf-8", "backslashreplace")
        return BadRow(row, reason, text, line, id=name)


def _without_line_ends(match: re.Match[bytes]) -> bytes:
    """The same number of bytes; a quote that does not end is left as it is."""
    return match[0].translate(bytes.maketrans(b"\r\n", b"  ")) if match[1] else match[0]


@dataclass
class CsvText:
    """A CSV file: the names of its columns, and its rows."""

    source: Source
    delimiter: str
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.delimiter, str) or len(self.delimiter.encode()) != 1:
            raise ValueError(f"table: delimiter must be one ASCII character, got {self.delimiter!r}.")
        self._quotes = Quotes(self.delimiter)
        self._begun: Iterator[Text] | None = self._cut()  # the first pass
        head = next(self._begun, None)
        self.names = [] if head is None else self._names(head)

    def rows(self, columns: Sequence[str], typed: Sequence[str]) -> Iterator[TextRows]:
        """The rows of these columns; those ``typed`` as numbers or dictionaries where that is quicker."""
        texts, self._begun = self._begun or islice(self._cut(), 1, None), None
        reader = Reader(self.names, list(columns), set(typed), self.delimiter)
        yield from map(reader.read, texts)

    def _names(self, head: Text) -> list[str]:
        from pyarrow import ArrowException, BufferReader
        from pyarrow import csv as arrow

        try:
            parse = arrow.ParseOptions(delimiter=self.delimiter)
            read = arrow.ReadOptions(use_threads=False, block_size=len(head.data) + 2)
            names = arrow.read_csv(BufferReader(head.data + b"\n"), read, parse).schema.names
        except (ArrowException, UnicodeDecodeError) as error:
            raise DataError(f"{self.source.name}, line {head.line}: {_reason(error)}.") from error
        return [name.strip() for name in names]

    def _cut(self) -> Iterator[Text]:
        """The head alone, then whole rows: of a pipe as they arrive."""
        row, line = -1, 1
        for data, over_lines in self._whole_rows(without_mark(self.source.pieces())):
            text = Text(data, row, line, self._quotes, over_lines)
            line += len(LINE_END.findall(data)) if b"\r" in data else data.count(b"\n")
            if row < 0:
                head, text = text.head_and_rest()
                if head is None:
                    continue
                yield head
                row = 0
            if n := text.count_rows():
                yield text
                row += n

    def _whole_rows(self, pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
        """Data that ends with a row, and whether a cell of it may be quoted over more than one line."""
        least = LEAST if self.source.rereadable else 1
        waiting, size, ended, known = list[bytes](), 0, False, False
        try:
            for piece in pieces:
                waiting.append(piece)
                size += len(piece)
                ended = ended or b"\n" in piece or b"\r" in piece
                if size < least or not ended:
                    continue
                data = b"".join(waiting)
                end = data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, len(data) - 1) + 1
                if end and not known:  # rows of many columns are slow to read one by one
                    wide = 64 * len(LINE_END.split(data, 1)[0])
                    least, known = max(least, min(wide, 32 * LEAST) if wide > 4 * LEAST else 0), True
                    if size < least:
                        waiting = [data]
                        continue
                over_lines = end > 0 and self._quotes.have_line_end(data[:end])
                is_open = over_lines and self._quotes.open_at(data[:end]) is not None
                if end and (size > LONGEST_QUOTE + least or not is_open):
                    yield data[:end], over_lines
                    data = data[end:]
                waiting, size, ended = [data], len(data), end == 0 or b"\n" in data or b"\r" in data
        except DataError:  # the data is damaged from here on
            data = b"".join(waiting)
            if end := data.rfind(b"\n") + 1:
                yield data[:end], self._quotes.have_line_end(data[:end])
            raise
        if data := b"".join(waiting):
            yield data, self._quotes.have_line_end(data)


class Reader:
    """Reads the rows of some columns with pyarrow.

    All cells are texts, whose meaning `records.texts` defines. A column whose cells were all numbers so far
    is read as numbers, and one of few different texts as a dictionary, which is quicker. If a cell is not
    a plain number, the rows are read again as texts, so the meaning is the same.
    """

    def __init__(self, names: list[str], columns: list[str], typed: set[str], delimiter: str) -> None:
        self._columns = columns
        self._typed = typed
        self._delimiter = delimiter
        self._places = [str(i) for i in range(len(names))]  # names may occur twice
        self._place = {name: str(i) for i, name in enumerate(names)}
        self._types: dict[str, Any] | None = None  # by column, for those that are not texts

    def read(self, text: Text) -> TextRows:
        rows = self._typed_rows(text)
        if rows is None:
            rows = self._texts(text)
            self._choose_types(rows[0])
        table, bad = rows
        numbers = np.arange(text.row, text.row + table.num_rows + len(bad))
        if bad:
            numbers = np.setdiff1d(numbers, [each.row for each in bad])
        return TextRows(table, numbers, bad, text)

    def _typed_rows(self, text: Text) -> tuple[Any, list[BadRow]] | None:
        """All rows with the types chosen, or None if a cell does not fit."""
        import pyarrow as pa

        if not self._types or text.stray_quote() is not None:
            return None
        if pa.float64() in self._types.values() and _core.may_have_codes(text.data, self._delimiter):
            return None  # pyarrow would read 01234 as a number
        try:
            table, bad = self._parsed(text, self._types)
        except pa.ArrowInvalid:
            return None
        return (table, bad) if all(self._is_plain(table, name) for name in self._types) else None

    def _is_plain(self, table: Any, name: str) -> bool:
        import pyarrow as pa

        column = table.column(name)
        if not pa.types.is_floating(column.type):
            return True
        numbers = column.to_numpy()
        return bool(np.count_nonzero(np.isfinite(numbers)) == len(numbers) - column.null_count)

    def _choose_types(self, table: Any) -> None:
        import pyarrow as pa

        if self._types is None:
            self._types = {}
            for name in self._typed:
                cells = table.column(name).combine_chunks()
                if all_numbers(cells) is not None and cells.null_count < len(cells):
                    self._types[name] = pa.float64()
                elif len(cells.unique()) <= len(cells) // 4:
                    self._types[name] = pa.dictionary(pa.int32(), pa.string())
            return
        for name, kind in list(self._types.items()):
            if kind == pa.float64() and all_numbers(table.column(name).combine_chunks()) is None:
                del self._types[name]

    def _texts(self, text: Text) -> tuple[Any, list[BadRow]]:
        """All rows as texts. If pyarrow refuses them, each half is read alone, down to the bad rows."""
        import pyarrow as pa

        stray = text.stray_quote()
        if stray is not None and len(text) > 1:
            return self._halves(text, max(stray, 1) if stray < len(text) - 1 else stray)
        try:
            return self._parsed(text, {})
        except pa.ArrowInvalid as error:
            if len(text) > 1:
                return self._halves(text, len(text) // 2)
            empty = pa.table({name: pa.array([], pa.string()) for name in self._columns})
            return empty, [text.bad_row(text.row, _reason(error))]

    def _halves(self, text: Text, middle: int) -> tuple[Any, list[BadRow]]:
        import pyarrow as pa

        (one, bad), (other, more) = (
            self._texts(text.part(i, j)) for i, j in ((0, middle), (middle, len(text)))
        )
        return pa.concat_tables([one, other]).combine_chunks(), bad + more

    def _parsed(self, text: Text, types: dict[str, Any]) -> tuple[Any, list[BadRow]]:
        import pyarrow as pa
        from pyarrow import csv as arrow

        bad: list[BadRow] = []

        def skip(row: Any) -> str:
            reason = f"expected {row.expected_columns} cells, got {row.actual_columns}"
            bad.append(text.bad_row(text.row + row.number - 1, reason))
            return "skip"

        by_place = {self._place[name]: types.get(name, pa.string()) for name in self._columns}
        table = arrow.read_csv(
            pa.BufferReader(text.data),
            read_options=arrow.ReadOptions(
                use_threads=False, column_names=self._places, block_size=len(text.data) + 1
            ),
            parse_options=arrow.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=b'"' in text.data,
                invalid_row_handler=skip,
            ),
            convert_options=arrow.ConvertOptions(
                column_types=by_place,
                include_columns=list(by_place),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        return table.rename_columns(self._columns), bad


def _reason(error: BaseException) -> str:
    message = first_line(error).rstrip(".")
    other = isinstance(error, UnicodeDecodeError) or "UTF8" in message
    return "expected text in UTF-8, got other bytes" if other else message


def first_line(error: BaseException) -> str:
    """The first line of a message of pyarrow, not too long."""
    message = next(iter(str(error).splitlines()), type(error).__name__)
    return message if len(message) <= LONGEST else f"{message[:LONGEST]}..."
