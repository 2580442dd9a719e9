"""Which columns of the records, and which of their values, have a place in the matrix.

A *slot* is a column of the matrix. Slots are given in the order of first appearance: row by row, and within
a row in the order in which the columns first had a value. This order does not depend on how the records are
cut into batches. A value that finds no free slot never gets one later, since slots are never freed. So
whether it is hashed is the same for all rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron.records.kinds import OTHERS, Kind, Limits, Read, Words
from budgetron.records.periods import (
    DAY,
    PERIODS,
    first_of_period,
    names_of_places,
    said,
)
from budgetron.records.table import Array

Matrix = npt.NDArray[np.float64]

BLOCK = 32  # slots of the hashed block
LONGEST = 256  # characters; a longer name or value is hashed, so that memory is bounded
WAVES = 2  # sine and cosine
MOST_TEXTS = 4  # columns of free text with slots of their own; others share the hashed block


@dataclass
class Known:
    """One column of the records: what it is, and its slots."""

    name: str
    kind: Kind
    number: int | None = None
    trend: int | None = None
    times: dict[str, int] = field(default_factory=dict)  # the sine of each period; its cosine is next
    words: int | None = None  # the first of them
    values: dict[str, int] = field(default_factory=dict)
    hashed: bool = False
    shares: bool = False  # whether its words are in the hashed block

    def copy(self) -> "Known":
        """A copy that grows separately."""
        return replace(self, kind=self.kind.copy(), times=dict(self.times), values=dict(self.values))

    @property
    def measured(self) -> list[int]:
        """The slots of numbers and moments."""
        numbers = [slot for slot in (self.number, self.trend) if slot is not None]
        return numbers + [slot + i for slot in self.times.values() for i in range(WAVES)]

    @property
    def is_past(self) -> bool:
        """Whether its numbers and moments count no more: what the column is was decided later."""
        return self.kind.kind in OTHERS and bool(self.measured)

    def trend_of(self, moments: Array) -> Array:
        """Days since the first moment, within the span of the first ones: it cannot run away."""
        low, high = self.kind.span or (0.0, 0.0)
        return (np.clip(moments, low, high) - (self.kind.first or 0.0)) / DAY


class Arrival(NamedTuple):
    """Something without a slot that appears in a batch. Arrivals sort by row, then by column."""

    row: int
    rank: int
    what: int
    text: str  # of a value
    name: str


NUMBER, TREND, TIMES, WORDS, VALUE = 0, 1, 2, 10, 11  # a period has its own number from TIMES on
_OF_PERIOD = {TIMES + i: part for i, part in enumerate(PERIODS)}


class Slots:
    """What columns are, and the slots of each."""

    def __init__(
        self,
        most_columns: int,
        most_values: int,
        columns: Mapping[str, str],
        words: int,
        decide_after: int,
        absent: float = np.nan,
    ) -> None:
        self.most_columns = most_columns
        self.most_values = most_values
        self.given = columns  # what columns are, as the user says
        self.words = words
        self.limits = Limits(decide_after, words)
        self.absent = absent  # what a number counts as in a record without it
        self.fixed = False  # whether nothing is counted, and nothing gets a slot
        self._known: dict[str, Known] = {}
        self._block: int | None = None  # the first slot of the hashed block
        self._others_hashed = False  # whether a column that is not known was hashed
        self._template = np.empty(0)  # a row without any value
        self._reader: _core.RecordReader | None = None

    # ---- what there is

    @property
    def width(self) -> int:
        """The number of slots."""
        return len(self._template)

    @property
    def columns(self) -> list[str]:
        """The names of the slots."""
        names = [""] * self.width
        for known in self._known.values():
            if known.number is not None:
                names[known.number] = known.name
            if known.trend is not None:
                names[known.trend] = f"{known.name} (trend)"
            for part, slot in known.times.items():
                names[slot : slot + WAVES] = names_of_places(known.name, part)
            if known.words is not None:
                of_words = [f"{known.name} (words {i})" for i in range(self.words)]
                names[known.words : known.words + self.words] = of_words
            for text, slot in known.values.items():
                names[slot] = f"{known.name}={text}"
        if self._block is not None:
            names[self._block : self._block + BLOCK] = [f"hashed {i}" for i in range(BLOCK)]
        return names

    @property
    def names(self) -> list[str]:
        """The names of the columns of the records."""
        return list(self._known)

    @property
    def kinds(self) -> dict[str, Kind]:
        """What the columns of the records are."""
        return {name: known.kind for name, known in self._known.items()}

    def lines(self) -> list[str]:
        """What each column of the records is read as, and why."""
        return [kind.line(name) for name, kind in self.kinds.items()]

    @property
    def slots(self) -> dict[str, list[int]]:
        """The slots of each column of the records; those of hashed values are all under one name."""
        slots = {name: self._all_slots(known) for name, known in self._known.items()}
        if self._block is not None:
            slots["(hashed)"] = list(range(self._block, self._block + BLOCK))
        return slots

    @property
    def dates(self) -> list[int]:
        """The slots of dates, but of a column that had one before any other column."""
        dates, others = list[list[int]](), [self.width]
        for known in self._known.values():
            dates.append([slot for slot in known.measured if slot != known.number])
            firsts = (known.number, known.words, next(iter(known.values.values()), None))
            others += [slot for slot in firsts if slot is not None]
        return sorted(slot for each in dates if each and min(others) < min(each) for slot in each)

    def _all_slots(self, known: Known) -> list[int]:
        words = [] if known.words is None else range(known.words, known.words + self.words)
        return [*known.measured, *known.values.values(), *words]

    def value(self, row: Matrix, name: str) -> float | str | None:
        """The value that a row has in a column of the records; None if there is none, or it is hashed.

        Of a date it is the places in day, week and year; of free text, None.
        """
        known = self._known.get(name)
        if known is None:
            return None
        if known.number is not None and not known.is_past and not np.isnan(row[known.number]):
            return float(row[known.number])
        places = [said(part, *row[slot : slot + WAVES]) for part, slot in known.times.items()]
        if places and not known.is_past and not np.isnan(row[list(known.times.values())]).any():
            return " ".join(places)
        return next((text for text, slot in known.values.items() if row[slot] == 1), None)

    def with_absent(self, X: Matrix) -> Matrix:
        """The rows with indicators that were not there yet as 0, and not as a missing value."""
        return np.where(np.isnan(X), self._template, X)

    def is_number(self, name: str) -> bool:
        """Whether a column of the records has had numbers."""
        return name in self._known and self._known[name].number is not None

    def lacks_value(self, name: Any, value: Any) -> bool:
        """Whether a number is there without a value."""
        if value is None:
            return self.is_number(str(name))
        return isinstance(value, float) and value != value

    @property
    def memory_bytes(self) -> int:
        """The bytes of names and values, and of the tables that find them."""
        known = self._known.values()
        texts = sum(len(k.name) + sum(map(len, k.values)) for k in known)
        return 4 * texts + 200 * (len(known) + sum(len(k.values) for k in known)) + self._template.nbytes

    def describe(self) -> str:
        """What the slots are, for people."""
        known = self._known.values()
        indicators = _number(sum(len(k.values) for k in known), "indicator")
        texts = _number(sum(bool(k.values) for k in known), "column")
        times = sum(WAVES * len(k.times) + (k.trend is not None) for k in known)
        parts = [
            f"{sum(k.number is not None for k in known)} of numbers",
            f"{times} of times",
            f"{indicators} of {texts}",
            f"{sum(k.words is not None for k in known) * self.words} of words",
            f"{0 if self._block is None else BLOCK} hashed",
        ]
        text = f"{_number(self.width, 'column')}: {', '.join(p for p in parts if not p.startswith('0 '))}."
        hashed = [repr(k.name) for k in known if k.hashed or k.shares]
        hashed += ["columns that came later"] if self._others_hashed else []
        return f"{text} Partly hashed: {', '.join(hashed)}." if hashed else text

    def copy(self) -> Self:
        """An encoding in the same state, which grows separately."""
        other = copy(self)
        other._known = {name: known.copy() for name, known in self._known.items()}
        return other

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_reader": None}

    # ---- growing

    @property
    def _free(self) -> int:
        """The number of slots that may still be given, apart from the hashed block."""
        shared = 0 if self._block is None else BLOCK
        return self.most_columns - BLOCK - self.width + shared + self._texts * self.words

    @property
    def _texts(self) -> int:
        """The number of columns of free text with slots of their own."""
        return sum(known.words is not None for known in self._known.values())

    def _is_shut(self, name: str) -> bool:
        """Whether a column that is not known never will be."""
        return len(name) > LONGEST or len(self._known) >= self.most_columns - BLOCK

    def _is_full(self, known: Known) -> bool:
        """Whether a column gets no more indicators."""
        return len(known.values) >= self.most_values or self._free == 0

    def _is_hashed(self, name: str, known: Known | None, text: str | None) -> bool:
        """Whether the number of a column (if ``text`` is None), or a text, never gets a slot of its own."""
        if text is not None and len(text) > LONGEST:
            return True
        if known is None:
            return self._is_shut(name)
        return self._free == 0 if text is None else self._is_full(known)

    def _is_new(self, known: Known, value: Any) -> bool:
        """Whether a value that was read needs a slot, or is the first that is hashed."""
        if isinstance(value, Words):
            return known.words is None and not known.shares
        if isinstance(value, tuple):
            return any(True for _ in self._new_times(known, np.array(value), np.zeros(1, np.intp), 0))
        if value is None:
            return False
        text = value if isinstance(value, str) else None
        slot = known.number if text is None else known.values.get(text)
        return slot is None and not (known.hashed and self._is_hashed(known.name, known, text))

    def _grow(
        self, reads: Mapping[str, Read], learned: Array, firsts: dict[str, int]
    ) -> list[tuple[int, int]]:
        """Give slots to what is new; the rows at which the width grows, and the new widths."""
        growth: list[tuple[int, int]] = []
        for arrival in sorted(self._arrivals(reads, learned, firsts)):
            before = self.width
            self._settle(arrival)
            if self.width > before:
                if growth and growth[-1][0] == arrival.row:
                    growth.pop()
                growth.append((arrival.row, self.width))
        return growth

    def _arrivals(
        self, reads: Mapping[str, Read], learned: Array, firsts: dict[str, int]
    ) -> Iterator[Arrival]:
        ranks, all_learned = {name: rank for rank, name in enumerate(self._known)}, learned.all()
        shut = [name for name in firsts if name not in ranks]
        if shut and not self._others_hashed:  # later ones change nothing
            yield Arrival(firsts[shut[0]], len(ranks), NUMBER, "", shut[0])
        for name, read in reads.items():
            part = read if all_learned else read.of(learned)
            for row, what, text in self._new_in(self._known[name], part):
                yield Arrival(row, ranks[name], what, text, name)

    def _new_in(self, known: Known, read: Read) -> Iterator[tuple[int, int, str]]:
        """What is new in a column: its first row, what it is, and the text if it is a value."""
        column, rows = read.column, read.rows

        def row(i: Any) -> int:
            return int(i if rows is None else rows[i])

        all_dates = column.dates is not None and bool(column.dates.all())
        if column.numbers is not None and column.dates is not None:
            dates = slice(None) if all_dates else np.flatnonzero(column.dates)
            places = (np.arange(len(column.dates)) if rows is None else rows)[dates]
            yield from self._new_times(known, column.numbers[dates], places, read.row)
        if column.numbers is not None and known.number is None and not all_dates:
            there = ~np.isnan(column.numbers)
            there = there if column.dates is None else there & ~column.dates
            if not (known.hashed and self._is_hashed(known.name, known, None)) and there.any():
                yield row(np.argmax(there)), NUMBER, ""
        if column.codes is not None and not (known.hashed and self._is_full(known)):
            for i, text in self._new_texts(known, column.codes, column.texts):
                yield row(i), VALUE, text
        if read.words is not None and known.words is None and not known.shares:
            there = read.words.present()
            if there.any():
                yield row(np.argmax(there)), WORDS, ""

    def _new_times(
        self, known: Known, moments: Array, rows: Array, decided: int
    ) -> Iterator[tuple[int, int, str]]:
        """The periods that begin, and the trend, with their first rows."""
        if known.kind.first is None:
            return
        for what, part in _OF_PERIOD.items():
            if part not in known.times and self._free >= WAVES:
                i = first_of_period(moments, known.kind.first, part)
                if i is not None:
                    yield int(rows[i]), what, ""
        if known.kind.trend and known.trend is None and self._free:
            later = np.flatnonzero(rows >= decided)
            if len(later):
                yield int(rows[later[0]]), TREND, ""

    def _new_texts(self, known: Known, codes: Array, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The new texts that may get a slot, and the first that do not."""
        if known.values.keys() >= set(texts):
            return
        firsts = np.full(len(texts) + 1, -1)  # the last place is for code -1
        firsts[codes[::-1]] = np.arange(len(codes))[::-1]
        rows = zip(firsts.tolist(), texts, strict=False)
        new = sorted((row, text) for row, text in rows if row >= 0 and text not in known.values)
        room = min(self.most_values - len(known.values), self._free)
        yield from [(row, text) for row, text in new if len(text) <= LONGEST][: room + 1]
        yield from [(row, text) for row, text in new if len(text) > LONGEST][:1]

    def _settle(self, arrival: Arrival) -> None:
        """Give the arrival its slot, or have it hashed."""
        known, what, text = self._known.get(arrival.name), arrival.what, arrival.text
        if known is None:
            self._others_hashed = True
        elif part := _OF_PERIOD.get(what):
            if self._free >= WAVES:
                known.times[part] = self._widen(WAVES, self.absent)
            return
        elif what == TREND:
            if self._free:
                known.trend = self._widen(1, self.absent)
            return
        elif what == VALUE and text in known.values:  # a table may have texts twice
            return
        elif what == NUMBER and self._free > 0:
            known.number = self._widen(1, self.absent)
            return
        elif what == WORDS and self._texts < MOST_TEXTS:
            known.words = self._widen(self.words, 0.0)
            return
        elif what == VALUE and len(text) <= LONGEST and not self._is_full(known):
            known.values[text] = self._widen(1, 0.0)
            return
        elif what == WORDS:
            known.shares = True
        else:
            known.hashed = True
        if self._block is None:
            self._block = self._widen(BLOCK, 0.0)

    def _widen(self, slots: int, missing: float) -> int:
        """Append slots; the first of them."""
        first = self.width
        self._template = np.append(self._template, np.full(slots, missing))
        self._reader = None
        return first

    def join(self, other: Self) -> None:
        """Also know the columns and values of another encoding. What this one has decided stays."""
        for name, theirs in other._known.items():
            if name not in self._known and not self._is_shut(name):
                self._known[name] = Known(name, theirs.kind.copy())
            if (mine := self._known.get(name)) is None:
                continue
            if mine.kind.open and not theirs.kind.open:
                mine.kind = theirs.kind.copy()
            if mine.kind.kind == theirs.kind.kind:
                self._join_slots(mine, theirs)
        if other._others_hashed or other._known.keys() - self._known.keys():
            self._settle(Arrival(0, 0, NUMBER, "", "x" * (LONGEST + 1)))
        self._end_past()

    def _join_slots(self, mine: Known, theirs: Known) -> None:
        """Give slots for all that has some elsewhere."""
        numbered = [(NUMBER, mine.number, theirs.number), (TREND, mine.trend, theirs.trend)]
        numbered += [(WORDS, mine.words, theirs.words)]
        numbered += [(what, mine.times.get(p), theirs.times.get(p)) for what, p in _OF_PERIOD.items()]
        for what, slot, their_slot in numbered:
            if slot is None and their_slot is not None:
                self._settle(Arrival(0, 0, what, "", mine.name))
        for text in theirs.values:
            self._settle(Arrival(0, 0, VALUE, text, mine.name))
        if theirs.hashed and not mine.hashed:
            self._settle(Arrival(0, 0, VALUE, "x" * (LONGEST + 1), mine.name))

    def _end_past(self) -> None:
        """Have 0 in slots of numbers that are past."""
        past = [slot for known in self._known.values() if known.is_past for slot in known.measured]
        if past and self._template[past].any():  # NaN too
            self._template = self._template.copy()
            self._template[past] = 0.0
            self._reader = None

    # ---- saving

    def settle(self) -> None:
        """Decide what the columns are by the values so far; too few are counted again."""
        for known in self._known.values():
            known.kind.settle(self.limits)
            if known.kind.open:
                known.kind = Kind.of(self.given.get(known.name))

    def state(self) -> dict[str, Any]:
        """The state as plain data, which JSON can hold."""
        columns = [
            vars(known)
            | {
                "kind": known.kind.state(),
                "values": list(known.values),
                "slots": list(known.values.values()),
            }
            for known in self._known.values()
        ]
        return {"columns": columns, "block": self._block, "others_hashed": self._others_hashed}

    def restore(self, state: Any) -> None:
        """Continue from a saved state; ValueError if it is invalid, and then nothing has changed."""
        if not (
            isinstance(state, Mapping)
            and isinstance(state.get("columns"), list)
            and len(state["columns"]) <= self.most_columns - BLOCK
            and _is_slot(block := state.get("block"))
            and type(state.get("others_hashed")) is bool
        ):
            raise ValueError("the state of the encoder is invalid")
        columns = [self._restored(data) for data in state["columns"]]
        measured = [slot for known in columns for slot in known.measured]
        hashed = [] if block is None else list(range(block, block + BLOCK))
        words = [k.words + i for k in columns if k.words is not None for i in range(self.words)]
        taken = [*measured, *hashed, *words, *(slot for known in columns for slot in known.values.values())]
        width = len(taken)
        names = {known.name for known in columns}
        if (
            width - len(hashed) - len(words) > self.most_columns - BLOCK
            or len(words) > MOST_TEXTS * self.words
            or sorted(taken) != list(range(width))
            or len(names) < len(columns)
        ):
            raise ValueError("the slots of the encoder do not fit together")
        if block is None and (state["others_hashed"] or any(k.hashed or k.shares for k in columns)):
            raise ValueError("the encoder has hashed values, but no slots for them")
        template = np.zeros(width)
        template[[slot for known in columns if not known.is_past for slot in known.measured]] = self.absent
        self._known = {known.name: known for known in columns}
        self._block, self._others_hashed, self._template = block, state["others_hashed"], template
        self._reader = None

    def _restored(self, data: Any) -> Known:
        if (
            isinstance(data, Mapping)
            and data.keys() == {*Known.__dataclass_fields__, "slots"}
            and all(isinstance(data[key], list) for key in ("values", "slots"))
            and all(
                isinstance(text, str) and len(text) <= LONGEST for text in [data["name"], *data["values"]]
            )
            and len(set(data["values"])) == len(data["values"]) == len(data["slots"]) <= self.most_values
            and all(slot is not None and _is_slot(slot) for slot in data["slots"])
            and all(_is_slot(data[key]) for key in ("number", "trend", "words"))
            and isinstance(data["times"], dict)
            and all(
                part in PERIODS and type(slot) is int and _is_slot(slot)
                for part, slot in data["times"].items()
            )
            and type(data["hashed"]) is type(data["shares"]) is bool
        ):
            kind = Kind.restored(data["kind"])
            if len(kind.usual) > self.limits.own:
                raise ValueError("a column of the encoder has more words than slots for them")
            values = dict(zip(data["values"], data["slots"], strict=True))
            places = (data["number"], data["trend"], dict(data["times"]), data["words"])
            return Known(data["name"], kind, *places, values, data["hashed"], data["shares"])
        raise ValueError("a column of the encoder is invalid")


def _number(count: int, noun: str) -> str:
    """The number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _is_slot(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value < 2**31)
