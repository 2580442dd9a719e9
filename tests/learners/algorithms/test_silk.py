"""Implicit steps: every loss against the reference, what they minimise, and PA as a special case."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from budgetron import (
    PA,
    Gaussian,
    Kernelized,
    OnlineClassifier,
    OnlineRegressor,
    RemoveSmallest,
    Sigmoid,
    silk,
)
from tests.helpers.cases import each
from tests.helpers.trajectories import KERNELS, LOSSES, TASKS, native_scores, stream
from tests.references import kernelized as reference
from tests.references import step


@each("eta", [0.05, 0.7, 20.0])
@each("task", TASKS)
@each("loss", LOSSES)
def test_every_loss_follows_the_reference(loss, task, eta):
    native, plain = LOSSES[loss]
    if task == "regression" and native.of_margin:
        pytest.skip("a loss of the margin, for labels only")
    X, y = stream(task, 200, 3)
    weights = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], len(X))
    own, kernel = KERNELS["gaussian"]
    scores, _ = native_scores(task, silk(own, budget=20, eta=eta, lam=0.02, loss=native), X, y, weights)
    slow = reference.silk(kernel, TASKS[task], budget=20, eta=eta, lam=0.02, loss=plain)
    expected = [np.atleast_1d(slow.learn(*row)) for row in zip(X, y, weights, strict=True)]
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@each("lam", [0.0, 0.3])
@each("eta", [0.2, 5.0])
@each("loss", LOSSES)
def test_a_step_minimises_what_it_says(loss, eta, lam):
    """|h - f|^2 / 2 + eta (lam |h|^2 / 2 + l(h(x), y)), for h = f / (1 + eta lam) + beta k(x,.)."""
    plain, r = LOSSES[loss][1], np.random.default_rng(0)
    for fx, y, kxx in zip(r.normal(size=20), r.choice([-1.0, 1.0], 20), r.uniform(0.5, 2, 20), strict=True):
        shrink, beta = step.Implicit(eta, lam, plain)(step.Question(fx, y, kxx, np.ones(1), False), 1.0)
        assert shrink == 1 / (1 + eta * lam)

        def cost(beta, fx=fx, y=y, kxx=kxx, shrink=shrink):
            """But for |f|^2, which is given."""
            near = 2 * (shrink - 1) * beta * fx + beta**2 * kxx
            size = 2 * shrink * beta * fx + beta**2 * kxx
            return near / 2 + eta * (lam * size / 2 + plain.value(shrink * fx + beta * kxx, y))

        best = minimize_scalar(cost, bounds=(-50, 50), method="bounded", options={"xatol": 1e-12})
        assert cost(beta) <= best.fun + 1e-9


@each("task", ["binary", "multiclass"])
def test_without_a_regulariser_it_is_passive_aggressive(task):
    X, y = stream(task, 300, 5)
    one, _ = native_scores(task, silk(Gaussian(0.2), budget=25, eta=0.4, lam=0.0), X, y)
    other, _ = native_scores(task, Kernelized(Gaussian(0.2), PA(0.4), RemoveSmallest(25)), X, y)
    np.testing.assert_array_equal(one, other)


def test_a_step_never_overshoots():
    """However long: the prediction of a row just learned is between that before it and its target."""
    X, y = stream("regression", 60, 1)
    model = OnlineRegressor(silk(Gaussian(0.2), budget=100, eta=1e6, lam=0.0))
    for i in range(len(X)):
        before = model.predict(X[i : i + 1])[0] if i else 0.0
        after = model.partial_fit(X[i : i + 1], y[i : i + 1]).predict(X[i : i + 1])[0]
        assert min(before, y[i]) - 1e-6 <= after <= max(before, y[i]) + 1e-6


@each(
    ("learner", "told"),
    [
        (silk(Gaussian(1.0), budget=0), "budget"),
        (silk(Gaussian(1.0), budget=5, eta=0.0), "eta"),
        (silk(Gaussian(1.0), budget=5, lam=-1.0), "lam"),
    ],
    ids=repr,
)
def test_refused(learner, told):
    with pytest.raises(ValueError, match=told):
        OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1])


def test_a_row_of_no_length_makes_no_step():
    """With an indefinite kernel k(x,x) may be 0 or less."""
    model = OnlineClassifier(silk(Sigmoid(1.0, coef0=-2.0), budget=5)).fit([[0.0], [0.1]], [0, 1])
    assert model.n_support_ == 0
