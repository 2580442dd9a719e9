"""Contributions of columns: against the definition, and what holds for every learner."""

import json
import re
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from budgetron import (
    AROW,
    Auto,
    Bins,
    Gaussian,
    Kalman,
    Linear,
    Logistic,
    Mapped,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    Stacked,
    Standardised,
    bsgd,
    duol,
    load,
    nogd,
    ogd,
    pa,
    rbp,
)
from budgetron.estimators.explain.shapley import exact as exact_values
from budgetron.estimators.explain.shapley import sampled
from tests.helpers.cases import each
from tests.references.shapley import shapley

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)) * [1, 5, 0.1, 2] + [0, 3, 1, -1]
TARGETS = X[:, 0] * X[:, 1] + np.sin(5 * X[:, 2])
LABELS = np.where(TARGETS > 1, "high", np.where(TARGETS < -1, "low", "mid"))
LEARNERS = {
    "auto": Auto(size=10),
    "perceptron": rbp(Gaussian(0.1), budget=30),
    "standardised": Standardised(bsgd(Gaussian(0.2), budget=20, lam=0.01)),
    "nystrom": Standardised(nogd(Gaussian(0.2), budget=20, rank=8, eta=0.1)),
    "neighbours": Neighbours(window=80),
    "bins": Mapped(Bins(), Kalman()),
    "stack": Standardised(
        Stacked(ogd(Linear(), eta=0.1), Neighbours(50), Mapped(RandomFourier(Gaussian(0.2), 10), AROW()))
    ),
}


@lru_cache
def learned(name, task):
    """A model that has learned the rows; with two classes, three, or targets."""
    if task == "targets":
        return OnlineRegressor(LEARNERS[name], random_state=0).partial_fit(X, TARGETS)
    y = LABELS if task == "three" else LABELS == "high"
    return OnlineClassifier(LEARNERS[name], random_state=0).partial_fit(X, y)


CASES = [
    (name, task)
    for name in LEARNERS
    for task in ("two", "three", "targets")
    if task != "targets" or name not in ("perceptron", "standardised")
]


def score_of(model, label):
    """The score of a row as the public methods give it."""
    if label is None:
        return lambda row: float(model.predict([row])[0])
    place = model.classes_.tolist().index(label)

    def score(row):
        scores = model.decision_function([row])[0]
        return float(scores[place]) if len(model.classes_) > 2 else float(scores if place else -scores)

    return score


@each(("name", "task"), CASES)
def test_exact_values_are_those_of_the_definition(name, task):
    model = learned(name, task)
    x, background = X[7] + 0.1, X[[3, 50]]
    why = model.explain_one(x, background=background, samples="exact")
    expected, base = shapley(score_of(model, why.label), x, background, [[j] for j in range(4)])
    assert_allclose(why.contributions, expected, atol=1e-9)
    assert why.baseline == pytest.approx(base, abs=1e-9)
    assert_array_equal(why.errors, 0)


@each(("name", "task"), CASES)
def test_contributions_add_up_to_the_score(name, task):
    model = learned(name, task)
    for row, why in zip(X[:4] * 1.1, model.explain(X[:4] * 1.1, samples=8), strict=True):
        assert why.baseline + why.contributions.sum() == pytest.approx(why.score, abs=1e-9)
        assert why.score == pytest.approx(score_of(model, why.label)(row), abs=1e-9)
        assert why.prediction == model.predict([row])[0]
        assert why.columns == ["x0", "x1", "x2", "x3"]


def test_standard_errors_tell_how_far_the_exact_values_are():
    """Of estimates with other seeds, about two thirds are within one standard error, nearly all in three.

    The error is itself estimated, from few pairs of unlike rows, so its tails are those of a t distribution
    with about eight degrees of freedom: 98.3 % within three.
    """
    rng = np.random.default_rng(1)
    x, background, matrix = rng.normal(size=7), rng.normal(size=(16, 7)), rng.normal(size=(7, 7))

    def score(rows):
        return np.einsum("ij,jk,ik->i", rows, matrix, rows) * np.sin(rows @ matrix[0])

    players = [[j] for j in range(7)]
    exact, _ = shapley(lambda row: score(row[None])[0], x, background[:1], players)
    assert_allclose(exact_values(score, x, background[:1], players).values, exact, atol=1e-9)
    exact = exact_values(score, x, background, players)
    found = [sampled(score, x, background, players, pairs=3, seed=seed) for seed in range(200)]
    for each_ in found:
        assert each_.values.sum() == pytest.approx(exact.score - exact.baseline, abs=1e-9)
    far = np.array([(f.values - exact.values) / f.errors for f in found])
    assert 0.6 < (np.abs(far) < 1).mean() < 0.75
    assert (np.abs(far) < 3).mean() > 0.97
    assert np.abs(far.mean(axis=0)).max() < 0.25  # no bias


