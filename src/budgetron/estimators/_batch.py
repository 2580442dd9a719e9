"""A batch of checked rows, and where in it the model grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from budgetron._rows import Matrix
from budgetron.estimators._labels import KnownLabels
from budgetron.learners import Floats
from budgetron.records.encoding import Encoding
from budgetron.records.table import Table


@dataclass(frozen=True)
class Growth:
    """From ``row`` on, the model has this many columns and knows this many labels."""

    row: int
    n_features: int
    n_labels: int = 0


@dataclass(frozen=True)
class Encoded:
    """Records as rows of numbers.

    ``encoding`` knows the columns of all records; ``growth`` are the rows at which it became wider, with
    the width. Records that are not learned bring no columns.
    """

    table: Table
    X: Floats
    before: Encoding
    encoding: Encoding
    growth: Sequence[tuple[int, int]]
    learned: npt.NDArray[np.intp] | None  # the rows that are learned; None for all

    @classmethod
    def of(cls, table: Table, encoding: Encoding, weights: Floats | None) -> Self:
        """Encode a table. The given encoding does not change."""
        after, learned = encoding.copy(), learned_rows(weights)
        if learned is None:
            X, growth = after.encode(table)
            return cls(table, X, encoding, after, growth, None)
        _, growth = after.encode(table[learned])
        X, _ = after.encode(table, grow=False)
        found = [(int(learned[row]), width) for row, width in growth]
        return cls(table, X, encoding, after, found, learned)

    def without_later_columns(self) -> Floats:
        """The rows with 0 in the columns that come later."""
        if not self.growth:
            return self.X
        X, known = self.X.copy(), self.before.width
        for row, width in self.growth:
            X[:row, known:width] = 0
            known = width
        return X

    def first(self, rows: int) -> Encoding:
        """The encoding as it is after these rows."""
        learned = np.arange(rows) if self.learned is None else self.learned[self.learned < rows]
        after = self.before.copy()
        after.encode(self.table[learned])
        return after


@dataclass(frozen=True)
class Batch:
    """Rows that passed every check, with targets or the codes of labels.

    Rows are learned part by part, each part by a model of its own width. So a column or a label is known
    from the row that brings it, however the rows are divided into batches.
    """

    X: Matrix
    y: npt.NDArray[Any]
    weights: Floats | None = None
    growth: Sequence[Growth] = ()
    labels: KnownLabels | None = None  # with those that the batch brings
    encoded: Encoded | None = None  # if the rows are records

    def parts(self) -> Iterator[tuple[slice, Growth | None]]:
        """The rows between two growths, and the growth before the first of them."""
        grows: dict[int, Growth | None] = {0: None} | {growth.row: growth for growth in self.growth}
        for start, stop in pairwise([*grows, self.X.shape[0]]):
            if start < stop:
                yield slice(start, stop), grows[start]

    def rows(self, cut: slice, n_features: int) -> Matrix:
        """The rows of a part, with the columns that the model has."""
        whole = cut == slice(0, self.X.shape[0])
        if n_features == self.X.shape[1]:
            return self.X if whole else self.X[cut]
        return np.ascontiguousarray(self.X[cut, :n_features])


def growths(start: Growth, columns: Sequence[tuple[int, int]], labels: Sequence[int]) -> tuple[Growth, ...]:
    """Where a model that is now as in ``start`` grows: (row, width) of columns, and rows of new labels."""
    wider, found, now = dict(columns), list[Growth](), start
    for row in sorted({*wider, *labels}):
        now = Growth(row, max(wider.get(row, 0), now.n_features), now.n_labels + labels.count(row))
        found.append(now)
    return tuple(found)


def learned_rows(weights: Floats | None) -> npt.NDArray[np.intp] | None:
    """The indices of the rows that are learned; None if all are."""
    return None if weights is None or weights.all() else np.flatnonzero(weights)
