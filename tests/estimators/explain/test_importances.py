"""Importances of columns: which matter, and that they follow the stream."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_selection import SelectFromModel

from budgetron import (
    Auto,
    Encoder,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    rbp,
)
from tests.helpers.cases import each

RNG = np.random.default_rng(0)
X = RNG.normal(size=(800, 4))


def test_of_a_linear_model_they_are_the_squares_of_its_weights():
    """Shuffling column j changes the prediction by w_j (x_j - x'_j), of variance 2 w_j^2 var(x_j)."""
    rows = np.column_stack([X, np.ones(len(X))])[:, :4]
    model = OnlineRegressor(Mapped(Identity(), Kalman(prior=100.0)), random_state=0)
    model.partial_fit(rows, rows @ [2.0, -1.0, 0.5, 0.0])
    with pytest.raises(AttributeError, match="feature_importances_ needs the rows that a model keeps"):
        model.feature_importances_  # noqa: B018
    model = OnlineRegressor(random_state=0).partial_fit(rows, rows @ [2.0, -1.0, 0.5, 0.0])
    assert_allclose(model.feature_importances_, np.array([4, 1, 0.25, 0]) / 5.25, atol=0.08)


@each("learner", [Auto(size=20), Neighbours(), rbp(Gaussian(0.2), budget=60)])
def test_the_column_that_decides_is_found(learner):
    model = OnlineClassifier(learner, random_state=0).partial_fit(X, X[:, 2] > 0)
    found = model.feature_importances_
    assert found.argmax() == 2
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert_array_equal(found, model.feature_importances_)


def test_they_follow_a_drift():
    model = OnlineClassifier(random_state=0).partial_fit(X, X[:, 0] > 0)
    before = model.feature_importances_
    model.partial_fit(X, X[:, 3] > 0).partial_fit(-X, -X[:, 3] > 0)
    after = model.feature_importances_
    assert (before.argmax(), after.argmax()) == (0, 3)


def test_records_have_one_for_each_column():
    rows = [{"n": v, "kind": "a" if u > 0 else "b", "same": 1.0} for v, u in X[:, :2].tolist()]
    model = OnlineClassifier(encoder=Encoder(), random_state=0).partial_fit(rows, X[:, 1] > 0)
    found = dict(zip(model.encoding_.names, model.feature_importances_.tolist(), strict=True))
    assert found["kind"] > 0.8
    assert found["same"] == 0


def test_scikit_learn_selects_by_them():
    model = OnlineClassifier(Auto(size=10), random_state=0)
    assert SelectFromModel(model).fit(X, X[:, 1] > 0).get_support().tolist() == [False, True, False, False]


def test_models_without_rows_have_none():
    assert not hasattr(OnlineClassifier(), "feature_importances_")
    model = OnlineClassifier(Mapped(RandomFourier(Gaussian(1.0), 5), Kalman())).partial_fit(X, X[:, 0] > 0)
    assert not hasattr(model, "feature_importances_")
    assert not hasattr(OnlineClassifier().start(X, [0, 1]), "feature_importances_")
