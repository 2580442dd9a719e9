"""progressive_predict_many."""

from threading import Thread
from time import sleep

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from budgetron import Gaussian, OnlineClassifier, bogd, fogd, progressive_predict_many, rbp
from tests.helpers.cases import each
from tests.helpers.members import bits, data, estimator

NAMES = ("rbp", "bogd", "fogd", "forgetron")


def models(task="binary"):
    """New estimators."""
    return [estimator(task, name, random_state=i) for i, name in enumerate(NAMES)]


@each("task", ["binary", "multiclass", "regression"])
@each("n_jobs", [1, 2, -1])
def test_as_if_alone(task, n_jobs):
    """Predictions and models equal those of sequential calls."""
    X, y = data(task, 200)
    many, alone = models(task), models(task)
    results = progressive_predict_many(many, X, y, n_jobs=n_jobs)
    expected = [model.progressive_predict(X, y) for model in alone]
    assert all(np.array_equal(a, b) for a, b in zip(results, expected, strict=True))
    assert [bits(model) for model in many] == [bits(model) for model in alone]
    assert len({a.tobytes() for a in results}) > 1


@each("form", [np.array, sparse.csr_matrix, sparse.csr_array, pd.DataFrame, list])
def test_orders(form):
    """Each estimator has its own order; predictions are in the order of X."""
    X, y = data("binary", 200)
    orders = [np.random.default_rng(i).permutation(200) for i in range(4)]
    many, alone = models(), models()
    rows = form(X) if form is not list else X.tolist()
    results = progressive_predict_many(many, rows, y.tolist(), orders=orders, n_jobs=2)
    for result, model, order in zip(results, alone, orders, strict=True):
        assert np.array_equal(result[order], model.progressive_predict(X[order], y[order]))


def test_none_at_all():
    """No estimators give no results."""
    assert progressive_predict_many([], *data("binary")) == []


def test_errors_come_through():
    """An error of an estimator is raised unchanged."""
    X, y = data("binary")
    bad = [*models(), OnlineClassifier(rbp(Gaussian(-1.0), budget=5))]
    with pytest.raises(ValueError, match=r"Gaussian: gamma must be above 0, got -1\.0"):
        progressive_predict_many(bad, X, y, n_jobs=2)


def test_what_is_refused():
    """Shared models or generators and invalid orders are refused."""
    X, y = data("binary")
    model, random = estimator("binary", "rbp"), np.random.RandomState(0)
    with pytest.raises(ValueError, match="estimators 0 and 2 are the same object"):
        progressive_predict_many([model, estimator("binary", "bogd"), model], X, y)
    with pytest.raises(ValueError, match="estimators 0 and 1 share one random_state"):
        progressive_predict_many([estimator("binary", "rbp", random_state=random) for _ in range(2)], X, y)
    with pytest.raises(ValueError, match="2 orders for 1 estimators"):
        progressive_predict_many([model], X, y, orders=[np.arange(80)] * 2)
    for order in (np.arange(79), np.zeros(80, int), np.arange(80) - 1, np.arange(80) == 3):
        with pytest.raises(ValueError, match=r"orders\[0\] must hold every number from 0 to 79 once"):
            progressive_predict_many([model], X, y, orders=[order])
    with pytest.raises(ValueError, match="X has 80 rows, y has 79"):
        progressive_predict_many([model], X, y[:79])
    assert not hasattr(model, "fitted_")


@pytest.mark.parametrize("learner", [bogd(Gaussian(0.1), budget=300), fogd(Gaussian(0.1), components=300)])
def test_other_threads_go_on_while_models_learn(learner):
    """The interpreter lock is released. A benchmark measures the speedup."""
    X, y = data("binary", 60_000, features=30)
    models = [OnlineClassifier(learner, random_state=0) for _ in range(2)]
    work = Thread(target=progressive_predict_many, args=(models, X, y), kwargs={"n_jobs": 2})
    turns = 0
    work.start()
    while work.is_alive():
        turns += 1
        sleep(0.001)
    work.join()
    assert turns > 10  # one or two if it had to wait for a pass to end
