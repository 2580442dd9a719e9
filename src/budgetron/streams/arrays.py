"""Streams from arrays in memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from budgetron._util import check
from budgetron._util.rows import Matrix
from budgetron.records.reading import is_records, refuse_near_records, to_table
from budgetron.streams.stream import Block, Stream, too_few_rows


class ArrayStream(Stream):
    """See `from_arrays`."""

    def __init__(self, X: Matrix, y: Any, rows: int) -> None:
        self.X, self.y, self.rows = X, y, rows

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def __iter__(self) -> Iterator[Block]:
        n = self.X.shape[0]
        if self.first > n:
            raise too_few_rows("from_arrays", self.first, n)
        whole = Block(self.X, self.y, 0)
        for start in range(self.first, n, self.rows):
            yield whole.part(start, start + self.rows)


def from_arrays(X: Any, y: Any = None, rows: int = 1000) -> ArrayStream:
    """A stream of the rows of an array, a sparse matrix or a frame, in blocks of ``rows`` rows.

    A list of dicts, and a frame of anything but numbers, gives blocks of records.

    >>> from budgetron import streams
    >>> [len(block) for block in streams.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 0], rows=2)]
    [2, 1]
    """
    refuse_near_records(X)
    X = to_table(X) if is_records(X) else X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"from_arrays: X must have two dimensions, got {X.ndim}.")
    if y is not None:
        check.one_kind("from_arrays: y", y)
        y = np.asarray(y)
        if y.ndim == 0 or len(y) != X.shape[0]:
            raise ValueError(
                f"from_arrays: y must have {X.shape[0]} labels, as X has rows, got shape {y.shape}."
            )
    return ArrayStream(X, y, check.count("from_arrays", "rows", rows))
