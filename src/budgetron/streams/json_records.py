"""JSON objects to rows, one record each: the messages of brokers, and the lines of files."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Protocol

import numpy as np

from budgetron._util.label_rules import LARGEST, has_decimals, is_exact, is_printable
from budgetron._util.text import shown
from budgetron.records import reading
from budgetron.records.reading import from_dicts
from budgetron.records.table import Column, Table
from budgetron.records.texts import meaning
from budgetron.records.values import RefusedValueError
from budgetron.streams.stream import Block
from budgetron.streams.tables import dates_of, number_of

NO_TIME = (0.0, False)


class RefusedMessageError(Exception):
    """A message that cannot be read. The text is the reason."""


class Message(Protocol):
    """The bytes of a JSON object, or in words what there is ``instead``."""

    @property
    def body(self) -> bytes | None: ...
    @property
    def instead(self) -> str: ...


@dataclass
class Rows:
    """The rows of a batch: which message each one was, and why others cannot be read, by their places."""

    block: Block
    places: list[int]
    reasons: dict[int, str]


@dataclass
class RecordReader:
    """Reads batches of messages. The names are those of members of the objects; others are features.

    ``numeric`` says whether labels are numbers; if it is None, the first label of a message that can be
    read says it. For ``regression`` they are targets: numbers, also as texts, and with decimals;
    ``decimals`` allows these alone.
    Labels that are not in ``classes`` are refused. A message without a label is a row without
    one. Objects inside an object are flattened: ``{"a": {"b": 1}}`` has the column ``a.b``.
    """

    target: str | None
    drop: Sequence[str] = ()
    only: Sequence[str] | None = None
    weight: str | None = None
    time: str | None = None
    id: str | None = None
    numeric: bool | None = None
    regression: bool = False
    decimals: bool = False
    classes: Sequence[Any] | None = None
    _dropped: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._dropped = (*self.drop, *(n for n in (self.target, self.weight, self.time, self.id) if n))

    def rows(self, messages: Sequence[Message], start: int) -> Rows:
        """The rows of a batch; the first one has the index ``start`` in the stream."""
        if self.numeric is None:
            self.numeric = self._kind(messages)
        read, reasons = list[_Row](), dict[int, str]()
        for place, message in enumerate(messages):
            try:
                read.append(self._row(place, message))
            except RefusedMessageError as error:
                reasons[place] = str(error)
        X = self._features(read, reasons)
        if reasons:
            read = [row for row in read if row.place not in reasons]
        return Rows(self._block(X, read, start), [row.place for row in read], reasons)

    def _kind(self, messages: Sequence[Message]) -> bool | None:
        """Whether labels are numbers; None if no message can be read, since a bad one does not count."""
        if self.regression:
            return True
        for message in messages if self.target is not None else ():
            for numeric in (True, False):
                [*read] = replace(self, numeric=numeric).rows([message], 0).block.y
                if read and not is_missing_label(read[0]):
                    return numeric
        return None

    def _row(self, place: int, message: Message) -> "_Row":
        content = decoded(message)
        if self.target is not None and type(content.get(self.target)) is dict:
            raise _refusal(self.target, "a number or a text", shown(content[self.target]))
        record = flat(content)
        label = None if self.target is None else record.pop(self.target, None)
        label = self._missing if is_missing_label(label) else self._label(label)
        weight = 1.0 if self.weight is None else self._weight(record.get(self.weight))
        time = NO_TIME if self.time is None else self._time(record.get(self.time))
        name = None if self.id is None else record.get(self.id)
        if self.only is not None:
            record = {key: record[key] for key in self.only if key in record}
        else:
            for key in self._dropped:
                record.pop(key, None)
        refuse_large(record.items())
        return _Row(place, record, label, weight, time, "" if name is None else str(name))

    @property
    def _missing(self) -> Any:
        """What stands for a label that is not there."""
        return np.nan if self.numeric else ""

    def _label(self, value: Any) -> Any:
        if not isinstance(value, str | int | float):
            raise _refusal(self.target, "a number or a text", shown(value))
        if self.regression and isinstance(value, str) and (number := number_of(value)) is not None:
            return number
        if self.numeric == isinstance(value, str):
            kind = "number" if self.numeric else "text"
            raise _refusal(self.target, f"a {kind}, as the first label", shown(value))
        if not is_printable(value):
            raise _refusal(self.target, "a label without control characters", shown(value))
        if not isinstance(value, str):
            value = self._number(value)
        if self.classes is not None and value not in self.classes:
            raise _refusal(self.target, "one of the classes", shown(value))
        return value

    def _number(self, value: float) -> float:
        if isinstance(value, int) and not is_exact(value):
            raise _refusal(self.target, "a label below 2^53", "a larger one, which would be rounded")
        number = float(value)
        if not abs(number) <= LARGEST:
            raise _refusal(self.target, "a number up to 1e150", f"{number:g}")
        if not (self.regression or self.decimals) and has_decimals(number) and self.classes is None:
            got = f"{number!r}, a number with decimals: --regression learns targets"
            raise _refusal(self.target, "a label", got)
        return number

    def _weight(self, value: Any) -> float:
        if isinstance(value, str | list | dict) or value is None or not 0 <= value <= LARGEST:
            raise _refusal(self.weight, "a weight of 0 or more", shown(value))
        return float(value)

    def _time(self, value: Any) -> tuple[float, bool]:
        """The moment, and whether it was given as a date."""
        content = meaning(value) if isinstance(value, str) else value
        is_date = isinstance(content, tuple)
        moment = content[0] if isinstance(content, tuple) else content
        if not isinstance(moment, int | float) or not abs(moment) <= LARGEST:
            raise _refusal(self.time, "a date or a number", shown(value))
        return float(moment), is_date

    def _features(self, read: "list[_Row]", reasons: dict[int, str]) -> Table:
        """The features of all rows that can be learned; adds why others cannot."""
        try:
            return from_dicts([row.record for row in read])
        except RefusedValueError:
            for row in read:
                try:
                    from_dicts([row.record])
                except RefusedValueError as error:
                    reasons[row.place] = f"column {error.column!r}: {error.reason}"
            return from_dicts([row.record for row in read if row.place not in reasons])

    def _block(self, X: Table, read: "list[_Row]", start: int) -> Block:
        labels = None
        if self.target is not None:
            labels = np.array([row.label for row in read], dtype=np.float64 if self.numeric else object)
        weights = None if self.weight is None else np.array([row.weight for row in read], np.float64)
        ids = None if self.id is None else np.array([row.name for row in read], dtype=object)
        times = None
        if self.time is not None:
            times = np.array([row.time[0] for row in read], float)
            dates = np.array([row.time[1] for row in read], bool)
            X = X.with_columns(dates_of(self.time, Column(times, dates)))
        return Block(X, labels, start, weights, times, ids)


@dataclass(slots=True)
class _Row:
    """One message that could be read: its place in the batch, and what it says."""

    place: int
    record: dict[str, Any]
    label: Any
    weight: float
    time: tuple[float, bool]
    name: str


def _refusal(column: Any, expected: str, got: str) -> RefusedMessageError:
    return RefusedMessageError(f"column {column!r}: expected {expected}, got {got}")


def labelled(message: Message, target: str | None) -> tuple[Any, Any]:
    """What a message says of a row, and its label, the member ``target``.

    Without a target the message is a line of the service, ``{"x": ..., "y": label}``.
    """
    content = decoded(message)
    if target is None and not (set(content) == {"x", "y"} and isinstance(content["x"], dict | list)):
        raise RefusedMessageError(f'expected {{"x": ..., "y": ...}}, got {shown(content)}')
    content = content if target is None else flat(content)
    label = content.pop("y" if target is None else target, None)
    if is_missing_label(label):
        raise _refusal(target or "y", "a label", "a missing value")
    if not isinstance(label, str | int | float):
        raise _refusal(target or "y", "a number or a text", shown(label))
    return content["x"] if target is None else content, label


def refuse_large(values: Iterable[tuple[Any, Any]]) -> None:
    """Refuse numbers that no model takes, by the names of their columns."""
    for name, value in values:
        if type(value) in (int, float) and not abs(value) <= LARGEST:
            got = f"{value:g}" if abs(value) < 1e308 or type(value) is float else "a larger one"
            raise _refusal(name, "a number up to 1e150", got)


def is_missing_label(label: Any) -> bool:
    """Whether a row has no label: a blank, null or NaN."""
    return label is None or label == "" or label != label


def flat(record: dict[str, Any]) -> dict[str, Any]:
    """The members of an object, those of objects inside it under their path: ``a.b``."""
    try:
        return dict(reading.flat(record))
    except RefusedValueError as error:
        raise RefusedMessageError(f"column {error.column!r}: {error.reason}") from None


def decoded(message: Message) -> dict[str, Any]:
    """The JSON object in a message."""
    if message.body is None:
        raise RefusedMessageError(f"expected a JSON object, got {message.instead}")
    try:
        content = _decode(message.body.decode())
    except (ValueError, RecursionError) as error:
        raise RefusedMessageError(f"expected a JSON object: {' '.join(str(error).split())[:200]}") from None
    if type(content) is not dict:
        raise RefusedMessageError(f"expected a JSON object, got {shown(content)}")
    return content


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_decode = json.JSONDecoder(parse_constant=_no_number).decode
