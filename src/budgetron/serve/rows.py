"""Bodies of requests to rows. The log stores bodies, so this also reads what was learned years ago."""

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Meta, Struct, UnsetType

from budgetron._util.label_rules import is_exact
from budgetron._util.text import shown
from budgetron.records.reading import flat, from_arrow
from budgetron.records.table import Table
from budgetron.records.values import RefusedValueError, column_of
from budgetron.serve.ipc import is_compressed
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem

JSON, LINES, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
MEDIA = (JSON, LINES, ARROW)
SLICE = 64 * 1024  # bytes parsed before other requests get their turn
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no document: also text that is not UTF-8, or nested too deeply."""

Value = float | str | bool | None
Label = int | float | str | bool
Whole = Annotated[int, Meta(ge=0)]
NOT_EMPTY = Meta(extra_json_schema={"minItems": 1})  # said, not checked: `parse` has better sentences


LONGEST_ID = 255
OwnId = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
"""The id that a client gives to a row, to bring its label later."""


class Row(Struct, forbid_unknown_fields=True):
    """One row of a JSON document or line. ``id`` is for rows that are predicted, and kept for a label."""

    x: Annotated[dict[str, Value | dict[str, Any]] | list[float | None], NOT_EMPTY]
    y: Label | UnsetType = UNSET
    id: OwnId | UnsetType = UNSET


class Document(Struct, forbid_unknown_fields=True):
    """One row; or many in ``rows``; or their names in ``columns``, values in ``x`` and labels in ``y``."""

    x: dict[str, Value | dict[str, Any]] | list[Value | list[Value]] | UnsetType = UNSET
    y: Label | list[Label] | UnsetType = UNSET
    id: OwnId | UnsetType = UNSET
    rows: list[Row] | UnsetType = UNSET
    columns: list[str] | UnsetType = UNSET


DOCUMENTS = (
    Row,
    Annotated[list[Row], NOT_EMPTY],
    Annotated[Document, Meta(extra_json_schema={"anyOf": [{"required": ["x"]}, {"required": ["rows"]}]})],
)
"""The forms of a JSON document, for its description."""


@dataclass(frozen=True)
class Rows:
    """Rows in one of three forms: dicts, a matrix of numbers, or a table; maybe with labels and ids."""

    X: list[dict[str, Any]] | npt.NDArray[np.float64] | Table
    y: list[Any] | None
    ids: list[str] | None = None  # of the client

    def __len__(self) -> int:
        return len(self.X)

    def joins(self, other: "Rows") -> bool:
        """Whether both can be learned in one call."""
        if isinstance(self.X, np.ndarray) and isinstance(other.X, np.ndarray):
            return bool(self.X.shape[1] == other.X.shape[1])
        return isinstance(self.X, list) and isinstance(other.X, list)


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows that join, as one."""
    if len(parts) == 1:
        return parts[0]
    labels = [label for part in parts for label in part.y or ()]
    if isinstance(parts[0].X, np.ndarray):
        return Rows(np.concatenate([part.X for part in parts]), labels)
    return Rows([record for part in parts if isinstance(part.X, list) for record in part.X], labels)


_document = msgspec.json.Decoder(Document | list[Row])
_row = msgspec.json.Decoder(Row)
_PLACE = re.compile(r"\$(?:\.rows|\.x)?\[(\d+)\]")


def parse(media: str, body: bytes, limits: Limits, *, labelled: bool, label: str = "y") -> Rows:
    """The rows of a body; `parsing` without interruptions."""
    *_, rows = parsing(media, body, limits, labelled=labelled, label=label)
    assert rows is not None
    return rows


def parsing(
    media: str, body: bytes, limits: Limits, *, labelled: bool, label: str = "y"
) -> Iterator[Rows | None]:
    """Parse a body; yields None now and then, so that other requests can have their turn, then the rows."""
    longest = len(body)
    if media == JSON:
        rows = _of_json(body, limits)
    elif media == LINES:
        lines = body.splitlines()
        longest = max(map(len, lines), default=0)
        rows = _of_rows((yield from _of_lines(lines, limits)), body, limits)
    elif media == ARROW:
        rows = _of_arrow(body, label, limits, labelled)
    else:
        raise Problem("media-type", f"expected one of {', '.join(MEDIA)}, got {shown(media)}.")
    yield _checked(rows, longest, limits, labelled)


