"""What a column is: decided by its first values, kept, and used to read all values after.

A column is *open* until it has had so many values; each is counted, row by row, so the cut into batches
does not matter. Until then a value is read in the safest way: numbers and dates as they are, texts as
categories as long as they repeat, and nothing for what looks like a sentence or an identifier. README.md
has the rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from budgetron._util.text import printable
from budgetron.records import written
from budgetron.records.table import Array, Column, concatenated
from budgetron.records.texts import NUMBER
from budgetron.records.words import shared, usual, words_of

NUMBERS = ("number", "money", "percent", "truth")
DATES = ("date", "dmy", "mdy")
OTHERS = ("category", "text", "identifier")
KINDS = (*NUMBERS, "comma", *DATES, *OTHERS)
"""What a user may say that a column is. "comma" is a number with a decimal comma."""

PLAIN = 10  # a column of plain numbers alone is decided after so many
FEWEST = 20  # values from which `fit` decides
RUNNING = 1000  # numbers in a row with the same step up are a running number
FREE = 8  # texts of an open column that may come before one repeats
MONTH = 25 * 86400.0  # seconds by which dates in a wrong order of day and month are apart
CLOSER = 5  # times that they are closer in the right order
LONGEST = 256  # characters of a text that are looked at
SENTENCE = 4  # words of a text that is no category
PIECE = 16  # rows of a batch that are looked at first

_IDENTIFIER = re.compile(
    r"(?=(?:\D*\d){6})(?=.*[^\d.,%$€£-]|\d{8})[^\s,]{8,64}|[0-9a-fA-F]{16,64}"
    r"|(?=(?:\D*\d){7})[\d ()+./-]{8,32}"  # phone numbers, and others in groups
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Value = float | tuple[float] | str | None


class Limits(NamedTuple):
    """After how many values a column is decided, and the slots of one of free text."""

    after: int
    words: int

    @property
    def own(self) -> int:
        """The slots of one column for words of their own."""
        return self.words - shared(self.words)


class Words(NamedTuple):
    """A text that is read as its words."""

    text: str


class Facts(NamedTuple):
    """What a text is by itself: a number or a date as people write them, or a text with so many words."""

    how: str
    number: float | None
    comma: bool
    date: written.Date | None
    words: int = 0
    is_identifier: bool = False
    is_code: bool = False

    @classmethod
    def of(cls, text: str, comma: bool) -> Facts:
        """The facts, if a lone comma is that of decimals, or not."""
        return _facts(text, comma) if len(text) <= 64 else _facts.__wrapped__(text, comma)


@lru_cache(maxsize=1 << 14)  # the texts of a category come in every row
def _facts(text: str, comma: bool) -> Facts:
    how, number, shows_comma, date = "text", written.TRUTH.get(text.lower()), False, written.date(text)
    if (amount := written.amount(text, comma)) is not None:
        how, number, shows_comma = amount.how, amount.value, amount.comma
    elif number is not None:
        how = "truth"
    elif date is not None:
        how = "date"
    if how != "text":
        return Facts(how, number, shows_comma, date)
    is_identifier, is_code = (pattern.fullmatch(text) is not None for pattern in (_IDENTIFIER, NUMBER))
    return Facts(how, None, False, None, len(text.split()), is_identifier, is_code)


class Read(NamedTuple):
    """Values of a column after reading: numbers, dates and categories; and texts that are read as words.

    Value i is that of row ``rows[i]``, or row i if ``rows`` is None. The column was decided at ``row``. New
    words got a slot at the rows ``new_words``, in order.
    """

    column: Column
    words: Column | None = None
    rows: Array | None = None
    row: int = 0
    new_words: Sequence[int] = ()

    def of(self, learned: Array) -> Read:
        """The values of the rows of a mask, with their numbers."""
        rows = np.arange(len(learned)) if self.rows is None else self.rows
        kept = learned[rows]
        words = None if self.words is None else self.words.rows(kept)
        return Read(self.column.rows(kept), words, rows[kept], self.row)


@dataclass
class Kind:
    """What a column is, and what is known for the decision as long as it is open."""

    kind: str | None = None
    given: bool = False  # by the user
    open: bool = True
    count: int = 0  # values while open
    counts: dict[str, int] = field(default_factory=dict)  # of these, how many read as what
    texts: list[str] = field(default_factory=list)  # the different ones, as far as needed
    words: int = 0
    identifiers: int = 0  # texts that look like one
    codes: int = 0  # texts that look like numbers, such as 01234
    digits: int = 0  # of all numbers so far, if they may be codes; -1 if not
    comma: bool = False  # whether a lone comma is that of decimals
    order: str | None = None  # of day and month
    spans: list[float] | None = None  # of moments with the day first, and with the month first
    rising: list[float] | None = None  # the last number, the step, and how many so far
    first: float | None = None  # moment
    span: list[float] | None = None  # from the earliest moment to the last
    last: float | None = None
    steps: list[int] = field(default_factory=lambda: [0, 0])  # of moments, forth and back
    usual: list[str] = field(default_factory=list)  # words of free text with a slot of their own
    trend: bool = False  # whether moments are compared: they come in any order

    @classmethod
    def of(cls, given: str | None) -> Kind:
        """A column that has had no value; ``given`` is what the user says it is."""
        if given is None:
            return cls(rising=[])
        kind = "date" if given in DATES else "number" if given == "comma" else given
        is_open = kind in (*NUMBERS, "date", "text")
        order = given if given in ("dmy", "mdy") else None
        return cls(kind, True, is_open, comma=given == "comma", order=order)

    def copy(self) -> Kind:
        """A copy that counts separately."""
        if not self.open:
            other = copy(self)
            other.usual = list(self.usual)
            other.__dict__.pop("places", None)
            return other
        return replace(self, counts=dict(self.counts), texts=list(self.texts), steps=list(self.steps))

    # ---- counting

    @property
    def is_settled(self) -> bool:
        """Whether it is decided, and no running number is followed."""
        return not self.open and self.rising is None

    @property
    def _waits(self) -> bool:
        """Whether dates as texts may still tell the order of day and month, or be the first."""
        return self.kind == "date" and (self.order is None or self.first is None)

    def changes(self, value: Value, limits: Limits) -> bool:
        """Whether a value to be learned may change what is known."""
        if not self.is_settled:
            return True
        if self.kind == "text":
            return value is not None and any(True for _ in self._new_words(text_of(value), limits))
        if isinstance(value, str):
            return self._waits and Facts.of(value, self.comma).date is not None
        is_date = isinstance(value, tuple) or self._is_seconds
        return is_date and self.first is None and self.kind not in OTHERS

    def note(self, value: Value, limits: Limits) -> None:
        """Count a value; after so many the column is decided."""
        text = value if isinstance(value, str) else None
        facts = None if text is None else Facts.of(text, self.comma)
        if self.open:
            self.count += 1
            how = self._how(value, facts)
            self.counts[how] = self.counts.get(how, 0) + 1
            if self.digits >= 0 and isinstance(value, float):
                digits = len(f"{value:.0f}") if 100 <= value < 1e15 and value % 1 == 0 else -1
                self.digits = digits if self.digits in (0, digits) else -1
            if how == "text":
                self._note_text(text_of(value) if value is not None else "", facts)
        if facts is None:
            self._note_moment(self._seconds(value))
        elif facts.date is not None:
            self._note_date(facts.date)
        if self.rising is not None:
            self._note_rise(value)
        if not self.open:
            return
        if self.codes and not self.given and self.codes == self.counts["text"]:
            self.close(limits, "category")
        elif self.count >= limits.after or (text is None and self._is_plain):
            self.close(limits)
        elif self.count == FEWEST and self._are_sentences:
            self.close(limits, "text")

    @property
    def _is_plain(self) -> bool:
        """Whether there are some values, all are numbers, and none may be a code."""
        return self.count >= PLAIN and self.digits < 0 and self.counts == {"number": self.count}

    @property
    def _are_sentences(self) -> bool:
        """Whether all values are texts of several words that differ, and no identifiers."""
        differ = self.kind is None and len(self.texts) == self.count == self.counts.get("text")
        return differ and self.words >= SENTENCE * self.count and 10 * self.identifiers < self.count

    def _how(self, value: Value, facts: Facts | None) -> str:
        """As what a value is read while the column is open."""
        if self.kind == "text":
            return "text"
        if facts is not None:
            self.comma = self.comma or facts.comma
            return facts.how
        return "date" if isinstance(value, tuple) or self._is_seconds else "number"

    @property
    def _is_seconds(self) -> bool:
        return self.given and self.kind == "date"

    def _note_text(self, text: str, facts: Facts | None) -> None:
        if facts is None or len(text) > LONGEST:
            text = text[:LONGEST]
            facts = Facts.of(text, self.comma)
        if text not in self._different:
            self._different.add(text)
            self.texts.append(text)
        self.words += facts.words
        self.identifiers += facts.is_identifier
        self.codes += facts.is_code

    @cached_property
    def _different(self) -> set[str]:
        return set(self.texts)

    def _note_date(self, date: written.Date) -> None:
        if self.order is None:
            self.order = date.shows or self._order_by_span(date)
            self.spans = None if self.order else self.spans
        self._note_moment(date.in_order(self.order))

    def _note_moment(self, seconds: float | None) -> None:
        if seconds is None:
            return
        if self.first is None:
            self.first = seconds
        if self.open:
            if self.span is None:
                self.span = [seconds, seconds]
            elif not self.span[0] <= seconds <= self.span[1]:
                self.span = [min(self.span[0], seconds), max(self.span[1], seconds)]
            if self.last is not None and seconds != self.last:
                self.steps[seconds < self.last] += 1
            self.last = seconds

    def _order_by_span(self, date: written.Date) -> str | None:
        """The order in which the moments so far lie far closer together: 01/02, 02/02 are two days."""
        both = date.day_first or 0.0, date.month_first or 0.0
        spans = self.spans or [both[0], both[0], both[1], both[1]]
        self.spans = [
            each for i, at in enumerate(both) for each in (min(spans[2 * i], at), max(spans[2 * i + 1], at))
        ]
        day_first, month_first = self.spans[1] - self.spans[0], self.spans[3] - self.spans[2]
        if self.count < FEWEST or max(day_first, month_first) < MONTH:
            return None
        closer = CLOSER * min(day_first, month_first) < max(day_first, month_first)
        return ("dmy" if day_first < month_first else "mdy") if closer else None

    def _seconds(self, value: Value) -> float | None:
        """The moment that a value is, if it is no text."""
        if isinstance(value, tuple):
            return value[0]
        return value if isinstance(value, float) and self._is_seconds else None

    def _note_rise(self, value: Value) -> None:
        """Follow a running number: the last value, the step, and how many there were."""
        if not isinstance(value, float) or value % 1:  # infinity too
            self.rising = None
        elif not self.rising:
            self.rising = [value, 0.0, 1.0]
        else:
            last, step, n = self.rising
            step = value - last if n == 1 else step
            self.rising = [value, step, n + 1] if value - last == step > 0 else None
        if self.rising and self.rising[2] >= RUNNING:
            self.kind, self.open, self.rising, self.texts = "identifier", False, None, []

    # ---- deciding

    def close(self, limits: Limits, kind: str | None = None) -> None:
        """Decide with the values so far."""
        if self.kind is None:
            self.kind = kind or self._decided()
        if self.kind == "text":
            self.usual = usual(self.texts, limits.words)
            self.__dict__.pop("places", None)
        forth, back = sorted(self.steps)
        self.trend = self.kind not in OTHERS and 10 * forth > forth + back > 0
        if not self.trend:
            self.span = None
        self.open, self.texts, self.last, self.steps = False, [], None, [0, 0]
        if self.kind != "number":
            self.rising = None

    def settle(self, limits: Limits) -> None:
        """Decide if there are some values; the whole table is known."""
        if self.open and self.count >= FEWEST:
            self.close(limits)

    @cached_property
    def places(self) -> dict[str, int]:
        """The places of the usual words."""
        return {word: i for i, word in enumerate(self.usual)}

    def _decided(self) -> str:
        texts = self.counts.get("text", 0)
        if 5 * texts >= 4 * self.count:
            return self._of_texts(texts)
        family = {kind: n for kind, n in self.counts.items() if kind != "text"}
        return max(family, key=lambda kind: (family[kind], kind))

    def _of_texts(self, texts: int) -> str:
        different = len(self.texts)
        if 10 * min(self.identifiers, different) >= 9 * texts:
            return "identifier"
        if self.words >= 2 * texts and 3 * different > texts:
            return "text"
        return "identifier" if different == texts >= FEWEST else "category"

    # ---- reading

    def one(self, value: Value) -> Value | Words:
        """What a value is read as."""
        if value is None or self.kind == "identifier":
            return None
        if self.kind in ("text", "category"):
            text = text_of(value)
            return Words(text) if self.kind == "text" else text
        if isinstance(value, str):
            return self._of_text(value)
        return (value,) if isinstance(value, float) and self._is_seconds else value

    def _of_text(self, text: str) -> Value:
        facts = Facts.of(text, self.comma)
        if facts.number is not None and not self._is_seconds:
            return facts.number
        if facts.date is not None:
            seconds = facts.date.in_order(self.order)
            is_late = self.first is None and not self.open and self.kind != "date"  # only typed ones count
            return None if seconds is None or is_late else (seconds,)
        if self.given or (self.open and not self._is_shown(facts)):
            return None
        return text

    def _is_shown(self, facts: Facts) -> bool:
        """Whether a text of an open column counts as a category already."""
        if facts.words >= SENTENCE or facts.is_identifier:
            return False
        different = len(self.texts)
        return different <= FREE + 2 * (self.counts.get("text", 0) - different)

    def read(
        self, column: Column, learned: Array | None, limits: Limits, rows: Array | None = None
    ) -> Read:
        """The values of a column. Those in the mask ``learned`` count; None for none of them.

        ``rows`` has the row of each value, if not every row has one.
        """
        if learned is None or not self._may_change(column):
            read = self._read_all(column)
            if learned is not None and read.words is not None:
                read = self._with_new_words(read, learned, limits, rows, 0)
            return read if rows is None else read._replace(rows=rows)
        n, end, decided, hidden = len(learned), len(learned), 0, list[int]()
        done: list[Value | Words] = []  # what was read, from the first value that is read as another
        for i, value in _rows_with_value(column, n):
            if not self._may_change(column):
                end = i
                break
            is_open = self.open
            if learned[i] and (is_open or self.changes(value, limits)):
                self.note(value, limits)
            if is_open and not self.open:
                decided = i if rows is None else int(rows[i])
            found = self.one(value)
            if not done and found is value:
                continue
            if not done and found is None:
                hidden.append(i)
                continue
            done = done or _values(_without(column, hidden).rows(slice(i)))
            done += [None] * (i - len(done))
            done.append(found)
        if not done:
            column = _without(column, hidden)
            if end == n or self._keeps(column):
                return Read(column, rows=rows, row=decided)
            done = _values(column.rows(slice(end)))
        start = len(done)
        whole = _behind(done, self._read_all(column.rows(slice(start, None))), n)
        if whole.words is not None and not self.open:
            whole = self._with_new_words(whole, learned, limits, rows, start)
        return whole._replace(rows=rows, row=decided)

    def _keeps(self, column: Column) -> bool:
        """Whether all values of a column that is decided are read as they are."""
        if self.kind == "category":
            return column.numbers is None
        return column.codes is None and self.kind not in OTHERS and not self._is_seconds

    def _with_new_words(
        self, read: Read, learned: Array, limits: Limits, rows: Array | None, start: int
    ) -> Read:
        """Give slots to new words of the values from number ``start`` on, as long as there are some."""
        codes = None if read.words is None else read.words.codes
        if read.words is None or codes is None or len(self.usual) >= limits.own:
            return read
        born, met = list[int](), set[int]()
        for i in (start + np.flatnonzero(learned[start:])).tolist():
            code = int(codes[i])
            if code < 0 or code in met:
                continue
            met.add(code)
            for word in self._new_words(read.words.texts[code], limits):
                self.places[word] = len(self.usual)
                self.usual.append(word)
                born.append(i if rows is None else int(rows[i]))
        return read._replace(new_words=born)

    def _new_words(self, text: str, limits: Limits) -> Iterator[str]:
        """The words of a text that have no slot yet, but may get one."""
        for word in words_of(text) if len(self.usual) < limits.own else ():
            if word not in self.places and len(self.usual) < limits.own:
                yield word

    def _may_change(self, column: Column) -> bool:
        if self.open or self.rising is not None or (column.codes is not None and self._waits):
            return True
        has_dates = column.dates is not None or self._is_seconds
        return has_dates and self.first is None and self.kind not in OTHERS

    def _read_all(self, column: Column) -> Read:
        """The values of a column that is decided, or of which nothing is learned."""
        if self.kind == "identifier":
            return Read(Column())
        if self.kind in ("text", "category"):
            texts = _as_texts(column)
            return Read(Column(), texts) if self.kind == "text" else Read(texts)
        if column.numbers is not None and self._is_seconds:
            column = replace(column, dates=~np.isnan(column.numbers))
        if column.codes is None:
            return Read(column)
        used = column.used()
        return Read(_put(column, used, [self._of_text(column.texts[code]) for code in used]))

    # ---- for people

    def line(self, name: str) -> str:
        """What the column is, and why."""
        name = printable(name)
        if self.kind is None:
            return f"{name}: open, {self.count} values so far"
        order = {"dmy": ", day first", "mdy": ", month first"}.get(self.order or "", "")
        comma = ", decimal comma" if self.comma else ""
        about = " (left out)" if self.kind == "identifier" else order if self.kind == "date" else comma
        if self.given:
            return f"{name}: {self.kind}{about}, as given"
        of = sum(self.counts.values())
        n = self.counts.get("text" if self.kind in OTHERS else self.kind, 0)
        n = of if self.kind == "category" and self.codes else n
        why = "the same step each time" if self.kind == "identifier" and not n else f"{n} of the first {of}"
        return f"{name}: {self.kind}{about}, {why}"

    @property
    def asks(self) -> bool:
        """Whether dates wait for someone to say if the day or the month comes first."""
        return self.order is None and self.spans is not None and self.spans[:2] != self.spans[2:]

    # ---- saving

    def state(self) -> dict[str, Any]:
        """The state as plain data."""
        return {name: getattr(self, name) for name, empty in _EMPTY.items() if getattr(self, name) != empty}

    @classmethod
    def restored(cls, state: Any) -> Kind:
        """From a saved state; ValueError if that is invalid."""
        if not isinstance(state, Mapping) or not all(
            name in _VALID and _VALID[name](value) for name, value in state.items()
        ):
            raise ValueError("what a column of the encoder is cannot be read")
        kind = cls(**state)
        if kind.kind is None and not kind.open:
            raise ValueError("a column of the encoder is decided, but not as what")
        return kind.copy()


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_float(value: Any) -> bool:
    return type(value) is float and isfinite(value)


def _all(is_valid: Callable[[Any], bool], lengths: Iterable[int]) -> Callable[[Any], bool]:
    allowed = set(lengths)
    return lambda value: type(value) is list and len(value) in allowed and all(map(is_valid, value))


_EMPTY = vars(Kind())
_FLAG: Callable[[Any], bool] = lambda value: type(value) is bool  # noqa: E731
_VALID: dict[str, Callable[[Any], bool]] = {
    "kind": lambda value: value in (*NUMBERS, "date", *OTHERS),
    "counts": lambda value: isinstance(value, dict) and all(k in (*KINDS, "text") and _is_whole(n)
                                                            for k, n in value.items()),
    **dict.fromkeys(("texts", "usual"), _all(lambda text: isinstance(text, str), range(1 << 17))),
    "order": lambda value: value in ("dmy", "mdy"),
    "rising": _all(_is_float, (0, 3)), "span": _all(_is_float, (2,)), "spans": _all(_is_float, (4,)),
    "steps": _all(_is_whole, (2,)),
    **dict.fromkeys(("count", "words", "identifiers", "codes"), _is_whole),
    "digits": lambda value: type(value) is int and -1 <= value < 16,
    **dict.fromkeys(("given", "open", "comma", "trend"), _FLAG),
    **dict.fromkeys(("first", "last"), _is_float),
}  # fmt: skip


# ---- columns


def text_of(value: float | tuple[float] | str) -> str:
    """A value as a text, the same wherever it comes from."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        try:
            return (
                (_EPOCH + timedelta(seconds=value[0]))
                .strftime("%Y-%m-%d %H:%M:%S")
                .removesuffix(" 00:00:00")
            )
        except OverflowError:
            return text_of(value[0])
    return str(int(value)) if abs(value) < 1e15 and value % 1 == 0 else repr(value)


