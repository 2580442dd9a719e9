"""The weights of rows by class: a dict, or "balanced"."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from budgetron._util import check
from budgetron._util.text import shown
from budgetron._util.threads import learning_lock
from budgetron.learners.learner import Floats
from budgetron.model.labels import Codes, KnownLabels

_NO_CODES: Codes = np.empty(0, dtype=np.intp)


class ClassCounts:
    """The rows of each class that a model has learned, by code; known also while it learns a batch.

    Whoever needs the counts together with the state of the model holds ``learning_lock(counts)``, so that
    no other batch begins meanwhile.
    """

    def __init__(self, counts: Floats, rows_done: int = 0) -> None:
        self._before = counts  # when the model had done ``_start`` rows
        self._start = rows_done
        self._codes, self._weights = _NO_CODES, cast(Floats | None, None)

    def at(self, rows_done: int) -> Floats:
        """The counts when the model had done this many rows, of which the last are of the present batch."""
        return counted(self._codes[: rows_done - self._start], self._weights, self._before)

    def begin(self, rows_done: int, codes: Codes = _NO_CODES, weights: Floats | None = None) -> Floats:
        """The model begins a batch, or has ended one; returns the counts before it."""
        with learning_lock(self):
            self._before, self._start = self.at(rows_done), rows_done
            self._codes, self._weights = codes, weights
        return self._before

    def wider(self, rows_done: int, labels: int) -> "ClassCounts":
        """Counts that go on from here, for more labels."""
        counts = self.at(rows_done)
        return ClassCounts(np.append(counts, np.zeros(labels - len(counts))), rows_done)


def online(
    class_weight: Any, labels: KnownLabels, codes: Codes, weights: Floats | None, counts: Floats
) -> Floats:
    """The weight of each row. "balanced" counts the rows up to it; ``counts`` are those before."""
    balanced = _is_balanced(class_weight)
    if not len(labels):  # rows of weight 0 before the first label
        return _weighted(np.ones(len(codes)), weights)
    if not balanced:
        return _weighted(_of_labels(class_weight, labels)[codes], weights)
    counting = np.ones(len(codes), dtype=bool) if weights is None else weights > 0
    learned = codes[counting]
    of_class, new = np.zeros((2, len(learned)))
    for code in np.unique(learned):
        rows = learned == code
        of_class[rows] = counts[code] + np.arange(1, np.count_nonzero(rows) + 1)
        new[np.argmax(rows)] = counts[code] == 0
    rows_so_far = counts.sum() + np.arange(1, len(learned) + 1)
    classes_so_far = np.count_nonzero(counts) + np.cumsum(new)
    by_row = np.ones(len(codes))
    by_row[counting] = rows_so_far / (classes_so_far * of_class)
    return _weighted(by_row, weights)


def of_all(class_weight: Any, labels: KnownLabels, codes: Codes, weights: Floats | None) -> Floats:
    """The weight of each row; "balanced" counts all rows."""
    if not _is_balanced(class_weight):
        return _weighted(_of_labels(class_weight, replace(labels, fixed=True))[codes], weights)
    counts = counted(codes, weights, np.zeros(len(labels)))
    by_class = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
    return _weighted(by_class[codes], weights)


def counted(codes: Codes, weights: Floats | None, counts: Floats) -> Floats:
    """The counts of the classes with these rows added; rows of weight 0 do not count."""
    learned = codes if weights is None else codes[weights[: len(codes)] > 0]
    return counts + np.bincount(learned, minlength=len(counts))


def _weighted(by_class: Floats, weights: Floats | None) -> Floats:
    return by_class if weights is None else by_class * weights


def _is_balanced(class_weight: Any) -> bool:
    if isinstance(class_weight, str) and class_weight == "balanced":
        return True
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {shown(class_weight)}.")
    return False


def _of_labels(class_weight: Mapping[Any, Any], labels: KnownLabels) -> Floats:
    """The weight of each label, by code. As in scikit-learn, a dict must not name other labels."""
    names = labels.labels.tolist()
    for label, weight in class_weight.items():
        check.non_negative("class_weight", repr(label), weight)
    others = [label for label in class_weight if label not in names]
    if labels.fixed and others and any(label not in class_weight for label in names):
        raise ValueError(f"class_weight has {others[0]!r}, which is not among the classes {names}.")
    return np.array([float(class_weight.get(label, 1.0)) for label in names])
