"""Records as rows of numbers: what a value is by its column, and the slots that it fills."""

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from budgetron import _core
from budgetron.records.kinds import NUMBERS as OF_NUMBERS
from budgetron.records.kinds import Kind, Read, Words
from budgetron.records.periods import place_in_period
from budgetron.records.reading import from_dicts, normal_record
from budgetron.records.slots import BLOCK, LONGEST, Known, Matrix, Slots
from budgetron.records.table import Array, Cells, Column, Table
from budgetron.records.values import NUMBERS
from budgetron.records.words import bag, placed, shared


class Encoding(Slots):
    """See `Encoder`."""

    # ---- encoding

    def encode(
        self, table: Table, grow: bool = True, learned: Array | None = None
    ) -> tuple[Matrix, list[tuple[int, int]]]:
        """The records as rows of numbers, and the rows at which the width grows, with the new width.

        Only the rows in the mask ``learned``, by default all, count and give slots. Without ``grow`` none
        does: columns and values that have no place yet are ignored.
        """
        mask = None
        if grow and not self.fixed:
            mask = np.ones(len(table), np.bool_) if learned is None else learned
        firsts = {} if mask is None else self._meet(table, mask)
        reads = self._read(table, mask)
        growth = [] if mask is None else self._grow(reads, mask, firsts)
        self._end_past()
        return self._rows(table, reads), growth

    def decided(self, table: Table, learned: Array | None = None) -> "Encoding":
        """An encoding without slots that knows what the columns of a whole table are."""
        other = self.copy()
        mask = np.ones(len(table), np.bool_) if learned is None else learned
        other._meet(table, mask)
        other._read(table, mask)
        other.settle()
        return other

    def encode_one(self, record: Mapping[str, Any], grow: bool = True) -> Matrix:
        """The row of one record, the same as that of a table of this record."""
        row = self.known_one(record) if grow else self.reader.row(record)
        if row is not None:
            return row
        return self.encode(from_dicts([record]), grow)[0].reshape(-1)

    @property
    def reader(self) -> _core.RecordReader:
        """Reads a dict of numbers and categories that have a slot; None for any other record."""
        if self._reader is None:
            settled = [known for known in self._known.values() if known.kind.is_settled]
            numbers = {
                k.name: k.number for k in settled if k.number is not None and k.kind.kind in OF_NUMBERS
            }
            values = {
                k.name: k.values for k in settled if k.values and k.kind.kind in (*OF_NUMBERS, "category")
            }
            absent, takes_none = self._template.tolist(), bool(np.isnan(self.absent))
            self._reader = _core.RecordReader(numbers, values, NUMBERS, absent, takes_none)
        return self._reader

    def known_one(self, record: Mapping[str, Any], learned: bool = True) -> Matrix | None:
        """The row of one record; None if a column or value in it is new.

        A value of a column that is open is new if it is to be learned, since it counts. It is also None for
        a number without a value, if a number that is not there counts as 0.
        """
        row = self.reader.row(record)
        return self._any_known_one(record, learned) if row is None else row

    def _any_known_one(self, record: Mapping[str, Any], learned: bool) -> Matrix | None:
        """The same for dates, words, hashed values and everything else that is not new."""
        row, values = self._template.copy(), normal_record(record)
        if not np.isnan(self.absent) and any(map(self.lacks_value, record, record.values())):
            return None
        for name, value in sorted(values.items()):
            known = self._known.get(name)
            if known is None:
                if not (self.fixed or (self._others_hashed and self._is_shut(name))):
                    return None
                read: Any = value
            else:
                if learned and not self.fixed and known.kind.changes(value, self.limits):
                    return None
                read = known.kind.one(value)
                if not self.fixed and self._is_new(known, read):
                    return None
            self._put_one(row, name, known, read)
        return row

    def _put_one(self, row: Matrix, name: str, known: Known | None, value: Any) -> None:
        """Write one value that was read."""
        if isinstance(value, Words):
            if known is not None and self._slots_of(known):
                self._put_bags(
                    row.reshape(1, -1), known, np.zeros(1, np.intp), self._bag(known, value.text)
                )
        elif isinstance(value, tuple) and known is not None:
            self._put_moments(row.reshape(1, -1), known, np.zeros(1, np.intp), np.array(value))
        elif isinstance(value, str):
            slot = None if known is None else known.values.get(value)
            if slot is not None:
                row[slot] = 1.0
            elif self._is_hashed(name, known, value):
                self._add_hashed(row, name, value, 1.0)
        elif value is not None:
            number = value[0] if isinstance(value, tuple) else value
            if known is not None and known.number is not None:
                row[known.number] = number
            elif self._is_hashed(name, known, None):
                self._add_hashed(row, name, None, number)

    def _add_hashed(self, row: Matrix, name: str, text: str | None, value: float) -> None:
        if self._block is not None:
            [place], [sign] = _hashed(name, [text])
            row[self._block + place] += sign * value

    # ---- reading

    def _meet(self, table: Table, learned: Array) -> dict[str, int]:
        """Know the new columns; the first row of each, of those that stay unknown too."""
        if all(name in self._known for name in table.places):
            return {}
        rows = np.flatnonzero(learned)
        part = table if len(rows) == len(table) else table[rows]
        firsts = part.firsts(name for name in part.places if name not in self._known)
        new = sorted(firsts, key=firsts.__getitem__)  # stable: the order of the columns decides ties
        for name in new:
            if not self._is_shut(name):
                self._known[name] = Known(name, Kind.of(self.given.get(name)))
        return {name: int(rows[firsts[name]]) for name in new}

    def _read(self, table: Table, learned: Array | None) -> dict[str, Read]:
        """What the values of the known columns mean; those of the rows in the mask count."""
        reads = {}
        for name, known in self._known.items():
            place = table.places.get(name)
            if place is None:
                continue
            if isinstance(place, int):
                cells = table.rare.of_columns([place])
                column, rows = cells.values.compact(), cells.rows
                mask = None if learned is None else learned[rows]
                reads[name] = known.kind.read(column, mask, self.limits, rows)
            else:
                reads[name] = known.kind.read(place, learned, self.limits)
        if learned is not None:
            self._reader = None
        return reads

    def _rows(self, table: Table, reads: Mapping[str, Read]) -> Matrix:
        """Write all values. Sums of hashed numbers depend on the order, so it is that of the names."""
        X = np.repeat(self._template[np.newaxis], len(table), axis=0)
        others = list[tuple[str, int]]()  # neighbours that are not known, and are cells of these numbers
        for name in sorted(table.places):
            place, read = table.places[name], reads.get(name)
            if isinstance(place, int) and read is None:
                others.append((name, place))
                continue
            self._put_others(X, table.rare, others)
            self._put(X, name, read or Read(table.columns[name]))
            others = []
        self._put_others(X, table.rare, others)
        return X

    def _put(self, X: Matrix, name: str, read: Read) -> None:
        """Write a column that was read."""
        known, column = self._known.get(name), read.column
        if known is not None and known.is_past:
            X[: read.row, known.measured] = self.absent
        rows = slice(None) if read.rows is None else read.rows
        if column.numbers is not None:
            numbers, is_number = column.numbers, True
            if known is not None and column.dates is not None and column.dates.all():
                self._put_moments(X, known, rows, numbers)
                is_number = False
            elif known is not None and column.dates is not None:
                there = np.flatnonzero(column.dates)
                at = there if read.rows is None else read.rows[there]
                self._put_moments(X, known, at, numbers[there])
                numbers = np.where(column.dates, np.nan, numbers)
                is_number = known.number is not None or self._block is not None
            if is_number:
                self._put_numbers(X, name, known, rows, numbers)
        if len(column.texts) > len(X):
            column = column.compact()
        if column.codes is not None:
            self._put_texts(X, name, known, read.rows, column)
        if read.words is not None:
            self._put_words(X, known, np.arange(len(X))[rows], read)

    def _put_moments(self, X: Matrix, known: Known, rows: Any, moments: Array) -> None:
        for part, slot in known.times.items():
            X[rows, slot], X[rows, slot + 1] = place_in_period(moments, part)
        if known.trend is not None:
            X[rows, known.trend] = known.trend_of(moments)

    def _put_words(self, X: Matrix, known: Known | None, at: Array, read: Read) -> None:
        """Write texts; those before the column was decided have no words of their own yet."""
        if known is None or read.words is None or not self._slots_of(known):
            return
        before = len(known.kind.usual) - len(read.new_words)
        for column_was_open in (True, False):
            rows = np.flatnonzero((at < read.row) == column_was_open)
            texts = read.words.rows(rows)
            bags = {code: self._bag(known, texts.texts[code], column_was_open) for code in texts.used()}
            if bags and texts.codes is not None:
                there = np.flatnonzero(texts.codes >= 0)
                codes, rows = texts.codes[there].tolist(), at[rows[there]]
                each = np.stack([bags[code] for code in codes])
                if known.words is not None and len(read.new_words):
                    each = self._as_they_were(
                        known,
                        each,
                        [texts.texts[code] for code in codes],
                        before + np.searchsorted(read.new_words, rows, "right"),
                    )
                self._put_bags(X, known, rows, each)

    def _as_they_were(self, known: Known, bags: Matrix, texts: list[str], words: Array) -> Matrix:
        """The bags when the column had so many words: a row that is not learned may have later ones."""
        own = bags[:, : self.limits.own] != 0
        last = np.where(own.any(1), self.limits.own - 1 - np.argmax(own[:, ::-1], 1), -1)
        for i in np.flatnonzero(last >= words).tolist():
            bags[i] = self._bag(known, texts[i], words=words[i])
        return bags

    def _slots_of(self, known: Known) -> int:
        """The number of slots for the words of a column."""
        if known.words is None and not known.shares:
            return 0
        return BLOCK if known.words is None else self.words

    def _bag(self, known: Known, text: str, is_open: bool = False, words: int | None = None) -> Matrix:
        """The slots of the words of a text; of those that have their own, the first so many."""
        slots = self._slots_of(known)
        if known.words is None:
            return bag(text, {}, 0, slots)
        places = {} if is_open else known.kind.places
        if words is not None:
            places = {word: place for word, place in places.items() if place < words}
        return bag(text, places, self.limits.own, shared(slots))

    def _put_bags(self, X: Matrix, known: Known, rows: Array, bags: Matrix) -> None:
        slots = self._slots_of(known)
        if known.words is not None:
            X[rows, known.words : known.words + slots] = bags
        elif self._block is not None:
            X[rows, self._block : self._block + slots] += bags

    def _put_others(self, X: Matrix, rare: Cells, others: Sequence[tuple[str, int]]) -> None:
        """Add what is hashed of these columns, in their order."""
        if self._block is None or not others:
            return
        cells = rare.of_columns([number for _, number in others])
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
        places, signs = placed(codes, BLOCK)
        np.add.at(X, (cells.rows[kept], self._block + places), signs * np.array(values))

    def _put_numbers(self, X: Matrix, name: str, known: Known | None, rows: Any, numbers: Array) -> None:
        if known is not None and known.number is not None:
            if known.is_past or not np.isnan(self.absent):
                there = X[rows, known.number] if known.is_past else self.absent
                numbers = np.where(np.isnan(numbers), there, numbers)
            X[rows, known.number] = numbers
        elif self._block is not None and self._is_hashed(name, known, None):
            [place], [sign] = _hashed(name, [None])
            X[rows, self._block + place] += sign * np.where(np.isnan(numbers), 0.0, numbers)

    def _put_texts(
        self, X: Matrix, name: str, known: Known | None, at: Array | None, column: Column
    ) -> None:
        values, texts = {} if known is None else known.values, column.texts
        codes: Any = column.codes
        slots = np.array([*[values.get(text, -1) for text in texts], -1])  # the last one is for code -1
        each = slots[codes]
        rows = np.flatnonzero(each >= 0)
        cells, width = X.reshape(-1), X.shape[1]  # a view: one index a cell takes half the time of two
        cells[(rows if at is None else at[rows]) * width + each[rows]] = 1.0
        if self._block is None or len(rows) == len(codes):
            return
        hashed = np.flatnonzero(slots[:-1] < 0)
        if known is None or not self._is_full(known):
            hashed = np.array(
                [i for i in hashed.tolist() if self._is_hashed(name, known, texts[i])], np.intp
            )
        if len(hashed):
            places, signs = np.full(len(slots), -1), np.zeros(len(slots))
            places[hashed], signs[hashed] = _hashed(name, [texts[i] for i in hashed.tolist()])
            rows = np.flatnonzero(places[codes] >= 0)
            codes = codes[rows]
            cells[(rows if at is None else at[rows]) * width + self._block + places[codes]] += signs[codes]


def _hashed(name: str, texts: Sequence[str | None]) -> tuple[Array, Array]:
    """The places in the block of ``name=text``, or of ``name`` alone, and their signs."""
    start = _checksum(name)
    of_text = _checksum("=", start)
    return placed([start if text is None else _checksum(text, of_text) for text in texts], BLOCK)


@lru_cache(maxsize=1 << 14)  # the texts of a category come in every block
def _checksum(text: str, start: int = 0) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), start)
