"""Checks of rows as they come: labels that can be printed and are no targets, and times that go forward."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from budgetron._util.label_rules import has_decimals, is_printable
from budgetron.cli.process import UsageError, say
from budgetron.streams import Block, DataError

MOST_LABELS = 1000


def refuse_unprintable(file: str, labels: Iterable[Any]) -> None:
    """Refuse labels with line ends or control characters, since each prediction is printed as a line."""
    for label in labels:
        if not is_printable(label):
            raise DataError(
                f"{file}: the label {label!a} contains a line end or control character, which cannot be "
                "printed as one line: rename the label."
            )


def refuse_many(file: str, y: Any) -> None:
    """Refuse labels of which there are so many that they are rather targets."""
    if len(np.unique(y)) > MOST_LABELS:
        raise UsageError(
            f"{file} has more than {MOST_LABELS} different labels: give --regression if they are targets."
        )


class LabelCheck:
    """Labels must be printable, and must not look like targets."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: set[Any] = set()

    def __call__(self, block: Block) -> None:
        new = set(np.asarray(block.y)[~block.unlabelled].tolist()) - self._seen
        if not new:
            return
        refuse_unprintable(self._name, new)
        targets = sorted(filter(has_decimals, new))
        if targets:
            raise UsageError(
                f"{self._name}: the label {targets[0]!r} is a number with decimals: give --regression if "
                "the labels are targets."
            )
        self._seen |= new
        if len(self._seen) > MOST_LABELS:
            raise UsageError(
                f"{self._name} has more than {MOST_LABELS} different labels: give --regression if "
                "they are targets, or list them with --classes."
            )


class TimeCheck:
    """Says once if rows go back in time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last = -np.inf
        self._told = False

    def __call__(self, block: Block) -> None:
        if block.times is None or self._told:
            return
        before = np.maximum.accumulate(np.concatenate([[self._last], block.times]))
        back = np.flatnonzero(block.times < before[:-1])
        self._last = before[-1]
        if len(back):
            self._told = True
            row = block.start + int(back[0])
            say(
                f"{self._name}: row {row} (the first is 0) is earlier than a row before it: rows are "
                "learned in the order of the file."
            )
