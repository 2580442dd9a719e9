"""Streams from svmlight and LIBSVM files."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

from scipy import sparse

from budgetron import _core
from budgetron._util import check
from budgetron._util.errors import DataError
from budgetron.streams.bad_rows import BadRow, BadRows
from budgetron.streams.sources import Source, whole_lines
from budgetron.streams.stream import Block, Stream, cut, too_few_rows

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


class SvmlightStream(Stream):
    """See `from_svmlight`."""

    def __init__(
        self, source: Source, n_features: int | None, rows: int, zero_based: bool, bad_rows: BadRows
    ) -> None:
        self.source = source
        self.rows = rows
        self.zero_based = zero_based
        self.bad_rows = bad_rows
        self._given = n_features
        self._width = n_features

    @property
    def n_features(self) -> int:
        """The number of columns: as given, or else found by reading the file for its largest index."""
        if self._width is None:
            self._width = self._scan()
        return self._width

    def __iter__(self) -> Iterator[Block]:
        if self.bad_rows.stop:
            yield from self._strict()
            return
        width, end = self.n_features, 0
        self.bad_rows.begin()

        def blocks() -> Iterator[Block]:
            nonlocal end
            for part in self._lenient(width, self._note):
                yield replace(part, start=end)
                end += len(part)

        try:
            yield from cut(blocks(), self.first, self.rows)
        finally:
            self.bad_rows.end()
        if end < self.first:
            raise too_few_rows(self.source.name, self.first, end)

    def _strict(self) -> Iterator[Block]:
        """Stop at the first bad line."""
        width, at, failure = self.n_features, 0, None
        parser = self._parser()
        for failure in _fed(parser, self.source):
            if parser.columns > width:
                why = "the file has more columns than when it was first read; give n_features"
                raise DataError(f"{self.source.name}: {why}.")
            skipped = min(parser.ready, max(self.first - at, 0))
            parser.drop(skipped)
            at += skipped
            while parser.ready >= self.rows or (parser.ready and failure is not None):
                block = _block(parser, self.rows, width, at)
                at = block.stop
                yield block
        if isinstance(failure, DataError):
            raise failure
        if parser.problem is not None:
            raise self._refused(parser.problem)
        if at < self.first:
            raise too_few_rows(self.source.name, self.first, at)

    def skip(self, rows: int) -> Self:
        _ = self.n_features  # found here, once for all streams made by skip
        return super().skip(rows)

    def _scan(self) -> int:
        """The number of columns up to the first error, which iteration will report."""
        if not self.bad_rows.stop:
            used = (block.X.indices.max() + 1 for block in self._lenient(LARGEST) if block.X.nnz)
            return int(max(used, default=1))
        parser = self._parser()
        for _ in _fed(parser, self.source):
            parser.drop(parser.ready)
        return max(parser.columns, 1)

    def _lenient(
        self, width: int, note: Callable[[_core.Problem, int, bytes], None] | None = None
    ) -> Iterator[Block]:
        """The rows of all lines but the bad ones, which ``note`` is told with their lines before them."""
        before = 0
        for lines in whole_lines(self.source.pieces()):
            at, count = 0, lines.count(b"\n") + (not lines.endswith(b"\n"))
            while at < len(lines):
                parser = self._parser()
                parser.feed(lines[at:])
                parser.finish()
                if parser.ready:
                    if parser.columns > width:
                        why = "the file has more columns than when it was first read; give n_features"
                        raise DataError(f"{self.source.name}: {why}.")
                    yield _block(parser, parser.ready, width, 0)
                if (problem := parser.problem) is None:
                    break
                begin = at
                for _ in range(problem.line - 1):
                    begin = lines.index(b"\n", begin) + 1
                end = lines.find(b"\n", begin) + 1 or len(lines)
                if note is not None:
                    note(
                        problem, before + lines.count(b"\n", 0, begin) + 1, lines[begin:end].rstrip(b"\r\n")
                    )
                at = end
            before += count

    def _note(self, problem: _core.Problem, line: int, text: bytes) -> None:
        reason = str(self._refused(problem)).partition(": expected ")[2].rstrip(".")
        shown = text.decode("utf-8", "backslashreplace")
        bad = BadRow(None, f"expected {reason}", shown, line, problem.column)
        self.bad_rows.add(self.source.name, bad)

    def _parser(self) -> _core.SvmlightParser:
        first, last = self._indices()
        return _core.SvmlightParser(first, last)

    def _indices(self) -> tuple[int, int]:
        first = 0 if self.zero_based else 1
        return first, LARGEST if self._given is None else min(self._given - 1 + first, LARGEST)

    def _refused(self, problem: _core.Problem) -> DataError:
        where = f"{self.source.name}, line {problem.line}, column {problem.column}"
        expected = EXPECTED.get(problem.fault) or self._range(problem.found)
        found = ascii(problem.found.decode("latin-1")) if problem.found else "nothing"
        return DataError(f"{where}: expected {expected}, got {found}.", problem.line, problem.column)

    def _range(self, found: bytes) -> str:
        first, last = self._indices()
        expected = f"an index from {first} to {last}"
        if not found.partition(b":")[0].strip(b"0"):
            return f"{expected} (zero_based=True reads files that count from 0)"
        return expected if self._given is None else f"{expected} (n_features is {self._given})"


def _fed(parser: _core.SvmlightParser, source: Source) -> Iterator[DataError | bool | None]:
    """Feed all bytes to the parser. Yields None after each piece; at the end True, or the error."""
    try:
        for piece in source.pieces():
            parser.feed(piece)
            if parser.problem is not None:
                break
            yield None
        else:
            parser.finish()
    except DataError as failure:
        yield failure
    else:
        yield True


def _block(parser: _core.SvmlightParser, rows: int, width: int, start: int) -> Block:
    data, indices, indptr, y = parser.take(rows)
    return Block(sparse.csr_matrix((data, indices, indptr), shape=(len(y), width)), y, start)


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
    return SvmlightStream(source, n_features, rows, bool(zero_based), BadRows(on_error))
