"""Classifiers that know other labels, or the same in another order."""

import numpy as np
import pytest

from budgetron import (
    AROW,
    OGD,
    AdaGrad,
    CoinBetting,
    Gaussian,
    Kalman,
    Mapped,
    Nystrom,
    OnlineClassifier,
    RandomFourier,
    Stacked,
    auto,
    budget_perceptron,
    duol,
    merge,
    nogd,
    rbp,
)
from budgetron.merging.labels import in_order
from budgetron.model.labels import KnownLabels
from tests.helpers.cases import each

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


def rows(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, NAMES[(np.abs(X[:, 0]) * classes / 2).astype(int) % classes]


@each("target", ["ba", "bca", "cab", "dacb"])
@each("learner", LEARNERS, ids=repr)
def test_outputs_move_with_their_labels(learner, target):
    """Scores are the same, and stay the same while the model learns."""
    X, y = rows(len(target))
    own = "".join(sorted(target))
    model = OnlineClassifier(learner, random_state=0).partial_fit(X, y, classes=list(own))
    moved = in_order(model.fitted_.model, model.fitted_.labels, KnownLabels(np.array(list(target))))

    def same():
        one, other = model.fitted_.model.scores(X), moved.scores(X)
        if len(target) == 2:
            return np.abs(one + other).max() < 1e-9
        return max(np.abs(one[:, own.index(c)] - other[:, target.index(c)]).max() for c in own) < 1e-9

    assert same()
    codes = {label: code for code, label in enumerate(target)}
    numbers = np.array([codes[label] for label in y[:50].tolist()], dtype=float)
    moved.learn(X[:50], 2 * numbers - 1 if len(target) == 2 else numbers)
    model.partial_fit(X[:50], y[:50])
    assert same()


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


def test_double_updating_needs_the_same_order():
    X, y = rows(2)
    order = np.argsort(y)
    parts = [OnlineClassifier(duol(K)).partial_fit(X[own], y[own]) for own in (order, order[::-1])]
    with pytest.raises(ValueError, match="different orders, which this learner cannot change: give all"):
        merge(parts)


def test_labels_of_another_kind_are_refused():
    X, y = rows(2)
    parts = [OnlineClassifier(LEARNERS[0]).partial_fit(X, labels) for labels in (y, (y == "a").astype(int))]
    with pytest.raises(ValueError, match="but the known labels are"):
        merge(parts)
