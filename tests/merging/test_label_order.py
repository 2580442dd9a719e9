"""Classifiers that know other labels, or the same in another order."""

import numpy as np
import pytest

from budgetron import (
    AROW,
    OGD,
    AdaGrad,
    CoinBetting,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    Nystrom,
    OnlineClassifier,
    RandomFourier,
    Stacked,
    auto,
    budget_perceptron,
    merge,
    nogd,
    rbp,
)
from tests.helpers.cases import each
from tests.helpers.members import cases, combinations, data, described, estimator, start

K = Gaussian(0.5)
F = RandomFourier(K, components=20)
LEARNERS = [
    rbp(K, budget=20),
    budget_perceptron(K, budget=20),
    nogd(K, budget=20, rank=8),
    Mapped(F, AROW()),
    Mapped(F, AROW(covariance="diagonal")),
    Mapped(F, AdaGrad()),
    Mapped(F, CoinBetting()),
    Mapped(F, Kalman()),
    Mapped(Nystrom(K, landmarks=10), OGD()),
    Stacked(rbp(K, budget=20), Mapped(F, Kalman())),
    auto(size=10),
]
NAMES = np.array(["a", "b", "c", "d"])
MEMBERS = [
    (task, learner)
    for task, learner in [*((task, described(name)) for task, name in cases()), *combinations()]
    if task != "regression"
]
"""Every exported part in a learner with labels: a new part is among them."""


def rows(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, NAMES[(np.abs(X[:, 0]) * classes / 2).astype(int) % classes]


def difference(model, moved, X, places):
    """Of the scores of a model and of the same model with its classes in other places."""
    one, other = model.scores(X), moved.scores(X)
    return np.abs(one + other if len(places) == 2 else one - other[:, places]).max()


@each(("task", "learner"), MEMBERS, ids=repr)
def test_outputs_move_with_their_labels(task, learner):
    """Scores are the same, and stay the same while the model learns."""
    X, y = data(task, 200)
    places = [1, 0] if task == "binary" else [2, 0, 1]
    model = start(estimator(task, learner), task, X, y).fitted_.model
    moved = model.reordered(places)
    assert difference(model, moved, X, places) < 1e-9
    for each_model, codes in ((model, y), (moved, np.array(places)[y])):
        each_model.learn(X[:80], 2.0 * codes - 1 if task == "binary" else codes.astype(float))
    assert difference(model, moved, X, places) < 1e-9


@each("learner", [learner for task, learner in MEMBERS if task == "multiclass"], ids=repr)
def test_so_do_those_of_labels_that_came_later(learner):
    """A stack centres and clips logits over the places of the classes that it began with."""
    X, y = data("multiclass", 200)
    places, two = [2, 0, 1], y < 2
    model = (
        estimator("multiclass", learner).partial_fit(X[two], y[two]).partial_fit(X[:1], [2]).fitted_.model
    )
    one, other = model.scores(X), model.reordered(places).scores(X)[:, places]
    if "Stacked" in repr(learner) or "Auto" in repr(learner):
        assert (one.argmax(axis=1) == other.argmax(axis=1)).mean() > 0.99
    else:
        assert np.abs(one - other).max() < 1e-9


@each(("task", "learner"), MEMBERS, ids=repr)
def test_models_with_labels_in_other_orders_merge_or_are_refused_by_name(task, learner):
    X, y = data(task, 200)
    order = np.argsort(y, kind="stable")
    parts = [estimator(task, learner.resolved(X)).partial_fit(X[i], y[i]) for i in (order, order[::-1])]
    assert parts[0].fitted_.labels.labels.tolist() != parts[1].fitted_.labels.labels.tolist()
    try:
        model = merge(parts)
    except ValueError as refusal:
        if "random features depend on the place in a stack" not in str(refusal):
            raise
        return
    assert model.classes_.tolist() == np.unique(y).tolist()
    model.partial_fit(X, y)


def test_the_labels_of_stacks_for_many_classes():
    """Their filter has a variance for each bias."""
    rng, classes = np.random.default_rng(0), 300
    centres, y = rng.normal(size=(classes, 3)), np.arange(2000) % classes
    X, parts = centres[y] + 0.01 * rng.normal(size=(len(y), 3)), []
    learner = Stacked(Mapped(F, Kalman()), Mapped(Identity(), Kalman()))
    for order in (np.arange(1000), np.arange(1000, 2000)[::-1]):
        model = OnlineClassifier(learner, random_state=0)
        parts.append(model.partial_fit(X[order], y[order], classes=range(classes)))
    places = rng.permutation(classes)
    model = parts[1].fitted_.model
    moved = model.reordered(places)
    for each_model, codes in ((model, y), (moved, places[y])):
        each_model.learn(X[:80], codes[:80].astype(float))
    assert difference(model, moved, X[:80], places) < 1e-9
    merged = merge(parts)
    assert merged.partial_fit(X, y).score(X, y) > max(part.score(X, y) for part in parts) - 0.05


@each("learner", LEARNERS, ids=repr)
def test_the_merged_classifier_knows_all_labels(learner):
    X, y = rows(4)
    first, second = np.isin(y, ["c", "b"]), np.isin(y, ["d", "a", "b"])
    model = merge(
        OnlineClassifier(learner, random_state=0).partial_fit(X[own], y[own]) for own in (first, second)
    )
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert (model.predict(X) == y).mean() > 0.3
    model.partial_fit(X, y)


def test_labels_given_in_advance_stay_all_there_are():
    X, y = rows(3)
    model = [OnlineClassifier(LEARNERS[0]).partial_fit(X, y, classes=list("abc")) for _ in range(2)]
    with pytest.raises(ValueError, match="'d', which is not among the classes"):
        merge(model).partial_fit(X[:1], ["d"])
    open_ended = OnlineClassifier(LEARNERS[0]).partial_fit(X, y)
    merge([model[0], open_ended]).partial_fit(X[:1], ["d"])


def test_a_model_that_has_seen_one_label():
    X, y = rows(2)
    parts = [OnlineClassifier(LEARNERS[6], random_state=0).partial_fit(X[y == c], y[y == c]) for c in "ba"]
    assert merge(parts).classes_.tolist() == ["a", "b"]


def test_rows_of_each_class_are_counted():
    X, y = rows(3)
    parts = [
        OnlineClassifier(LEARNERS[0], random_state=0, class_weight="balanced").partial_fit(X[i::2], y[i::2])
        for i in range(2)
    ]
    model = merge(parts)
    counts = dict(zip(model.fitted_.labels.labels.tolist(), model.fitted_.state()[1].tolist(), strict=True))
    assert counts == {label: (y == label).sum() for label in "abc"}


def test_labels_of_another_kind_are_refused():
    X, y = rows(2)
    parts = [OnlineClassifier(LEARNERS[0]).partial_fit(X, labels) for labels in (y, (y == "a").astype(int))]
    with pytest.raises(ValueError, match="but the known labels are"):
        merge(parts)
