"""Learners on explicit features written plainly from their equations, for the library to be compared with.

A model is f_c(x) = w_c'z(x) with a map z of `maps`.
A scalar rule, as in `step`, answers the question with (shrink, beta), and w becomes
shrink w + beta v z'. A vector rule sees the features as well and says what the next w is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np

from tests.references.maps import Map, nystrom
from tests.references.step import Array, Kernel, Loss, Multiclass, Question, Rule, Task, gram, squared

# ---- a scalar rule more


@dataclass
class StochasticGradient:
    """SGD: eta_t = 1 / (lam t), shrink = 1 - eta_t lam; for the squared loss and lam <= 1, a ball."""

    lam: float
    loss: Loss
    t: int = 0  # rounds of weight > 0
    y_max: float = 0.0

    def __call__(self, q: Question, weight: float) -> tuple[float, float]:
        self.t += 1
        self.y_max = max(self.y_max, abs(q.y))
        return (self.t - 1) / self.t, -weight * self.loss.slope(q.fx, q.y) / (self.lam * self.t)

    @property
    def radius(self) -> float:
        """What |f| may be after a step."""
        return self.y_max / sqrt(self.lam) if self.loss is squared and self.lam <= 1 else inf


def ball(rule: Rule, norm: float) -> float:
    """The factor that takes f, of this norm, into the rule's ball, if it has one."""
    radius: float = getattr(rule, "radius", inf)
    return radius / norm if norm > radius else 1.0


# ---- vector rules: w (outputs x m), the question, the example's weight and its features -> the next w


class VectorRule(ABC):
    """Keeps a state per coordinate, or per pair of coordinates, of each row of w."""

    @abstractmethod
    def step(self, w: Array, q: Question, weight: float, z: Array) -> Array: ...


def slope(loss: Loss, epsilon: float | None, q: Question) -> float:
    """l'(f, y), 0 in the dead zone."""
    quiet = epsilon is not None and abs(q.y - q.fx) <= epsilon
    return 0.0 if quiet else loss.slope(q.fx, q.y)


@dataclass
class AdaGrad(VectorRule):
    """Duchi, Hazan & Singer 2011, diagonal: G += g^2, w -= eta g / (sqrt(G) + delta)."""

    eta: float
    delta: float
    loss: Loss
    epsilon: float | None = None
    G: Array | None = field(default=None, init=False)

    def step(self, w: Array, q: Question, weight: float, z: Array) -> Array:
        dl = slope(self.loss, self.epsilon, q)
        if dl == 0:
            return w
        if self.G is None:
            self.G = np.zeros_like(w)
        g = dl * weight * np.outer(q.v, z)
        self.G = self.G + g**2
        new = w.copy()
        seen = self.G > 0
        new[seen] -= self.eta * g[seen] / (np.sqrt(self.G[seen]) + self.delta)
        return new


@dataclass
class AROW(VectorRule):
    """Crammer, Kulesza & Dredze 2009; with epsilon, for regression, Vaits & Crammer 2011.

    Sigma[c] is the covariance of row c, a matrix, or its diagonal if diagonal.
    """

    r: float
    epsilon: float | None = None
    diagonal: bool = False
    Sigma: list[Array] | None = field(default=None, init=False)

    def step(self, w: Array, q: Question, weight: float, z: Array) -> Array:
        update = q.y * q.fx < 1 if self.epsilon is None else abs(q.y - q.fx) > self.epsilon
        if not update:
            return w
        if self.Sigma is None:
            start = np.ones(len(z)) if self.diagonal else np.eye(len(z))
            self.Sigma = [start.copy() for _ in w]
        rows = np.flatnonzero(q.v)
        Sz = {c: self.Sigma[c] * z if self.diagonal else self.Sigma[c] @ z for c in rows}
        conf = sum(q.v[c] ** 2 * (z @ Sz[c]) for c in rows)
        beta = 1 / (conf + self.r / weight)
        residual = q.y - q.fx  # y (1 - m) where y is -1 or +1
        new = w.copy()
        for c in rows:
            new[c] += beta * residual * q.v[c] * Sz[c]
            if self.diagonal:
                self.Sigma[c] = 1 / (1 / self.Sigma[c] + z**2 * weight / self.r)
            else:
                self.Sigma[c] -= np.outer(Sz[c], Sz[c]) / (z @ Sz[c] + self.r / weight)  # as if alone
        return new