def _of_json(body: bytes, limits: Limits) -> Rows:
    if len(body) > limits.json:
        raise Problem(
            "too-large",
            f"a JSON document may have {limits.json} bytes, got {len(body)}: send {LINES} instead.",
        )
    try:
        document = _document.decode(body)
    except UNREADABLE as error:
        raise _malformed(error) from None
    if isinstance(document, list):
        return _of_rows(document, body, limits)
    if document.rows is not UNSET:
        if any(each is not UNSET for each in (document.x, document.y, document.id, document.columns)):
            raise Problem("malformed", "rows stands alone: x, y and id belong into each row.")
        return _of_rows(document.rows, body, limits, around=1)
    if document.x is UNSET:
        raise Problem("malformed", 'expected {"x": ..., "y": ...}, a list of these, or {"rows": [...]}.')
    y = None if document.y is UNSET else document.y
    ids = None if document.id is UNSET else [document.id]
    many = isinstance(document.x, list) and document.x and all(isinstance(row, list) for row in document.x)
    if ids is not None and (many or document.columns is not UNSET):
        raise Problem("malformed", "id is for one row: give many rows as objects with x and id.")
    if document.columns is not UNSET:
        return _of_columns(document.columns, document.x, y, limits)
    if isinstance(document.x, dict):
        records = [document.x] if body.count(b"{") == 2 else _flattened([document.x])
        return Rows(records, _one_label(y), ids)
    if many:
        return Rows(_matrix(document.x, limits), _many_labels(y, len(document.x)))
    return Rows(_matrix([document.x], limits), _one_label(y), ids)


def _of_lines(lines: list[bytes], limits: Limits) -> Generator[None, None, list[Row]]:
    rows: list[Row] = []
    parsed = 0
    for line in lines:
        parsed += len(line)
        if line.strip():
            try:
                rows.append(_row.decode(line))
            except UNREADABLE as error:
                raise _malformed(error, len(rows)) from None
            _refuse_many(len(rows), limits)
        if parsed > SLICE:
            parsed = 0
            yield
    return rows


def _of_rows(rows: list[Row], body: bytes, limits: Limits, around: int = 0) -> Rows:
    """Rows that may have objects inside; ``around`` counts the objects of the body around all rows."""
    _refuse_many(len(rows), limits)
    with_label = [row.y is not UNSET for row in rows]
    if any(with_label) and not all(with_label):
        raise _bad(with_label.index(False), "has no label y, which other rows have")
    y = [row.y for row in rows] if all(with_label) and rows else None
    ids = [row.id for row in rows if row.id is not UNSET] or None
    if ids is not None and len(ids) < len(rows):
        raise _bad([row.id is UNSET for row in rows].index(True), "has no id, which other rows have")
    records = [row.x for row in rows if isinstance(row.x, dict)]
    if len(records) == len(rows):
        nested = body.count(b"{") > 2 * len(rows) + around  # each row is an object, with one for x
        return Rows(_flattened(records) if nested else records, y, ids)
    if records:
        odd = next(i for i, row in enumerate(rows) if type(row.x) is not type(rows[0].x))
        raise _bad(odd, "mixes the forms of x: use objects for all rows, or lists for all")
    return Rows(_matrix([row.x for row in rows], limits), y, ids)


