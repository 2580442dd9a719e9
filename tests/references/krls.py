"""KRLS with approximate linear dependence (Engel, Mannor & Meir 2004), as the problem that it solves.

Nothing is updated: every row is kept, and the least squares are solved anew in every round.
"""

from __future__ import annotations

import numpy as np

from tests.references.step import TINY, Array, Kernel, gram, solve


class KRLS:
    """Least squares over all rows, in the span of the support vectors.

    In the span, a row x has the coordinates a = K^-1 k, and f(x) = a'K alpha. With the coordinates A of all
    rows and their weights w, alpha minimises sum w (y - A K alpha)^2 + lam alpha'K alpha. A row becomes a
    support vector if it is farther than sqrt(nu) from the span; it then has a coordinate of its own.
    """

    def __init__(self, kernel: Kernel, *, nu: float, lam: float = 0.0, budget: float = np.inf) -> None:
        self.kernel, self.nu, self.lam, self.budget = kernel, nu, lam, budget
        self.S: list[Array] = []
        self.A, self.y, self.w = np.zeros((0, 0)), np.zeros(0), np.zeros(0)
        self.alpha = np.zeros(0)

    def k(self, x: Array) -> Array:
        """Row of the kernel between each support vector and x."""
        return self.kernel(np.array(self.S), x) if self.S else np.zeros(0)

    def score(self, x: Array) -> float:
        """f(x)."""
        return float(self.k(np.asarray(x, float)) @ self.alpha)

    def learn(self, x: Array, y: float, weight: float = 1.0) -> float:
        """One round; the score from before the update."""
        x = np.array(x, float)
        before = self.score(x)
        if weight > 0:
            self.keep(x, y, weight)
            L = np.linalg.cholesky(gram(self.kernel, self.S))  # with u = L' alpha the sum has lam |u|^2
            rows = np.vstack([np.sqrt(self.w)[:, None] * (self.A @ L), self.lam**0.5 * np.eye(len(L))])
            targets = np.append(np.sqrt(self.w) * self.y, np.zeros(len(L)))
            self.alpha = solve(L.T, np.linalg.lstsq(rows, targets, rcond=None)[0])
        return before

    def keep(self, x: Array, y: float, weight: float) -> None:
        """The row's coordinates, in a span that it may widen."""
        a, kxx = solve(gram(self.kernel, self.S), self.k(x)), float(self.kernel(x, x))
        delta2 = kxx - float(self.k(x) @ a)
        if delta2 > max(self.nu, TINY * kxx) and len(self.S) < self.budget:
            self.S.append(x)
            self.A = np.hstack([self.A, np.zeros((len(self.A), 1))])
            a = np.append(0 * a, 1.0)
        self.A = np.vstack([self.A, a])
        self.y, self.w = np.append(self.y, y), np.append(self.w, weight)
