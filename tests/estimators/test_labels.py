"""Labels of every type, and class probabilities."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
from scipy.special import logsumexp

import budgetron
from budgetron import Gaussian, Logistic, OnlineClassifier, ogd
from budgetron.model.labels import KnownLabels, Scored
from tests.helpers.cases import each
from tests.helpers.members import classifiers, data, estimator, make, multiclass, parameters, same_state

LABELS = {
    "strings": np.array(["ham", "more ham", "spam"]),
    "objects": np.array(["ham", "more ham", "spam"], dtype=object),
    "negative": np.array([-7, -1, 3]),
    "whole floats": np.array([1.0, 2.0, 5.0]),
    "truth": np.array([False, True]),
}


@each("task", ["binary", "multiclass"])
@each("kind", LABELS)
def test_labels(task, kind):
    """Predictions have the type of the labels, and ``classes_`` is sorted."""
    X, y = data(task)
    y = np.minimum(y, len(LABELS[kind]) - 1)
    named = LABELS[kind][: max(y) + 1]
    expected = estimator(task, "forgetron").fit(X, y)
    fitted = estimator(task, "forgetron").fit(X, named[y])
    told = estimator(task, "forgetron").partial_fit(X, named[y].tolist(), classes=named[::-1].tolist())
    for model in (fitted, told):
        assert model.classes_.tolist() == named.tolist()
        assert model.predict(X).tolist() == named[expected.predict(X)].tolist()
        assert same_state(model, expected)
        assert kind == "objects" or model.predict(X).dtype == named.dtype


def test_labels_from_the_first_batch():
    """progressive_predict without classes takes the labels of its y."""
    X, y = data("multiclass")
    model = estimator("multiclass", "rbp")
    assert set(model.progressive_predict(X, y)) <= {0, 1, 2}
    assert list(model.classes_) == [0, 1, 2]


@each("name", multiclass())
def test_two_of_three_labels_seen(name):
    """A class may appear late or never."""
    X, y = data("multiclass")
    model = estimator("multiclass", name).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert model.decision_function(X).shape == (len(y), 3)
    assert model.partial_fit(X, y).predict(X).max() <= 2


@each("task", ["binary", "multiclass"])
@each("name", [name for name in classifiers() if "loss" in parameters(name)])
def test_probabilities(task, name):
    """The logistic loss alone has probabilities; they sum to 1 and agree with the scores."""
    X, y = data(task)
    assert not hasattr(estimator(task, name), "predict_proba")
    model = estimator(task, make(name, loss=Logistic())).fit(X, y)
    p, f = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    if task == "binary":
        np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-f)), rtol=1e-12)
    else:
        logarithms = model.predict_log_proba(X)
        differences = logarithms[:, 1:] - logarithms[:, :1]
        np.testing.assert_allclose(differences, f[:, 1:] - f[:, :1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)


def test_probabilities_of_scipy():
    """Of scores that are equal, nearly equal and far apart."""
    rng = np.random.default_rng(0)
    for width in (1, 3, 9):
        scores = np.concatenate(
            [np.zeros((4, width)), *(rng.normal(0, s, (99, width)) for s in (1e-9, 1, 500))]
        )
        scores = np.concatenate([scores, scores.round()])
        logits = np.hstack([-scores, scores]) / 2 if width == 1 else scores
        labels = KnownLabels(np.arange(max(width, 2)))
        shares = labels.log_probabilities([Scored(scores, len(labels))])
        expected = logits - logsumexp(logits, axis=1, keepdims=True)
        np.testing.assert_allclose(shares, expected, rtol=1e-14, atol=1e-300)
        each = [labels.log_probabilities([Scored(row[None], len(labels))])[0] for row in scores]
        np.testing.assert_array_equal(each, shares)


def test_no_probabilities_without_logistic():
    """An estimator whose scores are not logits has no predict_proba; the error says why."""
    X, y = data("binary")
    model = OnlineClassifier(make("pa"))
    assert not hasattr(model.fit(X, y), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)


def test_probabilities_are_of_the_model():
    """The loss of the fitted model decides whether there are probabilities."""
    X, y = data("binary")
    model = OnlineClassifier(ogd(Gaussian(0.5))).fit(X, y)
    model.set_params(learner__rule__loss=Logistic())
    assert not hasattr(model, "predict_proba")


def test_extreme_probabilities():
    """Scores far from 0 give probabilities of 0 and 1, with no warning."""
    X = np.array([[-1e3], [1e3]])
    model = OnlineClassifier(ogd(budgetron.Linear(), eta=1.0, loss=Logistic())).fit(X, [0, 1])
    np.testing.assert_array_equal(model.predict_proba(X), [[1, 0], [0, 1]])
    assert model.predict_log_proba(X).max() == 0


@pytest.mark.parametrize(
    "labels",
    [
        [dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2023, 5, 5)],
        [Decimal("1.5"), Decimal(2), Decimal("0.1")],
        [dt.timedelta(1), dt.timedelta(2), dt.timedelta(0)],
    ],
)
def test_labels_of_any_type_that_can_be_sorted(labels):
    rows = [{"x": float(i % 3)} for i in range(90)]
    y = [labels[i % 3] for i in range(90)]
    model = OnlineClassifier(random_state=0).partial_fit(rows, y)
    assert model.classes_.tolist() == sorted(labels)
    one = OnlineClassifier(random_state=0)
    for row, label in zip(rows, y, strict=True):
        one.learn_one(row, label)
    assert one.predict_one(rows[1]) == model.predict_one(rows[1]) == labels[1]
    assert list(one.predict_proba_one(rows[0])) == sorted(labels)
    fixed = OnlineClassifier().partial_fit(rows, y, classes=labels)
    with pytest.raises(ValueError, match="which is not among the classes"):
        fixed.partial_fit(rows[:1], [max(labels) * 2 if isinstance(labels[0], Decimal) else labels[0].max])
    with pytest.raises(ValueError, match="y contains 'text', but the known labels are of another type"):
        model.partial_fit(rows[:1], ["text"])


def test_labels_that_cannot_be_sorted_or_saved(tmp_path):
    rows = [{"x": 0.0}, {"x": 1.0}]
    with pytest.raises(
        ValueError, match=r"^y must hold labels of one type that can be sorted, got dict\.$"
    ):
        OnlineClassifier().partial_fit(rows, [{}, {}])
    with pytest.raises(ValueError, match=r"^y must hold a label for every row, got NaT in row 1\.$"):
        OnlineClassifier().partial_fit(rows, np.array([dt.date(2024, 1, 1), np.datetime64("NaT")], object))
    model = OnlineClassifier().partial_fit(rows, [dt.date(2024, 1, 1), dt.date(2024, 1, 2)])
    with pytest.raises(TypeError, match=r"^Labels of type date have no place in a model file: use texts"):
        model.save(tmp_path / "model")


def test_numbers_among_python_objects_are_numbers():
    y = np.array([1, 2, 1, 2], dtype=object)
    assert OnlineClassifier().partial_fit([[0.0], [1.0]] * 2, y).classes_.dtype.kind == "i"
