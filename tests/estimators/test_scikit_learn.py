"""scikit-learn's contract: its own checks, cloning and pickling, parameters, searches and pipelines."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from budgetron import (
    Auto,
    Forget,
    Gaussian,
    Laplacian,
    Logistic,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    RemoveRandom,
    Standardised,
    bogd_pp,
    bpa_p,
    forgetron,
    nogd,
    ogd,
    rbp,
)
from tests.helpers.cases import each, pairs
from tests.helpers.checks import checked
from tests.helpers.members import TASKS, bits, cases, data, estimator, same_state, scaling, scores, start

each_case = each(("task", "name"), cases())
each_task = each("task", TASKS)


def expected_failures(estimator):
    """Two checks that cannot pass for any estimator, and one that the Forgetron and neighbours cannot."""
    reason = (
        "a weight multiplies the loss of one presentation; it is not the same as repeating or removing "
        "rows for nonlinear online updates"
    )
    found = {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if isinstance(getattr(estimator.learner, "budget", None), Forget):
        found["check_class_weight_classifiers"] = (
            "the Forgetron shrinks f until the vector to remove does little damage; the check gives it a "
            "weight of 1000, so almost nothing of f remains"
        )
    if "Neighbours(" in repr(estimator.learner):
        found["check_class_weight_classifiers"] = (
            "the weight of a class does not help where none of the nearest rows is of that class"
        )
    return found


ESTIMATORS = [
    OnlineClassifier(),
    OnlineClassifier(rbp(Gaussian(), budget=50)),
    OnlineClassifier(forgetron(Gaussian(), budget=50), epochs=2, shuffle=True),
    OnlineClassifier(ogd(Gaussian(), loss=Logistic())),
    OnlineClassifier(nogd(Gaussian(), budget=40, rank=20, eta=0.5)),
    OnlineClassifier(Standardised(Neighbours(100))),
    OnlineRegressor(),
    OnlineRegressor(rbp(Gaussian(), budget=150, eta=0.2)),
    OnlineRegressor(bogd_pp(Gaussian(), budget=100), epochs=5, shuffle=True),
    OnlineRegressor(bpa_p(Laplacian(), budget=50)),
    OnlineRegressor(nogd(Gaussian(), budget=40, rank=20), epochs=2),
    OnlineRegressor(Neighbours()),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: " ".join(str(model).split())[:90])
def test_scikit_learn(model):
    """scikit-learn's checks pass, except for those of `expected_failures`, which fail."""
    checked(model, expected_failures(model))


@each_case
def test_clone(task, name):
    """A clone has copies of the parameters and no model."""
    model = estimator(task, name).fit(*data(task))
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert copied.learner is not model.learner
    if name not in scaling():
        assert copied.learner.kernel is not model.learner.kernel
    assert not hasattr(copied, "fitted_")


@pairs
@each_case
@each("dtype", [np.float32, np.float64])
@each("container", [np.asarray, sparse.csr_array])
def test_stop_and_go_on(task, name, container, dtype):
    """A model pickled or copied in mid-stream continues as if never stopped."""
    X, y = data(task)
    X = container(X.astype(dtype))
    model = start(estimator(task, name), task, X[:50], y[:50])
    before = bits(model)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(X[50:], y[50:])
    for other in copies:
        assert bits(other) == before
        other.partial_fit(X[50:], y[50:])
        assert same_state(model, other)
        assert scores(model, X).tobytes() == scores(other, X).tobytes()


@each_task
def test_pickle_after_set_params(task):
    """Parameters set after fitting change neither the model nor its pickle."""
    X, y = data(task)
    model = estimator(task, rbp(Gaussian(0.5), budget=10)).fit(X, y)
    expected, learner = scores(model, X), copy.deepcopy(model.learner_)
    model.set_params(learner__kernel__gamma=5.0, learner__rule__eta=3.0, learner__budget__budget=4)
    assert model.learner_ == learner
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(scores(loaded, X), expected)
    assert same_state(model.partial_fit(X, y), loaded.partial_fit(X, y))


