"""Fourier components that are drawn anew by use, with a Kalman filter on them, plainly from the definition.

U is the matrix of frequencies, columns x components. When component i leaves, the weights of its sine and
cosine become 0; the others are what they are on average if these are known to be 0. Then its frequency is
drawn anew, and its part of the covariance is as at the start.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import Any, Protocol

import numpy as np

from tests.references.auto import Kalman, log_probabilities, residual
from tests.references.cells import Random, Recruiting
from tests.references.maps import Law, fourier, identity, stack
from tests.references.step import Array


class Components(Protocol):
    """Frequencies that can be drawn anew, near a component; near itself is near none."""

    U: Array

    def redraw(self, i: int, near: int) -> None: ...


class RandomComponents:
    """Number n of the stream of a column is that of component n, later ones are those drawn anew.

    Near another is nearness times a common number plus rest times an own one.
    """

    def __init__(self, law: Law, nearness: float, rest: float, seed: int, columns: int, D: int) -> None:
        self.law, self.nearness, self.rest, self.seed = law, nearness, rest, seed
        self.own, self.common, self.drawn = list(range(D)), list(range(D)), D
        self.U = np.array([[self.number(j, i) for i in range(D)] for j in range(columns)])

    def number(self, column: int, n: int) -> float:
        generator = np.random.Generator(np.random.Philox(key=self.seed + ((column + 1) << 64)))
        p = generator.random(n + 1)[n]
        return float(self.law(np.minimum(p + 2.0**-54, 1 - 2.0**-53)))

    def redraw(self, i: int, near: int) -> None:
        self.own[i] = self.drawn
        self.drawn += 1
        self.common[i] = self.own[i] if near == i else self.common[near]
        for j in range(len(self.U)):
            u = self.number(j, self.own[i])
            if self.common[i] != self.own[i]:
                u = self.nearness * self.number(j, self.common[i]) + self.rest * u
            self.U[j, i] = u


class SparseComponents:
    """One or two columns each; near another is on the same columns."""

    def __init__(self, U: Array, narrowest: float, widest: float, seed: int) -> None:
        self.U, self.narrowest, self.widest, self.seed, self.drawn = U.copy(), narrowest, widest, seed, 0
        self.columns = [[int(j) for j in np.flatnonzero(u)] for u in U.T]

    def redraw(self, i: int, near: int) -> None:
        d = len(self.U)
        random = Random(self.seed, 2**64 - 1 - self.drawn)
        self.drawn += 1
        at = sorted(self.columns[near])
        if near == i:
            at = [random.below(d)]
            if d > 1 and random.uniform() < 0.5:
                at.append((at[0] + 1 + random.below(d - 1)) % d)
        width = self.narrowest * (self.widest / self.narrowest) ** random.uniform()
        self.U[:, i] = 0
        self.columns[i] = at
        if len(at) == 1:
            self.U[at[0], i] = 1 / width
        else:
            turn = 2 * pi * random.uniform()
            self.U[at[0], i], self.U[at[1], i] = cos(turn) / width, sin(turn) / width


class RecruitedKalman:
    """A filter on (z(x), scaled x, 1), whose first components are drawn anew."""

    def __init__(
        self, components: Components, task: Any, prior: float, recruiting: Recruiting, scale: float
    ) -> None:
        self.components, self.recruiting = components, recruiting
        self.filter = Kalman(self.features, task, prior, 0.0)
        self.inputs = identity(scale)
        self.exchanges = 0

    def features(self, x: Array) -> Array:
        return stack(fourier(self.components.U), self.inputs)(x)

    def score(self, x: Array) -> Array:
        return self.filter.score(x)

    def learn(self, x: Array, y: float, weight: float = 1.0) -> None:
        if weight == 0:
            return
        self.count(x, y)
        self.filter.learn(x, y, weight)
        change = self.recruiting.exchange()
        if change is None:
            return
        leaves, near = change
        self.exchanges += 1
        self.components.redraw(leaves, near)
        both = (leaves, self.components.U.shape[1] + leaves)
        for a in both:
            g = self.filter.P[:, a].copy()
            self.filter.W = self.filter.W - np.outer(self.filter.W[:, a], g) / g[a]
            self.filter.P = self.filter.P - np.outer(g, g) / g[a]
        for a in both:
            self.filter.W[:, a] = 0
            self.filter.P[a, :] = self.filter.P[:, a] = 0
            self.filter.P[a, a] = self.filter.prior

    def count(self, x: Array, y: float) -> None:
        """A running mean of what the loss would gain without each component."""
        z = self.filter.z(x)
        W, D, targets = self.filter.W, self.components.U.shape[1], self.filter.task[0] == "targets"
        f = W @ z
        r = y - f if targets else residual(f, y)
        p = 0.0 if targets else float(np.exp(log_probabilities(f).max()))
        h = 1.0 if targets else p * (1 - p)
        for i in range(len(self.recruiting.use)):
            m = W[:, i] * z[i] + W[:, D + i] * z[D + i]
            use = float(m @ r + h / 2 * (m @ m))
            self.recruiting.use[i] += 0.001 * (use - self.recruiting.use[i])


GAUSSIAN, LAPLACIAN = (0.9, sqrt(1 - 0.9**2)), (0.9, 1 - 0.9)
"""Nearness and rest: mixtures of two normal or Cauchy numbers with the distribution of each."""
