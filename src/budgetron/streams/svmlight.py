"""Streams from svmlight and LIBSVM files."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from scipy import sparse

from budgetron import _core
from budgetron._util import check
from budgetron._util.errors import DataError
from budgetron.streams.bad_rows import BadRow, BadRows
from budgetron.streams.sources import Source, whole_lines
from budgetron.streams.stream import Block, FileStream, too_few_rows

LARGEST = 2**31 - 2
"""The largest index allowed in a file."""

EXPECTED = {
    _core.Fault.Label: "a label (a finite decimal number)",
    _core.Fault.SeveralLabels: "one label (rows with several labels cannot be read)",
    _core.Fault.Query: "qid: and a whole number",
    _core.Fault.Pair: "index:value",
    _core.Fault.Order: "an index above the one before it",
    _core.Fault.Value: "a finite decimal number",
}


Parsers = Iterator[tuple[_core.SvmlightParser, bool]]
"""A parser, again after each piece of the file that it was fed, and whether this was its last one."""

Note = Callable[[_core.Problem, int, bytes], None]
"""What is told of a bad line: the problem, the number of the line, and its text."""


@dataclass(eq=False, repr=False)
class SvmlightStream(FileStream):
    """See `from_svmlight`."""

    width: int | None
    zero_based: bool

    @cached_property
    def n_features(self) -> int:
        """The number of columns: as given, or else found by reading the file for its largest index."""
        if self.width is not None:
            return self.width
        width = 1
        with suppress(DataError):  # which iteration will report
            for parser, _ in self._parsers(lambda *_: None):
                parser.drop(parser.ready)
                width = max(width, parser.columns)
        return width

    def skip(self, rows: int) -> Self:
        _ = self.n_features  # found here, once for all streams made by skip
        return super().skip(rows)

    def _blocks(self) -> Iterator[Block]:
        width, at = self.n_features, 0
        for parser, is_done in self._parsers(self._note):
            if parser.columns > width:
                why = "the file has more columns than when it was first read; give n_features"
                raise DataError(f"{self.source.name}: {why}.")
            skipped = min(parser.ready, max(self.first - at, 0))
            parser.drop(skipped)
            at += skipped
            while parser.ready >= self.rows or (parser.ready and is_done):
                data, indices, indptr, y = parser.take(min(self.rows, parser.ready))
                yield Block(sparse.csr_matrix((data, indices, indptr), shape=(len(y), width)), y, at)
                at += len(y)
        if at < self.first:
            raise too_few_rows(self.source.name, self.first, at)

    def _parsers(self, note: Note) -> Parsers:
        return self._up_to_problem(note) if self.bad_rows.stop else self._around_problems(note)

    def _up_to_problem(self, note: Note) -> Parsers:
        """One parser for the whole file, or up to the first bad line."""
        parser = self._parser()
        try:
            for piece in self.source.pieces():
                parser.feed(piece)
                if parser.problem is not None:
                    break
                yield parser, False
            else:
                parser.finish()
        except DataError:
            yield parser, True
            raise
        yield parser, True
        if parser.problem is not None:
            note(parser.problem, parser.problem.line, b"")

    def _around_problems(self, note: Note) -> Parsers:
        """A parser for the lines between two bad ones."""
        line = 0
        for rest in whole_lines(self.source.pieces()):
            while rest:
                parser = self._parser()
                parser.feed(rest)
                parser.finish()
                yield parser, True
                if parser.problem is None:
                    line += rest.count(b"\n")
                    break
                bad = parser.problem.line
                lines = rest.split(b"\n", bad)
                line += bad
                note(parser.problem, line, lines[bad - 1].rstrip(b"\r"))
                rest = lines[bad] if len(lines) > bad else b""

    def _parser(self) -> _core.SvmlightParser:
        return _core.SvmlightParser(*self._indices())

    def _indices(self) -> tuple[int, int]:
        first = 0 if self.zero_based else 1
        return first, LARGEST if self.width is None else min(self.width - 1 + first, LARGEST)

    def _note(self, problem: _core.Problem, line: int, text: bytes) -> None:
        expected = EXPECTED.get(problem.fault) or self._range(problem.found)
        got = ascii(problem.found.decode("latin-1")) if problem.found else "nothing"
        shown = text.decode("utf-8", "backslashreplace")
        bad = BadRow(None, f"expected {expected}, got {got}", shown, line, problem.column)
        self.bad_rows.add(self.source.name, bad)

    def _range(self, pair: bytes) -> str:
        first, last = self._indices()
        expected = f"an index from {first} to {last}"
        if not pair.partition(b":")[0].strip(b"0"):
            return f"{expected} (zero_based=True reads files that count from 0)"
        return expected if self.width is None else f"{expected} (n_features is {self.width})"


def from_svmlight(
    source: Any,
    n_features: int | None = None,
    rows: int = 1000,
    zero_based: bool = False,
    on_error: Any = "stop",
) -> SvmlightStream:
    r"""A stream of the rows (CSR) and labels of an svmlight or LIBSVM file, in blocks of ``rows`` rows.

    ``source`` is a path, a binary file object, or ``"-"`` for the standard input. Files compressed with
    gzip, bzip2, xz or zstandard (before Python 3.14: the extra ``zstd``) are recognised by their first
    bytes.

    ``n_features`` is the number of columns. If it is not given, the file is read twice, the first time to
    find the largest index. A pipe cannot be read twice, so it needs ``n_features``.

    A line has a label (a decimal number), then pairs ``index:value`` with ascending indices. The first
    index is 1, or 0 if ``zero_based``. ``qid:`` and a whole number after the label are ignored, and so is a
    ``# comment`` at the end. Lines may be empty and may end with CR LF. Anything else raises a `DataError`
    with line and column, after the rows before it were returned. With ``on_error="skip"``, or the path of a
    folder, such lines are left out, as by `table`.

    >>> import io
    >>> from budgetron import streams
    >>> file = io.BytesIO(b"+1 1:0.5 3:2  # a comment\n-1 2:125e-3\n")
    >>> for block in streams.from_svmlight(file):
    ...     print(block.X.toarray(), block.y, block.start)
    [[0.5   0.    2.   ]
     [0.    0.125 0.   ]] [ 1. -1.] 0
    """
    source = Source(source)
    if n_features is not None:
        n_features = check.count("from_svmlight", "n_features", n_features)
    elif not source.rereadable:
        raise ValueError(f"from_svmlight: {source.name} is a pipe, which needs n_features.")
    rows = check.count("from_svmlight", "rows", rows)
    return SvmlightStream(source, rows, BadRows(on_error), n_features, bool(zero_based))
