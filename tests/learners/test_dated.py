"""Dated: the learner learns as if there were no dates, and others beside it learn what dates say."""

import copy
import datetime as dt
import pickle

import numpy as np
import pytest

from budgetron import (
    Bins,
    Dated,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    Stacked,
    Standardised,
    auto,
    fogd,
    load,
    merge,
)
from tests.helpers.cases import each

START = dt.datetime(2026, 3, 2)
LEARNER = Stacked(fogd(Gaussian(0.5), components=10, eta=0.1), Neighbours(100), drift=1e-4)
BESIDE = Stacked(Mapped(Bins(), Kalman(prior=10)), Mapped(Identity(), Kalman()), drift=1e-4)
SMALL = Standardised(Dated(LEARNER, BESIDE))


def table(n, seed=0, columns=2):
    """Rows of normal numbers with an hourly date after them."""
    X = np.random.default_rng(seed).normal(size=(n, columns))
    return X, [
        {**{f"x{j}": float(v) for j, v in enumerate(row)}, "when": START + dt.timedelta(hours=i)}
        for i, row in enumerate(X)
    ]


def without_dates(rows):
    return [{name: value for name, value in row.items() if name != "when"} for row in rows]


def ring(X):
    return (np.abs(np.hypot(X[:, 0], X[:, 1]) - 1.2) < 0.5).astype(int)


def wrong(X, y):
    return (OnlineClassifier(random_state=0).progressive_predict(X, y) != y)[500:]


@each("truth", [ring, lambda X: (X[:, 0] * X[:, 1] > 0).astype(int)])
def test_an_irrelevant_date_costs_little(truth):
    found = []
    for seed in range(3):
        X, rows = table(3000, seed)
        found.append([wrong(each, truth(X)).sum() for each in (rows, without_dates(rows))])
    with_dates, without = np.sum(found, axis=0)
    assert with_dates < 1.1 * without


def test_fit_knows_dates_before_the_first_row():
    X, rows = table(1500)
    y = ring(X)
    model = OnlineClassifier(random_state=0).fit(rows[:1000], y[:1000])
    other = OnlineClassifier(random_state=0).fit(without_dates(rows[:1000]), y[:1000])
    assert model.fitted_.model.aside == (2, 3, 4, 5)
    found, without = (
        (m.predict(r[1000:]) != y[1000:]).sum()
        for m, r in (
            (model, rows),
            (other, without_dates(rows)),
        )
    )
    assert found < 1.3 * without + 5
    again = pickle.loads(pickle.dumps(model)).partial_fit(rows[1000:], y[1000:])
    assert again.fitted_.model.aside == model.fitted_.model.aside


def test_a_date_that_matters_is_learned():
    X, rows = table(4000)
    late = np.array([row["when"].hour >= 12 for row in rows])
    for y in (late.astype(int), ((X[:, 0] > 0) ^ late).astype(int)):
        assert wrong(rows, y)[-1000:].sum() < 100


def test_the_learner_learns_as_if_there_were_no_dates():
    X, rows = table(500)
    y = ring(X)
    dated, alone = (
        OnlineClassifier(SMALL, random_state=0).partial_fit(each, y) for each in (rows, without_dates(rows))
    )
    assert dated.fitted_.model.aside == (2, 3, 4, 5)
    native, other = dated.fitted_.model.engine.inner, alone.fitted_.model.engine.inner
    assert native.awake
    assert not other.awake
    inner = {k.removeprefix("expert.0."): v for k, v in native.state().items() if k.startswith("expert.0.")}
    expected = other.state()
    assert inner.keys() == expected.keys()
    assert all((inner[name] == expected[name]).all() for name in expected)


