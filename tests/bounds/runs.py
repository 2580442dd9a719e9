"""Runs looked at round by round, as points of a space: f before row t is w_t, and f_t(x) = w_t'z(x).

For a kernel, z are coordinates of the rows with z(x)'z(x') = k(x, x'). A bound of a paper is a sum of
inequalities, one for each round and any competitor g. The tests check these, because the sums are loose. A
check takes what a learner is said to do, apart from the run, so every test also shows that a run of another
learner fails it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from budgetron import Gaussian, Hinge
from budgetron.evaluate.ball import best_in_ball
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels, Targets

KERNEL = Gaussian(0.5)
ROUNDING = 1e-9


def stream(n=200, d=3, seed=0, noise=0.1):
    """Rows, and labels of -1 and +1 of which a share is wrong."""
    r = np.random.default_rng(seed)
    X = r.standard_normal((n, d))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0, 1.0, -1.0)
    return X, y * np.where(r.random(n) < noise, -1.0, 1.0)


def targets(n=200, d=3, seed=0):
    """Rows and noisy targets."""
    X, _ = stream(n, d, seed)
    return X, np.sin(2 * X[:, 0]) + 0.3 * np.random.default_rng(seed + 1).standard_normal(n)


def coordinates(K):
    """Z with Z Z' = K."""
    D, V = np.linalg.eigh(K)
    return V * np.sqrt(np.maximum(D, 0))


@dataclass
class Run:
    """``w[t]`` is f before row t, and the last one is f at the end; ``Z`` are the rows."""

    w: np.ndarray
    Z: np.ndarray
    y: np.ndarray
    support: list[np.ndarray]

    @property
    def f(self):
        """The scores before each row."""
        return (self.w[:-1] * self.Z).sum(1)

    @property
    def mistakes(self):
        return (self.f >= 0) != (self.y > 0)

    def progress(self, g):
        """|w_t - g|^2 - |w_{t+1} - g|^2."""
        return -np.diff(((self.w - g) ** 2).sum(1))

    def losses(self, loss=None):
        """Those of f_t in round t."""
        return np.vectorize((loss or Hinge()).build().value)(self.f, self.y)

    def losses_of(self, g, loss=None):
        return np.vectorize((loss or Hinge()).build().value)(self.Z @ g, self.y)

    def competitors(self, loss=None) -> Iterator[np.ndarray]:
        """0, the best of three balls, and some at random."""
        loss = loss or Hinge()
        yield np.zeros(self.Z.shape[1])
        for radius in (0.5, 2.0, 8.0):
            yield best(self, loss, radius)
        r = np.random.default_rng(0)
        for size in (0.1, 1.0):
            yield size * r.standard_normal(self.Z.shape[1])


FOUND: dict[Any, np.ndarray] = {}
"""The best functions of balls, which many tests share."""


def best(run: Run, loss, radius) -> np.ndarray:
    key = (run.Z.tobytes(), run.y.tobytes(), repr(loss), radius)
    if key not in FOUND:
        FOUND[key] = best_in_ball(run.Z, run.y, loss, radius, 1e-3).w
    return FOUND[key]


def run(learner, X, y, seed=0, kernel=KERNEL, weights=None) -> Run:
    """A learner of support vectors that are rows of the stream."""
    places = {row.tobytes(): i for i, row in enumerate(X)}
    task = Labels(2) if set(np.unique(y)) <= {-1.0, 1.0} else Targets()
    model = Model(learner, task, X.shape[1], np.float64, seed)
    alpha, support = np.zeros((len(X) + 1, len(X))), [np.zeros(0, int)]
    for t in range(len(X)):
        model.learn(X[t : t + 1], y[t : t + 1], None if weights is None else weights[t : t + 1])
        support.append(np.array([places[s.tobytes()] for s in model.support_vectors()], int))
        if len(support[-1]):
            np.add.at(alpha[t + 1], support[-1], model.dual_coef()[0])
    Z = coordinates(kernel(X))
    return Run(alpha @ Z, Z, y, support)


def fault(check, *args, **options):
    """Assert that a check fails."""
    with pytest.raises(AssertionError):
        check(*args, **options)


def below(left, right):
    """Assert left <= right, up to rounding."""
    left, right = np.asarray(left), np.asarray(right)
    assert (left <= right + ROUNDING * (1 + np.abs(right))).all(), float(np.max(left - right))


def descends(run, eta, lam=0.0, loss=None, L=1.0):
    """Theorem 1 of Zhao et al. 2012, and Eq. 5 of Lu et al. 2016, round by round.

    l_t(f_t) - l_t(g) <= (|f_t - g|^2 - |f_{t+1} - g|^2) / (2 eta) + lam |g|^2 / 2 + eta L^2 z'z

    It needs lam eta <= 1/2. Without lam, half of the last term is enough.
    """
    share = 1.0 if lam else 0.5
    for g in run.competitors(loss):
        cost = share * eta * L**2 * (run.Z**2).sum(1)
        below(
            run.losses(loss) - run.losses_of(g, loss),
            run.progress(g) / (2 * eta) + lam / 2 * (g @ g) + cost,
        )


__all__ = ["KERNEL", "Run", "below", "descends", "fault", "run", "stream", "targets"]