def test_set_nested_params():
    """Nested parameters can be set by name; a part is set before its own parameters."""
    model = OnlineClassifier(ogd(Gaussian(0.5)))
    model.set_params(learner__rule__eta=0.3, learner__kernel__gamma=2.0, learner__budget=Forget(7))
    assert (model.learner.rule.eta, model.learner.kernel.gamma) == (0.3, 2.0)
    model.set_params(learner__budget__budget=5, learner__budget=RemoveRandom(9))
    assert model.learner.budget == RemoveRandom(5)
    assert model.get_params()["learner__budget__budget"] == 5


def test_search_over_a_number():
    """A grid search over a rule's parameter finds that a tiny step does not learn."""
    X, y = data("regression", 150)
    grid = {"learner__rule__eta": [1e-9, 0.2]}
    search = GridSearchCV(OnlineRegressor(ogd(Gaussian(0.5))), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"learner__rule__eta": 0.2}
    assert search.best_estimator_.learner_.rule.eta == 0.2


def test_search_over_budgets():
    """A grid search over whole budgets tries each of them."""
    X, y = data("binary")
    grid = {"learner__budget": [RemoveRandom(20), Forget(20), Forget(1)]}
    model = OnlineClassifier(rbp(Gaussian(0.5), budget=5), random_state=0)
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_estimator_.learner_.budget == search.best_params_["learner__budget"]
    assert search.best_params_["learner__budget"] in grid["learner__budget"]
    assert len(set(search.cv_results_["mean_test_score"])) > 1


def test_calibration():
    """A fitted model can be calibrated."""
    X, y = data("binary", 200)
    model = estimator("binary", "nogd").fit(X[:100], y[:100])
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X[100:], y[100:])
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


@each_case
def test_pipeline_and_cross_validation(task, name):
    """A pipeline with a scaler, scored by cross-validation."""
    X, y = data(task)
    values = cross_val_score(make_pipeline(StandardScaler(), estimator(task, name)), X, y, cv=3)
    assert np.isfinite(values).all()


@each_task
@each("prefer", ["threads", "processes"])
def test_parallel_cross_validation(task, prefer):
    """The folds may be fitted in parallel."""
    X, y = data(task)
    model = estimator(task, "rbp")
    with joblib.parallel_config(backend="threading" if prefer == "threads" else "loky", n_jobs=2):
        side_by_side = cross_val_score(model, X, y, cv=3)
    np.testing.assert_array_equal(side_by_side, cross_val_score(model, X, y, cv=3))


@each_task
def test_a_search_over_the_parameters_of_the_default(task):
    """``learner=None`` is the default, and its parameters can be searched."""
    X, y = data(task)
    model = estimator(task, None)
    grid = GridSearchCV(model, {"learner__size": [3, 5], "learner__drift": [False]}, cv=2).fit(X, y)
    best = grid.best_estimator_
    assert best.learner == Auto(grid.best_params_["learner__size"], drift=False)
    assert model.learner is None
    assert repr(model) == repr(estimator(task, None))
    copied = pickle.loads(pickle.dumps(grid)).best_estimator_
    np.testing.assert_array_equal(scores(copied, X), scores(best, X))


def test_the_parameters_of_the_default_leave_none_as_it_is():
    model = OnlineClassifier()
    assert model.get_params(deep=False)["learner"] is None
    assert model.get_params() | {"learner__size": 50, "learner__drift": True} == model.get_params()
    assert clone(model).learner is None
    assert model.set_params(epochs=2).learner is None
    assert model.set_params(learner=None, learner__size=9).learner == Auto(9)
    assert model.set_params(learner__drift=False).learner == Auto(9, drift=False)
    with pytest.raises(ValueError, match="Auto has no parameter 'sise'; it has: size, drift"):
        OnlineClassifier().set_params(learner__sise=3)
