"""Whether other experts of a stacked learner have the say."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

EVERY = 1000
"""Rows between two samples of the weights."""
FIRST, SLOW, RECENT = 5, 16, 2
"""Samples before a shift is told, those of the moving average, and those that are compared with it."""
SHIFT = 0.4
"""The share of all weight that has moved."""
Sample = tuple[int, Sequence[float]]
"""After how many rows, and the weights of the experts then."""


def parts(rows: int, before: int) -> list[int]:
    """The ends of the parts of so many rows, after others, so that weights can be sampled between them."""
    return [*range(EVERY - before % EVERY, rows, EVERY), rows]


class Experts:
    """Compares the last weights, as shares of all weight, with a moving average.

    Weights wander as a model learns. What is told is a shift within some thousand rows.
    """

    def __init__(self) -> None:
        self._count = 0
        self._slow: list[float] = []
        self._recent: list[list[float]] = []

    def tell(self, samples: Iterable[Sample]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows at which a shift is found, and what is known of it."""
        for row, weights in samples:
            shares = np.abs(np.asarray(weights, float))
            if (more := self._told((shares / max(shares.sum(), 1e-300)).tolist())) is not None:
                yield row, more

    def _told(self, shares: list[float]) -> dict[str, Any] | None:
        if len(shares) != len(self._slow):
            self._count, self._slow, self._recent = 0, shares, []
        self._count += 1
        self._recent = [*self._recent, shares][-RECENT:]
        before, now = np.array(self._slow), np.mean(self._recent, axis=0)
        self._slow = (before + (np.array(shares) - before) / min(self._count, SLOW)).tolist()
        if self._count < FIRST or np.abs(now - before).sum() / 2 < SHIFT:
            return None
        self._count, self._slow = 0, now.tolist()
        expert = int(np.argmax(np.abs(now - before)))
        return {"expert": expert, "before": _rounded(before[expert]), "now": _rounded(now[expert])}

    def state(self) -> dict[str, Any]:
        """As plain data and arrays."""
        slow, recent = (np.array(each, dtype=np.float64) for each in (self._slow, self._recent))
        return {"count": self._count, "slow": slow, "recent": recent}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self._count = state["count"]
        self._slow, self._recent = (state[name].tolist() for name in ("slow", "recent"))


def _rounded(share: Any) -> float:
    return round(float(share), 4)
