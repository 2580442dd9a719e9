"""What ``budgetron run`` prints: records as they come, or one document at the end."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from budgetron.cli import _printed
from budgetron.cli._learning import Learning
from budgetron.evaluate import Record


class Table:
    """A line for each record, as it comes; to stderr where stdout has the predictions."""

    def __init__(self, args: Namespace, resumed: int) -> None:
        self._resumed = resumed
        self._file = sys.stderr if args.predictions == "-" else sys.stdout
        self._head = _printed.head(args.regression)
        self._rows = -1

    def add(self, record: Record) -> None:
        """One more line, after the head if it is the first."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # the progress line, if there is one
        if self._rows < 0:
            print(self._head, file=self._file)
        self._rows = record.rows
        print(_printed.line(record, self._resumed), file=self._file, flush=True)

    def finish(self, learning: Learning) -> None:
        """The last record, unless it is there already."""
        if self._rows < learning.tally.rows:
            self.add(learning.record())


class Document:
    """One JSON document at the end."""

    def __init__(self, args: Namespace, resumed: int) -> None:
        self._args = args
        self._resumed = resumed
        self._records: list[Record] = []

    def add(self, record: Record) -> None:
        """Kept until the end."""
        self._records.append(record)

    def finish(self, learning: Learning) -> None:
        """Print it."""
        model: Any = learning.estimator
        last = learning.record()
        said = {
            "algorithm": self._args.algorithm,
            "learner": repr(model.learner_),
            "source": self._args.file,
            "seed": self._args.seed,
            "features": model.n_features_in_,
            "classes": learning.classes and model.classes_.tolist(),
            "resumed_from": self._resumed,
            **last.as_dict(),
            "rate": last.rate,
            "saved": self._args.save,
            "records": [record.as_dict() for record in self._records],
        }
        print(_printed.document(said))
