"""Streams from CSV and Parquet files, read in batches by pyarrow."""

from __future__ import annotations

import csv
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from budgetron import _check
from budgetron.streams._bytes import Readable, Source
from budgetron.streams._stream import Block, DataError, Stream, too_short

LARGEST = 2**53
BOM = b"\xef\xbb\xbf"
LINE_END = re.compile(rb"\r\n|\n|\r")


class TableStream(Stream):
    """Columns of numbers, and one of labels."""

    from_text = False  # where a double does not tell whether it was a whole number that had to be rounded

    def __init__(
        self, source: Source, names: list[str], target: str | None, features: Any, rows: int
    ) -> None:
        self.source = source
        self.target = target
        self.features = [n for n in names if n != target] if features is None else list(features)
        self.rows = rows
        for name in [*self.features, *([] if target is None else [target])]:
            if names.count(name) != 1:
                what = "no" if name not in names else "more than one"
                there = ", ".join(names)
                raise DataError(f"{source.name}: there is {what} column {name!r} among: {there}.")
        if not self.features:
            raise DataError(f"{source.name}: there are no columns of features, expected one or more.")

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.features)

    def __iter__(self) -> Iterator[Block]:
        start, batches = self._batches()
        X, y = np.empty((0, self.n_features)), None
        for batch in batches:
            more, labels = self._arrays(batch, start + len(X))
            X = np.concatenate([X, more])
            y = labels if y is None else np.concatenate([y, labels])
            drop = min(len(X), max(self.first - start, 0))
            X, y, start = X[drop:], y if y is None else y[drop:], start + drop
            while len(X) >= self.rows:
                yield Block(X[: self.rows], None if y is None else y[: self.rows], start)
                X, y, start = X[self.rows :], None if y is None else y[self.rows :], start + self.rows
        if start < self.first:
            raise too_short(self.source.name, self.first, start)
        if len(X):
            yield Block(X, y, start)

    @abstractmethod
    def _batches(self) -> tuple[int, Iterator[Any]]:
        """Record batches, and the number of the row that the first of them begins with."""

    def _arrays(self, batch: Any, start: int) -> tuple[Any, Any]:
        columns = [self._numbers(batch, name, start) for name in self.features]
        X = np.column_stack(columns) if columns else np.empty((batch.num_rows, 0))
        if self.target is None:
            return X, None
        import pyarrow as pa

        labels = batch.column(self.target)
        if not pa.types.is_string(labels.type) and not pa.types.is_large_string(labels.type):
            return X, self._whole(self._numbers(batch, self.target, start), labels.type, start)
        self._refuse_missing(labels.is_null().to_numpy(zero_copy_only=False), self.target, start)
        return X, labels.to_numpy(zero_copy_only=False).astype(object)

    def _whole(self, labels: Any, kind: Any, start: int) -> Any:
        """Labels that became doubles: from 2^53 on different whole numbers would become the same."""
        import pyarrow as pa

        large = np.abs(labels) >= LARGEST
        if large.any() and (self.from_text or not pa.types.is_floating(kind)):
            row = start + int(np.argmax(large))
            where = f"{self.source.name}, row {row} (the first is 0), column {self.target!r}"
            raise DataError(f"{where}: expected a label below 2^53 in size, got one that would be rounded.")
        return labels

    def _numbers(self, batch: Any, name: str, start: int) -> Any:
        import pyarrow as pa

        column = batch.column(name)
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
        if not any(is_kind(column.type) for is_kind in kinds):
            raise DataError(
                f"{self.source.name}: column {name!r} must hold numbers, it holds {column.type}."
            )
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        self._refuse_missing(~np.isfinite(numbers), name, start)
        return numbers

    def _refuse_missing(self, missing: Any, name: str, start: int) -> None:
        if missing.any():
            row = start + int(np.argmax(missing))
            where = f"{self.source.name}, row {row} (the first is 0), column {name!r}"
            raise DataError(f"{where}: expected a finite value, got none.")


class CsvStream(TableStream):
    """See `from_csv`."""

    from_text = True

    def __init__(
        self, source: Source, target: str | None, features: Any, rows: int, delimiter: str
    ) -> None:
        self.delimiter = delimiter
        head = Head(source, delimiter)
        self._unused = [] if source.again else [head]  # a pipe is looked at only once
        super().__init__(source, head.names, target, features, rows)

    def _batches(self) -> tuple[int, Iterator[Any]]:
        import pyarrow as pa
        from pyarrow import csv as arrow

        head = self._unused.pop() if self._unused else Head(self.source, self.delimiter)
        types = dict.fromkeys(self.features, pa.float64())
        if self.target is not None:
            types[self.target] = pa.float64() if head.is_number(self.target) else pa.string()

        def read() -> Iterator[Any]:
            with _sentence(self.source.name):
                yield from arrow.open_csv(
                    pa.PythonFile(Readable(head.pieces), mode="r"),
                    read_options=arrow.ReadOptions(use_threads=False),
                    parse_options=arrow.ParseOptions(delimiter=self.delimiter),
                    convert_options=arrow.ConvertOptions(
                        column_types=types, include_columns=list(types), strings_can_be_null=True
                    ),
                )

        return 0, read()


class Head:
    """The first two lines of a CSV file that are not empty, and all its bytes."""

    def __init__(self, source: Source, delimiter: str) -> None:
        pieces, head = source.pieces(), b""
        for piece in pieces:
            head += piece
            *ended, _ = LINE_END.split(head)
            if sum(map(bool, ended)) > 1:
                break
        first = [line for line in LINE_END.split(head.removeprefix(BOM)) if line][:2]
        lines = [line.decode("utf-8", "replace") for line in first]
        self.names, self.texts = [*csv.reader(lines, delimiter=delimiter), [], []][:2]
        self.pieces = chain([head], pieces)

    def is_number(self, name: str) -> bool:
        """Whether the first row has a number in a column; nan is one, so that it is refused as such."""
        try:
            float(self.texts[self.names.index(name)])
        except (ValueError, IndexError):
            return False
        return True


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
            with _sentence(self.source.name):
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
    """Rows of a CSV file whose first line names the columns; packed files and pipes as in `from_svmlight`.

    ``features`` are columns of numbers, by default all but the ``target``. If the target of the first row
    is a number, all are, below 2^53 in size; else they are texts. Lines that are empty do not count.
    """
    _need_arrow("from_csv")
    return CsvStream(Source(source), target, features, _check.count("from_csv", "rows", rows), delimiter)


def from_parquet(
    source: Any, target: str | None = None, features: Sequence[str] | None = None, rows: int = 1000
) -> ParquetStream:
    """Rows of a Parquet file (a path or a seekable binary file), as `from_csv` reads them.

    Skipping goes by row groups: what lies before is not read.
    """
    _need_arrow("from_parquet")
    from pyarrow import parquet

    source = Source(source)
    if not source.again:
        raise ValueError(f"from_parquet: {source.name} is a pipe; Parquet files are read from their end.")
    with _sentence(source.name):
        names = parquet.ParquetFile(source.path or source.file).schema_arrow.names
    return ParquetStream(source, names, target, features, _check.count("from_parquet", "rows", rows))


def _need_arrow(who: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(f"{who} needs pyarrow: pip install 'budgetron[arrow]'.") from None


@contextmanager
def _sentence(name: str) -> Iterator[None]:
    """What pyarrow has to say, in the first line of it."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: {str(error).splitlines()[0]}") from error