@dataclass
class OnlineNewton(VectorRule):
    """Hazan, Agarwal & Kale 2007, not projected: A_c += g_c g_c', w_c -= eta A_c^-1 g_c, A_c first delta I.

    A[c] is a matrix, or its diagonal if diagonal.
    """

    eta: float
    delta: float
    loss: Loss
    epsilon: float | None = None
    diagonal: bool = False
    A: list[Array] | None = field(default=None, init=False)

    def step(self, w: Array, q: Question, weight: float, z: Array) -> Array:
        dl = slope(self.loss, self.epsilon, q)
        if dl == 0:
            return w
        if self.A is None:
            start = np.ones(len(z)) if self.diagonal else np.eye(len(z))
            self.A = [self.delta * start for _ in w]
        new = w.copy()
        for c in np.flatnonzero(q.v):
            g = dl * weight * q.v[c] * z
            if self.diagonal:
                self.A[c] = self.A[c] + g**2
                new[c] -= self.eta * g / self.A[c]
            else:
                self.A[c] = self.A[c] + np.outer(g, g)
                new[c] -= self.eta * np.linalg.solve(self.A[c], g)
        return new


@dataclass
class CoinBetting(VectorRule):
    """COCOB-Backprop (Orabona & Tommasi 2017, Algorithm 2), each coordinate by itself, w_1 = 0."""

    loss: Loss
    epsilon: float | None = None
    alpha: float = 100.0
    L: Array | None = field(default=None, init=False)  # the largest |g|
    G: Array | None = field(default=None, init=False)  # the sum of |g|
    reward: Array | None = field(default=None, init=False)
    theta: Array | None = field(default=None, init=False)  # the sum of g

    def step(self, w: Array, q: Question, weight: float, z: Array) -> Array:
        dl = slope(self.loss, self.epsilon, q)
        if dl == 0:
            return w
        if self.L is None or self.G is None or self.reward is None or self.theta is None:
            self.L, self.G, self.reward, self.theta = (np.zeros_like(w) for _ in range(4))
        g = -dl * weight * np.outer(q.v, z)
        self.L = np.maximum(self.L, np.abs(g))
        self.G = self.G + np.abs(g)
        self.reward = np.maximum(self.reward + w * g, 0)
        self.theta = self.theta + g
        new = np.zeros_like(w)
        seen = self.L > 0
        L, G, reward, theta = self.L[seen], self.G[seen], self.reward[seen], self.theta[seen]
        new[seen] = theta / (L * np.maximum(G + L, self.alpha * L)) * (L + reward)
        return new


# ---- the models


class Mapped:
    """f(x) = w z(x), one round at a time; w has a row per output and starts as zero."""

    def __init__(self, z: Map, task: Task, rule: Rule | VectorRule) -> None:
        self.z, self.task, self.rule = z, task, rule
        self.w: Array | None = None  # as wide as the first z

    def weights(self, z: Array) -> Array:
        """The matrix w."""
        if self.w is None:
            self.w = np.zeros((self.task.outputs, len(z)))
        return self.w

    def score(self, x: Array) -> float | Array:
        """f(x), a number unless there are classes."""
        z = self.z(np.asarray(x, float))
        f = self.weights(z) @ z
        return f if isinstance(self.task, Multiclass) else float(f[0])

    def learn(self, x: Array, y: float, weight: float = 1.0) -> float | Array:
        """One round; the score from before the update."""
        before = self.score(x)
        if weight > 0:
            z = self.z(np.asarray(x, float))
            q = self.task.ask(np.atleast_1d(before), y, float(z @ z))
            if isinstance(self.rule, VectorRule):
                self.w = self.rule.step(self.weights(z), q, weight, z)
            else:
                shrink, beta = self.rule(q, weight)
                self.step(self.rule, z, q.v, shrink, beta)
        return before

    def step(self, rule: Rule, z: Array, v: Array, shrink: float, beta: float) -> None:
        """What a scalar rule has answered."""
        self.w = shrink * self.weights(z)
        if beta != 0:
            self.w = self.w + beta * np.outer(v, z)
            self.w = self.w * ball(rule, float(np.linalg.norm(self.w)))


