"""KLMS and QKLMS against their references."""

import numpy as np
import pytest

from budgetron import (
    OGD,
    Approximate,
    Gaussian,
    Kernelized,
    Linear,
    OnlineRegressor,
    Squared,
    Unbounded,
    klms,
    qklms,
)
from tests.helpers.cases import each, pairs
from tests.helpers.trajectories import KERNELS, native_scores, stream
from tests.references.least_mean_squares import KLMS, QKLMS


def agree(task, learner, reference, seed, n):
    X, y = stream(task, n, seed)
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], n)
    scores, estimator = native_scores(task, learner, X, y, weights)
    expected = [reference.learn(*row) for row in zip(X, y, weights, strict=True)]
    np.testing.assert_allclose(scores[:, 0], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(estimator.support_vectors_, reference.S)
    np.testing.assert_allclose(estimator.dual_coef_[0], reference.a, rtol=1e-9, atol=1e-9)


@pairs
@each("seed", [0, 1, 2])
@each("task", ["regression", "binary"])
@each("kernel", ["gaussian", "laplacian", "polynomial"])
def test_klms_follows_the_reference(kernel, task, seed, long):
    native, plain = KERNELS[kernel]
    eta = 0.01 if kernel == "polynomial" else 0.3
    agree(task, klms(native, eta=eta), KLMS(plain, eta), seed, 400 if long else 150)


@pairs
@each("seed", [0, 1, 2])
@each("task", ["regression", "binary"])
@each(("kernel", "order"), [("gaussian", 2), ("laplacian", 1)])
@each("delta", [0.3, 1.2])
def test_qklms_follows_the_reference(delta, kernel, order, task, seed, long):
    native, plain = KERNELS[kernel]
    learner = qklms(native, delta=delta, eta=0.3)
    agree(task, learner, QKLMS(plain, 0.3, delta, order), seed, 400 if long else 150)


def test_they_are_compositions():
    rule = OGD(0.2, 0.0, Squared(), 0.0)
    assert klms(Gaussian(0.5), eta=0.2) == Kernelized(Gaussian(0.5), rule, Unbounded())
    assert qklms(Gaussian(0.5), delta=0.3, eta=0.2) == Kernelized(Gaussian(0.5), rule, Approximate(0.3))


def test_a_larger_quantum_leaves_fewer_support_vectors():
    X, y = stream("regression", 500, 0)
    sizes = [
        OnlineRegressor(qklms(Gaussian(0.2), delta=delta)).fit(X, y).n_support_
        for delta in (1e-9, 0.5, 1.0, 2.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == len(np.unique(X, axis=0))


def test_qklms_needs_a_quantum_and_a_kernel_that_falls():
    refused = {"delta": qklms(Gaussian(1.0), delta=0), "distance": qklms(Linear(), delta=1.0)}
    for told, learner in refused.items():
        with pytest.raises(ValueError, match=told):
            OnlineRegressor(learner).fit([[0.0], [1.0]], [0.0, 1.0])
