"""Streams from CSV and Parquet files, read in batches by pyarrow."""

import io
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from budgetron import _check
from budgetron._text import nearest
from budgetron.errors import DataError
from budgetron.streams._bytes import LINE_END, Readable, Source
from budgetron.streams._stream import Block, Stream, joined, too_few_rows

LARGEST = 2**53
BLOCK = 1 << 20  # the bytes of CSV parsed at a time, unless lines are long
MOST_NAMES = 20  # column names listed in a message
LONGEST = 300  # characters quoted from a pyarrow message
BOM = b"\xef\xbb\xbf"
MISSING = "expected a finite value, got a missing or infinite one"


def listed(names: Sequence[str]) -> str:
    """The names, or the first 20 of them, for a message."""
    return ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")


class TableStream(Stream):
    """A table of numeric columns and, optionally, a column of labels."""

    from_text = False  # if True, a label of 2^53 or more may have been rounded while it was parsed

    def __init__(
        self, source: Source, names: list[str], target: str | None, features: Any, rows: int
    ) -> None:
        self.source = source
        self.target = target
        self.features = [n for n in names if n != target] if features is None else list(features)
        self.rows = rows
        counts = Counter(names)
        for name in [*self.features, *([] if target is None else [target])]:
            if counts[name] != 1:
                what = "no" if name not in counts else "more than one"
                near = "." if name in counts else f"; {nearest(name, names, otherwise='')}"
                sentence = f"{source.name}: there is {what} column {name!r} among: {listed(names)}"
                raise DataError(sentence + (near if len(near) > 2 else "."))
        if not self.features:
            raise DataError(f"{source.name}: there are no columns of features, expected one or more.")

    @property
    def n_features(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Block]:
        at, batches = self._batches()
        waiting: list[Block] = []  # rows collected until they fill a block
        for batch in batches:
            block = self._block(batch, at)
            at = block.stop
            if at <= self.first:
                continue
            waiting.append(block.part(max(self.first - block.start, 0)))
            if at - waiting[0].start >= self.rows:
                rows = joined(waiting)
                whole = len(rows) - len(rows) % self.rows
                for i in range(0, whole, self.rows):
                    yield rows.part(i, i + self.rows)
                waiting = [rows.part(whole)]
        if at < self.first:
            raise too_few_rows(self.source.name, self.first, at)
        if waiting and len(rest := joined(waiting)):
            yield rest

    @abstractmethod
    def _batches(self) -> tuple[int, Iterator[Any]]:
        """The index of the first row that is read, and an iterator of pyarrow record batches."""

    def _block(self, batch: Any, start: int) -> Block:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        X = np.empty((batch.num_rows, self.n_features))
        for j, name in enumerate(self.features):
            X[:, j] = self._numbers(columns[name], name)
        finite = np.isfinite(X)
        if not finite.all():
            j = int(np.argmin(finite.all(axis=0)))
            self._refuse(~finite[:, j], self.features[j], start)
        if self.target is None:
            return Block(X, None, start)
        import pyarrow as pa

        labels = columns[self.target]
        if not pa.types.is_string(labels.type) and not pa.types.is_large_string(labels.type):
            numbers = self._numbers(labels, self.target)
            self._refuse(~np.isfinite(numbers), self.target, start)
            exact = pa.types.is_floating(labels.type) and not self.from_text
            rounded = (np.abs(numbers) >= LARGEST) & (not exact)  # different whole numbers may become equal
            why = "expected a label below 2^53, got a larger one, which would be rounded"
            self._refuse(rounded, self.target, start, why)
            return Block(X, numbers, start)
        self._refuse(labels.is_null().to_numpy(zero_copy_only=False), self.target, start)
        return Block(X, labels.to_numpy(zero_copy_only=False).astype(object), start)

    def _numbers(self, column: Any, name: str) -> Any:
        import pyarrow as pa

        if (found := column.type) != pa.float64():
            kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
            if not any(is_kind(found) for is_kind in kinds):
                raise DataError(f"{self.source.name}: column {name!r} must hold numbers, got {found}.")
            column = column.cast(pa.float64(), safe=False)
        return column.to_numpy(zero_copy_only=False)

    def _refuse(self, refused: Any, name: str, start: int, why: str = MISSING) -> None:
        if refused.any():
            row = start + int(np.argmax(refused))
            where = f"{self.source.name}, row {row} (the first is 0), column {name!r}"
            raise DataError(f"{where}: {why}.")


class CsvStream(TableStream):
    """See `from_csv`."""

    from_text = True

    def __init__(
        self, source: Source, target: str | None, features: Any, rows: int, delimiter: str
    ) -> None:
        self.delimiter = delimiter
        head = Head(source, delimiter)
        self._unused = [] if source.rereadable else [head]  # a pipe can be read only once
        super().__init__(source, head.names, target, features, rows)

    def _batches(self) -> tuple[int, Iterator[Any]]:
        import pyarrow as pa

        head = self._unused.pop() if self._unused else Head(self.source, self.delimiter)
        types = dict.fromkeys(self.features, pa.float64())
        if self.target is not None:
            types[self.target] = pa.float64() if head.is_number(self.target) else pa.string()

        least = head.block if head.block > BLOCK else 1  # 1: rows of a pipe are parsed as they arrive

        def read() -> Iterator[Any]:
            with _pyarrow_errors(self.source.name):
                file = pa.PythonFile(Readable(head.pieces, least), mode="r")
                yield from head.open(file, types, strings_can_be_null=True)

        return 0, read()