def _as_texts(column: Column) -> Column:
    """All values as texts."""
    if column.numbers is None:
        return column
    codes = np.full(len(column.numbers), -1, np.int32) if column.codes is None else column.codes.copy()
    places = {text: i for i, text in enumerate(column.texts)}
    for row in np.flatnonzero(~np.isnan(column.numbers)).tolist():
        text = text_of(column.at(row) or 0.0)
        codes[row] = places.setdefault(text, len(places))
    return Column(codes=codes, texts=list(places))


def _put(column: Column, used: list[int], values: list[Value]) -> Column:
    """The column with these values in place of its texts."""
    assert column.codes is not None
    n = len(column.texts)
    numbers, dates = np.full(n + 1, np.nan), np.zeros(n + 1, np.bool_)
    new, texts = np.full(n + 1, -1, np.int32), dict[str, int]()
    for code, value in zip(used, values, strict=True):
        if isinstance(value, str):
            new[code] = texts.setdefault(value, len(texts))
        elif value is not None:
            numbers[code], dates[code] = (
                value[0] if isinstance(value, tuple) else value,
                isinstance(value, tuple),
            )
    codes = column.codes
    if len(texts) == len(used):
        return column
    of_texts = numbers[codes]
    given = of_texts if column.numbers is None else np.where(codes < 0, column.numbers, of_texts)
    moments = dates[codes] if column.dates is None else dates[codes] | column.dates
    return Column(given, moments, new[codes], list(texts)).compact()


