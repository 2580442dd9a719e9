"""Budgets written plainly from their equations: how beta v k(x, .) enters f."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from tests.references.step import SMALL, TINY, Array, Model, Question, gram, hinge, solve


class Unbounded:
    """Append."""

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        m.append(x, beta * q.v)


@dataclass
class Stop:
    """Stoptron: append until full, then ignore."""

    B: int

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        if len(m.S) < self.B:
            m.append(x, beta * q.v)


class RemoveRandom:
    """RBP: when full, a uniformly random slot is replaced."""

    def __init__(self, B: int, seed: int) -> None:
        self.B, self.random = B, np.random.Generator(np.random.Philox(key=seed))

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        if len(m.S) < self.B:
            m.append(x, beta * q.v)
        else:
            m.replace(int(self.random.random() * self.B), x, beta * q.v)


@dataclass
class RemoveOldest:
    """When full, drop the oldest; append."""

    B: int

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        if len(m.S) == self.B:
            m.drop(0)
        m.append(x, beta * q.v)


@dataclass
class RemoveSmallest:
    """SILK: append; over B, drop the smallest coefficient, |A_i|^2 k(s_i, s_i)."""

    B: int

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        m.append(x, beta * q.v)
        if len(m.S) > self.B:
            m.drop(int(np.argmin((m.A**2).sum(1) * np.diag(gram(m.kernel, m.S)))))


@dataclass
class RemoveRedundant:
    """Budget Perceptron: append; over B, drop argmax_i y_i (f(s_i) - alpha_i k(s_i, s_i))."""

    B: int

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        m.append(x, beta * q.v)
        if len(m.S) > self.B:
            K = gram(m.kernel, m.S)
            others = K - np.diag(np.diag(K))
            margin = (np.sign(m.A) * (others @ m.A)).sum(1)
            m.drop(int(np.argmax(margin)))


@dataclass
class Forget:
    """Forgetron, self-tuned: the largest phi with psi(phi) <= 15/32 M - Q, then drop the oldest."""

    B: int
    M: int = 0  # mistakes
    Q: float = 0.0  # sum of psi

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        self.M += q.mistake
        m.append(x, beta * q.v)
        if len(m.S) <= self.B:
            return
        v = np.sign(m.A[0])
        norm2 = float(v @ v) * m.kxx(m.S[0])
        sigma, mu = float(np.abs(m.A[0]).max()), float(v @ m.A.T @ m.k(m.S[0]))

        def psi(phi: float) -> float:
            return norm2 * (sigma * phi) ** 2 + 2 * sigma * phi * (1 - phi * mu)

        slack = 15 / 32 * self.M - self.Q
        a = norm2 * sigma**2 - 2 * sigma * mu
        if psi(1) <= slack:
            phi = 1.0
        elif slack > 0:
            phi = slack / (sigma + sqrt(sigma**2 + a * slack))
        else:  # no phi exists: leave the new term out
            m.drop(self.B)
            return
        self.Q += psi(phi)
        m.A = phi * m.A
        m.drop(0)


@dataclass
class ForgetLargerRoot:
    """Forgetron of Lu et al.'s program: the larger root of psi(phi) = 15/32 M - Q where both are positive.

    With several classes, mu is the score of the oldest one's own class, which is the one of its positive
    coefficient.
    """

    B: int
    M: int = 0  # mistakes
    Q: float = 0.0  # sum of psi

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        self.M += q.mistake
        m.append(x, beta * q.v)
        if len(m.S) <= self.B:
            return
        a_1 = m.A[0]
        y = np.sign(a_1) if len(a_1) == 1 else np.sign(a_1).clip(0)
        sigma, mu = float(np.abs(a_1).max()), float(y @ m.A.T @ m.k(m.S[0]))
        # psi(phi) = square phi^2 + 2 sigma phi
        square = float(y @ y) * m.kxx(m.S[0]) * sigma**2 - 2 * sigma * mu
        slack = 15 / 32 * self.M - self.Q
        if square + 2 * sigma <= slack:
            phi = 1.0
        else:
            # both roots exist: were slack above the summit of psi, psi(1) would be within it
            roots = np.roots([square, 2 * sigma, -slack]).real
            phi = float(roots.max())
        if not phi > 0:  # leave the new term out
            m.drop(self.B)
            return
        self.Q += square * phi**2 + 2 * sigma * phi
        m.A = phi * m.A
        m.drop(0)


class SampleScaled:
    """BOGD of Lu et al.'s program: drop one, others times B / (B - 1), then all scaled to fit the cap."""

    def __init__(self, B: int, limit: float, seed: int) -> None:
        self.B, self.limit = B, limit
        self.random = np.random.Generator(np.random.Philox(key=seed))

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        if len(m.S) < self.B:
            m.append(x, beta * q.v)
        else:
            if self.B > 1:
                m.A = self.B / (self.B - 1) * m.A
            m.replace(int(self.random.random() * self.B), x, beta * q.v)
        m.A = m.A * min(1.0, self.limit / max(float(np.abs(m.A).max()), 1e-300))


