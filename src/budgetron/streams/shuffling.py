"""Shuffle a stream in bounded memory."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from budgetron._util import check
from budgetron.records.table import Table
from budgetron.streams.stream import Block, Transform, as_arrays, from_arrays, joined


class ShuffleBuffer(Transform):
    """A buffer of ``size`` rows. When it is full, each new row replaces one chosen at random.

    The replaced row leaves the buffer. At the end of the stream the remaining rows leave in random order.
    The order depends only on the seed and the rows, not on the blocks. Each block copies the whole buffer
    once, so blocks should not be much smaller than the buffer. ``entered`` is the number of rows that went
    in; a resumed run continues there.

    >>> import numpy as np
    >>> from budgetron import streams
    >>> rows = streams.from_arrays(np.arange(8.0)[:, None], rows=4)
    >>> rows = rows.through(streams.ShuffleBuffer(4, seed=0))
    >>> np.concatenate([block.X[:, 0] for block in rows])
    array([0., 4., 5., 2., 1., 6., 7., 3.])
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self.size = check.count(self, "size", size)
        self.seed = check.natural(self, "seed", seed)
        self.entered = 0
        self._drawn = 0
        self._left = 0
        self._held: Block | None = None

    @property
    def held(self) -> int:
        return 0 if self._held is None else len(self._held)

    def learn_transform(self, block: Block) -> Block:
        """Put the block into the buffer and return the rows that it replaces."""
        held = self.held
        fill = min(self.size - held, len(block))
        rows = block
        if self._held is not None:
            a, b = self._held, block
            if sparse.issparse(a.X) != sparse.issparse(b.X) or (a.y is None) != (b.y is None):
                raise ValueError(
                    "ShuffleBuffer: cannot mix dense and sparse, or labelled and unlabelled rows."
                )
            rows = joined([a, b])
        self.entered += len(block)
        leaving, staying = _swaps(self._uniforms(len(block) - fill), held + fill)
        self._held = rows.chosen(staying, 0)
        out = rows.chosen(leaving, self._left)
        self._left = out.stop
        return out

    def flush(self) -> Block | None:
        """Empty the buffer: the remaining rows, in random order."""
        if self._held is None:
            return None
        held, self._held = self._held, None
        order = np.argsort(self._uniforms(len(held)), kind="stable")
        rest = held.chosen(order, self._left)
        self.entered = self._left = 0
        return rest

    def state(self) -> dict[str, Any]:
        counts = {"counts": np.array([self.entered, self._drawn, self._left])}
        return counts | ({} if self._held is None else as_arrays(self._held))

    def restore(self, state: dict[str, Any]) -> None:
        if state["counts"].shape != (3,) or (state["counts"] < 0).any():
            raise ValueError("ShuffleBuffer: the state must have three counts of at least 0.")
        held = from_arrays(state)
        if held is not None and len(held) > self.size:
            raise ValueError(f"ShuffleBuffer: the state holds {len(held)} rows, more than {self.size}.")
        self.entered, self._drawn, self._left = (int(n) for n in state["counts"])
        self._held = held if held is None or isinstance(held.X, Table) else replace(held, X=held.X.copy())

    def _uniforms(self, n: int) -> Any:
        """The next n random numbers; they depend only on the seed and on how many were drawn before."""
        philox = np.random.Philox(key=self.seed)
        philox.advance(self._drawn // 4)  # one step of Philox makes four numbers
        numbers = np.random.Generator(philox).random(self._drawn % 4 + n)[self._drawn % 4 :]
        self._drawn += n
        return numbers


def _swaps(uniforms: Any, size: int) -> tuple[Any, Any]:
    """Which rows leave and which stay if rows size, size + 1, ... each replace a random one."""
    n = len(uniforms)
    places = (uniforms * size).astype(np.int64)
    new = size + np.arange(n)
    # The row that leaves place p is the last one put there, or row p itself.
    by_place = np.argsort(places, kind="stable")
    again = places[by_place[1:]] == places[by_place[:-1]]
    leaving = places.copy()
    leaving[by_place[1:][again]] = new[by_place[:-1][again]]
    staying = np.arange(size)
    staying[places] = new  # of several assignments to a place, the last one counts
    return leaving, staying
