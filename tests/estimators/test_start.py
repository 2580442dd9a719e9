"""``start`` computes gamma="scale" from rows without learning them."""

import numpy as np
import pytest
from scipy import sparse

from budgetron import Gaussian, OnlineClassifier, OnlineRegressor, rbp
from tests.helpers.cases import each
from tests.helpers.members import bits, cases, data, estimator, make


def labels(task):
    return () if task == "regression" else ([0, 1] if task == "binary" else [0, 1, 2],)


@each(("task", "name"), cases())
@each("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_a_started_model_is_one_that_has_seen_rows_of_weight_0(task, name, kind):
    X, y = data(task, 60)
    X = kind(X)
    started = estimator(task, name).start(X, *labels(task))
    other = estimator(task, name).partial_fit(X, y, *labels(task), sample_weight=0.0)
    assert bits(started) == bits(other)
    assert bits(started.partial_fit(X, y)) == bits(other.partial_fit(X, y))


def test_what_is_open_comes_from_all_the_rows():
    X, _ = data("binary", 60)
    model = OnlineClassifier(rbp(Gaussian(), budget=5)).start(X, ["no", "yes"])
    assert model.gamma_ == 1 / (X.shape[1] * X.var())
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.n_support_ == 0
    assert model.n_features_in_ == X.shape[1]


def test_it_starts_afresh_or_changes_nothing():
    X, y = data("binary", 60)
    model = OnlineClassifier(make("rbp"), random_state=0).fit(X, y)
    was = bits(model)
    for bad, classes in ((X * np.nan, [0, 1]), (X * 1e200, [0, 1]), (X, []), (X, [3]), (X[0], [0, 1])):
        with pytest.raises(ValueError, match=r"NaN|too large|empty|one class|2D"):
            model.start(bad, classes)
        assert bits(model) == was
    assert model.start(X[:, :3], [0, 1]).n_support_ == 0
    assert model.n_features_in_ == 3
    new = OnlineRegressor(make("ogd"))
    with pytest.raises(ValueError, match="NaN"):
        new.start(X * np.nan)
    assert not new.__sklearn_is_fitted__()
