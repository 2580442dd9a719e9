"""What a row is compared with: rows that are given, or those that the model keeps."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from budgetron._util.rows import Matrix, is_sparse
from budgetron._util.text import shown
from budgetron.learners.learner import Floats
from budgetron.model.fitted import Fitted


def kept_rows(fitted: Fitted) -> Floats:
    """The newest rows that the model keeps, its support vectors, or its mean row; maybe none."""
    rows = fitted.model.kept_rows()
    if fitted.encoding is not None:
        rows = fitted.encoding.with_absent(rows)
    elif not fitted.model.learner.accepts_missing:
        rows = np.nan_to_num(rows)
    return rows


def background_of(fitted: Fitted, what: str) -> Floats:
    """The rows that the model keeps; raises if there are none."""
    rows = kept_rows(fitted)
    if not len(rows):
        raise ValueError(
            f"{what} compares with the rows that a model keeps, and this one keeps none, got the learner "
            f"{shown(fitted.model.learner)}: give background=rows, or take Standardised(learner) or auto()."
        )
    return rows


def spread_out(rows: Matrix, most: int) -> Matrix:
    """At most so many of the rows, evenly spaced."""
    count = rows.shape[0]
    if count <= most:
        return rows
    return rows[np.linspace(0, count - 1, most).round().astype(int)]


class Slots:
    """The slots in which rows may differ: all if they are dense, else those that are not 0 in some row."""

    def __init__(self, x: Matrix, background: Matrix) -> None:
        """One row, and rows to compare it with."""
        self.width = x.shape[1]
        self.is_sparse = is_sparse(x)
        if not self.is_sparse:
            self.numbers = np.arange(self.width)
            rows = background.toarray() if is_sparse(background) else background
            self.x, self.background = np.asarray(x[0], float), np.asarray(rows, float)
            return
        others = sparse.csr_matrix(background)
        self.numbers = np.union1d(x.indices, others.indices)
        self.x = x[:, self.numbers].toarray()[0].astype(float)
        self.background = others[:, self.numbers].toarray().astype(float)

    def rows(self, values: Floats) -> Matrix:
        """Rows of the model, from numbers in these slots."""
        if not self.is_sparse:
            return np.ascontiguousarray(values)
        narrow = sparse.csr_matrix(values)
        indices = self.numbers[narrow.indices].astype(np.int32)
        return sparse.csr_matrix((narrow.data, indices, narrow.indptr), shape=(len(values), self.width))
