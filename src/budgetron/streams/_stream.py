"""What every stream is: rows in blocks, from any row on, through steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

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


class Step(ABC):
    """Something that blocks pass through, learning as they go.

    Each row is changed by what was seen before it, and then counted; so any cutting of the same rows into
    blocks gives the same rows, bit for bit.
    """

    @abstractmethod
    def learn_transform(self, block: Block) -> Block:
        """The rows that come out as the block goes in."""

    def flush(self) -> Block | None:
        """The rows that are still inside when the stream is over."""
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
        if isinstance(rows, bool) or not isinstance(rows, Integral) or rows < 0:
            raise ValueError(f"skip: rows must be a whole number of at least 0, got {shown(rows)}.")
        later = copy(self)
        later.first = self.first + int(rows)
        return later

    def through(self, *steps: Step) -> Through:
        """The stream after some steps, the first of them first."""
        for step in steps:
            if not isinstance(step, Step):
                raise TypeError(f"through: expected steps, got {step!r}.")
        return Through(self, steps)


class Through(Stream):
    """A stream and the steps that its blocks pass through.

    The steps keep what they learned: a second iteration goes on with it. ``skip`` skips rows of the source,
    which no step sees; restore the steps to what they were at that row.
    """

    def __init__(self, source: Stream, steps: tuple[Step, ...]) -> None:
        self.source = source
        self.steps = steps
        self.rows = source.rows

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.source.n_features

    def skip(self, rows: int) -> Self:
        """The same steps on the source without its first rows."""
        later = copy(self)
        later.source = self.source.skip(rows)
        return later

    def __iter__(self) -> Iterator[Block]:
        for block in self.source:
            yield from self._from(0, block)
        for i, step in enumerate(self.steps):
            rest = step.flush()
            if rest is not None:
                yield from self._from(i + 1, rest)

    def _from(self, i: int, block: Block) -> Iterator[Block]:
        """The block after the steps from the i-th on."""
        for step in self.steps[i:]:
            block = step.learn_transform(block)
        if len(block):
            yield block


def too_short(name: str, first: int, rows: int) -> DataError:
    """More rows were to be skipped than there are."""
    return DataError(f"{name}: {shown(first)} rows cannot be skipped, there are only {rows}.")
