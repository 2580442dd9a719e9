"""Learners on explicit features written plainly from their equations, for the library to be compared with.

A model is f_c(x) = w_c'z(x) with a map z: random Fourier features, the identity, Nystrom's, or a stack.
A scalar rule, as in `reference`, answers the question with (shrink, beta), and w becomes
shrink w + beta v z'. A vector rule sees the features as well and says what the next w is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf, pi, sqrt
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from tests.references import kernelized as ref
from tests.references import sgd as reference_sgd
from tests.references.kernelized import (
    TINY,
    Array,
    Kernel,
    Loss,
    Multiclass,
    Question,
    Rule,
    Task,
    gram,
    squared,
)

# ---- frequencies: column j's i-th depends on the seed, j and i only


Law = Callable[[Array], Array]  # p in (0, 1) -> frequency: the inverse of its distribution function


def gaussian_law(gamma: float) -> Law:
    """For k(x, z) = exp(-gamma |x - z|^2): normal, of variance 2 gamma."""
    return lambda p: np.asarray(sqrt(2 * gamma) * ndtri(p))


def laplacian_law(gamma: float) -> Law:
    """For k(x, z) = exp(-gamma |x - z|_1): Cauchy, of scale gamma."""
    return lambda p: np.asarray(gamma * np.tan(pi * (p - 1 / 2)))


def uniforms(seed: int, column: int, D: int) -> Array:
    """The p_ij of one column j, i = 0 .. D - 1."""
    random = np.random.Generator(np.random.Philox(key=seed + ((column + 1) << 64)))
    return np.minimum(random.random(D) + 2.0**-54, 1 - 2.0**-53)


def frequencies(law: Law, seed: int, columns: Sequence[int], D: int) -> Array:
    """u_ij, one row per column j, one column per component i."""
    return np.array([law(uniforms(seed, j, D)) for j in columns]).reshape(len(columns), D)


# ---- maps


Map = Callable[[Array], Array]  # x -> z(x)


def fourier(U: Array) -> Map:
    """z(x) = (sin u_1'x, .., sin u_D'x, cos u_1'x, .., cos u_D'x) / sqrt(D), u_i the columns of U."""

    def z(x: Array) -> Array:
        angles = np.asarray(x, float) @ U
        return np.asarray(np.concatenate([np.sin(angles), np.cos(angles)]) / sqrt(U.shape[1]))

    return z


def identity(scale: float = 1.0, constant: bool = True) -> Map:
    """z(x) = (scale x_1, .., scale x_d, 1), the 1 only if constant."""

    def z(x: Array) -> Array:
        return np.append(scale * np.asarray(x, float), [1.0] if constant else [])

    return z


def stack(*maps: Map) -> Map:
    """z(x) = (z_1(x), z_2(x), ..)."""
    return lambda x: np.concatenate([z(x) for z in maps])


def nystrom(kernel: Kernel, landmarks: list[Array], rank: int) -> Map:
    """z(x) = D_r^(-1/2) V_r' k(x), of the leading eigenpairs of K = V D V' that are not zero."""
    D, V = np.linalg.eigh(gram(kernel, landmarks))  # ascending
    keep = [i for i in range(len(D))[::-1][:rank] if D[i] > TINY * D[-1]]
    D, V = D[keep], V[:, keep]
    return lambda x: np.asarray(V.T @ kernel(np.array(landmarks), np.asarray(x, float)) / np.sqrt(D))


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


# ---- a check of this file by itself: python -m tests.references.features


N, DIM = 60, 4
X = np.random.default_rng(0).normal(size=(N, DIM))
WEIGHTS = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], N)
TARGETS: list[tuple[Task, Array]] = [
    (ref.BINARY, np.where(X[:, 0] + np.random.default_rng(2).normal(size=N) > 0, 1.0, -1.0)),
    (ref.multiclass(3), np.random.default_rng(3).integers(0, 3, N).astype(float)),
    (ref.REGRESSION, X[:, 0] * X[:, 1] + 3),
]


class Learner(Protocol):
    """Any of the models."""

    def learn(self, x: Array, y: float, weight: float) -> float | Array: ...


def _same(a: object, b: object, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def _scores(model: Learner, y: Array) -> list[float | Array]:
    return [model.learn(*row) for row in zip(X, y, WEIGHTS, strict=True)]


def _losses(task: Task) -> list[Loss]:
    if task.labels:
        return [ref.hinge, ref.logistic, ref.squared_hinge, squared]
    return [squared, ref.absolute, ref.epsilon_insensitive(0.3)]


def _check_maps() -> None:
    """Other columns and more components change nothing; z(x)'z(y) is about k(x, y)."""
    for law, kernel in ((gaussian_law(0.3), ref.gaussian(0.3)), (laplacian_law(0.3), ref.laplacian(0.3))):
        U = frequencies(law, 7, range(DIM), 200_000)
        assert (frequencies(law, 7, [2, 0], 5) == U[[2, 0], :5]).all()
        z = fourier(U)
        _same(z(X[0]) @ z(X[0]), 1)
        _same(z(X[0]) @ z(X[1]), kernel(X[0], X[1]), 0.01)
    z = stack(fourier(U[:, :3]), identity(2.0), identity(constant=False))
    _same(z(X[0])[:6] * sqrt(3), [*np.sin(U[:, :3].T @ X[0]), *np.cos(U[:, :3].T @ X[0])])
    _same(z(X[0])[6:], [*(2 * X[0]), 1, *X[0]])


