"""Metrics of one class against the rest, compared with scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_score, recall_score

from budgetron.evaluate import Metrics
from tests.helpers.cases import each

NAMES = ["precision", "recall", "average_precision", "precision_at:20"]


def rows(n=3000, classes=2, seed=0):
    random = np.random.default_rng(seed)
    scores = np.round(random.normal(size=(n, classes)) * 4) / 4  # on the grid of the bins, with ties
    y = np.where(random.random(n) < 0.7, scores.argmax(axis=1), random.integers(classes, size=n))
    return np.array(["a", "b", "c", "d"])[y], scores


def first(y, score, label, k):
    """The precision among the k best, the mean over all orders of rows that tie."""
    order = np.argsort(-score, kind="stable")
    edge = score[order[k - 1]]
    above, ties = score > edge, score == edge
    right = (y == label)[above].sum() + (k - above.sum()) * (y == label)[ties].mean()
    return right / k


@each("block", [1, 250, 3000])
def test_two_classes(block):
    y, scores = rows()
    score = scores[:, 1] - scores[:, 0]
    predicted = np.where(score >= 0.5, "b", "a")
    metrics = Metrics([*NAMES, "recall:a", "average_precision:a"], window=500)
    for i in range(0, len(y), block):
        part = slice(i, i + block)
        metrics.update(y[part], predicted[part], classes=["a", "b"], scores=score[part])
    for found, part in ((metrics.running(), slice(None)), (metrics.windowed(), slice(-500, None))):
        yes, of = y[part] == "b", (y[part], predicted[part])
        assert found["precision"] == pytest.approx(precision_score(*of, pos_label="b"))
        assert found["recall"] == pytest.approx(recall_score(*of, pos_label="b"))
        assert found["recall:a"] == pytest.approx(recall_score(*of, pos_label="a"))
        assert found["average_precision"] == pytest.approx(average_precision_score(yes, score[part]))
        assert found["average_precision:a"] == pytest.approx(average_precision_score(~yes, -score[part]))
        assert found["precision_at:20"] == pytest.approx(first(y[part], score[part], "b", 20))


def test_more_classes():
    y, scores = rows(classes=4)
    labels = ["a", "b", "c", "d"]
    predicted = np.array(labels)[scores.argmax(axis=1)]
    metrics = Metrics([*NAMES, "precision:c", "precision_at:50:d"])
    metrics.update(y, predicted, classes=labels, scores=scores)
    found = metrics.running()
    assert found["precision"] == pytest.approx(precision_score(y, predicted, average="macro"))
    assert found["recall"] == pytest.approx(recall_score(y, predicted, average="macro"))
    assert found["precision:c"] == pytest.approx(
        precision_score(y, predicted, labels=["c"], average="macro")
    )
    each_class = [average_precision_score(y == label, scores[:, i]) for i, label in enumerate(labels)]
    assert found["average_precision"] == pytest.approx(np.mean(each_class))
    assert found["precision_at:50:d"] == pytest.approx(first(y, scores[:, 3], "d", 50))


def test_undefined():
    metrics = Metrics([*NAMES, "recall:x"])
    assert set(metrics.running().values()) == {None}
    metrics.update(["a", "a"], ["a", "a"], classes=["a", "b"], scores=[0.0, 1.0])
    found = metrics.running()
    assert (found["precision"], found["recall"], found["average_precision"]) == (None, None, None)
    assert found["recall:x"] is None
    assert found["precision_at:20"] == 0
    metrics = Metrics(NAMES)
    metrics.update(["a", "b"], ["b", "b"])
    assert metrics.running()["precision"] == 0.5
    assert metrics.running()["average_precision"] is None
    with pytest.raises(ValueError, match="no scores were given"):
        metrics.precision_recall()


def test_of_every_class():
    y, scores = rows(classes=4)
    labels = ["a", "b", "c", "d"]
    predicted = np.array(labels)[scores.argmax(axis=1)]
    metrics = Metrics(["average_precision"], window=500)
    metrics.update(y, predicted, classes=labels, scores=scores)
    for part, found in (
        (slice(None), metrics.of_classes(20)),
        (slice(-500, None), metrics.of_classes(20, windowed=True)),
    ):
        for i, label in enumerate(labels):
            of, pos = (y[part] == label, predicted[part] == label), scores[part, i]
            assert found[label]["share"] == pytest.approx(of[0].mean())
            assert found[label]["precision"] == pytest.approx(precision_score(*of))
            assert found[label]["recall"] == pytest.approx(recall_score(*of))
            assert found[label]["average_precision"] == pytest.approx(average_precision_score(of[0], pos))
            assert found[label]["precision_at:20"] == pytest.approx(first(y[part], pos, label, 20))
    curve = metrics.precision_recall("c", windowed=True)
    assert curve["precision"][-1] == pytest.approx((y[-500:] == "c").mean())
    with pytest.raises(ValueError, match="no row has the label 'z'"):
        metrics.precision_recall("z")


@each("block", [1, 100])
def test_too_many_classes_to_rank(block):
    """Ranks end when a class too many comes; all else goes on, also from a state."""
    y, scores = rows(600, classes=4)
    y[:300] = np.where(y[:300] == "d", "a", y[:300])
    names = ["accuracy", "average_precision", "log_loss"]
    metrics, plain = Metrics(names, window=200, most_ranked=3), Metrics(names, window=200)
    for i in range(0, len(y), block):
        known = ["a", "b", "c", "d"][: 4 if i >= 300 else 3]
        part = slice(i, i + block)
        shares = np.exp(scores[part, : len(known)])
        shares /= shares.sum(axis=1, keepdims=True)
        for each_one in (metrics, plain):
            each_one.update(y[part], y[part], classes=known, proba=shares)
        if i + block == 300:
            assert metrics.running() == plain.running()
    gone = {"average_precision": None}
    assert metrics.running() == plain.running() | gone
    assert metrics.windowed() == plain.windowed() | gone
    again = Metrics(names, window=200, most_ranked=3)
    again.restore(metrics.state())
    assert again.windowed() == metrics.windowed()
    with pytest.raises(ValueError, match="no scores were given"):
        metrics.precision_recall("a")


@each("name", ["precision_at", "precision_at:0", "precision_at:x", "recall:", "precision_at:3:", "recal"])
def test_names_that_are_none(name):
    with pytest.raises(ValueError, match="is no metric of labels"):
        Metrics([name])


def test_the_curve():
    y, scores = rows()
    score = scores[:, 1] - scores[:, 0]
    metrics = Metrics(["average_precision"])
    shares = 1 / (1 + np.exp(-np.stack([-score, score], axis=1)))
    metrics.update(y, np.where(score > 0, "b", "a"), classes=["a", "b"], proba=shares)
    curve = metrics.precision_recall("b")
    assert (np.diff(curve["recall"]) >= 0).all()
    assert (curve["recall"][-1], curve["precision"][-1]) == (1, pytest.approx((y == "b").mean()))
    i = len(curve["recall"]) // 3
    above = shares[:, 1] >= curve["threshold"][i] - 1e-9
    assert curve["precision"][i] == pytest.approx((y == "b")[above].mean())
    assert curve["recall"][i] == pytest.approx((y == "b")[above].sum() / (y == "b").sum())
