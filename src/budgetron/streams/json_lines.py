"""JSON lines: one object in a line, each a record."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from budgetron._util.errors import DataError
from budgetron.streams.bad_rows import BadRow, refused
from budgetron.streams.json_records import RecordReader, RefusedMessageError, decoded, flat
from budgetron.streams.sources import whole_lines, without_mark
from budgetron.streams.stream import Block, FileStream, too_few_rows

LONGEST = 1000  # characters of a line that are kept with a bad row
LONGEST_LINE = 1 << 26  # bytes


class Line(NamedTuple):
    """A line that is not empty, and its number in the file, from 1."""

    number: int
    body: bytes
    instead: str = "an empty line"


@dataclass(eq=False, repr=False)
class JsonLinesStream(FileStream):
    """A file of JSON lines. Columns come with the rows."""

    reader: RecordReader
    _features: list[str] | None = field(default=None, init=False)

    @property
    def target(self) -> str | None:
        """The column of labels."""
        return self.reader.target

    @property
    def features(self) -> list[str]:
        """The names in the first line, if the file can be read again; later lines may have others."""
        if self._features is None:
            self._features = self._first_names() if self.source.rereadable else []
        return self._features

    @property
    def n_features(self) -> int:
        return max(1, len(self.features))

    def _first_names(self) -> list[str]:
        for lines in self._lines():
            for line in lines:
                try:
                    return list(flat(decoded(line)))
                except RefusedMessageError:
                    return []
        return []

    def _blocks(self) -> Iterator[Block]:
        """The rows that can be read, up to the first bad one if that stops the stream."""
        at = number = 0  # of rows that can be read, and of all
        for lines in self._lines():
            rows = self.reader.rows(lines, at)
            bad = [(place, rows.reasons[place]) for place in sorted(rows.reasons)]
            if bad and self.bad_rows.stop:
                place, reason = bad[0]
                yield rows.block.part(0, sum(good < place for good in rows.places))
                raise refused(self.source.name, _bad_row(lines[place], number + place, reason))
            for place, reason in bad:
                self.bad_rows.add(self.source.name, _bad_row(lines[place], number + place, reason))
            yield rows.block
            at, number = rows.block.stop, number + len(lines)
        if at < self.first:
            raise too_few_rows(self.source.name, self.first, at)

    def _lines(self) -> Iterator[list[Line]]:
        """The lines that are not empty, as many at a time as there are rows in a block, or as have come."""
        number, waiting = 0, list[Line]()
        for piece in whole_lines(self._bounded(without_mark(self.source.pieces()))):
            for body in piece.split(b"\n"):
                number += 1
                if body.strip():
                    waiting.append(Line(number, body))
                if len(waiting) == self.rows:
                    yield waiting
                    waiting = []
            number -= piece.endswith(b"\n")
            if waiting and not self.source.rereadable:
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    def _bounded(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The same bytes, refused when a line does not end."""
        size = 0
        for piece in pieces:
            end = piece.rfind(b"\n")
            size = size + len(piece) if end < 0 else len(piece) - end - 1
            if size > LONGEST_LINE:
                raise DataError(
                    f"{self.source.name}: a line is longer than {LONGEST_LINE >> 20} MiB: expected one "
                    "JSON object in a line."
                )
            yield piece


def _bad_row(line: Line, row: int, reason: str) -> BadRow:
    text = line.body.decode(errors="backslashreplace").rstrip("\r")
    return BadRow(row, reason, text if len(text) <= LONGEST else f"{text[:LONGEST]}...", line=line.number)