def _check_linear() -> None:
    """On the identity map, and on all of Nystrom's eigenvectors, a scalar rule has the linear kernel."""
    k = ref.linear()
    for task, y in TARGETS:
        pairs: list[tuple[Callable[[], Rule], Learner]] = [
            (partial(ref._perceptron, task, 0.5, 0.1), ref.perceptron(k, task, eta=0.5)),
            (partial(ref._pa, task, 0.3, 0.1), ref.pa(k, task, C=0.3)),
        ]
        for loss in _losses(task):
            ogd = ref.ogd(k, task, eta=0.1, lam=0.2, loss=loss)
            pairs.append((partial(ref._ogd, task, 0.1, 0.2, loss, 0.1), ogd))
            for lam in (0.05, 0.9, 3.0):
                sgd = reference_sgd.sgd(k, task, lam=lam, loss=loss)
                pairs.append((partial(StochasticGradient, lam, loss), sgd))
        for rule, exact in pairs:
            expected = _scores(exact, y)
            _same(_scores(Mapped(identity(constant=False), task, rule()), y), expected)
            for selection in ("updates", "first"):
                landmarks = 12 if selection == "updates" else DIM  # there are no more that are independent
                learner = NystromMapped(k, task, rule(), landmarks, DIM, selection)
                _same(_scores(learner, y), expected)
                assert learner.mapped is not None
                assert len(learner.candidates) == landmarks


def _check_nystrom() -> None:
    """With candidates from updates it is NOGD; at the switch f is projected."""
    k = ref.gaussian(0.3)
    for task, y in TARGETS:
        for loss in _losses(task):
            rule = partial(ref._ogd, task, 0.1, 0.0, loss, 0.1)
            nogd = ref.nogd(k, task, budget=15, rank=6, eta=0.1, loss=loss)
            _same(_scores(NystromMapped(k, task, rule(), 15, 6, "updates"), y), _scores(nogd, y))
        for rank in (15, 6):
            learner = NystromMapped(k, task, ref._pa(task, 0.3, 0.1), 15, rank, "first")
            rows = zip(X, y, WEIGHTS, strict=True)
            while learner.mapped is None:
                learner.learn(*next(rows))
            C = np.array(learner.candidates)
            assert (X[WEIGHTS > 0][:15] == C).all()
            V = np.linalg.eigh(gram(k, learner.candidates))[1][:, -rank:]
            f = np.array([k(C, s) for s in learner.S]).T @ learner.A  # the exact f on the candidates
            _same([np.atleast_1d(learner.score(c)) for c in C], V @ V.T @ f)


