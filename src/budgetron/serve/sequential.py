"""Whether one of two models is better: a test that may be looked at after every row.

Both models predict the same rows; ``d`` is the loss of the one minus that of the other, from -1 to 1. After
n rows let D be the mean, over these rows, of what was to be expected of ``d`` given the rows before. It may
change along the stream. With g the mean of ``d`` over the rows before a row, and with

    S = sum of d,    V = sum of (d - g)^2,    c = 2,    psi(l) = (-log(1 - c l) - c l) / c^2,

exp(l (S - n D) - psi(l) V) is a supermartingale for each l in [0, 1/c) (Fan, Grama and Liu 2015, Howard et
al. 2021, Choe and Ramdas 2024). Its mixture over l, where 1 - c l has a density proportional to
u^(r - 1) exp(-r u) on (0, 1), has a closed form, and exceeds 1/a at any row with probability a at most. The
values of D at which neither it nor that of -d exceeds 2/a are the interval: the probability that it ever
misses D is a at most.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaln

Floats = npt.NDArray[np.float64]

ALPHA = 0.05
"""The probability that the interval of two models ever misses their difference."""
SCALE = 2.0
RATE = 2.5
"""c and r: the interval is narrowest, for its number of rows, about where V is 100."""


def log_evidence(s: Floats, v: Floats) -> Floats:
    """The logarithm of the mixture, for sums ``s`` and their variances ``v``."""
    a, b = RATE + v / SCALE**2, RATE + (SCALE * s + v) / SCALE**2
    positive = b > 0
    b = np.where(positive, b, 1.0)  # there is hardly evidence where it is not: none is claimed
    with np.errstate(divide="ignore"):
        grown = gammaln(a) + np.log(gammainc(a, b)) - a * np.log(b) + b
        before = gammaln(RATE) + np.log(gammainc(RATE, RATE)) - RATE * np.log(RATE) + RATE
    found: Floats = np.where(positive, grown - before, -np.inf)
    return found


class Sequential:
    """The test of two models."""

    def __init__(self) -> None:
        self.rows = 0
        self.sum = self.variance = 0.0
        self.decided = 0
        """Since how many rows there is a difference, up to now; 0 if there is none."""

    def add(self, d: Floats) -> None:
        """Add rows, in their order. It makes no difference how they are cut into calls."""
        if not len(d):
            return
        numbers = self.rows + np.arange(1, len(d) + 1)
        sums = np.add.accumulate(np.concatenate([[self.sum], d]))
        before = sums[:-1] / np.maximum(numbers - 1, 1)
        variances = np.add.accumulate(np.concatenate([[self.variance], (d - before) ** 2]))
        open_ = np.flatnonzero(log_evidence(np.abs(sums[1:]), variances[1:]) < np.log(2 / ALPHA))
        if len(open_) == 0:
            self.decided = self.decided or int(numbers[0])
        else:
            last = int(open_[-1])
            self.decided = int(numbers[last + 1]) if last + 1 < len(d) else 0
        self.rows, self.sum, self.variance = int(numbers[-1]), float(sums[-1]), float(variances[-1])

    @property
    def mean(self) -> float:
        """The mean difference."""
        return self.sum / max(self.rows, 1)

    @property
    def evidence(self) -> float:
        """The e-value against the models being equally good, or the better one the worse one."""
        found = log_evidence(np.array([abs(self.sum)]), np.array([self.variance]))[0]
        return float(np.exp(min(found, 700.0)))

    def interval(self) -> tuple[float, float]:
        """Where the expected difference is."""
        if not self.rows:
            return -1.0, 1.0
        width = _width(self.variance) / self.rows
        return max(self.mean - width, -1.0), min(self.mean + width, 1.0)

    def state(self) -> list[float]:
        """All of it, as numbers."""
        return [self.rows, self.sum, self.variance, self.decided]

    @classmethod
    def of(cls, state: Any) -> "Sequential":
        """The test of a state."""
        made = cls()
        rows, made.sum, made.variance, decided = map(float, state)
        made.rows, made.decided = int(rows), int(decided)
        return made


def _width(variance: float) -> float:
    """The least sum at which there is a difference, for a variance."""
    v, low, high = np.array([variance]), 0.0, 1.0
    wanted = np.log(2 / ALPHA)
    while log_evidence(np.array([high]), v)[0] < wanted:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        enough = log_evidence(np.array([middle]), v)[0] >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def relative(one: Floats, other: Floats) -> Floats:
    """The differences of losses from 0 to infinity, as shares of their sums: from -1 to 1."""
    with np.errstate(invalid="ignore"):
        larger = np.where(one > other, one, other)
        whole = np.where(larger > 0, larger, 1.0)
        a, b = (np.where(each == larger, 1.0, each / whole) for each in (one, other))
        found: Floats = (a - b) / (a + b)
    return found
