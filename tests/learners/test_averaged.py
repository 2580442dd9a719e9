"""Averaged outputs: the average of f over the rounds, as one would compute it from copies."""

from functools import partial

import numpy as np
import pytest

from budgetron import (
    Averaged,
    DualNearest,
    DualProjection,
    DualProjectionClipped,
    DualRemoval,
    DualRemovalThenProjection,
    Gaussian,
    Mapped,
    Merge,
    OnlineClassifier,
    OnlineRegressor,
    ProjectSmallest,
    RemoveSmallest,
    bduol,
    bsgd,
    ogd,
    perceptron,
    projectron,
    sgd,
)
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels, Targets
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.trajectories import stream

KERNEL = Gaussian(0.3)
TASKS = {"binary": Labels(2), "multiclass": Labels(4), "regression": Targets()}
EXACT = {  # no support vector ever goes
    "perceptron": perceptron(KERNEL),
    "ogd": ogd(KERNEL, eta=0.2, lam=0.01),
    "sgd": sgd(KERNEL, lam=0.05),
    "projectron": projectron(KERNEL, budget=15),
}


def run(learner, task, n=200):
    """The averaged model after n rounds, the rows, and f after each round of the plain one at all rows."""
    X, y = stream(task, n, 11)
    plain = Model(learner.learner, TASKS[task], X.shape[1], np.float64, 0)
    averaged = Model(learner, TASKS[task], X.shape[1], np.float64, 0)
    history = []
    for i in range(n):
        row, label = X[i : i + 1], y[i : i + 1].astype(float)
        np.testing.assert_array_equal(plain.learn(row, label), averaged.learn(row, label))
        history.append(plain.scores(X))
    return averaged, X, np.array(history)


@each("task", TASKS)
@each("name", EXACT)
def test_the_average_over_all_rounds(name, task):
    averaged, X, history = run(Averaged(EXACT[name]), task)
    np.testing.assert_allclose(averaged.scores(X), history.mean(axis=0), rtol=1e-9, atol=1e-9)


@each("suffix", [0.1, 0.5, 0.9])
@each("n", [1, 2, 3, 57, 200])
def test_the_average_over_the_last_share(suffix, n):
    averaged, X, history = run(Averaged(EXACT["sgd"], suffix=suffix), "binary", n)
    start = int(averaged.state()["average.older_start"][0])
    np.testing.assert_allclose(averaged.scores(X), history[start:].mean(axis=0), rtol=1e-9, atol=1e-9)
    assert n - start >= suffix * n - 1e-9
    assert n - start <= (1 - (1 - suffix) ** 2) * n + 2


@pytest.mark.parametrize("maintenance", [ProjectSmallest, partial(ProjectSmallest, neighbours=3), Merge])
def test_what_is_done_to_f_is_done_to_the_average(maintenance):
    """The average keeps to the budget, and loses less of itself than where parts are dropped."""
    assert lost(maintenance) < 0.7 * lost(RemoveSmallest)


@pytest.mark.parametrize(
    "maintenance", [DualNearest, DualProjectionClipped, DualProjection, DualRemovalThenProjection]
)
def test_what_double_updating_does_to_f_it_does_to_the_average(maintenance):
    assert lost(maintenance, bduol) < 0.7 * lost(DualRemoval, bduol)


def lost(maintenance, algorithm=bsgd):
    """How much of the exact average is missing, relative to its size."""
    rate = {"lam": 0.05} if algorithm is bsgd else {}
    learner = Averaged(algorithm(KERNEL, budget=60, maintenance=maintenance, **rate))
    averaged, X, history = run(learner, "binary", 400)
    assert averaged.size <= 60
    exact = history.mean(axis=0)
    return np.linalg.norm(averaged.scores(X) - exact) / np.linalg.norm(exact)


@each(("task", "name"), [case for case in members.cases() if members.make(case[1]).has_average])
def test_every_learner_can_be_averaged(task, name):
    """The predictions made while learning are the learner's own, and the average is finite and bounded."""
    X, y = members.data(task)
    estimator = OnlineRegressor if task == "regression" else OnlineClassifier
    plain = estimator(members.make(name), random_state=0)
    averaged = estimator(Averaged(members.make(name)), random_state=0)
    np.testing.assert_array_equal(averaged.progressive_predict(X, y), plain.progressive_predict(X, y))
    assert averaged.n_support_ == plain.n_support_
    if name in members.scaling():
        assert np.isfinite(averaged.fitted_.model.scores(X)).all()
        return
    if isinstance(averaged.learner_.learner, Mapped):
        z = averaged.learner_.learner.features.set_params(random_state=0).fit_transform(X)
        f, size = z @ averaged.coef_.T, np.abs(averaged.coef_).max()
    else:
        f = Gaussian(0.5)(X, averaged.support_vectors_) @ averaged.dual_coef_.T
        size = np.abs(averaged.dual_coef_).max()
    np.testing.assert_allclose(f, averaged.fitted_.model.scores(X), rtol=1e-9, atol=1e-9 * size)


def test_the_average_is_steadier_than_the_last_perceptron():
    X, y = stream("binary", 3000, 1)
    train, test = slice(0, 2000), slice(2000, None)
    last = OnlineClassifier(perceptron(KERNEL)).fit(X[train], y[train])
    mean = OnlineClassifier(Averaged(perceptron(KERNEL))).fit(X[train], y[train])
    assert mean.score(X[test], y[test]) > last.score(X[test], y[test])


@each("suffix", [0, -0.5, 1.5, "all"])
def test_bad_suffix(suffix):
    with pytest.raises(ValueError, match="suffix"):
        OnlineClassifier(Averaged(perceptron(KERNEL), suffix=suffix)).fit([[0.0], [1.0]], [0, 1])
