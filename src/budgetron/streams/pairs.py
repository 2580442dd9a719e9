"""Streams from pairs (x, y), one for each row."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron._util.errors import DataError
from budgetron._util.text import shown
from budgetron.records.reading import to_table
from budgetron.streams.stream import Block, Stream, too_few_rows


class PairStream(Stream):
    """See `from_pairs`."""

    def __init__(self, pairs: Iterable[Any], rows: int) -> None:
        self.pairs, self.rows = pairs, rows

    @property
    def n_features(self) -> int:
        raise AttributeError("The number of columns of a stream of pairs is not known in advance.")

    def __iter__(self) -> Iterator[Block]:
        pairs, start = iter(self.pairs), self.first
        if (skipped := sum(1 for _ in islice(pairs, start))) < start:
            raise too_few_rows("from_pairs", start, skipped)
        while batch := list(islice(pairs, self.rows)):
            yield _block(batch, start)
            start += len(batch)


def from_pairs(pairs: Iterable[tuple[Any, Any]], rows: int = 1000) -> PairStream:
    """A stream of pairs (x, y), as river has them: x is a dict or a sequence of numbers.

    >>> from budgetron import streams
    >>> pairs = [({"amount": 5}, "ok"), ({"amount": 900}, "fraud"), ({"amount": 7}, "ok")]
    >>> [block.y.tolist() for block in streams.from_pairs(pairs, rows=2)]
    [['ok', 'fraud'], ['ok']]
    """
    if not isinstance(pairs, Iterable):
        raise TypeError(f"from_pairs: expected an iterable of pairs (x, y), got {shown(pairs)}.")
    return PairStream(pairs, check.count("from_pairs", "rows", rows))


def _block(batch: list[Any], start: int) -> Block:
    for i, pair in enumerate(batch):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(f"from_pairs: item {start + i} must be a pair (x, y), got {shown(pair)}.")
    rows, y = [x for x, _ in batch], [label for _, label in batch]
    check.one_kind("from_pairs: y", y)
    if isinstance(rows[0], Mapping):
        return Block(to_table(rows), np.asarray(check.label_column("y", y)), start)
    try:
        X = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"from_pairs: rows {start} to {start + len(rows) - 1} are not numbers: {error}."
        ) from error
    return Block(X, np.asarray(check.label_column("y", y)), start)
