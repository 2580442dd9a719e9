"""The base classes: blocks of rows, streams of blocks, and transforms of blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from inspect import signature
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from budgetron._util import check
from budgetron._util.errors import DataError
from budgetron._util.rows import Matrix
from budgetron._util.text import shown
from budgetron.records.table import Table, packed, unpacked
from budgetron.records.table import joined as joined_tables
from budgetron.streams.bad_rows import BadRows
from budgetron.streams.sources import Source

BESIDE = ("y", "weights", "times", "ids")
"""What a block has beside X: arrays of one entry for each row, or None."""


@dataclass
class Block:
    """Consecutive rows of a stream.

    Attributes
    ----------
    X : array, CSR matrix or Table
        The rows.
    y : array or None
        The labels or targets.
    start : int
        The index of the first row, from 0.
    weights : array or None
        The sample weight of each row.
    times : array or None
        The time of each row, in seconds since 1970.
    ids : array of str or None
        The name of each row.

    Examples
    --------
    >>> from budgetron import streams
    >>> first, second = streams.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 0], rows=2)
    >>> second.start, second.X.ravel(), second.y
    (2, array([2.]), array([0]))
    """

    X: Matrix
    y: Any
    start: int
    weights: Any = None
    times: Any = None
    ids: Any = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def stop(self) -> int:
        """The index after the last row: ``stream.skip(block.stop)`` continues after this block."""
        return self.start + len(self)

    @property
    def weights_or_ones(self) -> npt.NDArray[np.float64]:
        """The weight of each row, which is 1 unless there are weights."""
        return np.ones(len(self)) if self.weights is None else np.asarray(self.weights, np.float64)

    @property
    def unlabelled(self) -> npt.NDArray[np.bool_]:
        """Which rows have no label: NaN, None or "" stands for it."""
        y = np.asarray(self.y)
        if y.dtype.kind not in "fUO":
            return np.zeros(len(y), bool)
        missing = y != y if y.dtype.kind != "U" else y == ""
        if y.dtype.kind == "O":
            missing = [label is None or label == "" or label != label for label in y]
        return np.array(missing, bool)

    def part(self, begin: int, end: int | None = None) -> Block:
        """The rows from ``begin`` to ``end``, counted from the start of the block."""
        return self.chosen(slice(begin, end), self.start + begin)

    def chosen(self, rows: Any, start: int) -> Block:
        """The rows that a slice, a mask or an array of row numbers selects."""
        beside = {name: None if (a := getattr(self, name)) is None else a[rows] for name in BESIDE}
        return Block(self.X[rows], start=start, **beside)


class Transform(ABC):
    """A step that changes blocks and learns from them, such as scaling.

    Each row is transformed with what was learned from the rows before it, and then learned itself. So the
    result does not depend on how the rows are divided into blocks. The constructor's parameters are
    attributes of the same names.

    Examples
    --------
    >>> from budgetron import streams
    >>> transform = streams.Standardise()
    >>> isinstance(transform, streams.Transform)
    True
    >>> [block] = streams.from_arrays([[0.0], [2.0], [4.0]], [0, 1, 0]).through(transform)
    >>> block.X.ravel().round(1)  # each row is scaled by the rows before it
    array([0., 0., 3.])
    """

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({parameters})"

    def parameters(self) -> dict[str, Any]:
        """The parameters of the constructor, by name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    @property
    def held(self) -> int:
        """The number of rows held back, which `flush` would return."""
        return 0

    @abstractmethod
    def learn_transform(self, block: Block) -> Block:
        """Learn the block, and return the transformed rows."""

    def flush(self) -> Block | None:
        """Return the rows held back; called at the end of the stream."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Everything learned so far, as arrays."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""


class Stream(ABC):
    """An iterable of blocks. It can be iterated again unless its source is a pipe.

    Examples
    --------
    >>> from budgetron import streams
    >>> stream = streams.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 0], rows=2)
    >>> [block.start for block in stream], [block.start for block in stream.skip(1)]
    ([0, 2], [1])
    """

    rows: int
    first: int = 0

    @abstractmethod
    def __iter__(self) -> Iterator[Block]: ...

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns."""

    def skip(self, rows: int) -> Self:
        """The same stream without its first ``rows`` rows."""
        later = copy(self)
        later.first = self.first + check.whole("skip", "rows", rows)
        return later

    def through(self, *transforms: Transform) -> Through:
        """The stream with the transforms applied to each block, in order."""
        for transform in transforms:
            if not isinstance(transform, Transform):
                raise TypeError(f"through: expected transforms, got {shown(transform)}.")
        return Through(self, transforms)


