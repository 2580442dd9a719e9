"""What merging keeps exactly: least-squares filters, and the statistics of columns and targets."""

import re

import numpy as np
import pytest

from budgetron import (
    AROW,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    OneByOne,
    OnlineRegressor,
    RandomFourier,
    Ranged,
    Stack,
    Standardised,
    merge,
    rbp,
)
from budgetron.merging import gaussian

FEATURES = Stack(RandomFourier(Gaussian(0.3), components=50), Identity())
EXACT = [
    Mapped(FEATURES, Kalman()),
    Mapped(Identity(), Kalman(prior=100.0)),
    Mapped(FEATURES, AROW(r=0.3)),
]
CUTS = [slice(0, 300), slice(300, 310), slice(310, 900)]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=900)


def state(model):
    return model.fitted_.model.state()


def learned(learner, X, y, cuts=CUTS):
    return [OnlineRegressor(learner, random_state=0).partial_fit(X[cut], y[cut]) for cut in cuts]


@pytest.mark.parametrize("learner", EXACT, ids=repr)
def test_least_squares_is_that_of_a_single_pass(learner, rows):
    X, y = rows
    single = OnlineRegressor(learner, random_state=0).partial_fit(X, y)
    merged = merge(learned(learner, X, y))
    assert np.abs(merged.coef_ - single.coef_).max() <= 1e-9 * np.abs(single.coef_).max()
    assert np.abs(merged.predict(X) - single.predict(X)).max() <= 1e-9
    merged.partial_fit(X[:100], y[:100])  # and it goes on like it
    single.partial_fit(X[:100], y[:100])
    assert np.abs(merged.predict(X) - single.predict(X)).max() <= 1e-9


@pytest.mark.parametrize("learner", EXACT[:2], ids=repr)
def test_so_are_deviations(learner, rows):
    X, y = rows
    single = OnlineRegressor(learner, random_state=0).partial_fit(X, y)
    merged = merge(learned(learner, X, y))
    one, other = (model.predict(X, return_std=True)[1] for model in (single, merged))
    assert np.abs(other / one - 1).max() <= 1e-9
    P, expected = (gaussian.covariance(state(model)) for model in (merged, single))
    np.testing.assert_allclose(P, expected, rtol=1e-9, atol=1e-14)


def test_weights_of_rows_are_kept(rows):
    X, y = rows
    w = np.random.default_rng(1).uniform(0.1, 5, len(y))
    learner = EXACT[0]
    single = OnlineRegressor(learner, random_state=0).partial_fit(X, y, sample_weight=w)
    parts = [
        OnlineRegressor(learner, random_state=0).partial_fit(X[cut], y[cut], sample_weight=w[cut])
        for cut in CUTS
    ]
    assert np.abs(merge(parts).predict(X) - single.predict(X)).max() <= 1e-9


def test_the_order_and_the_grouping_do_not_matter(rows):
    X, y = rows
    a, b, c = learned(EXACT[0], X, y)
    one, other = merge([a, b, c]), merge([c, merge([b, a])])
    assert np.abs(one.predict(X) - other.predict(X)).max() <= 1e-12


def test_models_of_single_rows_merge_as_well(rows):
    X, y = rows
    models = [OneByOne(EXACT[1], n_features=4, n_classes=None) for _ in range(3)]
    single = OneByOne(EXACT[1], n_features=4, n_classes=None)
    for i in range(90):
        models[i % 3].learn_one(X[i], y[i])
        single.learn_one(X[i], y[i])
    merged = merge(models)
    assert isinstance(merged, OneByOne)
    assert merged.score_one(X[100]) == pytest.approx(single.score_one(X[100]), abs=1e-9)


@pytest.mark.parametrize("scaled", [Standardised, Ranged])
def test_statistics_of_columns_and_targets(scaled, rows):
    X, y = rows
    X, y = X * [1, 1e6, 1e-6, 0] + [0, 1e9, 0, 5], 1e4 + 3 * y
    if scaled is Standardised:
        X[::7, 0] = np.nan
        X[:300, 2] = np.nan  # the first model never sees the column
    learner = scaled(Mapped(Identity(), Kalman()))
    single = OnlineRegressor(learner, random_state=0).partial_fit(X, y)
    merged = merge(learned(learner, X, y))
    names = [name for name in state(single) if re.fullmatch(r"scaled\.(target\.)?[a-z]+", name)]
    names = [name for name in names if not name.endswith("reach")]  # of the first rows of each
    assert len(names) >= 4
    for name in names:
        np.testing.assert_allclose(state(merged)[name], state(single)[name], rtol=1e-9, err_msg=name)


def test_statistics_of_sparse_rows(rows):
    from scipy import sparse

    X, y = rows
    X = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0))
    learner = Standardised(rbp(Gaussian(0.1), budget=20))
    single = OnlineRegressor(learner, random_state=0).partial_fit(X, y)
    merged = merge(learned(learner, X, y))
    np.testing.assert_allclose(state(merged)["scaled.squares"], state(single)["scaled.squares"], rtol=1e-12)


def test_the_rows_of_one_model_may_have_been_sparse_and_those_of_another_dense(rows):
    from scipy import sparse

    X, y = rows
    learner = Standardised(rbp(Gaussian(0.1), budget=20))
    models = [
        OnlineRegressor(learner, random_state=0).partial_fit(each, y) for each in (X, sparse.csr_matrix(X))
    ]
    with pytest.raises(ValueError, match=r"^merge: some models began with dense rows"):
        merge(models)
