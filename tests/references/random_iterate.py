"""The output w_r of Le et al. 2016, with r random (Theorems 6 and 12), by keeping copies of every iterate.

A pass does not know its length T. So rounds are drawn as they come: round t replaces the one kept with
probability 1 / (t - start). In one pass over T rounds every round then is kept at the end with the same
probability. The draws are those of the gaps between replacements: after round t, the next one that is kept
is floor(t / u) + 1 with u uniform on (0, 1], because P(next > s) = t / s.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor

import numpy as np


class Drawn:
    """The round kept from those after `start`, by the uniform numbers that `draw` gives."""

    def __init__(self, draw: Callable[[], float], start: int = 0) -> None:
        self.draw, self.start = draw, start
        self.kept, self.next = 0, start + 1

    def see(self, t: int) -> None:
        """Round t is about to be learned."""
        if t == self.next:
            self.kept = t
            self.next = self.start + floor((t - self.start) / (1 - self.draw())) + 1


class RandomIterate:
    """The round r of every T: uniform on all rounds, or on a last share of at least `suffix`."""

    def __init__(self, seed: int, suffix: float = 1.0) -> None:
        random = np.random.Generator(np.random.Philox(key=seed + (0x7261 << 64)))
        self.draw, self.suffix = random.random, suffix
        self.older, self.younger = Drawn(self.draw), Drawn(self.draw)
        self.t = 0

    def next_round(self) -> int:
        """The r after one more round."""
        self.t += 1
        self.older.see(self.t)
        if self.suffix < 1:
            self.younger.see(self.t)
            if self.younger.start <= (1 - self.suffix) * self.t:  # it covers enough rounds
                self.older, self.younger = self.younger, Drawn(self.draw, self.t)
        return self.older.kept
