"""The algorithms written plainly from their equations, for the library to be compared with.

A model is f(x) = sum_i A_i k(s_i, x). One round computes f(x), turns it into a scalar question,
lets the rule answer (shrink, beta), scales f by shrink and passes beta k(x, .) to the budget.
Nothing is kept from round to round but S, A and what the equations themselves carry along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kernel = Callable[[Array, Array], Array]  # (one vector or rows of vectors, a vector) -> value(s)

TINY = 1e-10  # relative: below it a squared distance, determinant or eigenvalue is taken for zero
SMALL = 1e-6  # the same for budgets that both add and remove what they project on


# ---- kernels


def gaussian(gamma: float) -> Kernel:
    """k(x, z) = exp(-gamma |x - z|^2)."""
    return lambda x, z: np.asarray(np.exp(-gamma * ((x - z) ** 2).sum(-1)))


def laplacian(gamma: float) -> Kernel:
    """k(x, z) = exp(-gamma |x - z|_1)."""
    return lambda x, z: np.asarray(np.exp(-gamma * np.abs(x - z).sum(-1)))


def polynomial(gamma: float, coef0: float, degree: int) -> Kernel:
    """k(x, z) = (gamma x'z + coef0)^degree."""
    return lambda x, z: np.asarray((gamma * (x @ z) + coef0) ** degree)


def linear() -> Kernel:
    """k(x, z) = x'z."""
    return lambda x, z: np.asarray(x @ z)


def sigmoid(gamma: float, coef0: float) -> Kernel:
    """k(x, z) = tanh(gamma x'z + coef0)."""
    return lambda x, z: np.asarray(np.tanh(gamma * (x @ z) + coef0))


# ---- losses


class Loss(NamedTuple):
    """l(f, y) and its derivative in f, which is 0 at a kink."""

    value: Callable[[float, float], float]
    slope: Callable[[float, float], float]


def sign(r: float) -> float:
    """-1, 0 or +1."""
    return float(np.sign(r))


hinge = Loss(lambda f, y: max(0.0, 1 - y * f), lambda f, y: -y if y * f < 1 else 0.0)
squared_hinge = Loss(lambda f, y: max(0.0, 1 - y * f) ** 2 / 2, lambda f, y: -y * max(0.0, 1 - y * f))
logistic = Loss(
    lambda f, y: float(np.logaddexp(0, -y * f)),
    lambda f, y: -y * float(np.exp(-np.logaddexp(0, y * f))),
)
squared = Loss(lambda f, y: (f - y) ** 2 / 2, lambda f, y: f - y)
absolute = Loss(lambda f, y: abs(f - y), lambda f, y: sign(f - y))


def epsilon_insensitive(epsilon: float) -> Loss:
    """max(0, |f - y| - epsilon)."""
    return Loss(
        lambda f, y: max(0.0, abs(f - y) - epsilon),
        lambda f, y: sign(f - y) if abs(f - y) > epsilon else 0.0,
    )


# ---- tasks


class Question(NamedTuple):
    """What a rule is asked: the score fx against y, in the direction v of the outputs."""

    fx: float
    y: float
    kxx: float  # squared norm of v k(x, .)
    v: Array
    mistake: bool


class Task(Protocol):
    """Turns the scores f and the target y into one scalar question."""

    outputs: int
    labels: bool

    def ask(self, f: Array, y: float, kxx: float) -> Question: ...


class Binary:
    """y = -1 or +1, predicted +1 when f >= 0."""

    outputs = 1
    labels = True

    def ask(self, f: Array, y: float, kxx: float) -> Question:
        predicted = 1.0 if f[0] >= 0 else -1.0
        return Question(float(f[0]), float(y), kxx, np.ones(1), predicted != y)


class Regression:
    """y is a number, predicted by f."""

    outputs = 1
    labels = False

    def ask(self, f: Array, y: float, kxx: float) -> Question:
        return Question(float(f[0]), float(y), kxx, np.ones(1), bool(y != f[0]))


class Multiclass:
    """The lift: f_y - f_s against +1, s the best wrong class, and |v|^2 = 2."""

    labels = True

    def __init__(self, n_classes: int) -> None:
        self.outputs = n_classes

    def ask(self, f: Array, y: float, kxx: float) -> Question:
        c = int(y)
        wrong = f.copy()
        wrong[c] = -np.inf
        s = int(np.argmax(wrong))
        v = np.zeros(self.outputs)
        v[c], v[s] = 1, -1
        return Question(float(f[c] - f[s]), 1.0, 2 * kxx, v, int(np.argmax(f)) != c)


BINARY = Binary()
REGRESSION = Regression()
multiclass = Multiclass


# ---- rules: the question and the example's weight -> (shrink, beta)


Rule = Callable[[Question, float], tuple[float, float]]


@dataclass
class Perceptron:
    """beta = eta y on a mistake or, given a margin, when y f <= margin (Projectron, Alg. 1)."""

    eta: float
    margin: float | None = None

    def __call__(self, q: Question, weight: float) -> tuple[float, float]:
        update = q.mistake if self.margin is None else q.y * q.fx <= self.margin
        return 1.0, weight * self.eta * q.y if update else 0.0


@dataclass
class PerceptronRegression:
    """beta = eta sign(r) when |r| > epsilon."""

    eta: float
    epsilon: float

    def __call__(self, q: Question, weight: float) -> tuple[float, float]:
        r = q.y - q.fx
        return 1.0, weight * self.eta * sign(r) if abs(r) > self.epsilon else 0.0


def clear(loss: float, scale: float) -> float:
    """The loss, 0 where it is no more than rounding of a difference of numbers of this scale."""
    return loss if loss > 1e-12 * max(1.0, abs(scale)) else 0.0


@dataclass
class PassiveAggressive:
    """PA-I: beta = y min(C, l / kxx)."""

    C: float

    def __call__(self, q: Question, weight: float) -> tuple[float, float]:
        loss = clear(hinge.value(q.fx, q.y), q.fx)
        return 1.0, q.y * min(weight * self.C, loss / q.kxx) if q.kxx > 0 else 0.0


@dataclass
class PassiveAggressiveRegression:
    """PA-I for regression: beta = sign(r) min(C, (|r| - epsilon) / kxx)."""

    C: float
    epsilon: float

    def __call__(self, q: Question, weight: float) -> tuple[float, float]:
        r = q.y - q.fx
        loss = clear(max(0.0, abs(r) - self.epsilon), q.y)
        return 1.0, sign(r) * min(weight * self.C, loss / q.kxx) if q.kxx > 0 else 0.0


@dataclass
class GradientDescent:
    """OGD (BOGD Eq. 2): beta = -eta l'(f), shrink = 1 - eta lam; epsilon is a dead zone of |r|."""

    eta: float
    lam: float
    loss: Loss
    epsilon: float | None

    def __call__(self, q: Question, weight: float) -> tuple[float, float]:
        quiet = self.epsilon is not None and abs(q.y - q.fx) <= self.epsilon
        slope = 0.0 if quiet else self.loss.slope(q.fx, q.y)
        return 1 - self.eta * self.lam, -self.eta * weight * slope


@dataclass
class Norma:
    """NORMA (Kivinen et al.): beta = eta sign(r) outside a tube whose width epsilon follows nu."""

    eta: float
    nu: float
    lam: float
    epsilon: float

    def __call__(self, q: Question, weight: float) -> tuple[float, float]:
        r, eta = q.y - q.fx, self.eta * weight
        outside = abs(r) > self.epsilon
        self.epsilon += (1 - self.nu) * eta if outside else -self.nu * eta
        return 1 - self.eta * self.lam, eta * sign(r) if outside else 0.0


# ---- the model


class Model:
    """f(x) = sum_i A_i k(s_i, x), one round at a time."""

    def __init__(self, kernel: Kernel, task: Task, rule: Rule, budget: Budget) -> None:
        self.kernel, self.task, self.rule, self.budget = kernel, task, rule, budget
        self.S: list[Array] = []
        self.A: Array = np.zeros((0, task.outputs))

    def k(self, x: Array) -> Array:
        """Row of the kernel between each support vector and x."""
        return self.kernel(np.array(self.S), x) if self.S else np.zeros(0)

    def kxx(self, x: Array) -> float:
        """k(x, x)."""
        return float(self.kernel(x, x))

    def score(self, x: Array) -> float | Array:
        """f(x), a number unless there are classes."""
        f = self.k(np.asarray(x, float)) @ self.A
        return f if isinstance(self.task, Multiclass) else float(f[0])

    def learn(self, x: Array, y: float, weight: float = 1.0) -> float | Array:
        """One round; the score from before the update."""
        x = np.array(x, float)
        before = self.score(x)
        if weight != 0:
            q = self.task.ask(np.atleast_1d(before), y, self.kxx(x))
            shrink, beta = self.rule(q, weight)
            self.A = shrink * self.A
            if beta != 0:
                self.budget.insert(self, x, q, beta)
        return before

    def append(self, x: Array, row: Array) -> None:
        self.S.append(x)
        self.A = np.vstack([self.A, row])

    def drop(self, i: int) -> None:
        del self.S[i]
        self.A = np.delete(self.A, i, axis=0)

    def replace(self, i: int, x: Array, row: Array) -> None:
        self.S[i], self.A[i] = x, row


def solve(K: Array, b: Array) -> Array:
    """K^-1 b."""
    return np.asarray(np.linalg.solve(K, b), dtype=np.float64)


def gram(kernel: Kernel, S: list[Array]) -> Array:
    """K_ij = k(s_i, s_j)."""
    return np.array([kernel(np.array(S), s) for s in S]).reshape(len(S), len(S))


# ---- budgets: how beta v k(x, .) enters f


class Budget(Protocol):
    """insert changes S and A; q is the question that beta answers."""

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None: ...


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


# ---- the algorithms by name


def _perceptron(task: Task, eta: float | None, epsilon: float, margin: float | None = None) -> Rule:
    if task.labels:
        return Perceptron(1.0 if eta is None else eta, margin)
    return PerceptronRegression(0.1 if eta is None else eta, epsilon)


def _pa(task: Task, C: float, epsilon: float) -> Rule:
    return PassiveAggressive(C) if task.labels else PassiveAggressiveRegression(C, epsilon)


def _ogd(task: Task, eta: float, lam: float, loss: Loss | None, epsilon: float) -> Rule:
    if task.labels:
        return GradientDescent(eta, lam, loss or hinge, None)
    return GradientDescent(eta, lam, loss or squared, epsilon)


def perceptron(kernel: Kernel, task: Task, *, eta: float | None = None, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _perceptron(task, eta, epsilon), Unbounded())


def stoptron(
    kernel: Kernel, task: Task, *, budget: int, eta: float | None = None, epsilon: float = 0.1
) -> Model:
    return Model(kernel, task, _perceptron(task, eta, epsilon), Stop(budget))


def rbp(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float | None = None,
    epsilon: float = 0.1,
    seed: int = 0,
) -> Model:
    return Model(kernel, task, _perceptron(task, eta, epsilon), RemoveRandom(budget, seed))


def forgetron(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float | None = None,
    epsilon: float = 0.1,
    reading: str = "definition",
) -> Model:
    forget = Forget(budget) if reading == "definition" else ForgetLargerRoot(budget)
    return Model(kernel, task, _perceptron(task, eta, epsilon, margin=0.0), forget)


def budget_perceptron(
    kernel: Kernel, task: Task, *, budget: int, eta: float | None = None, epsilon: float = 0.1
) -> Model:
    if not task.labels:
        raise ValueError("budget_perceptron needs labels")
    return Model(kernel, task, _perceptron(task, eta, epsilon), RemoveRedundant(budget))


def projectron(
    kernel: Kernel,
    task: Task,
    *,
    budget: int | None = None,
    eta: float | None = None,
    U: float | None = None,
    step: float | None = None,
    epsilon: float = 0.1,
) -> Model:
    """Projection threshold eta, or U of Eq. 13; step is the Perceptron's eta."""
    if U is not None and not task.labels:
        raise ValueError("U needs labels")
    return Model(kernel, task, _perceptron(task, step, epsilon), Project(budget, eta or 0.0, U))


def projectron_pp(
    kernel: Kernel,
    task: Task,
    *,
    budget: int | None = None,
    eta: float | None = None,
    U: float | None = None,
    step: float | None = None,
    epsilon: float = 0.1,
) -> Model:
    """As projectron; the U of margin errors, when not given, is from the budget or from eta."""
    if not task.labels:
        raise ValueError("projectron_pp needs labels")
    if U is not None:
        bound = U
    elif budget is not None:
        bound = sqrt((budget + 1) / log(budget + 1)) / 4
    elif eta:
        bound = 1 / (2 * eta)
    else:
        raise ValueError("projectron_pp needs a budget, eta > 0 or U")
    rule = _perceptron(task, step, epsilon, margin=1.0)
    return Model(kernel, task, rule, ProjectPlus(budget, eta or 0.0, U, bound))


def pa(kernel: Kernel, task: Task, *, C: float = 1.0, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _pa(task, C, epsilon), Unbounded())


def bpa_s(kernel: Kernel, task: Task, *, budget: int, C: float = 1.0, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _pa(task, C, epsilon), Swap(budget, no_others))


def bpa_nn(kernel: Kernel, task: Task, *, budget: int, C: float = 1.0, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _pa(task, C, epsilon), Swap(budget, nearest))


def bpa_p(kernel: Kernel, task: Task, *, budget: int, C: float = 1.0, epsilon: float = 0.1) -> Model:
    return Model(kernel, task, _pa(task, C, epsilon), Swap(budget, all_others))


def ogd(
    kernel: Kernel,
    task: Task,
    *,
    eta: float,
    lam: float = 0.0,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Model:
    return Model(kernel, task, _ogd(task, eta, lam, loss, epsilon), Unbounded())


def ogd_remove_oldest(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float,
    lam: float = 0.0,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Model:
    return Model(kernel, task, _ogd(task, eta, lam, loss, epsilon), RemoveOldest(budget))


def norma(kernel: Kernel, task: Task, *, eta: float, nu: float, lam: float, epsilon: float = 0.1) -> Model:
    if task.labels:
        raise ValueError("norma is for regression")
    return Model(kernel, task, Norma(eta, nu, lam, epsilon), Unbounded())


def bogd(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float,
    lam: float,
    cap: float,
    loss: Loss | None = None,
    epsilon: float = 0.1,
    seed: int = 0,
    reading: str = "definition",
) -> Model:
    sample: Sample | SampleScaled = Sample(budget, cap * eta, by_weight=False, seed=seed)
    if reading == "program":
        sample = SampleScaled(budget, cap * eta, seed)
    return Model(kernel, task, _ogd(task, eta, lam, loss, epsilon), sample)


def bogd_pp(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    eta: float,
    lam: float,
    cap: float,
    loss: Loss | None = None,
    epsilon: float = 0.1,
    seed: int = 0,
) -> Model:
    sample = Sample(budget, cap * eta, by_weight=True, seed=seed)
    return Model(kernel, task, _ogd(task, eta, lam, loss, epsilon), sample)


def nogd(
    kernel: Kernel,
    task: Task,
    *,
    budget: int,
    rank: int,
    eta: float,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Model:
    return Model(kernel, task, _ogd(task, eta, 0.0, loss, epsilon), ProjectRank(budget, rank))
