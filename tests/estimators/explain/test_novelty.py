"""Novelty: against its definition in NumPy, and as a rank."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from budgetron import (
    AROW,
    Auto,
    Bins,
    Gaussian,
    Identity,
    Kalman,
    Linear,
    Mapped,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    Stacked,
    Standardised,
    Tiles,
    ogd,
    rbp,
)
from budgetron.estimators.explain.novelty import ranks
from tests.helpers.cases import each

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = X[:, 0] * X[:, 1] > 0
NEW = RNG.normal(size=(50, 3)) * 2


def mean_distance(row, others, k=32):
    return np.sort(np.linalg.norm(others - row, axis=1))[:k].mean()


@each("window", [1, 20, 100, 400])
def test_neighbours_give_the_mean_distance_to_the_nearest(window):
    model = OnlineClassifier(Neighbours(window, 1)).partial_fit(X, Y).fitted_.model
    kept = X[-window:]
    assert_allclose(model.novelty(NEW), [mean_distance(row, kept) for row in NEW], rtol=1e-5)
    newest = kept[::-1][:256]
    others = [np.delete(kept, -1 - i, axis=0) for i in range(len(newest))] if window > 1 else []
    usual = [mean_distance(row, rest) for row, rest in zip(newest, others, strict=False)]
    assert_allclose(model.engine.usual_novelty(), usual, rtol=1e-5)


def test_equal_rows_are_each_compared_with_the_others():
    same = np.ones((200, 2))
    model = OnlineClassifier(Neighbours(200, 3)).partial_fit(same, np.arange(200) % 2)
    assert_array_equal(model.fitted_.model.engine.usual_novelty(), np.zeros(200))
    assert_array_equal(model.novelty([[1, 1], [1, 2]]), [0, 1])


def test_kernel_learners_give_the_distance_to_the_nearest_support_vector():
    model = OnlineClassifier(rbp(Gaussian(0.3), budget=20), random_state=0).partial_fit(X, Y)

    def distances(rows, others):
        return np.sqrt(2 - 2 * np.exp(-0.3 * ((rows[:, None] - others) ** 2).sum(-1)))

    support = model.support_vectors_
    assert_allclose(model.fitted_.model.novelty(NEW), distances(NEW, support).min(axis=1), atol=1e-7)
    among = distances(support, support) + np.where(np.eye(len(support)), np.inf, 0)
    assert_allclose(model.fitted_.model.engine.usual_novelty(), among.min(axis=1)[::-1], atol=1e-7)
    assert_allclose(model.fitted_.model.kept_rows(), support[::-1])


def test_filters_give_the_variance_of_the_score():
    learner = Mapped(Identity(), Kalman(prior=2.0))
    model = OnlineRegressor(learner).partial_fit(X, X[:, 0])
    Z = np.column_stack([X, np.ones(len(X))])
    P = np.linalg.inv(Z.T @ Z + np.eye(4) / 2)
    new = np.column_stack([NEW, np.ones(len(NEW))])
    assert_allclose(model.fitted_.model.novelty(NEW), np.einsum("ij,jk,ik->i", new, P, new), rtol=1e-9)
    with pytest.raises(ValueError, match="give background=rows"):
        model.novelty(NEW)
    assert model.novelty(NEW, background=X).mean() > 0.6


LEARNERS = (
    Auto(size=10),
    Standardised(Neighbours()),
    Standardised(Stacked(ogd(Linear(), eta=0.1), Neighbours())),
    Mapped(Tiles(20), Kalman()),
    Mapped(Bins(), AROW()),
)


@each("learner", LEARNERS)
@each("task", ["labels", "targets"])
def test_rows_like_nothing_seen_rank_highest(learner, task):
    model = (
        OnlineClassifier(learner, random_state=0).partial_fit(X, Y)
        if task == "labels"
        else OnlineRegressor(learner, random_state=0).partial_fit(X, X[:, 0])
    )
    found = model.novelty(np.vstack([X[-100:], [[9, -9, 9]]]))
    assert ((found >= 0) & (found <= 1)).all()
    assert found[-1] >= np.quantile(found[:-1], 0.9)
    assert model.novelty_one([9, -9, 9]) == found[-1]


def test_rows_like_the_last_ones_have_every_rank_alike():
    """The rank is calibrated: of fresh rows of the same kind, a share of 1 - r is above r."""
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(8):
        rows = rng.normal(size=(1500, 5)) @ rng.normal(size=(5, 5))
        model = OnlineRegressor(Standardised(Neighbours())).partial_fit(rows[:1200], rows[:1200, 0])
        shares.append([(model.novelty(rows[1200:]) > r).mean() for r in (0.5, 0.9, 0.95)])
    assert_allclose(np.mean(shares, axis=0), [0.5, 0.1, 0.05], atol=0.025)


def test_ranks_go_on_above_the_last_row():
    usual = np.array([1.0, 2.0, 2.0, 4.0])
    found = ranks(np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 1e300, np.inf, np.nan]), usual)
    assert_allclose(found, [0, 0, 0.2, 0.2, 0.6, 0.6, 0.9, 1, 1, 1])
    assert_array_equal(ranks(np.array([0.0, 1.0]), np.zeros(3)), [0, 1])


def test_what_is_usual_follows_the_stream():
    model = OnlineClassifier(Standardised(Neighbours(200, 3)), random_state=0).partial_fit(X, Y)
    assert model.novelty_one([6, 6, 6]) > 0.99
    model.partial_fit(X + 6, Y)
    assert model.novelty_one([6, 6, 6]) < 0.9
    assert model.novelty_one([0, 0, 0]) > 0.9


def test_records_sparse_rows_and_missing_values():
    rows = [{"a": float(v), "c": c} for v, c in zip(X[:, 0], RNG.choice(["x", "y"], 400), strict=True)]
    model = OnlineClassifier(random_state=0).partial_fit(rows, Y)
    assert model.novelty_one({"a": 50.0, "c": "x"}) > 0.99 > model.novelty_one({"a": 0.0, "c": "x"})
    assert 0 <= model.novelty_one({}) <= 1
    assert 0 <= model.novelty_one({"c": "never seen"}) <= 1
    wide = sparse.random(300, 3000, density=0.01, format="csr", random_state=0)
    model = OnlineClassifier(Standardised(Neighbours()), random_state=0).partial_fit(wide, Y[:300])
    assert model.novelty(wide[:4]).shape == (4,)


def test_learners_that_remember_nothing_say_so():
    model = OnlineClassifier(Mapped(RandomFourier(Gaussian(1.0), 5), AROW())).partial_fit(X, Y)
    with pytest.raises(
        ValueError, match=r"novelty needs a learner that keeps rows.* auto\(\) does, got Mapped"
    ):
        model.novelty(X[:1])
    with pytest.raises(ValueError, match="fewer than two"):
        OnlineClassifier().start(X, [0, 1]).novelty(X[:1])
