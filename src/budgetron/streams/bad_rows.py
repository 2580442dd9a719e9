"""Rows that cannot be read: stop at the first, skip them, or keep them in a file."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from budgetron._util.errors import DataError
from budgetron._util.text import shown

FILE = "bad_rows.jsonl"


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be read: where it is, why, and what it says.

    ``row`` counts the rows of a table from 0, ``line`` and ``column`` count those of a text from 1.
    """

    row: int | None
    reason: str
    text: str
    line: int | None = None
    column: int | None = None
    id: str | None = None


class BadRows:
    """What happens to bad rows, and how many there were.

    Parameters
    ----------
    on_error : "stop", "skip" or path
        "stop" raises a `DataError` at the first bad row, after the rows before it. "skip" goes on with the
        next row. A path is a folder, in which ``bad_rows.jsonl`` gets a line for each bad row: an object
        with ``row``, ``reason``, ``text``, ``line``, ``column`` and ``id``.
    """

    def __init__(self, on_error: Any = "stop") -> None:
        if not isinstance(on_error, str | os.PathLike) or not os.fspath(on_error):
            raise TypeError(f"on_error must be 'stop', 'skip' or a folder, got {shown(on_error)}.")
        self.stop = on_error == "stop"
        self.count = 0
        self.first: DataError | None = None  # the error of the first one
        self._file: IO[str] | None = None
        self.path = None if on_error in ("stop", "skip") else Path(on_error) / FILE
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)

    def begin(self) -> None:
        """Start counting. A second pass over the rows writes the file again."""
        self.count, self.first = 0, None
        if self.path is not None:
            self.end()
            self._file = self.path.open("w", encoding="utf-8", buffering=1)

    def resume(self, state: dict[str, int]) -> None:
        """Go on after a `state`: lines that were written later are removed."""
        self.count = state["count"]
        if self.path is None:
            return
        self.end()
        self._file = self.path.open("a", encoding="utf-8", buffering=1)
        if self._file.tell() < state["bytes"]:
            self.end()
            raise DataError(f"{self.path}: expected the bad rows of the run to resume, got fewer.")
        self._file.truncate(state["bytes"])

    def state(self) -> dict[str, int]:
        """How many there were, and the length of the file, which is on disk then."""
        if self._file is None:
            return {"count": self.count, "bytes": 0}
        os.fsync(self._file.fileno())
        return {"count": self.count, "bytes": os.fstat(self._file.fileno()).st_size}

    def end(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, name: str, bad: BadRow) -> None:
        """Take note of a bad row, or stop."""
        if self.stop:
            raise refused(name, bad)
        self.count += 1
        self.first = self.first or refused(name, bad)
        if self._file is not None:
            self._file.write(json.dumps(asdict(bad)) + "\n")


def refused(name: str, bad: BadRow) -> DataError:
    """The error that stops at a bad row."""
    if bad.row is None and bad.line is None:
        return DataError(f"{name}, message {bad.id}: {bad.reason}.")
    where = f"row {bad.row} (the first is 0)" if bad.line is None else f"line {bad.line}"
    where += "" if bad.column is None else f", column {bad.column}"
    where += "" if bad.id is None else f", id {bad.id!r}"
    return DataError(f"{name}, {where}: {bad.reason}.", bad.line, bad.column)
