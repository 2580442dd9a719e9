"""A batch of checked rows, and where in it the model grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from budgetron._util.rows import Matrix
from budgetron.learners.learner import Floats
from budgetron.model.labels import KnownLabels
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
    learned: npt.NDArray[np.bool_] | None  # the rows that are learned; None for all

    @classmethod
    def of(
        cls, table: Table, encoding: Encoding, weights: Floats | None, missing: bool, first: bool
    ) -> Self:
        """Encode a table. The given encoding does not change.

        The first row of a model gives it its columns, even if it has no weight.
        """
        after, learned = encoding.copy(), learned_mask(weights)
        if learned is not None and first:
            learned[:1] = True
        X, growth = after.encode(table, learned=learned)
        X = not_empty(X, missing)
        if encoding.width == 0:  # the column that a model has before the first one of its own
            X[: growth[0][0] if growth else len(X), 0] = no_value(missing)
        return cls(table, X, encoding, after, growth, learned)

    def at_first(self) -> tuple[int, list[tuple[int, int]]]:
        """The number of columns at the first row, and the growth after it."""
        if self.growth and self.growth[0][0] == 0:
            return self.growth[0][1], list(self.growth[1:])
        return 1, list(self.growth)

    def expected(self, at_first: int) -> int:
        """About how many columns there will be: a text of the first row may become many."""
        texts = sum(isinstance(column.at(0), str) for column in self.table[:1].columns.values())
        return at_first + texts * self.encoding.most_values

    def known_stretches(self) -> Iterator[tuple[int, Floats]]:
        """The rows between two growths, with the columns known to them, and the number of the first."""
        at, known = 0, max(self.before.width, 1)
        for row, width in [*self.growth, (len(self.X), 0)]:
            if at < row:
                yield at, np.ascontiguousarray(self.X[at:row, :known])
            at, known = row, width

    def first(self, rows: int) -> Encoding:
        """The encoding as it is after these rows."""
        if rows == len(self.table):
            return self.encoding
        after = self.before.copy()
        after.encode(self.table[:rows], learned=None if self.learned is None else self.learned[:rows])
        return after


@dataclass(frozen=True)
class Batch:
    """Rows that passed every check, with targets or the codes of labels.

    Rows are learned stretch by stretch, each by a model of its own width. So a column or a label is known
    from the row that brings it, however the rows are divided into batches.
    """

    X: Matrix
    y: npt.NDArray[Any]
    weights: Floats | None = None
    growth: Sequence[Growth] = ()
    labels: KnownLabels | None = None  # with those that the batch brings
    encoded: Encoded | None = None  # if the rows are records
    threads: int = 1  # that may learn the rows; the model does not depend on it
    dates: Sequence[int] = ()  # the columns that are parts of dates

    @property
    def encoding(self) -> Encoding | None:
        """The encoding after all rows, if they are records."""
        return None if self.encoded is None else self.encoded.encoding

    def stretches(self) -> Iterator[tuple[slice, Growth | None]]:
        """The rows between two growths, and the growth before the first of them."""
        grows: dict[int, Growth | None] = {0: None} | {growth.row: growth for growth in self.growth}
        for start, stop in pairwise([*grows, self.X.shape[0]]):
            if start < stop:
                yield slice(start, stop), grows[start]

    def between(self, start: int, stop: int) -> Batch:
        """These rows alone, in columns as wide as those of the batch."""
        growth = [replace(g, row=g.row - start) for g in self.growth if start <= g.row < stop]
        weights = None if self.weights is None else self.weights[start:stop]
        rows = self.X[start:stop], self.y[start:stop], weights
        return Batch(*rows, growth, self.labels, threads=self.threads, dates=self.dates)

    def rows(self, cut: slice, n_features: int) -> Matrix:
        """The rows of a stretch, with the columns that the model has."""
        whole = cut == slice(0, self.X.shape[0])
        if n_features == self.X.shape[1]:
            return self.X if whole else self.X[cut]
        return np.ascontiguousarray(self.X[cut, :n_features])


def not_empty(X: Floats, missing: bool) -> Floats:
    """X, or one column if it has none: a model needs one, which the first column to come will take."""
    return X if X.shape[1] else np.full((len(X), 1), no_value(missing))


def no_value(missing: bool) -> float:
    """What a model reads in a column for which a row has no value: missing, if the learner takes that."""
    return np.nan if missing else 0.0


def growths(start: Growth, columns: Sequence[tuple[int, int]], labels: Sequence[int]) -> tuple[Growth, ...]:
    """Where a model that is now as in ``start`` grows: (row, width) of columns, and rows of new labels."""
    wider, steps, now = dict(columns), list[Growth](), start
    for row in sorted({*wider, *labels}):
        before = now
        now = Growth(row, max(wider.get(row, 0), now.n_features), now.n_labels + labels.count(row))
        if replace(now, row=before.row) != before:  # the first column takes the place that the model had
            steps.append(now)
    return tuple(steps)


def learned_rows(weights: Floats | None) -> npt.NDArray[np.intp] | None:
    """The indices of the rows that are learned; None if all are."""
    return None if weights is None or weights.all() else np.flatnonzero(weights)


def learned_mask(weights: Floats | None) -> npt.NDArray[np.bool_] | None:
    """Which rows are learned; None if all are."""
    return None if weights is None or weights.all() else weights != 0