def test_without_dates_it_is_the_learner_alone():
    X, rows = table(300)
    y = ring(X)
    for data in (X, without_dates(rows)):
        dated = OnlineClassifier(SMALL, random_state=0).partial_fit(data, y)
        alone = OnlineClassifier(Standardised(LEARNER), random_state=0).partial_fit(data, y)
        assert (dated.decision_function(data) == alone.decision_function(data)).all()
        mine, its = dated.fitted_.model.state(), alone.fitted_.model.state()
        assert mine.keys() == its.keys()
        assert all((mine[name] == its[name]).all() for name in its)


def test_a_date_that_came_first_is_seen_by_all():
    X, rows = table(200)
    first = [{"when": row["when"], **row} for row in rows]
    model = OnlineClassifier(SMALL, random_state=0).partial_fit(first, ring(X))
    assert len(model.fitted_.model.aside) == 4, "numbers have a value in the first row"
    first = [{"when": row["when"]} for row in rows]
    model = OnlineClassifier(SMALL, random_state=0).partial_fit(first, ring(X))
    assert model.fitted_.model.aside == ()


@each("targets", [False, True])
def test_any_cut_and_all_that_is_kept(targets, tmp_path):
    X, rows = table(400)
    rows = [dict(row, kind=f"k{i // 90}") for i, row in enumerate(rows)]  # columns after those of dates
    y = X[:, 0] + 1.0 if targets else np.where(np.arange(400) > 300, 2, ring(X))  # a class after them
    make = (
        (lambda: OnlineRegressor(SMALL, random_state=0))
        if targets
        else (lambda: OnlineClassifier(SMALL, random_state=0))
    )
    scores = "predict" if targets else "decision_function"
    model = make().partial_fit(rows, y)
    expected = getattr(model, scores)(rows)
    assert model.fitted_.model.aside == (3, 4, 6, 7), "a category came between day and week"
    one = make()
    for row, label in zip(rows, y, strict=True):
        one.learn_one(row, label)
    cut = make().partial_fit(rows[:37], y[:37])
    cut = pickle.loads(pickle.dumps(cut)).partial_fit(rows[37:201], y[37:201])
    cut.save(tmp_path / "model")
    cut = copy.copy(load(tmp_path / "model")).partial_fit(rows[201:], y[201:])
    for other in (one, cut):
        assert (getattr(other, scores)(rows) == expected).all()
        assert other.fitted_.model.aside == model.fitted_.model.aside
    assert len(model.expert_weights_) == 3
    assert np.isfinite(expected).all()


def test_a_row_is_refused_as_without_dates():
    X, rows = table(50)
    model = OnlineClassifier(SMALL, random_state=0).partial_fit(rows, ring(X))
    before = model.decision_function(rows)
    with pytest.raises(ValueError, match="too large"):
        model.partial_fit([dict(rows[0], x0=1e300)], [1])
    assert (model.decision_function(rows) == before).all()


def test_threads_learn_the_same():
    X, rows = table(1500)
    y = ring(X)
    one, two = (
        OnlineClassifier(random_state=0, n_jobs=jobs).partial_fit(rows, y).decision_function(rows[:50])
        for jobs in (1, 2)
    )
    assert (one == two).all()


def test_why_and_how_new():
    X, rows = table(600)
    model = OnlineClassifier(random_state=0).partial_fit(rows, ring(X))
    why = model.explain_one(rows[7])
    assert "all without dates" in " ".join(why.experts)
    assert len(model.novelty(rows[:3])) == 3


def test_what_cannot_be_done_with_dates_is_said():
    X, rows = table(60)
    models = [OnlineClassifier(SMALL, random_state=0).partial_fit(rows, ring(X)) for _ in range(2)]
    with pytest.raises(ValueError, match="met dates in their records"):
        merge(models)


def test_it_wants_a_stack():
    with pytest.raises(TypeError, match="beside must be a Stacked"):
        OnlineClassifier(Standardised(Dated(LEARNER, fogd(Gaussian(1.0))))).fit([[0.0], [1.0]], [0, 1])


def test_the_default_has_it():
    assert isinstance(auto().composition().learner, Dated)
