"""SGD, BSGD, NBSGD (Le et al. 2016; Wang et al. 2012) and AVM (Le et al. 2017) from their equations.

With eta_t = 1 / (lam t), f_t = sum_i c_i k(s_i, .) / t, where c_i = -weight_i l'_i / lam is the same in
every later round: the factor (t - 1) / t of f is the change of the divisor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from scipy.optimize import brentq

from tests.references.step import (
    SMALL,
    TINY,
    Array,
    Kernel,
    Loss,
    Multiclass,
    Task,
    gram,
    hinge,
    solve,
    squared,
)


class SGD:
    """f(x) = sum_i c_i k(s_i, x) / t, one round at a time; the oldest support vector is first."""

    def __init__(self, kernel: Kernel, task: Task, lam: float, loss: Loss | None, budget: Budget) -> None:
        self.kernel, self.task, self.lam, self.budget = kernel, task, lam, budget
        self.loss = loss or (hinge if task.labels else squared)
        self.t = 0  # rounds of weight > 0
        self.y_max = 0.0
        self.S: list[Array] = []
        self.c: Array = np.zeros((0, task.outputs))

    @property
    def A(self) -> Array:
        """The coefficients c / t."""
        return self.c / max(self.t, 1)

    def score(self, x: Array) -> float | Array:
        """f(x), a number unless there are classes."""
        k = self.kernel(np.array(self.S), np.asarray(x, float)) if self.S else np.zeros(0)
        f = k @ self.c / max(self.t, 1)
        return f if isinstance(self.task, Multiclass) else float(f[0])

    def learn(self, x: Array, y: float, weight: float = 1.0) -> float | Array:
        """One round; the score from before the update."""
        x = np.array(x, float)
        before = self.score(x)
        if weight > 0:
            q = self.task.ask(np.atleast_1d(before), y, float(self.kernel(x, x)))
            slope = self.loss.slope(q.fx, q.y)
            self.t += 1
            self.y_max = max(self.y_max, 1.0 if self.task.labels else abs(y))
            if slope != 0:
                self.budget.insert(self, x, -weight * slope / self.lam * q.v)
                if self.loss is squared and self.lam <= 1:
                    self.enter_ball(self.y_max / sqrt(self.lam))
        return before

    def norm(self) -> float:
        """|f|, over all outputs."""
        return sqrt(max(0.0, float((self.c * (gram(self.kernel, self.S) @ self.c)).sum()))) / self.t

    def enter_ball(self, radius: float) -> None:
        """Project f onto |f| <= radius."""
        norm = self.norm()
        if norm > radius:
            self.c = self.c * (radius / norm)

    def append(self, x: Array, row: Array) -> None:
        self.S.append(x)
        self.c = np.vstack([self.c, row])

    def drop(self, i: int) -> None:
        del self.S[i]
        self.c = np.delete(self.c, i, axis=0)


# ---- maintenance: one step that makes S one smaller


Maintenance = Callable[[SGD], None]


def smallest(m: SGD) -> int:
    """argmin_i |c_i|^2 k(s_i, s_i)."""
    kii = np.array([float(m.kernel(s, s)) for s in m.S])
    return int(np.argmin((m.c**2).sum(1) * kii))


def remove(m: SGD) -> None:
    """Drop the smallest."""
    m.drop(smallest(m))


def project(G: Array, V: list[int], r: int, tolerance: float = TINY) -> tuple[Array, bool]:
    """The coefficients d = K_V^-1 k_rV, and whether k(s_r, .) is in the span of V."""
    d = solve(G[np.ix_(V, V)], G[V, r])
    return d, bool(G[r, r] - G[V, r] @ d <= tolerance * G[r, r])


def project_on(m: SGD, V: list[int], p: int) -> None:
    """Replace c_p k(s_p, .) by its projection on the span of V."""
    d, _ = project(gram(m.kernel, m.S), V, p)
    m.c[V] += np.outer(d, m.c[p])
    m.drop(p)


def project_all(m: SGD) -> None:
    """The smallest is projected on all the others."""
    p = smallest(m)
    project_on(m, [j for j in range(len(m.S)) if j != p], p)


def nearest(G: Array, p: int, neighbours: int) -> list[int]:
    """The support vectors nearest to p in feature space, but none in the span of nearer ones."""
    distance = G[p, p] + np.diag(G) - 2 * G[p]
    V: list[int] = []
    for j in np.argsort(distance, kind="stable").tolist():
        if j != p and len(V) < neighbours and not project(G, V, j)[1]:
            V.append(j)
    return V


def project_nearest(neighbours: int) -> Maintenance:
    """The smallest is projected on its nearest."""

    def step(m: SGD) -> None:
        p = smallest(m)
        project_on(m, nearest(gram(m.kernel, m.S), p, neighbours), p)

    return step


def merging_point(mu: float, log_kap: float) -> float:
    """The h that maximises mu kap^((1-h)^2) + (1-mu) kap^(h^2), for mu <= 1/2.

    The derivative is zero where phi(h) = log(h / (1-h)) + (2h-1) log kap is log(mu / (1-mu)) <= 0.
    phi rises from -inf until 2h(1-h) = -1/log kap, or until h = 1/2, and then falls to phi(1/2) = 0:
    so the zero in the rising part is the one maximum of [0, 1/2]. It is at least mu kap.
    """
    low = mu * exp(log_kap)
    if low == 0:
        return 0.0
    top = (1 - sqrt(1 + 2 / log_kap)) / 2 if log_kap < -2 else 0.5

    def excess(h: float) -> float:
        return log(h / (1 - h)) + (2 * h - 1) * log_kap - log(mu / (1 - mu))

    if excess(top) <= 0:
        return top
    if excess(low) >= 0:
        return low
    return float(brentq(excess, low, top, xtol=1e-300, rtol=1e-15, maxiter=10_000))


def merge(gamma: float) -> Maintenance:
    """The smallest row and its cheapest partner of the same sign become one, for k = gaussian(gamma)."""

    def step(m: SGD) -> None:
        size2 = (m.c**2).sum(1)
        i = int(np.argmin(size2))
        cheapest, best = np.inf, None
        for j in range(len(m.S)):
            if j == i or m.c[i] @ m.c[j] <= 0:
                continue
            a, b = sqrt(size2[i]), sqrt(size2[j])
            log_kap = -gamma * float(((m.S[i] - m.S[j]) ** 2).sum())
            h = merging_point(a / (a + b), log_kap)
            c = m.c[i] * exp((1 - h) ** 2 * log_kap) + m.c[j] * exp(h**2 * log_kap)
            cost = float(size2[i] + size2[j] + 2 * (m.c[i] @ m.c[j]) * exp(log_kap) - c @ c)
            if cost < cheapest:
                cheapest, best = cost, (j, h * m.S[i] + (1 - h) * m.S[j], c)
        if best is None:
            m.drop(i)
            return
        j, z, c = best
        for r in sorted((i, j), reverse=True):
            m.drop(r)
        m.append(z, c)

    return step


# ---- budgets: how c k(x, .) enters f


Chance = Callable[[int], bool]  # t -> whether to do a maintenance step


def always(_t: int) -> bool:
    """BSGD."""
    return True


def sometimes(beta: float, seed: int) -> Chance:
    """NBSGD: with probability min(beta / t, 1)."""
    random = np.random.Generator(np.random.Philox(key=seed))
    return lambda t: bool(random.random() < min(beta / t, 1.0))


@dataclass
class Budget:
    """Append; over B, by chance, one maintenance step. Exact projection folds a dependent x in instead."""

    B: float = np.inf
    maintain: Maintenance = remove
    chance: Chance = always

    def insert(self, m: SGD, x: Array, row: Array) -> None:
        if self.maintain is project_all:
            n = len(m.S)
            d, dependent = project(gram(m.kernel, [*m.S, x]), list(range(n)), n, SMALL)
            if dependent:
                m.c = m.c + np.outer(d, row)
                return
        m.append(x, row)
        if len(m.S) > self.B and self.chance(m.t):
            self.maintain(m)


class Approximate:
    """AVM: a term within delta of a support vector is added to the nearest one, the oldest on ties."""

    def __init__(self, delta: float, order: int) -> None:
        self.delta, self.order = delta, order

    def insert(self, m: SGD, x: Array, row: Array) -> None:
        distances = [float(np.linalg.norm(x - s, self.order)) for s in m.S]
        if distances and min(distances) <= self.delta:
            m.c[int(np.argmin(distances))] += row
        else:
            m.append(x, row)


# ---- the algorithms by name


def _maintenance(name: str, neighbours: int, gamma: float | None) -> Maintenance:
    if name == "remove":
        return remove
    if name == "project":
        return project_all
    if name == "nearest":
        return project_nearest(neighbours)
    if name == "merge" and gamma is not None:
        return merge(gamma)
    raise ValueError("maintenance is remove, project, nearest or (with gamma) merge")


def sgd(kernel: Kernel, task: Task, *, lam: float, loss: Loss | None = None) -> SGD:
    return SGD(kernel, task, lam, loss, Budget())


def avm(
    kernel: Kernel, task: Task, *, delta: float, lam: float, loss: Loss | None = None, order: int = 2
) -> SGD:
    """Order is that of the norm which measures distances: 1 for the Laplacian kernel."""
    return SGD(kernel, task, lam, loss, Approximate(delta, order))


def bsgd(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    lam: float,
    loss: Loss | None = None,
    maintenance: str = "remove",
    neighbours: int = 4,
    gamma: float | None = None,
) -> SGD:
    """Gamma, for merge: that of the Gaussian which the kernel is."""
    return SGD(kernel, task, lam, loss, Budget(budget, _maintenance(maintenance, neighbours, gamma)))


def nbsgd(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    lam: float,
    beta: float,
    loss: Loss | None = None,
    maintenance: str = "remove",
    neighbours: int = 4,
    gamma: float | None = None,
    seed: int = 0,
) -> SGD:
    """As bsgd, each maintenance step only with probability min(beta / t, 1)."""
    step = _maintenance(maintenance, neighbours, gamma)
    return SGD(kernel, task, lam, loss, Budget(budget, step, sometimes(beta, seed)))
