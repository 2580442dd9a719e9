"""Nearest neighbours: against the definition, and what is theirs alone."""

import os
import pickle
import sys
import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from budgetron import (
    Averaged,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    Stacked,
    Standardised,
    _core,
    load,
)
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels, Targets
from tests.helpers import forked, members
from tests.helpers.cases import each
from tests.references import auto
from tests.references.neighbours import Neighbours as Reference

CLASSES = {"binary": 2, "multiclass": 3, "regression": 0}


def rows(task, n, columns, *, kind="normal", seed=0):
    """Rows and labels as the core reads them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    if kind == "grid":  # ties and duplicates
        X = rng.integers(0, 3, size=(n, columns)).astype(float)
    if kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.normal(size=n) if task == "regression" else rng.integers(0, CLASSES[task], n).astype(float)
    return X, 2 * y - 1 if task == "binary" else y


def built(task, learner, columns, dtype=np.float64):
    return Model(learner, Labels(CLASSES[task]) if CLASSES[task] else Targets(), columns, dtype, seed=0)


@each("task", members.TASKS)
@each(("window", "k"), [(1, 1), (7, 3), (64, 2), (70, 5), (200, 3)])
@each("kind", ["normal", "grid", "missing"])
@each("shortens", [False, True])
def test_scores_are_those_of_the_definition(task, window, k, kind, shortens):
    X, y = rows(task, 230, 3, kind=kind)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(X))
    model, reference, expected = (
        built(task, Neighbours(window, k, shortens=shortens), 3),
        Reference(window, k, CLASSES[task], shortens),
        [],
    )
    codes = y > 0 if task == "binary" else y
    for x, label, weight in zip(X, codes, weights, strict=True):
        expected.append(reference.score(x))
        reference.learn(x, label, weight)
    assert_allclose(model.learn(X, y, weights), expected, rtol=1e-9, atol=1e-9)
    others, _ = rows(task, 20, 3, kind=kind, seed=5)
    assert_allclose(model.scores(others), [reference.score(x) for x in others], rtol=1e-9, atol=1e-9)
    assert model.size == min(window, np.count_nonzero(weights))


@each("columns", [1, 8, 9, 33, 1024, 1500])
def test_many_columns(columns):
    X, y = rows("binary", 90, columns)
    X[::2, :1024] = X[0, :1024]  # differ beyond the columns that are looked at
    model, reference, expected = built("binary", Neighbours(70, 3), columns), Reference(70, 3, 2), []
    for x, label in zip(X, y > 0, strict=True):
        expected.append(reference.score(x))
        reference.learn(x, label)
    assert_allclose(model.learn(X, y), expected, rtol=1e-9, atol=1e-9)


def test_layouts_and_types_are_alike():
    X, y = rows("multiclass", 300, 1100)
    X = (X * (np.random.default_rng(2).random(X.shape) < 0.05)).astype(np.float32)
    models = []
    for kind in (np.asarray, sparse.csr_array):
        for dtype in (np.float32, np.float64):
            models.append(built("multiclass", Neighbours(100), 1100, dtype))
            models[-1].learn(kind(X.astype(dtype)), y)
    for other in models[1:]:
        assert_array_equal(other.scores(X.astype(other.dtype)), models[0].scores(X))


def test_the_later_of_equally_near_rows_counts():
    model = OnlineRegressor(Neighbours(10, 1), random_state=0)
    model.partial_fit([[0.0], [0.0], [2.0]], [1.0, 2.0, 3.0])
    assert model.predict([[0.0], [1.0]]).tolist() == [2.0, 3.0]


@each("scale", [1e-30, 1e-300, 1e30, 1e150])
def test_absurd_values(scale):
    X, y = rows("regression", 200, 4)
    for weight in (1e-300, 1.0, 1e300):
        model = built("regression", Neighbours(50, 3), 4)
        scores = model.learn(X * scale, y, np.full(200, weight))
        assert np.isfinite(scores).all()
        assert np.abs(scores).max() <= np.abs(y).max()
        labelled = built("binary", Neighbours(50, 3), 4)
        assert np.isfinite(labelled.learn(X * scale, np.sign(y), np.full(200, weight))).all()


def test_a_huge_target_is_refused():
    model = OnlineRegressor(Neighbours())
    with pytest.raises(ValueError, match=r"^Row 1 gives"):
        model.partial_fit([[0.0], [1.0]], [1.0, 1e200])
    assert model.n_support_ == 1


@each("learner", [Neighbours(0), Neighbours(5, 0), Neighbours(2, 3), Neighbours(2.5)])
def test_bad_parameters(learner):
    with pytest.raises(ValueError, match=r"^Neighbours: (window|k) must be [^.]*got [-0-9.]+\.$"):
        OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1])


@each("inner", [Neighbours(), Stacked(Neighbours()), Standardised(Neighbours())])
def test_there_is_no_average(inner):
    learner = Averaged(inner)
    for attempt in (lambda: learner.check(Labels(2)), lambda: OnlineClassifier(learner).fit([[0.0]], [0])):
        with pytest.raises(ValueError, match=r"^Averaged: learner must have an f to average, got .*\.$"):
            attempt()


@each("task", members.TASKS)
def test_memory_is_that_of_the_window(task):
    X, y = rows(task, 1000, 5)
    model = built(task, Neighbours(200), 5)
    model.learn(X, y)
    full = model.memory_bytes
    assert full < 200 * 5 * 4 * 1.3 + 200 * 24 * 1.3 + 2000
    for _ in range(100):
        model.learn(X, y)
    assert model.memory_bytes == full


@each("task", members.TASKS)
@each(
    "learner", [Neighbours(30, 4), Standardised(Neighbours(30)), Stacked(Neighbours(30), Neighbours(9, 1))]
)
@each("container", [np.asarray, sparse.csr_array])
def test_any_cut_of_the_rows_is_the_same_model(task, learner, container, tmp_path):
    X, y = members.data(task, 150)
    rows, weights = container(X), np.random.default_rng(0).choice([0.0, 1.0, 2.0], 150)
    whole = members.start(members.estimator(task, learner), task, rows, y, sample_weight=weights)
    parts = members.estimator(task, learner)
    for a, b in pairwise([0, 1, 20, 30, 31, 64, 65, 99, 150]):
        members.start(parts, task, rows[a:b], y[a:b], sample_weight=weights[a:b])
        parts.save(tmp_path / "model")
        parts = load(tmp_path / "model")
    assert members.same_state(parts, whole)
    expected = members.scores(whole, rows)
    assert_array_equal(members.scores(parts, rows), expected)
    assert_array_equal([members.scores(whole, rows[i : i + 1])[0] for i in range(150)], expected)


def test_instruction_sets_give_equal_bits():
    """As printed by processes that are told which set to take."""
    program = """
