"""Metrics of one class against the rest: precision, recall, average precision, precision at k.

A name is ``recall`` or ``recall:CLASS``, ``precision_at:K`` or ``precision_at:K:CLASS``. Without a class it
is that of the second of two classes, and with more the mean over the classes, as for F1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetron._util.choices import OF_COUNTS, OF_RANKS
from budgetron._util.label_rules import meant
from budgetron.evaluate.metrics.confusion import Confusion
from budgetron.evaluate.metrics.ranking import Ranking
from budgetron.evaluate.metrics.sums import Array, ratio

FIRST_ROWS = "precision_at"


@dataclass(frozen=True)
class OneClass:
    """What a name asks for."""

    metric: str
    rows: int | None = None  # k of precision at k
    label: str | None = None

    @classmethod
    def named(cls, name: str) -> "OneClass | None":
        """What is meant by a name; None if it is no metric of one class."""
        metric, colon, rest = name.partition(":")
        if metric not in (*OF_COUNTS, *OF_RANKS):
            return None
        if metric != FIRST_ROWS:
            return cls(metric, label=rest or None) if rest or not colon else None
        number, colon, label = rest.partition(":")
        if not number.isdecimal() or int(number) == 0 or (colon and not label):
            return None
        return cls(metric, int(number), label or None)

    def value(self, classes: list[Any], confusion: Confusion, ranking: Ranking | None) -> float | None:
        """The metric; None if it is undefined, or scores are not known."""
        each = self._of_each(confusion, ranking)
        if each is None:
            return None
        if self.label is not None:
            place = place_of(self.label, classes)
            return None if place is None else each[place]
        if len(classes) == 2:
            return each[1]
        known = [value for value in each if value is not None]
        return float(np.mean(known)) if known else None

    def _of_each(self, confusion: Confusion, ranking: Ranking | None) -> list[float | None] | None:
        """The metric of every class."""
        if self.metric == "recall":
            return confusion.recall()
        if self.metric == "precision":
            return confusion.precision()
        if ranking is None:
            return None
        found, seen = ranking.found_and_seen()
        if self.metric == FIRST_ROWS:
            assert self.rows is not None
            return [_first(*pair, self.rows) for pair in zip(found, seen, strict=True)]
        return [_average(*pair) for pair in zip(found, seen, strict=True)]


def place_of(word: str, classes: list[Any]) -> int | None:
    """The place of the class that a word names: 1 and 1.0 are one number."""
    meanings = meant(word)
    return next((i for i, label in enumerate(classes) if str(label) == word or label in meanings), None)


def _average(found: Array, seen: Array) -> float | None:
    """The mean precision over the rows of the class, as scikit-learn's; ``found`` and ``seen`` grow."""
    if found[-1] <= 0:
        return None
    shares = found / np.maximum(seen, 1e-300)
    return float((np.diff(found, prepend=0.0) * shares).sum() / found[-1])


def _first(found: Array, seen: Array, rows: int) -> float | None:
    """The precision among the ``rows`` best scores; of scores that tie, a proportional part counts."""
    if seen[-1] <= 0:
        return None
    best = min(float(rows), float(seen[-1]))
    return ratio(
        float(np.interp(best, np.concatenate([[0.0], seen]), np.concatenate([[0.0], found]))), best
    )
