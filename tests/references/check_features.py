"""A check of the references on features among each other: python -m tests.references.check_features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Protocol

import numpy as np

from tests.references import kernelized as ref
from tests.references import sgd as reference_sgd
from tests.references import step
from tests.references.features import (
    AROW,
    AdaGrad,
    CoinBetting,
    Mapped,
    NystromMapped,
    OnlineNewton,
    StochasticGradient,
    VectorRule,
    slope,
)
from tests.references.maps import fourier, frequencies, gaussian_law, identity, laplacian_law, stack
from tests.references.step import Array, Loss, Rule, Task, gram, squared

N, DIM = 60, 4
X = np.random.default_rng(0).normal(size=(N, DIM))
WEIGHTS = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], N)
TARGETS: list[tuple[Task, Array]] = [
    (step.BINARY, np.where(X[:, 0] + np.random.default_rng(2).normal(size=N) > 0, 1.0, -1.0)),
    (step.multiclass(3), np.random.default_rng(3).integers(0, 3, N).astype(float)),
    (step.REGRESSION, X[:, 0] * X[:, 1] + 3),
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
        return [step.hinge, step.logistic, step.squared_hinge, squared]
    return [squared, step.absolute, step.epsilon_insensitive(0.3)]


def _check_maps() -> None:
    """Other columns and more components change nothing; z(x)'z(y) is about k(x, y)."""
    for law, kernel in ((gaussian_law(0.3), step.gaussian(0.3)), (laplacian_law(0.3), step.laplacian(0.3))):
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
    k = step.linear()
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
    k = step.gaussian(0.3)
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
        epsilon, loss = (None, step.logistic) if task.labels else (0.1, squared)
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
    adagrad = Mapped(np.asarray, step.BINARY, AdaGrad(0.1, 0.0, step.hinge))
    for x, w in ((1.0, 0.1), (2.0, 0.1 + 0.1 * 2 / sqrt(1 + 4))):
        adagrad.learn(np.array([x, 0.0]), 1.0)
        _same(adagrad.w, [[w, 0.0]])
    classes = Mapped(np.asarray, step.multiclass(3), AdaGrad(0.1, 0.5, step.hinge))
    classes.learn(np.array([2.0, 0.0]), 2.0, 0.5)  # s = 0; |g| = 1
    _same(classes.w, [[-0.1 / 1.5, 0], [0, 0], [0.1 / 1.5, 0]])
    coin = Mapped(np.asarray, step.REGRESSION, CoinBetting(step.absolute))
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
