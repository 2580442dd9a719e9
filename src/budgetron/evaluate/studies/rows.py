"""The rows of a study's data sets: where they come from, what identifies them, and which are for tuning."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from budgetron import datasets
from budgetron._util.text import nearest, shown
from budgetron.records.table import Table
from budgetron.streams import Block, DataError, from_arrays

Source = Callable[[], tuple[Any, Any]]
"""Loads the rows and labels of a data set."""


def sources(given: Any) -> dict[str, Source]:
    """What loads each data set, by name; the data sets as in `study`."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Mapping):
        if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
            raise TypeError(
                "study: datasets must be names of data sets, or a dict of name to a name, a pair (X, y) or "
                f"a function that returns one, got {shown(given)}."
            )
        given = {name: name for name in given}
    if not given:
        raise ValueError("study: datasets is empty: expected at least one.")
    return {str(name): _source(str(name), what) for name, what in given.items()}


def known_tasks(given: Any) -> dict[str, str]:
    """The task of each data set that is named and in the catalogue."""
    given = {str(name): name for name in given} if not isinstance(given, Mapping) else given
    tasks = {name: datasets.describe(what).task for name, what in given.items() if isinstance(what, str)}
    return {str(name): task for name, task in tasks.items() if task is not None}


def _source(name: str, what: Any) -> Source:
    if isinstance(what, str):
        if not _is_known(what):
            near = nearest(what, datasets.names(), otherwise="see datasets.names().")
            raise ValueError(f"study: there is no data set {what!r}; {near}")
        return partial(datasets.load, what)
    if isinstance(what, tuple | list) and len(what) == 2:
        return partial(tuple, what)
    if callable(what):
        loads: Source = what
        return loads
    raise TypeError(
        f"study: the data set {name} must be a name, a pair (X, y) or a function that returns one, "
        f"got {shown(what)}."
    )


def _is_known(name: str) -> bool:
    try:
        datasets.describe(name)
    except DataError:
        return False
    return True


@dataclass(frozen=True)
class StudyRows:
    """The rows of a data set: those of the orders, and those that were taken away for tuning."""

    name: str
    stream: Block
    tuning: Block | None = None

    @classmethod
    def loaded(cls, name: str, source: Source, tune_rows: int, seed: int) -> StudyRows:
        """Load the rows. ``tune_rows`` random ones, at most a third, are kept apart."""
        pair = source()
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"study: the data set {name} must be a pair (X, y), got {type(pair).__name__}.")
        rows = from_arrays(*pair)
        if rows.y is None or not len(rows.y):
            raise ValueError(f"study: the data set {name} must have rows and labels, got none.")
        block = Block(rows.X, rows.y, 0)
        if not tune_rows:
            return cls(name, block)
        order = np.random.default_rng([seed, len(block)]).permutation(len(block))
        apart = np.zeros(len(block), dtype=bool)
        apart[order[: min(tune_rows, len(block) // 3)]] = True
        return cls(name, block.chosen(np.flatnonzero(~apart), 0), block.chosen(np.flatnonzero(apart), 0))

    @cached_property
    def labels(self) -> dict[str, Any]:
        """What identifies the rows of the orders."""
        return {"dataset": self.name, "rows": len(self.stream), "digest": _digest(self.stream)}

    @cached_property
    def tuning_labels(self) -> dict[str, Any]:
        """What identifies the rows for tuning."""
        assert self.tuning is not None
        return {"dataset": self.name, "rows": len(self.tuning), "digest": _digest(self.tuning)}


def _digest(rows: Block) -> str:
    """A checksum of the rows and labels. Other types of the same numbers give another one."""
    whole = hashlib.sha256()
    for part in (*_parts(rows.X), np.asarray(rows.y)):
        whole.update(f"{part.dtype.str} {part.shape}".encode())
        plain = part.dtype.kind != "O"
        whole.update(np.ascontiguousarray(part).tobytes() if plain else repr(part.tolist()).encode())
    return whole.hexdigest()[:16]


def _parts(X: Any) -> list[Any]:
    if isinstance(X, Table):
        return [np.array([repr(record) for record in X.records()], dtype=object)]
    if sparse.issparse(X):
        return [X.data, X.indices, X.indptr, np.array(X.shape)]
    return [X]
