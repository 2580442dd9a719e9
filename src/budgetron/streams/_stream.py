"""What every stream is: rows in blocks, from any row on, through transforms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

from budgetron import _check
from budgetron._rows import Matrix
from budgetron._text import printable, shown


class DataError(ValueError):
    """Data that cannot be read, in one sentence; ``line`` and ``column`` count from 1, where known."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(printable(message))
        self.line = line
        self.column = column


@dataclass
class Block:
    """Rows that come together: X, their labels if they have some, and the number of the first (from 0)."""

    X: Matrix
    y: Any
    start: int

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def stop(self) -> int:
        """The number of the row after the last: ``stream.skip(block.stop)`` goes on behind this block."""
        return self.start + len(self)


class Transform(ABC):
    """Something that blocks pass through, and that learns from them.

    Each row is changed by the rows before it, and then counted. So any cutting of the same rows into blocks
    gives the same rows, bit for bit. Its parameters are attributes of the same names.
    """

    @property
    def held(self) -> int:
        """How many rows are inside: those that `flush` would give."""
        return 0

    @abstractmethod
    def learn_transform(self, block: Block) -> Block:
        """The rows that come out as the block goes in."""

    def flush(self) -> Block | None:
        """The rows that are still inside when the stream ends."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that was learned, as arrays."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""


class Stream(ABC):
    """An iterable of blocks; again and again, where the source can be read again."""

    rows: int
    first: int = 0

    @abstractmethod
    def __iter__(self) -> Iterator[Block]: ...

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns."""

    def skip(self, rows: int) -> Self:
        """The same stream without its first rows: where a resumed run goes on."""
        later = copy(self)
        later.first = self.first + _check.whole("skip", "rows", rows)
        return later

    def through(self, *transforms: Transform) -> Through:
        """The stream after some transforms, in their order."""
        for transform in transforms:
            if not isinstance(transform, Transform):
                raise TypeError(f"through: expected transforms, got {shown(transform)}.")
        return Through(self, transforms)


class Through(Stream):
    """A stream and the transforms that its blocks pass through.

    The transforms keep what they learned: a second iteration goes on with it. ``skip`` skips rows of the
    source, which no transform sees; restore the transforms to what they were at that row.
    """

    def __init__(self, source: Stream, transforms: tuple[Transform, ...]) -> None:
        self.source = source
        self.transforms = transforms
        self.rows = source.rows

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.source.n_features

    def skip(self, rows: int) -> Self:
        """The same transforms on the source without its first rows."""
        later = copy(self)
        later.source = self.source.skip(rows)
        return later

    def __iter__(self) -> Iterator[Block]:
        for block in self.source:
            yield from _nonempty(passed(block, self.transforms))
        for i, transform in enumerate(self.transforms):
            rest = transform.flush()
            if rest is not None:
                yield from _nonempty(passed(rest, self.transforms[i + 1 :]))


def passed(block: Block, transforms: Sequence[Transform]) -> Block:
    """What comes out of the transforms as the block goes in."""
    for transform in transforms:
        block = transform.learn_transform(block)
    return block


def _nonempty(block: Block) -> tuple[Block, ...]:
    return (block,) if len(block) else ()


def too_short(name: str, first: int, rows: int) -> DataError:
    """More rows were to be skipped than there are."""
    return DataError(f"{name}: {shown(first)} rows cannot be skipped, there are only {rows}.")