class Head:
    """The first two non-empty lines of a CSV file, and an iterator over all its bytes."""

    def __init__(self, source: Source, delimiter: str) -> None:
        pieces = source.pieces()
        head, self._lines = _first_lines(pieces)
        self.pieces = chain([head], pieces)
        self._delimiter = delimiter
        longest = max(map(len, self._lines), default=0)
        # pyarrow refuses lines longer than a block, and is slow if a block has few rows.
        self.block = max(BLOCK, 4 * longest, min(64 * longest, 32 * BLOCK))
        with _pyarrow_errors(source.name):
            self.names = list(self.open(self._first(1), {}).schema.names) if self._lines else []

    def is_number(self, name: str) -> bool:
        """Whether the first row has a number in a column. NaN counts as one, and is refused later."""
        import pyarrow as pa

        try:
            [text] = self.open(self._first(2), {name: pa.string()}).read_all().column(name).to_pylist()
            float(text)
        except (ValueError, pa.ArrowException):
            return False
        return True

    def open(self, file: Any, types: dict[str, Any], **more: Any) -> Any:
        """A pyarrow reader of a file with this head."""
        from pyarrow import csv as arrow

        return arrow.open_csv(
            file,
            read_options=arrow.ReadOptions(use_threads=False, block_size=self.block),
            parse_options=arrow.ParseOptions(delimiter=self._delimiter),
            convert_options=arrow.ConvertOptions(column_types=types, include_columns=list(types), **more),
        )

    def _first(self, lines: int) -> io.BytesIO:
        return io.BytesIO(b"\n".join(self._lines[:lines]) + b"\n")


def _first_lines(pieces: Iterator[bytes]) -> tuple[bytes, list[bytes]]:
    """All bytes read so far, and the first two non-empty lines in them."""
    head, lines = bytearray(), list[bytes]()
    start = searched = 0
    for piece in pieces:
        head += piece
        while len(lines) < 2 and (end := LINE_END.search(head, searched)):
            lines += _line(head, start, end.start())
            start = searched = end.end()
        if len(lines) == 2:
            break
        searched = len(head)
    else:
        lines += _line(head, start, len(head))  # the last line may have no line end
    return bytes(head), lines[:2]


def _line(head: bytearray, start: int, end: int) -> list[bytes]:
    line = bytes(head[start:end])
    line = line.removeprefix(BOM) if start == 0 else line
    return [line] if line else []


class ParquetStream(TableStream):
    """See `from_parquet`."""

    def _batches(self) -> tuple[int, Iterator[Any]]:
        from pyarrow import parquet

        file = parquet.ParquetFile(self.source.path or self.source.file)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        ends = np.cumsum([0, *sizes])
        group = max(int(np.searchsorted(ends, self.first, side="right")) - 1, 0)
        columns = [*self.features, *([] if self.target is None else [self.target])]

        def read() -> Iterator[Any]:
            with _pyarrow_errors(self.source.name):
                yield from file.iter_batches(
                    batch_size=self.rows,
                    row_groups=range(group, len(sizes)),
                    columns=columns,
                    use_threads=False,
                )

        return int(ends[group]), read()


def from_csv(
    source: Any,
    target: str | None = None,
    features: Sequence[str] | None = None,
    rows: int = 1000,
    delimiter: str = ",",
) -> CsvStream:
    """A stream of the rows of a CSV file. Its first line has the column names.

    ``source`` may be compressed or a pipe, as for `from_svmlight`. ``features`` are the names of numeric
    columns; by default all but the ``target``. If the target in the first row is a number, all targets must
    be numbers below 2^53; else they are strings. Empty lines are ignored.
    """
    _require_pyarrow("from_csv")
    return CsvStream(Source(source), target, features, _check.count("from_csv", "rows", rows), delimiter)


def from_parquet(
    source: Any, target: str | None = None, features: Sequence[str] | None = None, rows: int = 1000
) -> ParquetStream:
    """A stream of the rows of a Parquet file, a path or a seekable binary file.

    ``target`` and ``features`` are as for `from_csv`. ``skip`` does not read the row groups before its row.
    """
    _require_pyarrow("from_parquet")
    from pyarrow import parquet

    source = Source(source)
    if not source.rereadable:
        raise ValueError(f"from_parquet: {source.name} is a pipe, but Parquet is read from its end.")
    with _pyarrow_errors(source.name):
        names = parquet.ParquetFile(source.path or source.file).schema_arrow.names
    return ParquetStream(source, names, target, features, _check.count("from_parquet", "rows", rows))


def _require_pyarrow(who: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(f"{who} needs pyarrow: pip install 'budgetron[arrow]'.") from None


@contextmanager
def _pyarrow_errors(name: str) -> Iterator[None]:
    """Turn errors of pyarrow into a `DataError` with their first line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        message = str(error).splitlines()[0]
        if "straddling object" in message:
            message = "a line is too long: it has many more bytes than the first two lines."
        message = message if len(message) <= LONGEST else f"{message[:LONGEST]}..."
        raise DataError(f"{name}: {message}") from error
