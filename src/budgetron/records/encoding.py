"""The state of an encoder: which columns and values have a place in the matrix.

A *slot* is a column of the matrix. Slots are given in the order of first appearance: row by row, and within
a row in the order in which the columns first had a value. This order does not depend on how the records are
cut into batches. A value that finds no free slot never gets one later, since slots are never freed. So
whether it is hashed is the same for all rows.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron.records.reading import from_dicts, normal_record
from budgetron.records.table import Array, Column, Table
from budgetron.records.values import NUMBERS

Matrix = npt.NDArray[np.float64]

BLOCK = 32  # slots of the hashed block
LONGEST = 256  # characters; a longer name or value is hashed, so that memory is bounded
PIECE = 1 << 16  # cells of rare columns that are encoded at once
DAY = 86400.0
PERIODS = {"day": (DAY, 0.0), "week": (7 * DAY, 3 * DAY), "year": (365.2425 * DAY, 0.0)}
"""Length of each period, and the place of 1970-01-01 in it: a Thursday, where weeks begin on Monday."""


@dataclass
class Known:
    """The slots of one column of the records."""

    name: str
    number: int | None = None
    times: int | None = None  # the first of its sines and cosines
    values: dict[str, int] = field(default_factory=dict)
    hashed: bool = False

    def measured(self, waves: int) -> list[int]:
        """The slots of its number, and of so many sines and cosines."""
        number = [] if self.number is None else [self.number]
        return number if self.times is None else [*number, *range(self.times, self.times + waves)]


class Arrival(NamedTuple):
    """Something without a slot that appears in a batch. Arrivals sort by row, then by column."""

    row: int
    rank: int
    kind: int
    text: str | None
    name: str


NUMBER, TIMES, VALUE = range(3)


class Encoding:
    """See `Encoder`."""

    def __init__(
        self, most_columns: int, most_values: int, time_parts: tuple[str, ...], absent: float = np.nan
    ) -> None:
        self.most_columns = most_columns
        self.most_values = most_values
        self.time_parts = time_parts
        self.absent = absent  # what a number counts as in a record without it
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
            for text, slot in known.values.items():
                names[slot] = f"{known.name}={text}"
            if known.times is not None:
                names[known.times : known.times + self._waves] = names_of_places(
                    known.name, self.time_parts
                )
        if self._block is not None:
            names[self._block : self._block + BLOCK] = [f"hashed {i}" for i in range(BLOCK)]
        return names

    @property
    def names(self) -> list[str]:
        """The names of the columns of the records."""
        return list(self._known)

    @property
    def slots(self) -> dict[str, list[int]]:
        """The slots of each column of the records; those of hashed values are all under one name."""
        slots = {
            name: [*known.measured(self._waves), *known.values.values()]
            for name, known in self._known.items()
        }
        if self._block is not None:
            slots["(hashed)"] = list(range(self._block, self._block + BLOCK))
        return slots

    def value(self, row: Matrix, name: str) -> float | str | None:
        """The value that a row has in a column of the records; None if there is none, or it is hashed."""
        known = self._known.get(name)
        if known is None:
            return None
        if known.number is not None and not np.isnan(row[known.number]):
            return float(row[known.number])
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
        parts = [
            f"{sum(k.number is not None for k in known)} of numbers",
            f"{sum(k.times is not None for k in known) * self._waves} of times",
            f"{indicators} of {texts}",
            f"{0 if self._block is None else BLOCK} hashed",
        ]
        text = f"{_number(self.width, 'column')}: {', '.join(p for p in parts if not p.startswith('0 '))}."
        hashed = [repr(k.name) for k in known if k.hashed]
        hashed += ["columns that came later"] if self._others_hashed else []
        return f"{text} Partly hashed: {', '.join(hashed)}." if hashed else text

    def examples(self) -> Iterator[dict[str, Any]]:
        """Records that have every column and value with a slot, then some that are hashed."""
        known, too_long = self._known.values(), "x" * (LONGEST + 1)
        for column in known:
            if column.times is not None:
                yield {column.name: datetime(2000, 1, 1, tzinfo=UTC)}
            if column.number is not None:
                yield {column.name: 0.0}
            for text in column.values:
                yield {column.name: text}
        for column in known:
            if column.hashed:
                yield {column.name: too_long}
        if self._others_hashed:
            yield {too_long: 0.0}

    def copy(self) -> "Encoding":
        """An encoding in the same state, which grows separately."""
        other = copy(self)
        other._known = {
            name: replace(known, values=dict(known.values)) for name, known in self._known.items()
        }
        return other

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_reader": None}

    # ---- encoding

    def encode(self, table: Table, grow: bool = True) -> tuple[Matrix, list[tuple[int, int]]]:
        """The records as rows of numbers, and the rows at which the width grows, with the new width.

        Without ``grow`` the state does not change; columns and values that have no place yet are ignored.
        """
        growth = self._grow(table) if grow else []
        return self._rows(table), growth

    def encode_one(self, record: Mapping[str, Any], grow: bool = True) -> Matrix:
        """The row of one record, the same as that of a table of this record."""
        row = self.known_one(record) if grow else self.reader.row(record)
        if row is not None:
            return row
        return self.encode(from_dicts([record]), grow)[0].reshape(-1)

    @property
    def reader(self) -> _core.RecordReader:
        """Reads a dict of numbers and texts that have a slot; None for any other record."""
        if self._reader is None:
            known, template = self._known.values(), self._template.tolist()
            numbers = {column.name: column.number for column in known if column.number is not None}
            values = {column.name: column.values for column in known if column.values}
            self._reader = _core.RecordReader(
                numbers, values, NUMBERS, template, bool(np.isnan(self.absent))
            )
        return self._reader

    def known_one(self, record: Mapping[str, Any]) -> Matrix | None:
        """The row of one record; None if a column or value in it is new.

        It is also None for a number without a value, if a number that is not there counts as 0.
        """
        row = self.reader.row(record)
        return self._any_known_one(record) if row is None else row

    def _any_known_one(self, record: Mapping[str, Any]) -> Matrix | None:
        """The same for dates, hashed values and everything else that is not new."""
        row, block, values = self._template.copy(), self._block, normal_record(record)
        if not np.isnan(self.absent) and any(map(self.lacks_value, record, record.values())):
            return None
        for name, value in sorted(values.items()):
            known, text, number = self._known.get(name), None, 0.0
            if isinstance(value, str):
                text = value
            else:
                number = value[0] if isinstance(value, tuple) else value
            slot = None if known is None else known.number if text is None else known.values.get(text)
            if self._is_new(name, known, text, slot, isinstance(value, tuple)):
                return None
            if slot is not None:
                row[slot] = number if text is None else 1.0
            elif block is not None and self._is_hashed(name, known, text):
                place, sign = _hashed(name, [text])
                row[block + place[0]] += sign[0] * number if text is None else sign[0]
            if isinstance(value, tuple) and known is not None and known.times is not None:
                row[known.times : known.times + self._waves] = place_in_periods(
                    np.array(value), self.time_parts
                )
        return row

    def _rows(self, table: Table) -> Matrix:
        X = np.empty((len(table), self.width))
        X[:] = self._template
        if not len(table.rare):
            self._put(X, table)
        else:
            for rows in table.pieces(PIECE):
                self._put(X[rows], table[rows])
        return X

    def _put(self, X: Matrix, table: Table) -> None:
        """Write all values. Sums of hashed numbers depend on the order, so it is that of the names."""
        others = list[tuple[str, int]]()  # neighbours that are not known, and are cells of these numbers
        for name in sorted(table.places):
            place = table.places[name]
            if isinstance(place, int) and name not in self._known:
                others.append((name, place))
                continue
            self._put_others(X, table, others)
            self._put_column(X, name, table.columns[name])
            others = []
        self._put_others(X, table, others)

    def _put_column(self, X: Matrix, name: str, column: Column) -> None:
        known = self._known.get(name)
        if column.numbers is not None:
            self._put_numbers(X, name, known, column.numbers)
            if known is not None and known.times is not None and column.dates is not None:
                rows = np.flatnonzero(column.dates)
                times = slice(known.times, known.times + self._waves)
                X[rows, times] = place_in_periods(column.numbers[rows], self.time_parts)
        if len(column.texts) > len(X):
            column = column.compact()
        if column.codes is not None:
            self._put_texts(X, name, known, column.codes, column.texts)

    def _put_others(self, X: Matrix, table: Table, others: Sequence[tuple[str, int]]) -> None:
        """Add what is hashed of these columns, in their order."""
        if self._block is None or not others:
            return
        cells = table.rare.of_columns([number for _, number in others])
        each = zip(cells.columns.tolist(), cells.values.values(), strict=True)
        names = {number: (_checksum(name), self._is_shut(name)) for name, number in others}
        kept, codes, values = list[int](), list[int](), list[float]()
        for i, (number, value) in enumerate(each):
            code, shut = names[number]
            if isinstance(value, str):
                if not shut and len(value) <= LONGEST:
                    continue
                code, value = _checksum(f"={value}", code), 1.0
            elif not shut:
                continue
            kept.append(i)
            codes.append(code)
            values.append(value or 0.0)
        places, signs = _places_of(codes)
        np.add.at(X, (cells.rows[kept], self._block + places), signs * np.array(values))

    def _put_numbers(self, X: Matrix, name: str, known: Known | None, numbers: Array) -> None:
        if known is not None and known.number is not None:
            X[:, known.number] = (
                numbers if np.isnan(self.absent) else np.where(np.isnan(numbers), self.absent, numbers)
            )
        elif self._block is not None and self._is_hashed(name, known, None):
            [place], [sign] = _hashed(name, [None])
            X[:, self._block + place] += sign * np.where(np.isnan(numbers), 0.0, numbers)

    def _put_texts(
        self, X: Matrix, name: str, known: Known | None, codes: Array, texts: Sequence[str]
    ) -> None:
        values = {} if known is None else known.values
        slots = np.array([*(values.get(text, -1) for text in texts), -1])  # the last one is for code -1
        each = slots[codes]
        rows = np.flatnonzero(each >= 0)
        X[rows, each[rows]] = 1.0
        if self._block is None or len(rows) == len(X):
            return
        hashed = [
            i for i in np.flatnonzero(slots[:-1] < 0).tolist() if self._is_hashed(name, known, texts[i])
        ]
        if hashed:
            places, signs = np.full(len(slots), -1), np.zeros(len(slots))
            places[hashed], signs[hashed] = _hashed(name, [texts[i] for i in hashed])
            rows = np.flatnonzero(places[codes] >= 0)
            X[rows, self._block + places[codes[rows]]] += signs[codes[rows]]

    # ---- growing

    @property
    def _waves(self) -> int:
        return 2 * len(self.time_parts)

    @property
    def _free(self) -> int:
        """The number of slots that may still be given, apart from the hashed block."""
        return self.most_columns - BLOCK - self.width + (0 if self._block is None else BLOCK)

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

    def _is_new(
        self, name: str, known: Known | None, text: str | None, slot: int | None, is_date: bool
    ) -> bool:
        """Whether the state has to change for a value."""
        if known is None:
            return not (self._others_hashed and self._is_shut(name))
        if slot is None:
            return not (known.hashed and self._is_hashed(name, known, text))
        return is_date and known.times is None and 0 < self._waves <= self._free

    def _grow(self, table: Table) -> list[tuple[int, int]]:
        """Give slots to what is new in the table; the rows at which the width grows, and the new widths."""
        arrivals = self._arrivals(table)
        growth: list[tuple[int, int]] = []
        for arrival in sorted(arrivals):
            before = self.width
            self._settle(arrival)
            if self.width > before:
                if growth and growth[-1][0] == arrival.row:
                    growth.pop()
                growth.append((arrival.row, self.width))
        return growth

    def _arrivals(self, table: Table) -> list[Arrival]:
        ranks = {name: rank for rank, name in enumerate(self._known)}
        firsts = table.firsts(name for name in table.places if name not in ranks)
        new = sorted(firsts, key=firsts.__getitem__)  # stable: the order of the columns decides ties
        arrivals: list[Arrival] = []
        for name in new:
            if not self._is_shut(name):
                self._known[name] = Known(name)
                ranks[name] = len(ranks)
            elif not arrivals and not self._others_hashed:  # later ones change nothing
                arrivals.append(Arrival(firsts[name], len(ranks), NUMBER, None, name))
                ranks[name] = len(ranks)
        for name, known in self._known.items():
            if name in table.places:
                parts = self._new_in(known, table.columns[name])
                arrivals += [Arrival(row, ranks[name], kind, text, name) for row, kind, text in parts]
        return arrivals

    def _new_in(self, known: Known, column: Column) -> Iterator[tuple[int, int, str | None]]:
        """What is new in a column: its first row, its kind, and the text if it is one."""
        if column.numbers is not None and known.number is None:
            there = ~np.isnan(column.numbers)
            if there.any() and not (known.hashed and self._is_hashed(known.name, known, None)):
                yield int(np.argmax(there)), NUMBER, None
        may_have_times = known.times is None and 0 < self._waves <= self._free
        if may_have_times and column.dates is not None and column.dates.any():
            yield int(np.argmax(column.dates)), TIMES, None
        if column.codes is not None and not (known.hashed and self._is_full(known)):
            yield from self._new_texts(known, column.codes, column.texts)

    def _new_texts(
        self, known: Known, codes: Array, texts: Sequence[str]
    ) -> Iterator[tuple[int, int, str]]:
        """The new texts that may get a slot, and the first that do not."""
        firsts = np.full(len(texts) + 1, -1)  # the last place is for code -1
        firsts[codes[::-1]] = np.arange(len(codes))[::-1]
        rows = zip(firsts.tolist(), texts, strict=False)
        new = sorted((row, text) for row, text in rows if row >= 0 and text not in known.values)
        room = min(self.most_values - len(known.values), self._free)
        short = [(row, text) for row, text in new if len(text) <= LONGEST][: room + 1]
        long = [(row, text) for row, text in new if len(text) > LONGEST][:1]
        for row, text in short + long:
            yield row, VALUE, text

    def _settle(self, arrival: Arrival) -> None:
        """Give the arrival its slot, or have it hashed."""
        known = self._known.get(arrival.name)
        if arrival.kind == TIMES:
            if known is not None and self._waves <= self._free:
                known.times = self._widen(self._waves, self.absent)
            return
        text = arrival.text
        if text is not None and known is not None and text in known.values:  # a table may have texts twice
            return
        if known is None:
            self._others_hashed = True
        elif text is None and self._free > 0:
            known.number = self._widen(1, self.absent)
            return
        elif text is not None and len(text) <= LONGEST and not self._is_full(known):
            known.values[text] = self._widen(1, 0.0)
            return
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

    # ---- saving

    def state(self) -> dict[str, Any]:
        """The state as plain data, which JSON can hold."""
        columns = [
            vars(known) | {"values": list(known.values), "slots": list(known.values.values())}
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
        measured = [slot for known in columns for slot in known.measured(self._waves)]
        hashed = [] if block is None else list(range(block, block + BLOCK))
        taken = [*measured, *hashed, *(slot for known in columns for slot in known.values.values())]
        width = len(taken)
        names = {known.name for known in columns}
        if (
            width - len(hashed) > self.most_columns - BLOCK
            or sorted(taken) != list(range(width))
            or len(names) < len(columns)
        ):
            raise ValueError("the slots of the encoder do not fit together")
        if block is None and (state["others_hashed"] or any(known.hashed for known in columns)):
            raise ValueError("the encoder has hashed values, but no slots for them")
        template = np.zeros(width)
        template[measured] = self.absent
        self._known = {known.name: known for known in columns}
        self._block, self._others_hashed, self._template = block, state["others_hashed"], template
        self._reader = None

    def _restored(self, data: Any) -> Known:
        if (
            isinstance(data, Mapping)
            and data.keys() == {"name", "number", "times", "values", "slots", "hashed"}
            and all(isinstance(data[key], list) for key in ("values", "slots"))
            and all(
                isinstance(text, str) and len(text) <= LONGEST for text in [data["name"], *data["values"]]
            )
            and len(set(data["values"])) == len(data["values"]) == len(data["slots"]) <= self.most_values
            and all(slot is not None and _is_slot(slot) for slot in data["slots"])
            and _is_slot(data["number"])
            and _is_slot(data["times"])
            and (data["times"] is None or self.time_parts)
            and type(data["hashed"]) is bool
        ):
            values = dict(zip(data["values"], data["slots"], strict=True))
            return Known(data["name"], data["number"], data["times"], values, data["hashed"])
        raise ValueError("a column of the encoder is invalid")


def place_in_periods(moments: Array, periods: Sequence[str]) -> Matrix:
    """Sine and cosine of the place of each moment in each period."""
    waves = np.empty((2 * len(periods), len(moments)))
    for i, part in enumerate(periods):
        length, start = PERIODS[part]
        angle = np.mod(moments + start, length) * (2 * np.pi / length)
        waves[2 * i], waves[2 * i + 1] = np.sin(angle), np.cos(angle)
    return waves.T


def names_of_places(name: str, periods: Sequence[str]) -> list[str]:
    """The names of the columns of `place_in_periods`."""
    return [f"{name} ({wave} of {part})" for part in periods for wave in ("sine", "cosine")]


def _number(count: int, noun: str) -> str:
    """The number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _is_slot(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value < 2**31)


def _hashed(name: str, texts: Sequence[str | None]) -> tuple[Array, Array]:
    """The places in the block of ``name=text``, or of ``name`` alone, and their signs."""
    start = _checksum(name)
    return _places_of([start if text is None else _checksum(f"={text}", start) for text in texts])


def _checksum(text: str, start: int = 0) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), start)


def _places_of(codes: Sequence[int]) -> tuple[Array, Array]:
    mixed = np.array(codes, np.uint32) * np.uint32(0x9E3779B1)  # the low bits of a CRC alone are no hash
    return (mixed >> 27).astype(np.intp), 1.0 - 2.0 * ((mixed >> 26) & 1)