class Sample:
    """BOGD Eq. 10: drop i drawn from p, each other row over its own 1 - p_j, capped at cap eta."""

    def __init__(self, B: int, limit: float, by_weight: bool, seed: int) -> None:
        self.B, self.limit, self.by_weight = B, limit, by_weight
        self.random = np.random.Generator(np.random.Philox(key=seed))

    def p(self, m: Model) -> Array:
        """1/B (BOGD), or Eq. 16 (BOGD++): p_i = 1 - s |alpha_i| sqrt(k(s_i, s_i))."""
        if not self.by_weight:
            return np.full(self.B, 1 / self.B)
        kii = np.array([m.kxx(s) for s in m.S])
        size = np.linalg.norm(m.A, axis=1) * np.sqrt(np.maximum(kii, 0))
        if not size.any():
            return np.full(self.B, 1 / self.B)
        p = np.maximum(0, 1 - (self.B - 1) / size.sum() * size)
        return np.asarray(p / p.sum())

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        if len(m.S) < self.B:
            m.append(x, beta * q.v)
            return
        p, u = self.p(m), self.random.random()
        i = int((np.cumsum(p) <= u).sum()) if self.by_weight else int(u * self.B)
        i = min(i, self.B - 1)  # the sum of p may round to less than 1
        for j in range(self.B):
            if j != i:
                m.A[j] = np.clip(m.A[j] / (1 - p[j]), -self.limit, self.limit)
        m.replace(i, x, beta * q.v)


class Projection(NamedTuple):
    """The projection of k(x, .) on the span of S: d = K^-1 k, P = k'd, |delta|^2 = kxx - P."""

    d: Array
    P: float
    delta: float
    dependent: bool


def project(m: Model, x: Array) -> Projection:
    """Solve K d = k."""
    k, kxx = m.k(x), m.kxx(x)
    d = solve(gram(m.kernel, m.S), k)
    P = float(k @ d)
    return Projection(d, P, sqrt(max(0.0, kxx - P)), kxx - P <= TINY * kxx)


@dataclass
class Project:
    """Projectron: alpha += beta d when |delta| <= eta, fixed or (with U) of Eq. 13; else append."""

    B: int | None
    eta: float
    U: float | None

    def threshold(self, q: Question, P: float) -> float:
        """Eq. 13: eta_t = (2 l - P - 0.5) / (2 U)."""
        return self.eta if self.U is None else (2 * hinge.value(q.fx, q.y) - P - 0.5) / (2 * self.U)

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        d, P, delta, dependent = project(m, x)
        full = self.B is not None and len(m.S) >= self.B
        if dependent or full or delta <= self.threshold(q, P):
            m.A = m.A + beta * np.outer(d, q.v)
        else:
            m.append(x, beta * q.v)


@dataclass
class ProjectPlus(Project):
    """Projectron++ (Sec. 4.1): a margin error adds tau beta d if the bound b is not negative."""

    bound: float  # U in b

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        if q.mistake:
            super().insert(m, x, q, beta)
        elif q.y * q.fx > 0:
            d, P, delta, _ = project(m, x)
            loss = hinge.value(q.fx, q.y)
            tau = min(loss / P, 1.0) if P > 0 else 1.0
            if tau * (2 * loss - tau * P - 2 * self.bound * delta) >= 0:
                m.A = m.A + tau * beta * np.outer(d, q.v)


def no_others(_gram: Array, _r: int) -> list[int]:
    """BPA-S: V = {t}."""
    return []


def nearest(G: Array, r: int) -> list[int]:
    """BPA-NN: V = {t, the support vector nearest to r}, unless those two are dependent."""
    t = len(G) - 1
    others = [j for j in range(t) if j != r]
    if not others:
        return []
    j = min(others, key=lambda j: float(G[r, r] + G[j, j] - 2 * G[r, j]))
    det = G[t, t] * G[j, j] - G[t, j] ** 2
    return [j] if det > TINY * G[t, t] * G[j, j] else []


def all_others(G: Array, r: int) -> list[int]:
    """BPA-P: V = everything but r."""
    return [j for j in range(len(G) - 1) if j != r]


Others = Callable[[Array, int], list[int]]