def _check_arow() -> None:
    """It is recursive least squares in regression; an update takes f(x) conf / (conf + r) of the way."""
    r, z = 0.7, identity()
    task, y = TARGETS[2]
    rule = AROW(r, 0.0)
    learner = Mapped(z, task, rule)
    _scores(learner, y)
    Z = np.array([z(x) for x in X])
    precision = np.eye(DIM + 1) + Z.T @ (Z * WEIGHTS[:, None]) / r
    assert learner.w is not None
    assert rule.Sigma is not None
    _same(learner.w[0], np.linalg.solve(precision, Z.T @ (WEIGHTS * y) / r))
    _same(rule.Sigma[0] @ precision, np.eye(DIM + 1))
    for task, y in TARGETS:
        for diagonal in (False, True):
            rule = AROW(r, None if task.labels else 0.1, diagonal)
            learner = Mapped(z, task, rule)
            for i in range(N):
                q = task.ask(np.atleast_1d(learner.score(X[i])), y[i], 0.0)
                Sigma = rule.Sigma or [np.eye(DIM + 1)] * task.outputs
                full = [np.diag(S) if S.ndim == 1 else S for S in Sigma]
                conf = WEIGHTS[i] * sum(z(X[i]) @ full[c] @ z(X[i]) for c in np.flatnonzero(q.v))
                learner.learn(X[i], y[i], WEIGHTS[i])
                update = q.y * q.fx < 1 if task.labels else abs(q.y - q.fx) > 0.1
                change = q.v @ np.atleast_1d(learner.score(X[i])) - q.fx
                _same(change, update * (q.y - q.fx) * conf / (conf + r))


def _check_newton() -> None:
    """By A^-1, carried along with Sherman and Morrison's formula."""
    eta, delta, z = 0.5, 0.2, identity()
    for task, y in TARGETS:
        for loss in _losses(task):
            epsilon = None if task.labels else 0.1
            learner = Mapped(z, task, OnlineNewton(eta, delta, loss, epsilon))
            w = np.zeros((task.outputs, DIM + 1))
            inverse = [np.eye(DIM + 1) / delta for _ in w]
            for i in range(N):
                q = task.ask(w @ z(X[i]), y[i], 0.0)
                learner.learn(X[i], y[i], WEIGHTS[i])
                for c in np.flatnonzero(q.v):
                    g = slope(loss, epsilon, q) * WEIGHTS[i] * q.v[c] * z(X[i])
                    Ag = inverse[c] @ g
                    inverse[c] -= np.outer(Ag, Ag) / (1 + g @ Ag)
                    w[c] -= eta * inverse[c] @ g
                _same(learner.score(X[i]), w @ z(X[i]) if task.outputs > 1 else w[0] @ z(X[i]))


def _check_diagonals() -> None:
    """Where each x is along an axis, the diagonal is all there is, but for AROW in one output only."""
    for task, y in TARGETS:
        epsilon, loss = (None, ref.logistic) if task.labels else (0.1, squared)
        rules: list[Callable[..., VectorRule]] = [partial(OnlineNewton, 0.5, 0.2, loss, epsilon)]
        if task.outputs == 1:
            rules.append(partial(AROW, 0.7, epsilon))
        for rule in rules:
            full, diagonal = (Mapped(np.asarray, task, rule(diagonal=d)) for d in (False, True))
            for i in range(N):
                row = X[i, 0] * np.eye(DIM)[i % DIM], y[i], WEIGHTS[i]
                _same(full.learn(*row), diagonal.learn(*row))


def _check_by_hand() -> None:
    """AdaGrad and coin betting on two coordinates of which the second is always 0."""
    adagrad = Mapped(np.asarray, ref.BINARY, AdaGrad(0.1, 0.0, ref.hinge))
    for x, w in ((1.0, 0.1), (2.0, 0.1 + 0.1 * 2 / sqrt(1 + 4))):
        adagrad.learn(np.array([x, 0.0]), 1.0)
        _same(adagrad.w, [[w, 0.0]])
    classes = Mapped(np.asarray, ref.multiclass(3), AdaGrad(0.1, 0.5, ref.hinge))
    classes.learn(np.array([2.0, 0.0]), 2.0, 0.5)  # s = 0; |g| = 1
    _same(classes.w, [[-0.1 / 1.5, 0], [0, 0], [0.1 / 1.5, 0]])
    coin = Mapped(np.asarray, ref.REGRESSION, CoinBetting(ref.absolute))
    for w in (1 / 100 * 1, 2 / 100 * (1 + 0.01)):
        coin.learn(np.array([1.0, 0.0]), 10.0)
        _same(coin.w, [[w, 0.0]])
    for _ in range(3000):
        coin.learn(np.array([1.0, 0.0]), 10.0)
    _same(coin.w, [[10.0, 0.0]], 0.05)


if __name__ == "__main__":
    _check_maps()
    _check_linear()
    _check_nystrom()
    _check_arow()
    _check_newton()
    _check_diagonals()
    _check_by_hand()
    print("the checks hold")
