"""f in the coordinates of a reduced span (`nogd`): what is kept, read, saved and restored."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from budgetron import OGD, SGD, Averaged, Gaussian, Kernelized, Linear, Project, Squared
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels

D = 4
RULES = {"plain": OGD(0.3), "shrinking": OGD(0.3, 0.1), "ball": SGD(0.5, Squared())}
SELDOM = 4  # rounds without a step are counted up to this


def learner(rule="plain", rank=5, budget=15):
    return Kernelized(Gaussian(0.3), RULES[rule], Project(budget, rank=rank))


def model_of(learner, classes):
    return Model(learner, Labels(classes), D, np.float64, 0)


def rows(classes, n=300, seed=0):
    r = np.random.default_rng(seed)
    X, y = r.standard_normal((n, D)), r.integers(0, classes, n).astype(float)
    return X, 2 * y - 1 if classes == 2 else y


def bits(model):
    return {name: values.tobytes() for name, values in model.state().items()}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_coefficients_and_weights_are_the_same_function(rule, classes):
    X, y = rows(classes)
    model = model_of(learner(rule), classes)
    model.learn(X, y)
    state, outputs = model.state(), 1 if classes == 2 else classes
    assert state["low_rank.cut"] == 1
    alpha = np.array([state[f"expansion.alpha.{c}"] for c in range(outputs)])
    w, V = state["low_rank.weights"].reshape(outputs, -1), state["low_rank.V"].reshape(-1, 15)
    np.testing.assert_allclose(alpha, w @ V, rtol=1e-12, atol=1e-14)
    K = rbf_kernel(model.support_vectors(), X, gamma=0.3)
    scores = model.scores(X).reshape(len(X), -1)
    np.testing.assert_allclose(scores, (model.dual_coef() @ K).T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_reading_changes_no_bit(rule, classes, averaged):
    X, y = rows(classes)
    plain = learner(rule)
    read, unread = (model_of(Averaged(plain) if averaged else plain, classes) for _ in range(2))
    unread.learn(X, y)
    for i in range(len(X)):
        read.learn(X[i : i + 1], y[i : i + 1])
        read.dual_coef()
        if i % 7 == 0:
            bits(read)
            read.scores(X[:3])
    assert bits(read) == bits(unread)


def test_rows_without_a_step_settle_the_coefficients():
    """After them f(x) = alpha'k again, until the next step."""
    X, y = rows(2)
    whole, parts = (model_of(learner(), 2) for _ in range(2))
    calm_X, calm_y = np.repeat(X[:1], 200, axis=0), np.ones(200)  # soon right by more than the margin
    for each in (whole, parts):
        each.learn(X, y)
    assert whole.state()["low_rank.rested"] < SELDOM
    whole.learn(calm_X, calm_y)
    for size in (1, 2, 3, 194):
        parts.learn(calm_X[:size], calm_y[:size])
    assert bits(whole) == bits(parts)
    assert whole.state()["low_rank.rested"] == SELDOM
    copied = model_of(learner(), 2)
    copied.restore(whole.state())
    for each in (whole, parts, copied):
        each.learn(X, y)
    assert bits(whole) == bits(parts) == bits(copied)


def test_weights_are_widened():
    X, y = rows(2)
    model = model_of(learner(), 2)
    model.learn(X, y)
    f = model.scores(X).reshape(-1)
    model.widen(D, 3)
    np.testing.assert_array_equal(model.scores(X), np.stack([-f / 2, f / 2, 0 * f], axis=1))
    copied = copy(model)
    for each in (model, copied):
        each.learn(X, np.arange(len(X)) % 3.0)
    assert bits(model) == bits(copied)


def test_a_span_of_rank_0_keeps_f_at_0():
    """Rows of zeros have k(x,x) = 0 with a linear kernel, so no eigenvalue is above 0."""
    model = model_of(replace(learner(), kernel=Linear()), 2)
    model.learn(np.zeros((40, D)), np.ones(40))
    assert model.state()["low_rank.cut"] == 1
    assert not model.scores(np.ones((3, D))).any()


@pytest.mark.parametrize("labels", ["easy", "random"])
def test_batches_do_not_matter_if_the_span_is_large(labels):
    """Above 256 KB of eigenvectors, more rows are multiplied at once, and f stays in coordinates longer.

    Easy labels give runs of rows with and without steps, random ones mostly steps.
    """
    r = np.random.default_rng(0)
    X = r.standard_normal((1500, D))
    y = np.sign(X[:, 0] if labels == "easy" else r.standard_normal(len(X)))
    large = learner(rank=181, budget=185)
    whole, parts = (model_of(large, 2) for _ in range(2))
    scores = whole.learn(X, y)
    assert len(whole.state()["low_rank.V"]) * 8 > 2**18
    seen, at = [], 0
    for size in [1, 3, 8, 31, 64] * 15:
        if at >= len(X):
            break
        seen.append(parts.learn(X[at : at + size], y[at : at + size]))
        at += size
        if size == 8:
            restored = model_of(large, 2)
            restored.restore(parts.state())
            parts = restored
    np.testing.assert_array_equal(np.concatenate(seen), scores)
    assert bits(whole) == bits(parts)
    K = rbf_kernel(whole.support_vectors(), X[:50], gamma=0.3)
    np.testing.assert_allclose(whole.scores(X[:50]).ravel(), (whole.dual_coef() @ K).ravel(), atol=1e-9)