@dataclass(eq=False, repr=False)
class FileStream(Stream):
    """The rows of a file, in blocks of ``rows`` rows."""

    source: Source
    rows: int
    bad_rows: BadRows

    def __iter__(self) -> Iterator[Block]:
        self.bad_rows.begin()
        try:
            yield from cut(self._blocks(), self.first, self.rows)
        finally:
            self.bad_rows.end()

    @abstractmethod
    def _blocks(self) -> Iterator[Block]:
        """Blocks of any size, from row ``first`` or one before it on; an error if there are fewer rows."""


class Through(Stream):
    """A stream whose blocks pass through transforms.

    The transforms keep what they learned: a second iteration continues with it. ``skip`` skips rows of the
    source. The transforms do not see these rows, so restore their state at that row yourself.
    """

    def __init__(self, source: Stream, transforms: tuple[Transform, ...]) -> None:
        self.source = source
        self.transforms = transforms
        self.rows = source.rows

    @property
    def n_features(self) -> int:
        return self.source.n_features

    def skip(self, rows: int) -> Self:
        """The same transforms, applied to the source without its first ``rows`` rows."""
        later = copy(self)
        later.source = self.source.skip(rows)
        return later

    def __iter__(self) -> Iterator[Block]:
        for block in self.source:
            yield from _nonempty(transformed(block, self.transforms))
        for i, transform in enumerate(self.transforms):
            rest = transform.flush()
            if rest is not None:
                yield from _nonempty(transformed(rest, self.transforms[i + 1 :]))


def transformed(block: Block, transforms: Sequence[Transform]) -> Block:
    for transform in transforms:
        block = transform.learn_transform(block)
    return block


def _nonempty(block: Block) -> tuple[Block, ...]:
    return (block,) if len(block) else ()


def joined(blocks: Sequence[Block]) -> Block:
    """The rows of all blocks in one block, which starts where the first one does."""
    if len(blocks) == 1:
        return blocks[0]
    rows = [block.X for block in blocks]
    X: Matrix
    if isinstance(rows[0], Table):
        X = joined_tables(rows)
    else:
        X = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
    beside = {}
    for name in BESIDE:
        parts = [getattr(block, name) for block in blocks]
        if name == "weights" and any(part is not None for part in parts):
            parts = [block.weights_or_ones for block in blocks]
        beside[name] = None if any(part is None for part in parts) else np.concatenate(parts)
    return Block(X, start=blocks[0].start, **beside)


def as_arrays(block: Block) -> dict[str, Any]:
    """The block as arrays for a model file, without its start."""
    X, beside = block.X, {name: a for name in BESIDE[:-1] if (a := getattr(block, name)) is not None}
    if block.ids is not None:
        beside["ids"], beside["id_ends"] = packed(block.ids)
    if isinstance(X, Table):
        return {"table": X.as_arrays()} | beside
    if not sparse.issparse(X):
        return {"X": X} | beside
    columns = np.array([X.shape[1]])
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "columns": columns} | beside


def from_arrays(arrays: Mapping[str, Any]) -> Block | None:
    """The block that `as_arrays` saved, or None. Indices are checked, since native code will use them."""
    X = arrays.get("X")
    if "table" in arrays:
        X = Table.from_arrays(arrays["table"])
    if "data" in arrays:
        shape = (len(arrays["indptr"]) - 1, int(arrays["columns"][0]))
        X = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        X.check_format(full_check=True)
    if X is None:
        return None
    beside: dict[str, Any] = {name: arrays.get(name) for name in BESIDE[:-1]}
    if "ids" in arrays:
        beside["ids"] = np.array(unpacked(arrays["ids"], arrays["id_ends"]), dtype=object)
    for name in BESIDE[1:]:
        if beside.get(name) is not None and np.shape(beside[name]) != (X.shape[0],):
            raise ValueError(f"the {name} of its rows have the wrong length")
    return Block(X, start=0, **beside)


def cut(blocks: Iterable[Block], first: int, rows: int) -> Iterator[Block]:
    """The rows from row ``first`` on, in blocks of ``rows`` rows; an error after the rows before it."""
    waiting: list[Block] = []
    failure: DataError | None = None
    try:
        for block in blocks:
            if len(block) == rows and block.start >= first and not waiting:
                yield block
            elif block.stop > first:
                waiting.append(block.part(max(first - block.start, 0)))
            if waiting and block.stop - waiting[0].start >= rows:
                whole = joined(waiting)
                full = len(whole) - len(whole) % rows
                for i in range(0, full, rows):
                    yield whole.part(i, i + rows)
                waiting = [whole.part(full)] if full < len(whole) else []
    except DataError as error:
        failure = error
    if waiting and len(rest := joined(waiting)):
        yield rest
    if failure is not None:
        raise failure


def too_few_rows(name: str, first: int, rows: int) -> DataError:
    """The error for skipping more rows than the stream has."""
    return DataError(f"{name}: cannot skip {shown(first)} rows, there are only {rows}.")
