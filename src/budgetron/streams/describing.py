"""What a table holds: its columns, what they are read as, and what looks wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron._util.errors import DataError
from budgetron._util.text import aligned, nearest, shown
from budgetron.records.encoder import Encoder
from budgetron.records.encoding import Encoding
from budgetron.records.kinds import Words
from budgetron.records.table import Column, Table
from budgetron.streams.stream import joined
from budgetron.streams.tables import table

MOST = 1000  # different values that are counted
EXAMPLES = 3
LONGEST = 24  # characters of an example
FEW = 20  # rows from which relations between columns are looked at

Value = float | tuple[float] | str | None


@dataclass
class ColumnDescription:
    """One column: its kind and why, blanks, different values (1,000 at most are counted), suspicions."""

    name: str
    kind: str
    why: str
    blanks: int
    distinct: int
    examples: list[str]
    low: str | None = None
    high: str | None = None
    suspicions: list[str] = field(default_factory=list)


@dataclass
class Description:
    r"""A table, column by column.

    ``flags`` are those of ``budgetron run`` that follow. ``cells`` are the values of each column as they
    are read; a moment is in a tuple.

    Examples
    --------
    >>> import io
    >>> from budgetron import streams
    >>> about = streams.describe(io.BytesIO(b"when,n\n" + b"2024-01-01,1\n2024-01-02,2\n" * 20))
    >>> isinstance(about, streams.Description)
    True
    >>> print(about)
    column  kind    blank  distinct  range                     examples
    when    date           2         2024-01-01 .. 2024-01-02  2024-01-01, 2024-01-02
    n       number         2         1 .. 2                    1, 2
    """

    rows: int
    columns: list[ColumnDescription]
    target: str | None
    flags: list[str]
    cells: dict[str, list[Value]] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        columns = [asdict(column) for column in self.columns]
        return {"rows": self.rows, "target": self.target, "columns": columns, "flags": self.flags}

    def __str__(self) -> str:
        lines = [["column", "kind", "blank", "distinct", "range", "examples"]]
        for column in self.columns:
            between = "" if column.low is None else f"{column.low} .. {column.high}"
            many = f"{column.distinct:,}" + ("+" if column.distinct >= MOST else "")
            blank = f"{column.blanks / max(self.rows, 1):.0%}" if column.blanks else ""
            lines.append([column.name, column.kind, blank, many, between, ", ".join(column.examples)])
        text = "\n".join(line.rstrip() for line in aligned(lines, left=len(lines[0])))
        notes = [f"{column.name}: {each}" for column in self.columns for each in column.suspicions]
        return "\n".join([text, *(["", *notes] if notes else [])])


def describe(
    source: Any,
    target: str | None = None,
    *,
    rows: int = 10_000,
    encoder: Encoder | None = None,
    **more: Any,
) -> Description:
    r"""Read the first rows of a table, and say what its columns are.

    Parameters
    ----------
    source : path, binary file or "-"
        As for `table`.
    target : str, optional
        The column of labels or targets, with which others are compared.
    rows : int
        The number of rows to read.
    encoder : Encoder, optional
        What is known of columns.
    **more
        ``format`` and ``delimiter`` of `table`.

    Examples
    --------
    >>> import io
    >>> from budgetron import streams
    >>> lines = [f"{i},{i % 7}.50 EUR,{'no' if i % 7 < 3 else 'yes'}" for i in range(200)]
    >>> file = io.BytesIO("\n".join(["id,price,sold", *lines]).encode())
    >>> about = streams.describe(file, "sold")
    >>> [column.kind for column in about.columns]
    ['number', 'money', 'truth']
    >>> print(*about.columns[1].suspicions)
    tells the target: each of its values has one label
    """
    stream = table(source, rows=1000, on_error="skip", **more)
    blocks, read, most = [], 0, check.count("describe", "rows", rows)
    for block in stream:
        blocks.append(block.part(0, most - read) if len(block) > most - read else block)
        read += len(blocks[-1])
        if read == most:
            break
    if not read:
        bad = stream.bad_rows.first
        raise DataError(f"{stream.source.name}: has no rows.") if bad is None else bad
    X: Table = joined(blocks).X
    names = list(dict.fromkeys([*stream.features, *X.columns]))
    if target is not None and target not in names:
        near = nearest(target, names, otherwise=f"there are {', '.join(names)}.")
        raise DataError(f"{stream.source.name}: there is no column {target!r}; {near}")
    encoding = (encoder or Encoder()).build().decided(X)
    blank: list[Value] = [None] * len(X)
    cells = {name: list(_values(X.columns[name])) if name in X.columns else blank for name in names}
    described = [_described(name, cells[name], encoding) for name in names]
    labels = None if target is None else cells[target]
    for column in described:
        _suspect(column, cells[column.name], len(X), labels if column.name != target else None)
    by_name = {column.name: column for column in described}
    sorted_by_class = labels is not None and _in_runs(labels)
    if target is not None and sorted_by_class:
        by_name[target].suspicions.append("sorted: nearly every row has the label of the row before")
    as_read = {name: [_read(encoding, name, value) for value in values] for name, values in cells.items()}
    return Description(len(X), described, target, _flags(described, target, sorted_by_class), as_read)


def _read(encoding: Encoding, name: str, value: Value) -> Value:
    """What a value is read as; free text and identifiers as they are."""
    kind = encoding.kinds.get(name)
    read = value if kind is None or kind.kind == "identifier" else kind.one(value)
    return read.text if isinstance(read, Words) else read


def _values(column: Column) -> Iterator[Value]:
    """The cells of a column: a number, a moment in a tuple, a text, or None."""
    n = len(column.numbers if column.numbers is not None else column.codes)  # type: ignore[arg-type]
    numbers = np.full(n, np.nan) if column.numbers is None else column.numbers
    dates = np.zeros(n, bool) if column.dates is None else column.dates
    codes = np.full(n, -1) if column.codes is None else column.codes
    for number, is_date, code in zip(numbers.tolist(), dates.tolist(), codes.tolist(), strict=True):
        if code >= 0:
            yield column.texts[code]
        else:
            yield None if number != number else (number,) if is_date else number


def _described(name: str, values: Sequence[Value], encoding: Encoding) -> ColumnDescription:
    kind = encoding.kinds.get(name)
    there = [value for value in values if value is not None]
    counts = Counter[Value]()
    for value in there:
        if value in counts or len(counts) < MOST:
            counts[value] += 1
    examples = [_shown(value) for value, _ in counts.most_common(EXAMPLES)]
    line = ("open" if there else "blank") if kind is None or kind.kind is None else kind.line("")
    what, _, why = line.removeprefix(": ").partition(", ")
    column = ColumnDescription(name, what, why, len(values) - len(there), len(counts), examples)
    read = [] if kind is None else [kind.one(value) for value in counts]
    for of in (float, tuple):
        same = [value for value in read if type(value) is of]
        if same and len(same) * 2 > len(read):
            column.low, column.high = _shown(min(same)), _shown(max(same))
    return column


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        try:
            moment = datetime.fromtimestamp(value[0], UTC)
        except (OverflowError, OSError, ValueError):
            return f"{value[0]:g}"
        return moment.strftime("%Y-%m-%d" if value[0] % 86400 == 0 else "%Y-%m-%d %H:%M")
    text = f"{value:g}" if isinstance(value, float) else shown(value)[1:-1]
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _suspect(
    column: ColumnDescription, values: Sequence[Value], rows: int, labels: Sequence[Value] | None
) -> None:
    """Note what the owner of a table may not know."""
    there = rows - column.blanks
    if column.kind.startswith("identifier"):
        column.suspicions.append("looks like an identifier: left out")
    elif there and column.distinct == 1 and rows >= FEW:
        column.suspicions.append("has one value only")
    if there == 0:
        column.suspicions.append("is blank in all rows")
    elif 10 * column.blanks > 9 * rows:
        column.suspicions.append(f"is blank in {column.blanks / rows:.1%} of the rows")
    if labels is None or rows < FEW:
        return
    pairs = [(a, b) for a, b in zip(values, labels, strict=True) if a is not None and b is not None]
    if len(pairs) >= FEW and all(a == b for a, b in pairs):
        column.suspicions.append("is the target itself")
    elif _tells(pairs):
        column.suspicions.append("tells the target: each of its values has one label")


def _tells(pairs: Sequence[tuple[Value, Value]]) -> bool:
    """Whether values that repeat always come with the same label, of which there are several."""
    of = defaultdict[Value, set[Value]](set)
    for value, label in pairs:
        of[value].add(label)
    labels = {label for _, label in pairs}
    repeats = len(pairs) >= FEW and 4 * len(of) < len(pairs)
    return repeats and 1 < len(labels) <= len(of) and all(len(each) == 1 for each in of.values())


def _in_runs(labels: Sequence[Value]) -> bool:
    """Whether labels come in runs far longer than chance makes them."""
    there = [label for label in labels if label is not None]
    counts = Counter(there)
    if len(there) < 5 * FEW or not 1 < len(counts) <= 50:
        return False
    same = sum(a == b for a, b in pairwise(there)) / (len(there) - 1)
    chance = sum((n / len(there)) ** 2 for n in counts.values())
    return same > 0.95 and (1 - same) < 0.2 * (1 - chance)


def _flags(columns: Sequence[ColumnDescription], target: str | None, is_sorted: bool) -> list[str]:
    """The flags of ``budgetron run`` that follow."""
    flags = [] if target is None else ["--target", target]
    leaks = [c.name for c in columns if any(s.startswith(("is the target", "tells")) for s in c.suspicions)]
    if leaks:
        flags += ["--drop", ",".join(leaks)]
    target_column = next((column for column in columns if column.name == target), None)
    if target_column is not None and target_column.kind in ("number", "money", "percent"):
        whole = all("." not in example and "e" not in example for example in target_column.examples)
        flags += [] if whole and target_column.distinct <= 20 else ["--regression"]
    return flags + (["--shuffle", "10000"] if is_sorted else [])