@dataclass
class Swap:
    """BPA (Wang & Vucetic 2010): r leaves, refitted on V, t among them; the r that hurts least."""

    B: int
    others: Others

    def fit(self, G: Array, r: int) -> tuple[list[int], Array, float]:
        """V, d = K_V^-1 k_rV, and the squared distance of k(s_r, .) from the span of V."""
        V = [*self.others(G, r), len(G) - 1]
        d = solve(G[np.ix_(V, V)], G[V, r])
        distance2 = float(G[r, r] - G[V, r] @ d)
        if self.others is nearest:  # d may be large: below rounding, a difference is not a distance
            distance2 = max(distance2, 1e-15 * float(G[r, r] + d**2 @ np.diag(G)[V]))
        return V, d, distance2

    def without(self, G: Array, A: Array, r: int, term: Array) -> Array:
        """The coefficients over S and t after r gives way to the new term."""
        V, d, _ = self.fit(G, r)
        new = np.vstack([A, term])
        new[V] += np.outer(d, A[r])
        new[r] = 0
        return new

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        if self.others is all_others and project(m, x).delta ** 2 <= SMALL * m.kxx(x):
            m.A = m.A + beta * np.outer(project(m, x).d, q.v)
        elif len(m.S) < self.B:
            m.append(x, beta * q.v)
        else:
            self.swap(m, x, beta * q.v)

    def swap(self, m: Model, x: Array, term: Array) -> None:
        G = gram(m.kernel, [*m.S, x])
        # x is in V, so f_new(x), and with it the hinge, is the same for each r; what differs
        # in swap_objective is |A_r|^2 times the squared distance
        cost = [float(m.A[r] @ m.A[r]) * self.fit(G, r)[2] for r in range(self.B)]
        r = int(np.argmin(cost))
        new = self.without(G, m.A, r, term)
        m.A = new[:-1]
        m.replace(r, x, new[-1])


def swap_objective(G: Array, old: Array, new: Array, y: float, C: float) -> float:
    """BPA's own objective, binary: 0.5 |f_new - f|^2 + C hinge(f_new(x), y), x the last of G."""
    change = new - old
    return float(change @ G @ change / 2) + C * hinge.value(float(G[-1] @ new), y)


@dataclass
class ProjectRank:
    """NOGD: once full, K^-1 becomes V D^-1 V' of the top eigenpairs and alpha becomes V V'alpha."""

    B: int
    rank: int
    inverse: Array | None = None

    def switch(self, m: Model) -> Array:
        """Put alpha in the top eigenvectors' span; V D^-1 V'."""
        D, V = np.linalg.eigh(gram(m.kernel, m.S))  # ascending
        keep = [i for i in range(self.B)[-self.rank :] if D[i] > TINY * D[-1]]
        D, V = D[keep], V[:, keep]
        m.A = V @ V.T @ m.A
        return np.asarray(V / D @ V.T)

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        if len(m.S) < self.B:
            m.append(x, beta * q.v)
            return
        if self.inverse is None:
            self.inverse = self.switch(m)
        m.A = m.A + beta * np.outer(self.inverse @ m.k(x), q.v)


class Prune:
    """POLK: append; while f stays within the error of what it was then, drop the one that changes it least.

    f is always the projection of the function after the append on the span of those that are left
    (destructive KOMP). A term in the span is projected on it, and what that changes counts.
    """

    takes_every_row = True

    def __init__(self, error: float, B: float = np.inf) -> None:
        self.error, self.B = error, B

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None:
        spent = 0.0
        if beta != 0:
            d, P, _, _ = project(m, x)
            delta2 = m.kxx(x) - P
            if delta2 <= SMALL * m.kxx(x):
                m.A = m.A + beta * np.outer(d, q.v)
                spent = beta**2 * float(q.v @ q.v) * max(delta2, 0.0)
            else:
                m.append(x, beta * q.v)
        K, A, V = gram(m.kernel, m.S), m.A, list(range(len(m.S)))
        while V:
            least, without = min((self.change(K, A, [i for i in V if i != j]), j) for j in V)
            if spent + least > self.error**2 and len(V) <= self.B:
                break
            V = [i for i in V if i != without]
        m.A = solve(K[np.ix_(V, V)], K[V] @ A) if len(V) < len(m.S) else A
        m.S = [m.S[i] for i in V]

    def change(self, K: Array, A: Array, V: list[int]) -> float:
        """The squared distance of f from the span of V, summed over the outputs."""
        W = [i for i in range(len(K)) if i not in V]
        onto = solve(K[np.ix_(V, V)], K[np.ix_(V, W)])
        rest = K[np.ix_(W, W)] - K[np.ix_(W, V)] @ onto  # of what is not in V, the part outside of the span
        return float((A[W] * (rest @ A[W])).sum())