class NystromMapped:
    """Exact, f = sum_i A_i k(s_i, .), until there are landmarks; then Mapped on their leading eigenvectors.

    The candidates are, by selection, the rows of the first steps ("updates") or the first rows ("first").
    """

    def __init__(
        self, kernel: Kernel, task: Task, rule: Rule, landmarks: int, rank: int, selection: str
    ) -> None:
        if selection not in ("updates", "first"):
            raise ValueError("selection is updates or first")
        if isinstance(rule, VectorRule):
            raise TypeError("before there are landmarks a vector rule has no vector")
        self.kernel, self.task, self.rule = kernel, task, rule
        self.landmarks, self.rank, self.selection = landmarks, rank, selection
        self.candidates: list[Array] = []
        self.S: list[Array] = []
        self.A: Array = np.zeros((0, task.outputs))
        self.mapped: Mapped | None = None

    def score(self, x: Array) -> float | Array:
        """f(x), a number unless there are classes."""
        if self.mapped is not None:
            return self.mapped.score(x)
        k = self.kernel(np.array(self.S), np.asarray(x, float)) if self.S else np.zeros(0)
        f = k @ self.A
        return f if isinstance(self.task, Multiclass) else float(f[0])

    def learn(self, x: Array, y: float, weight: float = 1.0) -> float | Array:
        """One round; the score from before the update."""
        if self.mapped is not None:
            return self.mapped.learn(x, y, weight)
        x = np.array(x, float)
        before = self.score(x)
        if weight > 0:
            q = self.task.ask(np.atleast_1d(before), y, float(self.kernel(x, x)))
            shrink, beta = self.rule(q, weight)
            if self.selection == "updates" and beta != 0 and len(self.candidates) == self.landmarks:
                self.mapped = self.switch()
                self.mapped.step(self.rule, self.mapped.z(x), q.v, shrink, beta)
            else:
                self.step(x, q.v, shrink, beta)
                if self.independent(x) if self.selection == "first" else beta != 0:
                    self.candidates.append(x)
                if self.selection == "first" and len(self.candidates) == self.landmarks:
                    self.mapped = self.switch()
        return before

    def independent(self, x: Array) -> bool:
        """Whether k(x, .) is clearly outside the span of the candidates'."""
        kxx = float(self.kernel(x, x))
        if not self.candidates:
            return kxx > 0
        k = self.kernel(np.array(self.candidates), x)
        P = float(k @ np.linalg.lstsq(gram(self.kernel, self.candidates), k, rcond=None)[0])
        return kxx - P > 1e-10 * kxx

    def step(self, x: Array, v: Array, shrink: float, beta: float) -> None:
        """The exact model's step."""
        self.A = shrink * self.A
        if beta != 0:
            self.S.append(x)
            self.A = np.vstack([self.A, beta * v])
            norm2 = float((self.A * (gram(self.kernel, self.S) @ self.A)).sum())
            self.A = self.A * ball(self.rule, sqrt(max(0.0, norm2)))

    def switch(self) -> Mapped:
        """The projection of f: as z(s) is D^(-1/2) V' k(s), w_c = sum_s alpha_c z(s)."""
        z = nystrom(self.kernel, self.candidates, self.rank)
        mapped = Mapped(z, self.task, self.rule)
        mapped.w = np.zeros((self.task.outputs, len(z(self.candidates[0]))))
        for s, alpha in zip(self.S, self.A, strict=True):
            mapped.w = mapped.w + np.outer(alpha, z(s))
        return mapped