def _rows_with_value(column: Column, n: int) -> Iterator[tuple[int, Value]]:
    """The values of a column of n rows, and their rows; looked for piece by piece, since few are needed."""
    start, end = 0, PIECE
    while start < n:
        for i, value in enumerate(_values(column.rows(slice(start, end))), start):
            if value is not None:
                yield i, value
        start, end = end, 4 * end


def _values(column: Column) -> list[Any]:
    """The values of a column; dates are tuples."""
    values: list[Any] = column.values()
    for i in [] if column.dates is None else np.flatnonzero(column.dates).tolist():
        values[i] = (values[i],)
    return values


def _without(column: Column, rows: list[int]) -> Column:
    """The column without the values of some rows."""
    if not rows:
        return column
    kept = np.arange(len(column.present()))
    kept[rows] = -1
    return column.spread(kept)


def _behind(done: Sequence[Value | Words], rest: Read, n: int) -> Read:
    """Values of the first rows that were read one by one, and the others of n rows behind them."""
    lengths = len(done), n - len(done)
    column, words = (
        concatenated([_column_of(done, is_words), part or Column()], lengths).compact()
        for part, is_words in ((rest.column, False), (rest.words, True))
    )
    return Read(column, words if words.codes is not None else None)


def _column_of(values: Sequence[Value | Words], is_words: bool) -> Column:
    """The column of the values that are words, or of the others."""
    n, texts = len(values), dict[str, int]()
    numbers, dates, codes = np.full(n, np.nan), np.zeros(n, np.bool_), np.full(n, -1, np.int32)
    for row, value in enumerate(values):
        if isinstance(value, Words) != is_words or value is None:
            continue
        if isinstance(value, str | Words):
            text = value.text if isinstance(value, Words) else value
            codes[row] = texts.setdefault(text, len(texts))
        else:
            numbers[row], dates[row] = (
                value[0] if isinstance(value, tuple) else value,
                isinstance(value, tuple),
            )
    return Column(numbers, dates, codes, list(texts)).compact()