@each("samples", [4, 16, 64])
def test_linear_models_are_exact_with_any_number_of_orders(samples):
    model = OnlineRegressor(Mapped(_inputs(), Kalman()), random_state=0).partial_fit(X, TARGETS)
    why = model.explain_one(X[5], background=X[:9], samples=samples)
    used = X[:9][np.linspace(0, 8, min(9, samples // 4)).round().astype(int)]
    slopes = [model.predict([np.eye(4)[j]])[0] - model.predict([np.zeros(4)])[0] for j in range(4)]
    assert_allclose(why.contributions, slopes * (X[5] - used.mean(axis=0)), atol=1e-9)
    assert_array_equal(why.errors, 0)


def test_pairs_of_columns_are_exact_with_one_order_and_its_reverse():
    """The one gives all of an interaction to the later column, the other to the earlier one."""
    rng = np.random.default_rng(1)
    x, background, matrix = rng.normal(size=9), rng.normal(size=(3, 9)), rng.normal(size=(9, 9))

    def score(rows):
        return np.einsum("ij,jk,ik->i", rows, matrix, rows)

    players = [[0, 5], *([j] for j in (1, 2, 3, 4, 6, 7, 8))]
    exact = exact_values(score, x, background, players)
    found = sampled(score, x, background, players, pairs=2, seed=0)
    assert_allclose(found.values, exact.values, atol=1e-9)
    assert_array_equal(found.errors, 0)


def test_additive_models_are_exact_too():
    model = OnlineRegressor(Mapped(Bins(pairs=0), Kalman()), random_state=0).partial_fit(X, TARGETS)
    rough = model.explain_one(X[5], background=X[:2], samples=8)
    exact = model.explain_one(X[5], background=X[:2], samples="exact")
    assert_allclose(rough.contributions, exact.contributions, atol=1e-9)
    assert_array_equal(rough.errors, 0)


def _inputs():
    from budgetron import Identity

    return Identity()


def test_a_column_as_in_the_rows_compared_with_adds_nothing():
    model = learned("auto", "three")
    x = X[3].copy()
    x[1] = X[8, 1]
    why = model.explain_one(x, background=X[8:9], samples=16)
    assert why.contributions[1] == why.errors[1] == 0
    same = model.explain_one(X[8], background=X[8:9])
    assert_array_equal(same.contributions, 0)
    assert same.baseline == same.score


def test_the_same_bits_for_any_batch_thread_and_copy(tmp_path):
    model = learned("auto", "two")
    rows = X[:5] + 0.1
    at_once = model.explain(rows)
    model.save(tmp_path / "model")
    for other in (
        model,
        load(tmp_path / "model"),
        OnlineClassifier(LEARNERS["auto"], random_state=0, n_jobs=2),
    ):
        if not hasattr(other, "fitted_"):
            other.partial_fit(X, LABELS == "high")
        for row, before in zip(rows, at_once, strict=True):
            why = other.explain_one(row)
            assert_array_equal(why.contributions, before.contributions)
            assert (why.score, why.baseline, why.experts) == (before.score, before.baseline, before.experts)


def test_explaining_changes_no_bit_of_the_model():
    model = OnlineClassifier(LEARNERS["auto"], random_state=0).partial_fit(X, LABELS)
    before = model.fitted_.model.state()
    model.explain(X[:3])
    model.novelty(X[:3])
    model.feature_importances_  # noqa: B018
    after = model.fitted_.model.state()
    assert before.keys() == after.keys()
    for name in before:
        assert_array_equal(before[name], after[name])


def test_a_label_may_be_chosen():
    model = learned("auto", "three")
    scores = model.decision_function(X[:1])[0]
    for label, score in zip(model.classes_.tolist(), scores, strict=True):
        why = model.explain_one(X[0], label=label, samples=8)
        assert (why.label, why.score) == (label, pytest.approx(score))
    two = learned("auto", "two")
    yes, no = (two.explain_one(X[0], label=label, samples=8) for label in (True, False))
    assert_allclose(yes.contributions, -no.contributions)


def test_sparse_rows_are_compared_with_a_row_of_zeros():
    sparse_X = sparse.csr_matrix(np.where(X > 0.5, X, 0))
    model = OnlineClassifier(pa(Linear()), random_state=0).partial_fit(sparse_X, LABELS == "high")
    row = sparse_X[3:4]
    found = model.explain(row)[0]
    dense = model.explain(row.toarray(), background=np.zeros((1, 4)))[0]
    assert_allclose(found.contributions, dense.contributions, atol=1e-12)
    assert_array_equal(found.contributions[row.toarray()[0] == 0], 0)
    assert found.baseline == 0
    given = model.explain(row, background=sparse_X[:2], samples="exact")[0]
    expected, _ = shapley(
        score_of(model, given.label), row.toarray()[0], sparse_X[:2].toarray(), [[j] for j in range(4)]
    )
    assert_allclose(given.contributions, expected, atol=1e-9)


def test_a_wide_sparse_row_takes_little_memory():
    wide = sparse.random(50, 200_000, density=1e-4, format="csr", random_state=0)
    y = np.arange(50) % 2
    model = OnlineClassifier(ogd(Linear(), loss=Logistic(), eta=0.1), random_state=0).partial_fit(wide, y)
    why = model.explain(wide[:1])[0]
    assert np.count_nonzero(why.contributions) <= wide[0].nnz
    assert why.baseline + why.contributions.sum() == pytest.approx(why.score, abs=1e-9)


RECORDS = [
    {"amount": float(a), "country": c, "new": None if i % 3 else "yes"}
    for i, (a, c) in enumerate(
        zip(RNG.integers(1, 999, 200), RNG.choice(["DE", "FR", "IT"], 200), strict=True)
    )
]
KINDS = ["fraud" if r["amount"] > 500 and r["country"] != "DE" else "ok" for r in RECORDS]


def test_all_slots_of_a_column_of_records_change_together():
    model = OnlineClassifier(Auto(size=10), random_state=0).partial_fit(RECORDS, KINDS)
    x, others = {"amount": 900.0, "country": "FR"}, RECORDS[:2]
    why = model.explain_one(x, background=others, samples="exact")
    names = ["amount", "country", "new"]
    assert (why.columns, why.values) == (names, [900.0, "FR", None])

    def score(row):
        return model.decision_function([{k: v for k, v in zip(names, row, strict=True) if v is not None}])[
            0
        ]

    table = np.array([[r.get(name) for name in names] for r in [x, *others]], dtype=object)
    expected, base = shapley(score, table[0], table[1:], [[0], [1], [2]])
    sign = 1 if why.label == model.classes_[1] else -1
    assert_allclose(why.contributions, sign * expected, atol=1e-9)
    assert why.baseline == pytest.approx(sign * base, abs=1e-9)


def test_values_that_are_hashed_are_one_column():
    from budgetron import Encoder

    rows = [r | {"id": f"number {i}"} for i, r in enumerate(RECORDS)]
    model = OnlineClassifier(Auto(size=10), encoder=Encoder(most_values=4), random_state=0)
    model.partial_fit(rows, KINDS)
    why = model.explain_one({"amount": 3.0, "country": "DE", "id": "never seen"})
    assert why.columns[-1] == "(hashed)"
    assert why.baseline + why.contributions.sum() == pytest.approx(why.score, abs=1e-9)
    assert len(model.feature_importances_) == len(why.columns)


def test_frames_missing_values_and_single_precision():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = OnlineRegressor(Auto(size=10), random_state=0).partial_fit(frame, TARGETS)
    row = frame[:1].copy()
    row.loc[0, "b"] = np.nan
    why = model.explain(row)[0]
    assert (why.columns, why.values[1]) == (list("abcd"), None)
    assert why.baseline + why.contributions.sum() == pytest.approx(why.score, abs=1e-9)
    small = OnlineClassifier(rbp(Gaussian(0.1), budget=9)).partial_fit(X.astype(np.float32), LABELS)
    why = small.explain_one(X[0].astype(np.float32))
    assert why.baseline + why.contributions.sum() == pytest.approx(why.score, abs=1e-6)


def test_experts_and_a_bias_make_the_score():
    model = learned("stack", "three")
    native, code = model.fitted_.model, model.fitted_.labels.codes["low"]
    bias = native.state()["learner.stacked.weights"][-3:][code]
    bends, slopes = (np.array(part()) for part in (native.engine.inner.bends, native.engine.inner.slopes))
    knots = np.array([0.0, *bends, 1e6])
    calibrated = np.concatenate([[0.0], np.cumsum(slopes * np.diff(knots))])
    rows = X[:6]
    for why, scores in zip(
        model.explain(rows, label="low", samples=4), model.decision_function(rows), strict=True
    ):
        before = np.sign(scores[1]) * np.interp(abs(scores[1]), calibrated, knots)
        assert sum(why.experts.values()) == pytest.approx(scores[1] * (1 - bias / before), abs=1e-9)
        assert len(why.experts) == 3
    assert list(why.experts)[1] == "1: Neighbours"


def test_neighbours_are_the_nearest_stored_rows():
    model = learned("neighbours", "three")
    why = model.explain_one(X[0] + 0.01, neighbours=5, samples=4)
    kept, labels = X[-80:], LABELS[-80:]
    distances = np.linalg.norm(kept - (X[0] + 0.01), axis=1)
    nearest = np.argsort(distances)[:5]
    assert_allclose([near.distance for near in why.neighbours], distances[nearest], rtol=1e-4)
    assert [near.label for near in why.neighbours] == labels[nearest].tolist()
    assert_allclose([list(near.values.values()) for near in why.neighbours], kept[nearest], rtol=1e-5)
    assert learned("neighbours", "targets").explain_one(X[0]).neighbours[0].label in TARGETS


def test_support_vectors_have_a_share_of_the_score():
    model = learned("perceptron", "two")
    why = model.explain_one(X[0], label=True, neighbours=1000, samples=4)
    assert len(why.neighbours) == model.n_support_
    assert sum(near.share for near in why.neighbours) == pytest.approx(why.score, abs=1e-9)
    assert np.all(np.diff([near.distance for near in why.neighbours]) >= 0)
    assert model.explain_one(X[0], neighbours=0).neighbours == []


def test_neighbours_come_back_in_the_unit_of_the_rows():
    model = learned("auto", "targets")
    near = model.explain_one(X[250], neighbours=1, samples=4).neighbours[0]
    assert_allclose(list(near.values.values()), X[250], atol=0.5)
    assert near.label == pytest.approx(TARGETS[250], abs=0.5)


def test_an_explanation_prints_and_becomes_plain_data():
    model = learned("auto", "three")
    why = model.explain_one(X[0])
    assert str(why).splitlines()[-1]
    assert "rows compared with" in str(why)
    assert "Neighbours" in str(why)
    plain = json.loads(json.dumps(why.as_dict(2), allow_nan=False))
    assert len(plain["columns"]) == 2
    total = plain["baseline"] + plain["other_columns"] + sum(c["contribution"] for c in plain["columns"])
    assert total == pytest.approx(plain["score"])
    frame = why.frame()
    assert frame["contribution"].abs().is_monotonic_decreasing
    assert len(frame) == 4


@each(
    ("how", "words"),
    [
        ({"samples": 3}, "samples must be a whole number of at least 4"),
        ({"samples": True}, "samples must be"),
        ({"samples": "all"}, "samples must be"),
        ({"neighbours": -1}, "neighbours must be a whole number of at least 0"),
        ({"label": "none"}, "label 'none' is not known: known are ['high', 'low', 'mid']"),
        ({"label": [1]}, "is not known"),
        ({"background": np.zeros((0, 4))}, "minimum of 1 is required"),
        ({"background": np.zeros((2, 3))}, "3 features"),
        ({"background": [[np.inf] * 4]}, "infinity"),
    ],
)
def test_what_cannot_be_explained(how, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        learned("auto", "three").explain_one(X[0], **how)


def test_models_that_keep_no_rows_say_what_to_do():
    model = OnlineClassifier(Mapped(RandomFourier(Gaussian(1.0), 5), AROW()), random_state=0)
    model.partial_fit(X, LABELS)
    with pytest.raises(ValueError, match=r"give background=rows, or take Standardised"):
        model.explain_one(X[0])
    assert model.explain_one(X[0], background=X[:3]).label in LABELS
    with pytest.raises(ValueError, match="a regressor has no labels"):
        learned("auto", "targets").explain_one(X[0], label=1)
    with pytest.raises(ValueError, match="at most 14 columns"):
        OnlineClassifier(duol(Gaussian(0.1))).partial_fit(
            RNG.normal(size=(30, 20)), np.arange(30) % 2
        ).explain_one(np.ones(20), samples="exact")


def test_standardised_models_are_compared_with_the_mean():
    model = OnlineClassifier(Standardised(Mapped(RandomFourier(Gaussian(1.0), 5), AROW())), random_state=0)
    model.partial_fit(X, LABELS == "high")
    why = model.explain_one(X[0], label=True)
    assert why.baseline == pytest.approx(model.decision_function([X.mean(axis=0)])[0], abs=1e-6)


def test_with_costs_the_label_that_is_predicted_is_explained():
    y = (X[:, 0] > 1).astype(int)
    model = OnlineClassifier(LEARNERS["auto"], random_state=0, costs={1: 1000.0}).partial_fit(X, y)
    likely = model.predict_proba(X)[:, 1]
    row = X[(likely > 0.01) & (likely < 0.3)][:1]
    why = model.explain(row, samples=8)[0]
    assert why.prediction == why.label == model.predict(row)[0] == 1
    assert why.score == pytest.approx(model.decision_function(row)[0])
