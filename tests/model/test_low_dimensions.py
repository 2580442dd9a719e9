"""One and two features make Gram matrices that rounding makes singular; nothing may come apart."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.preprocessing import scale

from budgetron import SGD, Gaussian, Linear, OnlineClassifier, OnlineRegressor, bpa_nn, bpa_p, pa
from budgetron.estimators.online import progressive
from tests.helpers import members
from tests.helpers.cases import each


def stream(d, n=2500, seed=1):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, -1] * X[:, 0]


@each("kernel", [Gaussian(0.5), Gaussian(0.01), Linear()], ids=repr)
@each("d", [1, 2])
@each("name", [name for task, name in members.expansions() if task == "binary"])
def test_scores_of_a_classifier_stay_small(name, d, kernel):
    X, target = stream(d)
    sgd = isinstance(getattr(members.make(name), "rule", None), SGD)
    rate = {"lam": 0.1} if sgd else {}  # the first step of SGD is 1 / lam
    model = OnlineClassifier(members.make(name, kernel, **rate, **roomy(name)), random_state=0)
    _, [scored] = progressive(model, X, target > 0, classes=[False, True])
    assert np.abs(scored.scores).max() < 200
    assert model.n_support_ > 0


@each("gamma", [0.5, 0.01])
@each("d", [1, 2])
@each("name", members.regressors())
def test_scores_of_a_regressor_stay_small(name, d, gamma):
    X, target = stream(d)
    model = OnlineRegressor(members.make(name, Gaussian(gamma), **roomy(name)), random_state=0)
    assert np.abs(model.progressive_predict(X, target)).max() < 400


def roomy(name):
    """A budget beyond the rank that the data have."""
    return {"budget": 60} if "budget" in members.parameters(name) else {}


@each("algorithm", [bpa_p, bpa_nn], ids=lambda a: a.__name__)
@each("kernel", [Gaussian(0.5), Gaussian(0.02), Linear()], ids=repr)
@each("seed", range(5))
def test_budgeted_passive_aggressive_is_pa_where_the_budget_exceeds_the_rank(algorithm, kernel, seed):
    X, target = stream(1, seed=seed)
    y = target > 0
    budgeted = OnlineClassifier(algorithm(kernel, budget=60)).progressive_predict(X, y)
    assert np.mean(budgeted != OnlineClassifier(pa(kernel)).progressive_predict(X, y)) < 0.005


def test_the_default_classifier_on_moons():
    X, y = make_moons(3000, noise=0.2, random_state=0)
    assert np.mean(OnlineClassifier().progressive_predict(scale(X), y) != y) < 0.06


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_default_regressor(d, seed):
    X, y = stream(d, n=6000, seed=seed)
    error = OnlineRegressor().progressive_predict(X, y) - y
    assert np.mean(error[3000:] ** 2) < 0.1 * np.var(y)
