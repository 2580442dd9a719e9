"""How results are printed: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from budgetron.evaluate import Record

WIDTH = 12


def head(regression: bool) -> str:
    """The head of a table of records."""
    measures = ("mse",) if regression else ("mistakes", "mistakes %")
    return _line(["rows", *measures, "support", "KiB", "seconds", "rows/s"])


def line(record: Record, resumed: int = 0) -> str:
    """A record as a line of that table; the seconds are those since a run was resumed."""
    speed = f"{(record.rows - resumed) / record.seconds:.0f}" if record.seconds else "-"
    rate = f"{record.rate:.6g}" if record.mistakes is None else f"{100 * record.rate:.2f}"
    measures = [rate] if record.mistakes is None else [str(record.mistakes), rate]
    memory, seconds = f"{record.memory_bytes / 1024:.0f}", f"{record.seconds:.2f}"
    return _line([str(record.rows), *measures, str(record.support_vectors), memory, seconds, speed])


def document(value: Any) -> str:
    """The value as JSON, the keys in the order they have."""
    return json.dumps(value, indent=2, allow_nan=False, default=_plain)


def label(value: Any) -> str:
    """A label as files have it: whole numbers without a point."""
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def lines(values: Iterable[Any]) -> str:
    """One label to a line."""
    return "".join(f"{label(value)}\n" for value in values)


def pairs(rows: Iterable[tuple[str, Any]]) -> str:
    """Names and what they stand for, in two columns."""
    kept = [(name, str(value)) for name, value in rows]
    width = max(len(name) for name, _ in kept)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in kept)


def _line(cells: list[str]) -> str:
    return " ".join(f"{cell:>{WIDTH}}" for cell in cells).rstrip()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value.tolist()
