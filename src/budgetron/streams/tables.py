"""Tables as streams of records: files of CSV and Parquet, read by pyarrow, and of JSON lines."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from budgetron._util import check
from budgetron._util.choices import FORMATS
from budgetron._util.errors import DataError
from budgetron._util.extras import pip_install
from budgetron._util.label_rules import EXACT, LARGEST
from budgetron._util.text import nearest, shown
from budgetron.records.arrow import column_of_arrow, column_of_texts
from budgetron.records.reading import from_arrow
from budgetron.records.table import Column, Table
from budgetron.records.texts import BLANKS, NUMBER, is_blank
from budgetron.records.values import RefusedValueError
from budgetron.records.written import amount
from budgetron.streams.bad_rows import BadRow, BadRows, refused
from budgetron.streams.csv_text import CsvText, Rows, first_line
from budgetron.streams.sources import Source
from budgetron.streams.stream import Block, FileStream, too_few_rows

if TYPE_CHECKING:
    from budgetron.streams.json_lines import JsonLinesStream

PACKED = (".gz", ".bz2", ".xz", ".zst")
MOST_NAMES = 20  # column names listed in a message


def format_of(name: str, otherwise: str) -> str:
    """The format that a file name tells."""
    path = PurePath(name)
    path = path.with_suffix("") if path.suffix in PACKED else path
    return FORMATS.get(path.suffix, otherwise)


def listed(names: Sequence[str]) -> str:
    """The names, or the first 20 of them, for a message."""
    return ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")


@dataclass
class Columns:
    """What the columns of a table are: features, or one of the others."""

    features: list[str]
    target: str | None = None
    weight: str | None = None
    time: str | None = None
    id: str | None = None

    @property
    def all(self) -> list[str]:
        """The names of all columns that are read."""
        others = (self.target, self.weight, self.time, self.id)
        return list(dict.fromkeys([*self.features, *(name for name in others if name is not None)]))


@dataclass(eq=False, repr=False)
class TableStream(FileStream):
    """See `table`."""

    names: list[str]
    columns: Columns
    numeric_target: bool | None
    is_text: ClassVar[bool] = False

    @property
    def target(self) -> str | None:
        """The column of labels."""
        return self.columns.target

    @property
    def features(self) -> list[str]:
        """The names of the columns of features."""
        return self.columns.features

    @property
    def n_features(self) -> int:
        return len(self.features)

    @abstractmethod
    def _rows(self) -> tuple[int, Iterator[Rows]]:
        """The index of the first row that is read, and an iterator of rows."""

    def _blocks(self) -> Iterator[Block]:
        """The rows that can be read, up to the first bad one if that stops the stream."""
        reading = Reading(self.columns, self.is_text, self.numeric_target)
        at, parts = self._rows()
        for part in parts:
            block, bad = reading.block(part, at, up_to_bad=self.bad_rows.stop)
            if bad and self.bad_rows.stop:
                yield block
                raise refused(self.source.name, bad[0])
            for each in bad:
                self.bad_rows.add(self.source.name, each)
            yield block
            at = block.stop
        if at < self.first:
            raise too_few_rows(self.source.name, self.first, at)


class Reading:
    """One pass over a table. The first label says whether labels are numbers, unless that is given."""

    def __init__(self, columns: Columns, is_text: bool, numeric: bool | None) -> None:
        self._columns = columns
        self._is_text = is_text
        self._numeric = numeric

    def block(self, rows: Rows, start: int, up_to_bad: bool) -> tuple[Block, list[BadRow]]:
        """The block of the rows that can be read, or of those before the first bad one; the bad ones."""
        table, read = rows.table, self._columns
        X, reasons = self._features(table)

        def column(name: str | None, of: Callable[[Any, str, dict[int, str]], Any]) -> Any:
            return None if name is None else of(_single(table.column(name)), name, reasons)

        y, weights = column(read.target, self._labels), column(read.weight, self._weights)
        times, ids = column(read.time, self._times), column(read.id, self._ids)
        if read.time is not None:
            X = X.with_columns(dates_of(read.time, times))
            times = _numbers(times, len(X))
        block = Block(X, y, start, weights, times, ids)
        bad = rows.bad + [
            rows.bad_row(place, reason, None if ids is None else ids[place])
            for place, reason in reasons.items()
        ]
        bad.sort(key=lambda each: each.row or 0)
        good = np.ones(len(X), bool)
        good[list(reasons)] = False
        if bad and up_to_bad:
            good &= rows.numbers < bad[0].row
        if not good.all():
            block = block.chosen(np.flatnonzero(good), start)
            block.X = block.X.normal()  # columns are in the order of their first values again
        return block, bad

    def _features(self, table: Any) -> tuple[Table, dict[int, str]]:
        """The records, and the rows that have a value which is refused."""
        import pyarrow as pa

        reasons: dict[int, str] = {}
        table, names = table.select(self._columns.features), self._columns.features
        cells = names if self._is_text else ()
        while True:
            try:
                X = from_arrow(table, cells)
                break
            except RefusedValueError as error:
                if pa.types.is_nested(table.schema.field(error.column).type):
                    raise DataError(
                        f"column {error.column!r}: {error.reason}: leave it out with drop."
                    ) from error
                reasons[error.row] = f"column {error.column!r}: {error.reason}"
                place = names.index(error.column)
                values = _single(table.column(error.column)).to_pylist()
                values[error.row] = None
                table = table.set_column(place, error.column, pa.array(values, table.schema.types[place]))
        for name, column in X.columns.items():
            if (numbers := column.numbers) is not None:
                large = {i: numbers[i] for i in np.flatnonzero(np.abs(numbers) > LARGEST).tolist()}
                expected = f"column {name!r}: expected a number up to 1e150"
                reasons |= {i: f"{expected}, got {number:g}" for i, number in large.items()}
        return X, reasons

    def _column(self, array: Any, name: str) -> Column:
        import pyarrow as pa

        is_cells = self._is_text and not pa.types.is_floating(array.type)
        return column_of_texts(array) if is_cells else column_of_arrow(array, name)

    def _labels(self, array: Any, name: str, reasons: dict[int, str]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            texts = pc.utf8_trim(array, characters=BLANKS) if self._is_text else array
            return self._text_labels(texts, name, reasons)
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
        if pa.types.is_null(array.type) or any(is_kind(array.type) for is_kind in kinds):
            rounds = not pa.types.is_floating(array.type)
            return _number_labels(array.cast(pa.float64(), safe=False), array, name, reasons, rounds)
        raise DataError(f"column {name!r}: expected labels that are numbers or texts, got {array.type}.")

    def _text_labels(self, texts: Any, name: str, reasons: dict[int, str]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.if_else(pc.equal(texts, ""), None, texts)
        if self._numeric is None and self._is_text and texts.null_count < len(texts):
            first = next((text for text in texts.to_pylist() if text and not is_blank(text)), None)
            if first is None:
                return np.full(len(texts), "", object)
            self._numeric = NUMBER.fullmatch(first) is not None
        if self._numeric:
            try:
                numbers = texts.cast(pa.float64())
            except pa.ArrowInvalid:
                numbers = pa.array([t and number_of(t) for t in texts.to_pylist()], pa.float64())
                wrong = np.flatnonzero(pc.and_(numbers.is_null(), texts.is_valid())).tolist()
                expected = f"column {name!r}: expected a number"
                reasons |= {i: f"{expected}, got {texts[i].as_py()!r}" for i in wrong}
            return _number_labels(numbers, texts, name, reasons, True)
        labels, missing = (a.to_numpy(zero_copy_only=False) for a in (texts, texts.is_null()))
        return np.where(missing, "", labels.astype(object))

    def _weights(self, array: Any, name: str, reasons: dict[int, str]) -> Any:
        numbers = _numbers(self._column(array, name), len(array))
        wrong = ~((numbers >= 0) & (numbers <= LARGEST))
        _refuse(reasons, name, wrong, lambda i: f"expected a weight of 0 or more, got {_cell(array, i)}")
        return numbers

    def _times(self, array: Any, name: str, reasons: dict[int, str]) -> Column:
        column = self._column(array, name)
        wrong = ~np.isfinite(_numbers(column, len(array)))
        _refuse(reasons, name, wrong, lambda i: f"expected a date or a number, got {_cell(array, i)}")
        return column

    def _ids(self, array: Any, _: str, __: dict[int, str]) -> Any:
        return np.array(["" if v is None else str(v) for v in array.to_pylist()], dtype=object)


def _number_labels(numbers: Any, shown_as: Any, name: str, reasons: dict[int, str], rounds: bool) -> Any:
    """Labels that are numbers, or NaN. If they may have been rounded, large ones are refused."""
    labels = numbers.to_numpy(zero_copy_only=False)
    infinite = np.isinf(labels)

    def why(i: int) -> str:
        if infinite[i]:
            return f"expected a finite number, got {shown_as[i].as_py()}"
        return "expected a label below 2^53, got a larger one, which would be rounded"

    _refuse(reasons, name, infinite | ((np.abs(labels) >= EXACT) & rounds), why)
    return labels


def number_of(text: str) -> float | None:
    """The number that a label is, also of money or in percent; NaN if it is missing, else None."""
    text = text.strip(BLANKS)
    if is_blank(text):
        return np.nan
    if NUMBER.fullmatch(text):
        return float(text)
    # With a decimal comma it is no number: before one shows, 1,234 would be 1234.
    found = amount(text, comma=False)
    return None if found is None or found.comma else found.value


def dates_of(name: str, times: Column) -> dict[str, Column]:
    """The dates among the times of rows, as a feature. Times that are plain numbers are none."""
    if times.numbers is None or times.dates is None:
        return {}
    return {name: Column(np.where(times.dates, times.numbers, np.nan), times.dates)}


def _refuse(reasons: dict[int, str], name: str, rows: Any, why: Callable[[int], str]) -> None:
    """Say why these rows of a mask cannot be read; the first reason counts."""
    for i in np.flatnonzero(rows).tolist():
        reasons.setdefault(i, f"column {name!r}: {why(i)}")


def _cell(array: Any, i: int) -> str:
    return shown(array[i].as_py())


def _numbers(column: Column, rows: int) -> Any:
    return np.full(rows, np.nan) if column.numbers is None else column.numbers


def _single(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


@dataclass(eq=False, repr=False)
class CsvStream(TableStream):
    """A CSV file."""

    text: CsvText
    is_text = True

    def _rows(self) -> tuple[int, Iterator[Rows]]:
        return 0, self.text.rows(self.columns.all, self.features)


class ParquetStream(TableStream):
    """A Parquet file. ``skip`` does not read the row groups before its row."""

    def _rows(self) -> tuple[int, Iterator[Rows]]:
        import pyarrow as pa
        from pyarrow import parquet

        file = parquet.ParquetFile(self.source.path or self.source.file)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        ends = np.cumsum([0, *sizes])
        group = max(int(np.searchsorted(ends, self.first, side="right")) - 1, 0)
        if not self.bad_rows.stop:  # there may be bad rows among the first ones
            group = 0

        def read() -> Iterator[Rows]:
            at = int(ends[group])
            with _pyarrow_errors(self.source.name):
                for batch in file.iter_batches(
                    batch_size=self.rows,
                    row_groups=range(group, len(sizes)),
                    columns=self.columns.all,
                    use_threads=False,
                ):
                    table = pa.Table.from_batches([batch]).select(self.columns.all)
                    yield Rows(table, np.arange(at, at + table.num_rows), [])
                    at += table.num_rows

        return int(ends[group]), read()


def table(
    source: Any,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    only: Sequence[str] | None = None,
    weight: str | None = None,
    time: str | None = None,
    id: str | None = None,
    on_error: Any = "stop",
    rows: int = 1000,
    numeric_target: bool | None = None,
    format: str | None = None,
    delimiter: str | None = None,
) -> TableStream | JsonLinesStream:
    r"""A stream of the rows of a file of CSV, Parquet or JSON lines, as records.

    A cell is a number, true or false, an ISO date, or a text. A blank cell is a missing value. The
    estimators take such records as they are. A row without a label has the label NaN or "": `Session`
    predicts it, and does not learn it.

    Parameters
    ----------
    source : path, binary file or "-"
        CSV files may be compressed or pipes, as for `from_svmlight`. Their first line has the names of the
        columns. Empty lines are ignored. Parquet is read from a path or a seekable file. Of JSON lines,
        each is an object; the members of an object inside it, such as ``{"a": {"b": 1}}``, are columns
        with dots, ``a.b``.
    target : str, optional
        The column of labels or targets. They are numbers if the first one is, and must then be below 2^53.
    drop, only : list of str, optional
        The columns that are ignored; the only ones that are features.
    weight : str, optional
        The column of sample weights.
    time : str, optional
        The column of the time of a row. It gives the block's ``times``. If it holds dates, they are a
        feature too; plain numbers are not.
    id : str, optional
        The column that names a row. It gives the block's ``ids``, and is not a feature.
    on_error : "stop", "skip" or path
        What happens at a row that cannot be read: with a wrong number of cells, or with an infinite
        number. "stop" raises a `DataError` after the rows before it. "skip" goes on;
        ``stream.bad_rows.count`` is their number. A path is a folder, whose file ``bad_rows.jsonl`` gets
        each bad row, with its place and the reason.
    rows : int
        The number of rows of a block.
    numeric_target : bool, optional
        Whether the labels of a CSV file are numbers, whatever the first one is.
    format : "csv", "tsv", "parquet" or "jsonl", optional
        By default from the file name, else "csv".
    delimiter : str, optional
        The sign between two cells; by default a comma, or a tab for "tsv".

    Examples
    --------
    >>> import io
    >>> from budgetron import OnlineClassifier, streams
    >>> file = io.BytesIO(b"amount,country,label\n12.5,DE,ok\n,FR,ok\n900,DE,fraud\n")
    >>> [block] = streams.table(file, target="label")
    >>> list(block.X.records())
    [{'amount': 12.5, 'country': 'DE'}, {'country': 'FR'}, {'amount': 900.0, 'country': 'DE'}]
    >>> OnlineClassifier().partial_fit(block.X, block.y).predict_one({"amount": 15, "country": "FR"})
    'fraud'
    """
    source = Source(source)
    form = format_of(source.name, "csv") if format is None else format
    if form not in FORMATS.values():
        raise ValueError(f"table: format must be 'csv', 'tsv', 'parquet' or 'jsonl', got {shown(format)}.")
    rows, bad_rows = check.count("table", "rows", rows), BadRows(on_error)
    if form in ("parquet", "jsonl") and delimiter is not None:
        raise ValueError(f"table: delimiter is for CSV files, but {source.name} is {form}.")
    if form == "jsonl":
        from budgetron.streams.json_lines import JsonLinesStream
        from budgetron.streams.json_records import RecordReader

        _refuse_texts(drop=drop, only=only)
        reader = RecordReader(
            target, drop, only, weight, time, id, numeric_target, bool(numeric_target), decimals=True
        )
        return JsonLinesStream(source, rows, bad_rows, reader)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(f"table needs pyarrow: {pip_install('arrow')}.") from None
    if form == "parquet":
        if not source.rereadable:
            raise ValueError(f"table: {source.name} is a pipe, but Parquet is read from its end.")
        from pyarrow import parquet

        with _pyarrow_errors(source.name):
            names = parquet.ParquetFile(source.path or source.file).schema_arrow.names
    else:
        text = CsvText(source, delimiter or ("\t" if form == "tsv" else ","))
        names = text.names
        if not names:
            raise DataError(f"{source.name}: is empty, expected a line with the names of the columns.")
        _refuse_other_delimiter(source.name, names, text.delimiter)
    columns = chosen(source.name, names, target, drop, only, weight, time, id)
    more = (source, rows, bad_rows, names, columns, numeric_target)
    return ParquetStream(*more) if form == "parquet" else CsvStream(*more, text)


def _refuse_other_delimiter(source: str, names: list[str], delimiter: str) -> None:
    """Refuse a head that is one cell for this delimiter, but several for another common one."""
    if len(names) > 1:
        return
    for other, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas"), ("|", "bars")):
        if other != delimiter and other in names[0]:
            raise DataError(
                f"{source}: its cells are separated by {word}, not by {delimiter!r}: give delimiter "
                f"{other!r} (--delimiter)."
            )


def chosen(
    source: str,
    names: list[str],
    target: Any = None,
    drop: Any = (),
    only: Any = None,
    weight: Any = None,
    time: Any = None,
    id: Any = None,
) -> Columns:
    """What the columns with these names are, checked."""
    _refuse_texts(drop=drop, only=only)
    others = [name for name in (target, weight, time, id) if name is not None]
    for name in [*others, *drop, *(only or ())]:
        if name not in names:
            near = nearest(str(name), names, otherwise="")
            sentence = f"{source}: there is no column {name!r} among: {listed(names)}"
            raise DataError(sentence + (f"; {near}" if near else "."))
    left_out = {*others, *drop}
    if only is not None and (both := [name for name in only if name in left_out]):
        raise DataError(f"{source}: the column {both[0]!r} cannot be a feature and something else.")
    features = list(dict.fromkeys(only)) if only is not None else [n for n in names if n not in left_out]
    counts = Counter(names)
    for name in [*others, *features]:
        if counts[name] > 1:
            raise DataError(f"{source}: there is more than one column {name!r} among: {listed(names)}.")
    if not features and time is None:
        raise DataError(f"{source}: there are no columns of features, expected one or more.")
    return Columns(features, target, weight, time, id)


def _refuse_texts(**given: Any) -> None:
    """Refuse one text where a list of names is expected."""
    for what, value in given.items():
        if isinstance(value, str):
            raise TypeError(f"table: {what} must be a list of column names, got {value!r}.")


@contextmanager
def _pyarrow_errors(name: str) -> Iterator[None]:
    """Turn errors of pyarrow into a `DataError` with their first line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: {first_line(error)}") from error