def _flattened(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records with the members of objects inside them under their path."""
    try:
        return [cast(dict[str, Any], flat(record, i)) for i, record in enumerate(records)]
    except RefusedValueError as error:
        raise _bad(error.row, f"has a bad value in column {error.column!r}: {error.reason}") from None


def _of_columns(names: list[str], x: Any, y: Any, limits: Limits) -> Rows:
    """Names once, values in lists: a table, made column by column."""
    if not isinstance(x, list) or not all(isinstance(row, list) for row in x):
        raise Problem("malformed", "with columns, x must be a list of lists.")
    if len(set(names)) < len(names):
        raise Problem("malformed", "columns has a name twice: rename one of them.")
    _refuse_many(len(x), limits)
    _refuse_wide(len(names), 0, limits)
    for i, row in enumerate(x):
        if len(row) != len(names):
            raise _bad(i, f"has {len(row)} values, expected {len(names)}, one for each of columns")
    values = zip(*x, strict=True) if x else [()] * len(names)
    columns = {name: column_of(column, name) for name, column in zip(names, values, strict=True)}
    return Rows(Table(len(x), columns).normal(), _many_labels(y, len(x)))


def _of_arrow(body: bytes, label: str, limits: Limits, labelled: bool) -> Rows:
    try:
        import pyarrow as pa
    except ImportError:
        raise Problem("media-type", "Arrow needs pyarrow on the server: pip install pyarrow.") from None
    try:
        if is_compressed(body):
            raise Problem("media-type", "the buffers of an Arrow stream must not be compressed.")
        with pa.ipc.open_stream(body) as reader:
            batches, count = [], 0
            for batch in reader:
                batch.validate(full=True)
                count += batch.num_rows
                _refuse_many(count, limits)
                batches.append(batch)
            table = pa.Table.from_batches(batches, reader.schema).combine_chunks()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Problem("malformed", f"the body is no Arrow stream: {_sentence(error)}") from None
    _refuse_wide(table.num_columns, 0, limits)
    _refuse_products(table, limits)
    if table.schema.names.count(label) > 1:
        raise Problem("malformed", f"there is more than one column {label!r}.")
    y = None
    if label in table.schema.names:
        y = table.column(label).to_pylist()
        table = table.drop_columns([label])
    elif labelled:
        raise Problem("malformed", f"there is no column {label!r} for the labels; ?label=NAME names one.")
    try:
        return Rows(from_arrow(table), y)
    except RefusedValueError as error:
        raise _bad(error.row, f"has a bad value in column {error.column!r}: {error.reason}") from None
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise Problem("malformed", f"a column cannot be read: {_sentence(error)}") from None


def _refuse_products(table: Any, limits: Limits) -> None:
    """Refuse what is far larger than its body: runs of equal values, and texts that share their bytes."""
    values = sum(table.num_rows for column in table.columns if column.null_count < table.num_rows)
    if values > limits.values:
        raise Problem(
            "too-large", f"a request may have {limits.values} values, got {values}: send several."
        )
    for column in table.columns:
        if "view" in str(column.type) and _bytes_of_views(column) > limits.body:
            raise Problem("too-large", f"the texts of a column may have {limits.body} bytes.")


def _bytes_of_views(column: Any) -> int:
    """The bytes of texts or binary values, of which several may be the same bytes of the body."""
    size = 0
    for chunk in column.chunks:
        views = chunk.buffers()[1]
        if views is not None:
            lengths = np.frombuffer(views, np.int32).reshape(-1, 4)[:, 0]
            size += int(lengths[chunk.offset : chunk.offset + len(chunk)].sum(dtype=np.int64))
    return size


def _matrix(rows: Sequence[Any], limits: Limits) -> npt.NDArray[np.float64]:
    _refuse_many(len(rows), limits)
    width = len(rows[0]) if rows else 0
    for i, row in enumerate(rows):
        if len(row) != width:
            raise _bad(i, f"has {len(row)} values, expected {width}, as row 0 has")
    _refuse_wide(width, 0, limits)
    if rows and not width:
        raise _bad(0, "has no values")
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), width)
    except (ValueError, TypeError):
        i = next(i for i, row in enumerate(rows) if any(isinstance(value, str | list) for value in row))
        raise _bad(i, "has a text in a list: give names to the values, as an object") from None


def _one_label(y: Any) -> list[Any] | None:
    if isinstance(y, list):
        raise Problem("malformed", "x is one row, so y must be one label, got a list.")
    return None if y is None else [y]


def _many_labels(y: Any, n: int) -> list[Any] | None:
    if y is None:
        return None
    if not isinstance(y, list) or len(y) != n:
        got = f"{len(y)} labels" if isinstance(y, list) else "one label"
        raise Problem("malformed", f"x has {n} rows, so y must be a list of {n} labels, got {got}.")
    return y


def _checked(rows: Rows, longest: int, limits: Limits, labelled: bool) -> Rows:
    """Rows within the limits, with labels if they are learned. Each has at most ``longest`` bytes."""
    if not len(rows):
        raise Problem("malformed", "the body has no rows, expected one or more.")
    if labelled and rows.y is None:
        raise _bad(0, "has no label y")
    if labelled and rows.ids is not None:
        raise _bad(0, "has an id, which is for rows that are predicted: send its label with POST label")
    for i, label in enumerate(rows.y or () if labelled else ()):
        if label is None or not isinstance(label, Label):
            raise _bad(i, f"has the label {shown(label)}, expected a number, a text or a truth value")
        if isinstance(label, str):
            if len(label) > limits.text:
                raise _bad(i, f"has a label of {len(label)} characters, above {limits.text}")
        elif not is_exact(label):
            raise _bad(i, f"has the label {shown(label)}, expected a number below 2^53")
    if isinstance(rows.X, list):
        _check_records(rows.X, longest, limits)
    return rows


def _check_records(records: list[dict[str, Any]], longest: int, limits: Limits) -> None:
    if longest <= limits.text and max(map(len, records)) <= limits.columns:
        return
    for i, record in enumerate(records):
        _refuse_wide(len(record), i, limits)
        for name, value in record.items():
            if len(name) > limits.text or (type(value) is str and len(value) > limits.text):
                raise _bad(i, f"has a name or text of more than {limits.text} characters")


def _refuse_many(rows: int, limits: Limits) -> None:
    if rows > limits.rows:
        raise Problem("too-large", f"a request may have {limits.rows} rows: send several requests.")


def _refuse_wide(columns: int, row: int, limits: Limits) -> None:
    if columns > limits.columns:
        raise Problem("too-large", f"row {row} has {columns} columns, above {limits.columns}.", row=row)


def _malformed(error: Exception, row: int | None = None) -> Problem:
    """What is wrong with a body, with the number of its row if that is known."""
    text = _sentence(error)
    place = _PLACE.search(text)
    row = int(place[1]) if row is None and place else row
    members: dict[str, Any] = {} if row is None else {"row": row}
    where = "the body" if row is None else f"row {row}"
    return Problem("malformed", f"{where} cannot be read: {text}", **members)


def _bad(row: int, what: str) -> Problem:
    return Problem("bad-row", f"row {row} {what}.", row=row)


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())[:300]
    return text if text.endswith(".") else f"{text}."
