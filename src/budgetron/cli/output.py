"""What commands print: tables for people, one JSON document for programs, and predictions as lines."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

import numpy as np

from budgetron import SaveError
from budgetron.evaluate import Record, Session

WIDTH = 12


class Table:
    """A line for each record of a run; on stderr if stdout has the predictions."""

    def __init__(self, args: Namespace, resumed: int) -> None:
        self._resumed = resumed
        self._file = sys.stderr if args.predictions == "-" else sys.stdout
        self._regression = args.regression
        self._rows = -1

    def add(self, record: Record) -> None:
        """One more line, after the head if it is the first."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # the progress line, if there is one
        if self._rows < 0:
            measures = ("mse",) if self._regression else ("mistakes", "mistakes %")
            print(_line(["rows", *measures, "support", "KiB", "seconds", "rows/s"]), file=self._file)
        self._rows = record.rows
        print(self._cells(record), file=self._file, flush=True)

    def finish(self, session: Session) -> None:
        """The last record, unless it is there already."""
        if self._rows < session.rows:
            self.add(session.record())

    def _cells(self, record: Record) -> str:
        """The seconds are those since a run was resumed."""
        speed = f"{(record.rows - self._resumed) / record.seconds:.0f}" if record.seconds else "-"
        rate = f"{record.rate:.6g}" if record.mistakes is None else f"{100 * record.rate:.2f}"
        measures = [rate] if record.mistakes is None else [str(record.mistakes), rate]
        memory, seconds = f"{record.memory_bytes / 1024:.0f}", f"{record.seconds:.2f}"
        return _line([str(record.rows), *measures, str(record.support_vectors), memory, seconds, speed])


class Document:
    """One JSON document of a run, at its end."""

    def __init__(self, args: Namespace, resumed: int) -> None:
        self._args = args
        self._resumed = resumed
        self._records: list[Record] = []

    def add(self, record: Record) -> None:
        """Kept until the end."""
        self._records.append(record)

    def finish(self, session: Session) -> None:
        """Print it."""
        model: Any = session.estimator
        last = session.record()
        said = {
            "algorithm": self._args.algorithm,
            "learner": repr(model.learner_),
            "source": self._args.file,
            "seed": self._args.seed,
            "features": model.n_features_in_,
            "classes": None if self._args.regression else model.classes_.tolist(),
            "resumed_from": self._resumed,
            **last.as_dict(),
            "rate": last.rate,
            "saved": self._args.save,
            "records": [record.as_dict() for record in self._records],
        }
        print(document(said))


class Predictions:
    """Where predictions go: a file, ``-`` for stdout, or nowhere for None.

    A resumed run continues after the line of the last row learned. Later lines, which a killed run wrote,
    are removed.
    """

    def __init__(self, place: str | None, learned: int) -> None:
        self._file: Any = sys.stdout if place == "-" else None
        if place not in (None, "-"):
            self._file = _cut(str(place), learned) if learned else open(str(place), "w")  # noqa: SIM115
        self._own = place not in (None, "-")

    def write(self, predictions: Any) -> None:
        """Some more."""
        if self._file is not None:
            self._file.write(lines(predictions))

    def sync(self) -> None:
        """On disk, before a checkpoint says that they were made."""
        if self._file is not None:
            self._file.flush()
        if self._own:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close a file that is ours."""
        if self._own:
            self._file.close()


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
    """Names and values, in two columns."""
    kept = [(name, str(value)) for name, value in rows]
    width = max(len(name) for name, _ in kept)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in kept)


def _cut(place: str, learned: int) -> Any:
    """The file, opened after its first lines; the others are removed."""
    file = open(place, "r+")  # noqa: SIM115
    for _ in range(learned):
        if not file.readline().endswith("\n"):
            file.close()
            raise SaveError(
                f"{place}: has fewer than {learned} predictions, which the resumed run has made."
            )
    file.seek(file.tell())
    file.truncate()
    return file


def _line(cells: list[str]) -> str:
    return " ".join(f"{cell:>{WIDTH}}" for cell in cells).rstrip()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value.tolist()
