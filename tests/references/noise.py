"""How large the error of a prediction will be, plainly from the definition.

With the row x, its prediction f, the error e and the filter's uncertainty S about the prediction::

    log v = level + w'z                  z: what the row looks like, cheaply; level: the mean of log e^2
    deviation^2 = c^2 v (1 + S) + far    c: so that 4.55 % of the errors are beyond two deviations
"""

from __future__ import annotations

from math import ceil, isnan, log, log1p, sqrt

import numpy as np

from tests.references.step import Array

KNOTS, STEP = np.arange(-3, 4), 0.7  # of a feature: -2.1, -1.4 ... 2.1
LEVELS, LEVEL_STEP = np.arange(-2, 3), 0.6  # of w'z, in deviations of w'z: -1.2, -0.6 ... 1.2
SLOTS, PAIRED = 32, 12  # columns that have features of their own; and those whose products have
START = 16  # rows before w is learned
DEGREES = 10.0  # of freedom, of Student's distribution
INFORMATION = DEGREES / (2 * (DEGREES + 3))  # of an error about log v
LOG_OF_NORMAL = 1.2703628454614782  # minus the mean of log e^2, for a normal e of variance 1
BEYOND_TWO = 0.0455  # the share of normal numbers beyond two deviations


def hats(steps: float, knots: Array) -> Array:
    """How near a number is to each of its two neighbours among the knots; the sum is 1."""
    place = np.clip(steps, knots[0], knots[-1])
    return np.asarray(np.maximum(0.0, 1 - np.abs(place - knots)))


class Moments:
    """The weighted mean and variance so far."""

    def __init__(self) -> None:
        self.weight = self.mean = self.squares = 0.0

    def add(self, x: float, weight: float) -> None:
        """Count a value."""
        self.weight += weight
        d = x - self.mean
        self.mean += weight / self.weight * d
        self.squares += weight * d * (x - self.mean)

    @property
    def variance(self) -> float:
        """0 before the first value."""
        return self.squares / self.weight if self.weight > 0 else 0.0


class Noise:
    """The deviation of the error of a prediction, as a function of the row and the prediction."""

    def __init__(self, columns: int, drift: float, prior: float = 0.1) -> None:
        self.columns, self.drift, self.prior = columns, drift / 10, prior
        self.least_rate = 0.002 if drift > 0 else 0.0
        self.w = self.p = np.zeros(0)
        self.log_c, self.near = np.full(len(LEVELS), 0.15), np.zeros(len(LEVELS))
        self.level, self.rows, self.weight = 0.0, 0, 0.0
        self.targets, self.reach, self.order = Moments(), Moments(), Moments()

    def folded(self, x: Array, most: int) -> Array:
        """As many numbers as columns, at most ``most``: columns that share a place are added up."""
        places = [sum(x[place::most]) for place in range(most)]
        return np.asarray(places) / sqrt(max(1, ceil(self.columns / most)))

    def features(self, x: Array, f: float) -> Array:
        """A constant; hats of f, of every column and of the length; products of two columns, cut off.

        Without the hat at 0, a column that is 0 has no part in them.
        """
        squashed = np.clip(3 * self.folded(x, PAIRED), -1, 1)
        length = sqrt(sum(x**2) / max(self.columns, 1))
        numbers = [f, 3 * (length - 1), *self.folded(x, SLOTS)]
        hat = [hats(number / STEP, KNOTS)[KNOTS != 0] for number in numbers]
        pairs = [squashed[i] * squashed[j] for j in range(PAIRED) for i in range(j)]
        return np.concatenate([[1.0], *hat, pairs])

    def look(self, x: Array, f: float) -> tuple[Array, float, Array, float]:
        """The features z; w'z; the shares of the levels that it is between; and log c."""
        z = self.features(self.limited(x), f)
        if len(self.w) == 0:
            self.w, self.p = np.zeros(len(z)), np.full(len(z), self.prior)
        order = float(np.clip(self.w @ z, -12, 12))
        sd = max(sqrt(self.order.variance), 0.1)
        shares = hats((order - self.order.mean) / sd / LEVEL_STEP, LEVELS)
        return z, order, shares, float(shares @ self.log_c)

    @staticmethod
    def limited(x: Array) -> Array:
        """Missing values are 0, others at most 10."""
        return np.array([0.0 if isnan(v) else min(max(v, -10.0), 10.0) for v in x])

    def deviation(self, x: Array, f: float, S: float) -> float:
        """The standard deviation; 0 before the first error."""
        if self.rows == 0:
            return 0.0
        _, order, _, log_c = self.look(x, f)
        return sqrt(float(np.exp(self.level + order + 2 * log_c)) * (1 + S) + self.far(x))

    def far(self, x: Array) -> float:
        """What is added beyond the edge."""
        fourth = sum(self.limited(x) ** 4)
        if self.edge == 0 or fourth <= self.edge:
            return 0.0
        return self.targets.variance * (sqrt(fourth / self.edge) - 1)

    @property
    def edge(self) -> float:
        """Of sum x^4: 8 deviations above its mean."""
        return self.reach.mean + 8 * sqrt(self.reach.variance)

    def learn(self, x: Array, y: float, f: float, S: float, weight: float) -> None:
        """The level is a mean; w takes a step for Student's likelihood; c goes up if e is beyond."""
        z, order, shares, log_c = self.look(x, f)
        self.targets.add(y, weight)
        square = max((y - f) ** 2, 1e-12 * self.targets.variance)
        if square == 0:
            return
        found, log_v = log(square) - log1p(S), self.level + order
        self.rows, self.weight = self.rows + 1, self.weight + weight
        self.level += weight / self.weight * (found + LOG_OF_NORMAL - self.level)
        if self.rows <= START:
            return
        ratio = np.exp(np.clip(found - log_v, -50, 50))
        slope = ((DEGREES + 1) * ratio / (DEGREES + ratio) - 1) / 2
        g = self.p * z
        self.w = self.w + weight * slope / (1 + weight * INFORMATION * (z @ g)) * g
        self.p = self.p - weight * INFORMATION * g**2 / (1 + weight * INFORMATION * (z @ g))
        grows = (z != 0) | (np.arange(len(z)) >= len(z) - PAIRED * (PAIRED - 1) // 2)
        self.p = np.clip(self.p + self.drift * grows, 0, self.prior)
        self.order.add(order, weight)
        fourth = sum(self.limited(x) ** 4)
        self.reach.add(min(fourth, 4 * self.edge) if self.edge > 0 else fourth, weight)
        self.near = self.near + weight * shares
        beyond = found - log_v - 2 * log_c > log(4)
        rate = np.maximum(10 * weight / (self.near + 100), self.least_rate * min(weight, 1.0))
        self.log_c = np.clip(self.log_c + rate * shares * (beyond - BEYOND_TWO), -3, 3)
