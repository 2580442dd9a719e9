"""One step of a kernel learner, plainly from its equations: kernels, losses, tasks, rules, the model.

A model is f(x) = sum_i A_i k(s_i, x). One round computes f(x), turns it into a scalar question,
lets the rule answer (shrink, beta), scales f by shrink and passes beta k(x, .) to the budget.
Nothing is kept from round to round but S, A and what the equations themselves carry along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kernel = Callable[[Array, Array], Array]  # of vectors, or of arrays of them as NumPy broadcasts them

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
    return lambda x, z: np.asarray((gamma * (x * z).sum(-1) + coef0) ** degree)


def linear() -> Kernel:
    """k(x, z) = x'z."""
    return lambda x, z: np.asarray((x * z).sum(-1))


def sigmoid(gamma: float, coef0: float) -> Kernel:
    """k(x, z) = tanh(gamma x'z + coef0)."""
    return lambda x, z: np.asarray(np.tanh(gamma * (x * z).sum(-1) + coef0))


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
class Implicit:
    """ILK (Cheng et al. 2006): h minimises |h - f|^2 / 2 + eta (lam |h|^2 / 2 + weight l(h(x), y)).

    Setting the gradient to 0: h = (f - eta weight l'(h(x)) k(x,.)) / (1 + eta lam), and so h = shrink f +
    beta k(x,.) with beta + shrink eta weight l'(shrink f(x) + beta kxx) = 0. The left side rises with beta,
    and jumps at the kinks of the loss: bisection.
    """

    eta: float
    lam: float
    loss: Loss

    def __call__(self, q: Question, weight: float) -> tuple[float, float]:
        shrink = 1 / (1 + self.eta * self.lam)
        s, a = shrink * self.eta * weight, shrink * q.fx

        def side(beta: float) -> float:
            return beta + s * self.loss.slope(a + beta * q.kxx, q.y)

        first, last = 0.0, -s * self.loss.slope(a, q.y)  # the slope at a makes the longest step
        if q.kxx <= 0 or side(last) * last <= 0:
            return shrink, last if q.kxx > 0 else 0.0
        for _ in range(200):
            middle = (first + last) / 2
            first, last = (middle, last) if side(middle) * last < 0 else (first, middle)
        return shrink, clear(abs(last), 0.0) * sign(last)


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
            if beta != 0 or getattr(self.budget, "takes_every_row", False):
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


class Budget(Protocol):
    """insert changes S and A; q is the question that beta answers.

    A budget with ``takes_every_row`` is called when beta is 0, too.
    """

    def insert(self, m: Model, x: Array, q: Question, beta: float) -> None: ...


def solve(K: Array, b: Array) -> Array:
    """K^-1 b."""
    return np.asarray(np.linalg.solve(K, b), dtype=np.float64)


def gram(kernel: Kernel, S: list[Array]) -> Array:
    """K_ij = k(s_i, s_j)."""
    rows = np.array(S)
    return kernel(rows[:, None], rows) if len(S) else np.zeros((0, 0))