import numpy as np
from budgetron import Neighbours, OnlineRegressor
rng = np.random.default_rng(0)
X, y = rng.normal(size=(400, 37)), rng.normal(size=400)
X[::7, 3] = np.nan
print(OnlineRegressor(Neighbours(150)).progressive_predict(X, y).tobytes().hex())
"""
    printed = {
        forked.run(
            [sys.executable, "-c", program],
            env=os.environ | {"BUDGETRON_ISA": name},
            capture_output=True,
            check=True,
            libraries=True,
        ).stdout
        for name in _core.instruction_sets()
    }
    assert len(printed) == 1


def test_a_state_does_not_depend_on_where_the_ring_began():
    X, y = rows("binary", 137, 2, kind="grid")
    model, other = (built("binary", Neighbours(60), 2) for _ in range(2))
    model.learn(X, y)
    other.learn(X[77:], y[77:])
    names = model.state()
    assert {name: a.tobytes() for name, a in other.state().items()} == {
        name: a.tobytes() for name, a in names.items()
    }
    restored = pickle.loads(pickle.dumps(model))
    more, labels = rows("binary", 200, 2, kind="grid", seed=4)
    assert_array_equal(restored.learn(more, labels), model.learn(more, labels))


@each(
    ("name", "values"),
    [
        ("neighbours.rows", np.zeros(3, np.float32)),
        ("neighbours.labels", np.full(20, 2.0)),
        ("neighbours.labels", np.full(20, 0.5)),
        ("neighbours.labels", np.full(20, np.nan)),
        ("neighbours.weights", np.zeros(20)),
        ("neighbours.weights", np.full(20, np.inf)),
        ("neighbours.weights", np.ones(21)),
    ],
)
def test_forged_states_are_refused(name, values):
    model = built("binary", Neighbours(20), 2)
    model.learn(*rows("binary", 30, 2))
    with pytest.raises(ValueError, match="do not fit together"):
        Model.restored(model.learner, model.task, 2, model.dtype, 0, model.state() | {name: values})


@each(("task", "classes"), [("binary", 3), ("binary", 5), ("multiclass", 5)])
def test_later_classes(task, classes):
    X, y = rows(task, 60, 3)
    more, labels = X, np.random.default_rng(3).integers(0, classes, 60)
    model, reference = built(task, Neighbours(50), 3), Reference(50, 3, CLASSES[task])
    model.learn(X, y)
    for x, label in zip(X, y > 0 if task == "binary" else y, strict=True):
        reference.learn(x, label)
    model.widen(3, classes)
    reference.classes = classes
    expected = []
    for x, label in zip(more, labels, strict=True):
        expected.append(reference.score(x))
        reference.learn(x, label)
    assert_allclose(model.learn(more, labels.astype(float)), expected, rtol=1e-9, atol=1e-9)


def test_a_later_class_is_found_at_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.select([X[:, 0] > 1, X[:, 1] > 0], ["new", "up"], "down")
    old = y != "new"
    model = OnlineClassifier(Neighbours(300), random_state=0).partial_fit(X[old], y[old])
    model.partial_fit(X[~old], y[~old])
    assert (model.predict(X) == y).mean() > 0.95


def test_it_follows_a_drift():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] > 0) ^ (np.arange(3000) >= 1500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predicted = OnlineClassifier(Neighbours(200), random_state=0).progressive_predict(X, y)
    wrong = predicted != y
    assert wrong[1500:1510].mean() > 0.5
    assert wrong[1700:].mean() < 0.1


def test_a_file_with_many_classes(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 26, 200)
    model = OnlineClassifier(Neighbours(80), random_state=0).partial_fit(X, y)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").decision_function(X), model.decision_function(X))


# ---- raw rows


class Raw(auto.Standardised):
    """The reference, which scales the targets, and shows the learner rows as they are."""

    def scaled(self, x):
        super().scaled(x)
        return np.asarray(x, float)


@each("task", members.TASKS)
@each("kind", ["normal", "grid", "missing"])
def test_raw_rows_are_seen_inside_a_standardised_learner(task, kind):
    X, y = rows(task, 230, 3, kind=kind)
    X = X * [1.0, 100.0, 1e-3] + [0, 5, 0]
    inside = built(task, Standardised(Neighbours(70, 5, raw=True)), 3)
    own = ("targets",) if task == "regression" else ("labels", CLASSES[task])
    oracle, expected = Raw(Reference(70, 5, CLASSES[task]), 10.0, own), []
    for x, label in zip(X, y > 0 if task == "binary" else y, strict=True):
        expected.append(np.atleast_1d(oracle.score(x)))
        oracle.learn(x, label)
    assert_allclose(inside.learn(X, y), expected, rtol=1e-9, atol=1e-12)
    later = [np.atleast_1d(oracle.score(x)) for x in X[:50]]
    assert_allclose(inside.scores(X[:50]), later, rtol=1e-9, atol=1e-12)
    assert (built(task, Standardised(Neighbours(70, 5)), 3).learn(X, y) != expected).any()


def test_raw_rows_near_another_are_given_as_they_were():
    X, y = rows("multiclass", 90, 3)
    X = X * [1.0, 100.0, 1e-3] + [0, 5, 0]
    model = OnlineClassifier(Standardised(Neighbours(50, raw=True))).partial_fit(X, y)
    why = model.explain_one(X[80], samples=4)
    assert_allclose(list(why.neighbours[0].values.values()), X[80], rtol=1e-6)
    assert why.neighbours[0].distance == 0
    alone = OnlineClassifier(Neighbours(50)).partial_fit(X, y)
    assert_array_equal(model.novelty(X[50:60]), alone.novelty(X[50:60]))


@each("task", members.TASKS)
def test_raw_neighbours_are_saved_and_grow(task, tmp_path):
    X, y = members.data(task, 120)
    learner = Standardised(Stacked(Neighbours(40, raw=True), Neighbours(40)))
    model = members.estimator(task, learner).fit(X[:100], y[:100])
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert members.same_state(loaded.partial_fit(X[100:], y[100:]), model.partial_fit(X[100:], y[100:]))


def test_raw_is_true_or_false():
    with pytest.raises((TypeError, ValueError), match="raw"):
        OnlineClassifier(Neighbours(raw="yes")).fit([[0.0], [1.0]], [0, 1])


@each("task", members.TASKS)
def test_a_window_that_shortens(task):
    """The angle at which labels change turns by two radians in 1000 rows, and later stands still."""
    rng = np.random.default_rng(6)
    X, angle = rng.normal(size=(4400, 2)), np.minimum(np.arange(4400), 1200) / 500
    y = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
    if task != "regression":
        y = np.digitize(y, [0] if task == "binary" else [-0.4, 0.4])
    make = OnlineRegressor if task == "regression" else OnlineClassifier
    errors = []
    for learner in (Neighbours(400, shortens=True), Neighbours(100), Neighbours(400)):
        said = make(learner, random_state=0).progressive_predict(X, y)
        missed = (said - y) ** 2 if task == "regression" else said != y
        errors.append([missed[200:1200].mean(), missed[3200:].mean()])
    (moving, still), (moving_of_few, _), (moving_of_all, still_of_all) = errors
    assert moving < 1.1 * moving_of_few < moving_of_all
    assert still < 1.1 * still_of_all


def test_an_export_has_the_rows_that_are_looked_at():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 2))
    y = (X[:, 0] > 0) ^ (np.arange(900) >= 800)
    model = built("binary", Neighbours(400, shortens=True), 2)
    model.learn(X, 2.0 * y - 1)
    assert model.engine.rows().shape == (100, 2)
    assert len(model.engine.labels()) == len(model.engine.weights()) == 100
    assert model.size == 400
