"""Bad labels, targets and weights are refused, and the model is unchanged."""

import numpy as np
import pytest

from budgetron import Gaussian, OnlineClassifier, rbp
from tests.helpers.cases import each
from tests.helpers.members import TASKS, data, estimator, start
from tests.helpers.refusals import everything, fitted, learn, refused, untouched

K = Gaussian(0.5)
each_task = each("task", TASKS)
each_method = each("method", ["fit", "partial_fit", "progressive_predict"])


@each_task
@each_method
def test_mismatched_lengths(task, method):
    """X, y and sample_weight must have the same length."""
    X, y = data(task)
    model = fitted(task)
    with untouched(model, task), refused("inconsistent numbers of samples", ours=False):
        learn(model, method, X, y[:-1])
    for weights in (np.ones(len(y) - 1), np.ones((len(y), 1)), np.ones((len(y), 2))):
        with untouched(model, task), refused("ample", ours=False):
            learn(model, method, X, y, weights)


@each_task
@each_method
@each(("weight", "culprit"), [(-1.0, "Negative"), (np.nan, "NaN"), (np.inf, "infinity")])
def test_bad_weights(task, method, weight, culprit):
    """Weights are finite and not negative."""
    X, y = data(task)
    model, weights = fitted(task), np.ones(len(y))
    weights[2] = weight
    with untouched(model, task), refused(culprit, "sample_weight", ours=False):
        learn(model, method, X, y, weights)


BAD_LABELS = {
    "NaN": [np.nan] * 80,
    "infinity": [np.inf] * 80,
    "mixed": ["a", None] * 40,
    "two columns": [[0, 1]] * 80,
    "None": None,
}


@each_task
@each_method
@each("kind", BAD_LABELS)
def test_bad_labels(task, method, kind):
    """There must be one finite label or target per row."""
    model = fitted(task)
    with untouched(model, task), refused(ours=False):
        learn(model, method, data(task)[0], BAD_LABELS[kind])


@each("task", ["binary", "multiclass"])
@each("method", ["partial_fit", "progressive_predict"])
@each("label", [7, -1])
def test_unknown_label(task, method, label):
    """A label that is not among the classes is refused by name."""
    X, y = data(task)
    model = fitted(task)
    y[5] = label
    with untouched(model, task), refused(f"y contains {label}", "classes [0, 1"):
        learn(model, method, X, y)


@pytest.mark.parametrize("method", ["partial_fit", "progressive_predict"])
def test_labels_of_another_kind(method):
    """Strings are refused if the classes are numbers, and numbers if they are strings."""
    X, y = data("binary")
    model = fitted("binary")
    with untouched(model, "binary"), refused("y contains '", "numbers"):
        learn(model, method, X, np.array(["no", "yes"])[y])
    model = estimator("binary", "rbp").fit(X, np.array(["no", "yes"])[y])
    before = everything(model)
    with refused("y contains", "texts, such as 'no'"):
        learn(model, method, X, y)
    assert everything(model) == before


def test_continuous_labels():
    """A classifier refuses targets."""
    X, y = data("regression")
    model = fitted("binary")
    with untouched(model, "binary"), refused("continuous", ours=False):
        model.partial_fit(X, y)


def test_classes_that_were_given_are_all_there_are():
    """Without them, a new label is learned; with them, it is refused."""
    X, y = data("binary")
    fixed = estimator("binary", "rbp").partial_fit(X, y, classes=[0, 1])
    before = everything(fixed)
    with refused("y contains 2, which is not among the classes [0, 1]"):
        fixed.partial_fit(X[:1], [2])
    assert everything(fixed) == before
    opened = estimator("binary", "rbp").partial_fit(X, y).partial_fit(X[:1], [2])
    assert opened.classes_.tolist() == [0, 1, 2]


def test_classes_changed():
    """Later calls cannot change the classes."""
    model = fitted("binary")
    for classes in ([0, 1, 2], [1, 2], ["a", "b"]):
        with untouched(model, "binary"), refused("differ from those of the first call", "[0, 1]"):
            model.partial_fit(*data("binary"), classes=classes)


def test_one_class():
    """One class is not enough."""
    X, y = data("binary")
    with refused("one class", "0"):
        OnlineClassifier(rbp(K, budget=5)).fit(X, 0 * y)
    with refused("one class", "'a'"):
        OnlineClassifier(rbp(K, budget=5)).partial_fit(X, ["a"] * len(y), classes=["a"])
    with refused("classes"):
        OnlineClassifier(rbp(K, budget=5)).partial_fit(X, y, classes=[])


def test_label_outside_the_first_classes():
    """A first call with a label outside its classes leaves the estimator unfitted."""
    X, y = data("multiclass")
    model = estimator("multiclass", "rbp")
    with refused("y contains 2"):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(model, "classes_")
    model.partial_fit(X, y, classes=[0, 1, 2])


@each_task
def test_not_fitted(task):
    """An estimator has no fitted attributes before the first row."""
    model = estimator(task, "rbp")
    attributes = ("n_support_", "support_vectors_", "dual_coef_", "memory_bytes_", "gamma_", "learner_")
    assert not any(hasattr(model, name) for name in attributes)
    with refused("not fitted yet", ours=False):
        model.predict([[0.0]])


@each_task
@each_method
def test_first_call_that_fails(task, method):
    """A first call that fails leaves the estimator unchanged."""
    X, y = data(task)
    model = estimator(task, rbp(K, budget=0))
    before = repr(vars(model))
    with refused("budget"):
        if method == "partial_fit":
            start(model, task, X, y)
        else:
            learn(model, method, X, y)
    assert repr(vars(model)) == before
