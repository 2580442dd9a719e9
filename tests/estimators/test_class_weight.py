"""Class weights: those of scikit-learn in fit, and counts of the rows so far in online learning."""

import pickle

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from budgetron import DivergedError, Gaussian, Linear, Logistic, OnlineClassifier, evaluate, load, ogd, rbp
from budgetron.streams import Block
from tests.helpers.cases import each

N = 400
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, 3))
TWO = (X[:, 0] + X[:, 1] > 1.2) * 1
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-1.0, 0.2])]


def model(class_weight=None, **more):
    return OnlineClassifier(
        ogd(Gaussian(0.5), loss=Logistic()), random_state=0, class_weight=class_weight, **more
    )


def bits(estimator):
    return estimator.dual_coef_.tobytes()


def balanced_online(y, counted=None):
    """N / (k * count) of the rows so far, one row after the other."""
    seen, weights = {}, []
    for label, counts in zip(y.tolist(), np.ones(len(y)) if counted is None else counted, strict=True):
        if not counts:
            weights.append(0.0)
            continue
        seen[label] = seen.get(label, 0) + 1
        weights.append(sum(seen.values()) / (len(seen) * seen[label]))
    return np.array(weights)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_fit_weighs_as_scikit_learn(y):
    weights = compute_sample_weight("balanced", y)
    same = model(epochs=2, shuffle=True).fit(X, y, sample_weight=weights)
    assert bits(model("balanced", epochs=2, shuffle=True).fit(X, y)) == bits(same)
    by_label = {label: 2.0 + i for i, label in enumerate(np.unique(y).tolist())}
    weights = compute_sample_weight(by_label, y)
    assert bits(model(by_label).fit(X, y)) == bits(model().fit(X, y, sample_weight=weights))
    some = {y[0].item(): 3.0}
    weights = np.where(y == y[0], 3.0, 1.0)
    assert bits(model(some).fit(X, y)) == bits(model().fit(X, y, sample_weight=weights))


@each("y", [TWO, THREE], ids=["two", "three"])
@each("cut", [1, 37, N])
def test_online_counts_the_rows_so_far(y, cut):
    same = model().partial_fit(X, y, classes=np.unique(y), sample_weight=balanced_online(y))
    found, classes = model("balanced"), np.unique(y)
    for i in range(0, N, cut):
        found.partial_fit(X[i : i + cut], y[i : i + cut], classes=classes)
    assert bits(found) == bits(same)


def test_sample_weights_multiply_and_rows_of_weight_0_do_not_count():
    own = RNG.integers(0, 3, N) * 0.5
    weights = own * balanced_online(TWO, own > 0)
    same = model().partial_fit(X, TWO, classes=[0, 1], sample_weight=weights)
    found = model("balanced")
    for rows in (slice(0, 90), slice(90, N)):
        found.partial_fit(X[rows], TWO[rows], classes=[0, 1], sample_weight=own[rows])
    assert bits(found) == bits(same)


def test_late_labels_are_counted_when_they_arrive():
    found, same = model("balanced"), model().start(X[:1], [0, 1])
    *_, _ = evaluate.prequential(
        found, [Block(X[:150], TWO[:150], 0), Block(X[150:], TWO[150:], 150)], classes=[0, 1], delay=40
    )
    same.partial_fit(X, TWO, sample_weight=balanced_online(TWO))
    assert bits(found) == bits(same)


def test_after_fit_the_counts_continue():
    found = model("balanced").fit(X[:200], TWO[:200]).partial_fit(X[200:], TWO[200:])
    same = model().fit(X[:200], TWO[:200], sample_weight=compute_sample_weight("balanced", TWO[:200]))
    same.partial_fit(X[200:], TWO[200:], sample_weight=balanced_online(TWO)[200:])
    assert bits(found) == bits(same)
    assert bits(found.start(X[:1], [0, 1]).partial_fit(X, TWO)) == bits(
        model("balanced").partial_fit(X, TWO, classes=[0, 1])
    )


@pytest.mark.parametrize("weight", ["balanced", {"a": 2, "b": 0.5, "c": 1.0}])
def test_a_saved_model_continues(weight, tmp_path):
    whole = model(weight).partial_fit(X, THREE, classes=["a", "b", "c"])
    half = model(weight).partial_fit(X[:150], THREE[:150], classes=["a", "b", "c"])
    half.save(tmp_path / "model")
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(half))):
        assert again.class_weight == weight
        assert bits(again.partial_fit(X[150:], THREE[150:])) == bits(whole)


def test_files_without_class_weights_do_not_mention_them(tmp_path):
    model().fit(X, TWO).save(tmp_path / "model")
    assert b"class_weight" not in (tmp_path / "model").read_bytes()
    assert b"class_counts" not in (tmp_path / "model").read_bytes()


def test_a_refused_row_is_not_counted():
    """The rows before it are learned and counted."""
    wild = OnlineClassifier(ogd(Linear(), eta=1.0), class_weight="balanced")
    rows, labels = np.vstack([X, [[1e120] * 3], X]), np.concatenate([TWO, [1], TWO])
    wild.partial_fit(X[:1], TWO[:1], classes=[0, 1])
    with pytest.raises(DivergedError) as refused:
        wild.partial_fit(rows, labels)
    learned = refused.value.rows_learned
    assert wild.fitted_.state()[1].sum() == 1 + learned


def test_a_rare_class_is_found_more_often():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4000, 2))
    y = (rows[:, 0] + 0.7 * rng.standard_normal(4000) > 2.2) * 1
    recall = {}
    for weight in (None, "balanced"):
        session = evaluate.Session(model(weight), classes=[0, 1], metrics=["balanced_accuracy"])
        session.feed(Block(rows, y, 0))
        session.finish()
        recall[weight] = session.metrics.recall()[1]
    assert recall["balanced"] > recall[None] + 0.2


@each(
    ("weight", "message"),
    [
        ("equal", "None, 'balanced' or a dict"),
        (3, "None, 'balanced' or a dict"),
        ({0: -1.0}, "class_weight"),
        ({0: np.nan}, "class_weight"),
        ({0: 1.0, 7: 2.0}, "has 7, which is not among the classes"),
    ],
)
def test_bad_class_weights(weight, message):
    for learn in (lambda m: m.fit(X, TWO), lambda m: m.partial_fit(X, TWO, classes=[0, 1])):
        with pytest.raises((ValueError, TypeError), match=message):
            learn(model(weight))
    fitted = OnlineClassifier(rbp(Gaussian(0.5), budget=5)).partial_fit(X, TWO, classes=[0, 1])
    before = bits(fitted)
    with pytest.raises((ValueError, TypeError), match=message):
        fitted.set_params(class_weight=weight).partial_fit(X, TWO)
    assert bits(fitted) == before


@pytest.mark.parametrize("weights", [{"a": 2.0}, "balanced"])
def test_a_first_row_of_weight_0(weights):
    model = OnlineClassifier(ogd(Linear(), eta=1.0), class_weight=weights)
    model.partial_fit([[1.0], [2.0]], ["a", "b"], sample_weight=[0, 1])
    assert model.classes_.tolist() == ["b"]
