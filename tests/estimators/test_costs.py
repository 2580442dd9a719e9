"""Predictions of the lowest expected cost. Nothing else changes."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from budgetron import Gaussian, OnlineClassifier, auto, load, rbp
from tests.helpers.cases import each


def rows(n=400, classes=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    y = np.array(["a", "b", "c"])[np.clip(np.digitize(X[:, 0], [0.5, 1.2]), 0, classes - 1)]
    return X, y


def learned(costs=None, classes=3, **more):
    X, y = rows(classes=classes)
    return OnlineClassifier(auto(5), random_state=0, costs=costs, **more).partial_fit(X, y), X


def cheapest(shares, classes, cost):
    """From the definition: for each row the label with the lowest sum of probability times cost."""
    chosen = []
    for row in shares:
        expected = [
            sum(p * cost(true, predicted) for p, true in zip(row, classes, strict=True))
            for predicted in classes
        ]
        chosen.append(classes[int(np.argmin(expected))])
    return chosen


@each("classes", [2, 3])
@each("costs", [{"b": 9}, {"a": 0.2, "b": 3}, {("b", "a"): 20, ("a", "b"): 2, "b": 4}, {"z": 5}, {}])
def test_the_definition(costs, classes):
    model, X = learned(costs, classes)
    plain, _ = learned(None, classes)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))

    def cost(true, predicted):
        return 0 if true == predicted else costs.get((true, predicted), costs.get(true, 1))

    expected = cheapest(plain.predict_proba(X), plain.classes_.tolist(), cost)
    assert model.predict(X).tolist() == expected
    assert [model.predict_one(x) for x in X[:40]] == expected[:40]
    if not costs or "z" in costs:
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@each("cut", [1, 37, 400])
def test_progressive_predictions_follow_them(cut):
    X, y = rows()
    parts = [slice(i, i + cut) for i in range(0, len(y), cut)]
    model, plain = (OnlineClassifier(auto(5), random_state=0, costs=c) for c in ({"c": 30}, None))
    classes = ["a", "b", "c"]
    predicted = np.concatenate([model.progressive_predict(X[p], y[p], classes=classes) for p in parts])
    shares = np.concatenate([plain.progressive_predict_proba(X[p], y[p], classes=classes) for p in parts])
    expected = cheapest(shares, classes, lambda a, b: 0 if a == b else 30 if a == "c" else 1)
    assert predicted.tolist() == expected


def test_a_threshold():
    model, X = learned({"b": 9}, 2)
    shares = model.predict_proba(X)[:, 1]
    assert (model.predict(X) == np.where(shares >= 0.1, "b", "a")).all()


def test_labels_that_are_not_known_are_not_predicted():
    X, y = rows()
    y[:100] = "a"
    model = OnlineClassifier(auto(5), random_state=0, costs={"a": 0.0, "c": 50})
    assert set(model.partial_fit(X[:50], y[:50]).progressive_predict(X[50:100], y[50:100])) == {"a"}
    first = int(np.flatnonzero(y == "c")[0])
    assert "c" not in model.progressive_predict(X[100:], y[100:])[: first - 100 + 1]


def test_they_travel(tmp_path):
    costs = {"b": 9.0, ("b", "a"): 3}
    model, X = learned(costs)
    model.save(tmp_path / "model")
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert again.costs == costs
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert clone(model).costs == costs
    model.set_params(costs=None).save(tmp_path / "plain")
    assert b"costs" not in (tmp_path / "plain").read_bytes()
    other, _ = learned()
    other.save(tmp_path / "other")
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "other").read_bytes()


@each(
    ("costs", "message"),
    [
        (5, "costs must be None or a dict from labels to costs, got 5"),
        ({"b": -1}, "costs"),
        ({"b": np.nan}, "costs"),
        ({("a", "b", "c"): 1}, "pairs"),
        ({("a", "b"): "x"}, "costs"),
    ],
)
def test_bad_costs(costs, message):
    model, X = learned(costs)
    with pytest.raises((TypeError, ValueError), match=message):
        model.predict(X)


def test_what_they_need():
    X, y = rows()
    model = OnlineClassifier(rbp(Gaussian(1.0), budget=5), costs={"b": 2}).partial_fit(X, y)
    with pytest.raises(ValueError, match="costs need a learner with probabilities"):
        model.predict(X)
    model = OnlineClassifier(costs={"x": 2}).partial_fit(X, y, classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="costs has 'x', which is not among the classes"):
        model.predict(X)
