"""Calls that a new user tries first."""

import warnings

import numpy as np
import pytest

from budgetron import Gaussian, OnlineClassifier, OnlineRegressor, auto, ogd, rbp
from tests.helpers.cases import each


def rows(n=200, classes=3):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, np.array(["a", "b", "c"])[random.integers(classes, size=n)]


@each("classes", [2, 3])
@each("cut", [1, 64, 200])
def test_progressive_probabilities_and_scores(classes, cut):
    X, y = rows(classes=classes)
    models = [OnlineClassifier(auto(5), random_state=0) for _ in range(4)]
    parts = [slice(i, i + cut) for i in range(0, 200, cut)]
    labels = ["a", "b", "c"][:classes]
    predicted = np.concatenate([models[0].progressive_predict(X[p], y[p], classes=labels) for p in parts])
    shares = np.concatenate(
        [models[1].progressive_predict_proba(X[p], y[p], classes=labels) for p in parts]
    )
    scores = [models[2].progressive_decision_function(X[p], y[p], classes=labels) for p in parts]
    scores = np.concatenate(scores)
    assert shares.shape == scores.shape == (200, classes)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(np.array(labels)[scores[1:].argmax(axis=1)], predicted[1:])
    for i in range(60):
        if i:
            np.testing.assert_array_equal(models[3].predict_proba(X[i : i + 1])[0], shares[i])
        models[3].partial_fit(X[i : i + 1], y[i : i + 1], classes=labels)


def test_progressive_probabilities_of_labels_that_come():
    X, y = rows()
    y[:50] = "a"
    model = OnlineClassifier(auto(5), random_state=0)
    first = model.progressive_predict_proba(X[:50], y[:50])
    assert first.tolist() == [[1.0]] * 50
    shares = model.progressive_predict_proba(X[50:], y[50:])
    assert shares.shape == (150, 3)
    assert shares[0].tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(
        AttributeError, match="progressive_predict_proba needs a learner with probabilities"
    ):
        OnlineClassifier(rbp(Gaussian(1.0), budget=5)).progressive_predict_proba(X, y)


def test_one_row_before_the_first():
    """As river's models answer."""
    model = OnlineClassifier()
    assert (model.predict_one({"a": 1}), model.predict_proba_one({"a": 1})) == (None, {})
    assert OnlineRegressor().predict_one([1.0]) == 0.0
    started = OnlineClassifier().start([[0.0]], classes=["x", "y"])
    assert started.predict_proba_one([0.0]) == {"x": 0.5, "y": 0.5}
    assert OnlineClassifier().start([[0.0]]).predict_one([0.0]) is None
    model.learn_one({"a": 1}, "u")
    assert model.predict_one({"a": 2}) == "u"


@each(
    ("text", "sentence"),
    [
        ("fogd", r"learner must be a Learner, got the name 'fogd': write budgetron\.fogd\(\)"),
        ("fogdd", r"learner must be a Learner, got 'fogdd'; did you mean budgetron\.fogd\(\)\?"),
        ("?", r"learner must be a Learner, got '\?'; for example budgetron\.auto\(\)\."),
    ],
)
def test_a_name_in_place_of_a_learner(text, sentence):
    with pytest.raises(TypeError, match=sentence):
        OnlineClassifier(text).fit(*rows())


def test_a_column_that_hides_the_others():
    X, _ = rows()
    model = OnlineRegressor(ogd(Gaussian("scale")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X * [1, 1, 1e5], X[:, 0])
    with pytest.warns(UserWarning, match=r"hides the others.*scale the columns"):
        model.fit(X * [1, 1, 1e9], X[:, 0])
