"""Hashed columns in front of a map."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from budgetron import (
    OGD,
    Gaussian,
    Hashed,
    Identity,
    Kalman,
    Mapped,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    SparseFourier,
    Stack,
    load,
)
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.refusals import refused

ITSELF = Identity(constant=False)  # the hashed row is the result
MASK = 2**64 - 1


def rows(n, columns, share=0.02, seed=0):
    r = np.random.default_rng(seed)
    return sparse.csr_array(r.standard_normal((n, columns)) * (r.random((n, columns)) < share))


def mixed(v):
    """The finaliser of SplitMix64."""
    v = (v + 0x9E3779B97F4A7C15) & MASK
    v = ((v ^ (v >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    v = ((v ^ (v >> 27)) * 0x94D049BB133111EB) & MASK
    return v ^ (v >> 31)


def hashed(X, columns):
    Z = np.zeros((X.shape[0], columns))
    for j in range(X.shape[1]):
        h = mixed(j)
        Z[:, h % columns] += X[:, j] if h >> 63 == 0 else -X[:, j]
    return Z


@each(
    "features",
    [RandomFourier(Gaussian(0.1), 9, random_state=0), Identity(0.5), SparseFourier(9, random_state=0)],
    ids=repr,
)
@each("columns", [30, 31, 1024])
def test_up_to_its_columns_it_is_the_inner_map(features, columns):
    X = rows(40, 30, 0.5)
    y = np.arange(40) % 2
    for matrix in (X, X.toarray()):
        np.testing.assert_array_equal(
            Hashed(features, columns).fit_transform(matrix), clone(features).fit_transform(matrix)
        )
        one, other = (
            OnlineClassifier(Mapped(own, Kalman()), random_state=0).fit(matrix, y)
            for own in (Hashed(features, columns), features)
        )
        assert members.same_state(one, other)


@each("columns", [1, 7, 64, 499])
def test_columns_are_added_up_with_signs(columns):
    X = rows(20, 500, 0.3).toarray()
    expected = hashed(X, columns)
    for matrix in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(
            Hashed(ITSELF, columns).fit_transform(matrix), expected, rtol=0, atol=1e-12
        )
    inner = RandomFourier(Gaussian(0.05), 9, random_state=0)
    np.testing.assert_allclose(
        Hashed(inner, columns).fit_transform(X), inner.fit_transform(expected), rtol=0, atol=1e-12
    )


def test_inner_products_are_kept_on_average():
    X = rows(400, 20_000, 0.003)
    Z = Hashed(ITSELF, 256).fit_transform(X)
    exact, kept = (X @ X.T).toarray(), Z @ Z.T
    pairs = np.triu_indices(400, 1)
    error = (kept - exact)[pairs]
    norms = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))[pairs]
    assert np.sqrt(np.mean((error / norms) ** 2)) == pytest.approx(1 / 16, rel=0.2)  # 1 / sqrt(256)
    assert abs(np.mean(error / norms)) < 0.003
    assert np.mean(np.diag(kept) / np.diag(exact)) == pytest.approx(1, abs=0.03)


def test_dense_and_sparse_rows_learn_alike():
    X, y = rows(60, 3000), np.arange(60) % 2
    features = Stack(Hashed(RandomFourier(Gaussian("1/d"), 8), columns=100), Identity("1/sqrt(d)"))
    one, other = (
        OnlineClassifier(Mapped(features, Kalman()), random_state=0).fit(own, y) for own in (X, X.toarray())
    )
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-10)


def test_memory_does_not_grow_with_the_columns():
    n, d = 2000, 1_000_000
    r = np.random.default_rng(0)
    X = sparse.csr_array(
        (r.standard_normal(20 * n), (np.arange(20 * n) // 20, r.integers(0, d, 20 * n))), shape=(n, d)
    )
    X.sum_duplicates()
    y = r.integers(0, 2, n)
    fourier = RandomFourier(Gaussian(0.1), 50)
    wide = OnlineClassifier(Mapped(Hashed(fourier), OGD(0.1)), random_state=0).fit(X, y)
    narrow = OnlineClassifier(Mapped(fourier, OGD(0.1)), random_state=0).fit(X[:, :1024].toarray(), y)
    assert wide.memory_bytes_ <= narrow.memory_bytes_ + 1000
    assert wide.memory_bytes_ < 1e6
    assert OnlineClassifier(Mapped(fourier, OGD(0.1)), random_state=0).fit(X, y).memory_bytes_ > 1e7


@each("container", [sparse.csr_array, lambda X: X.toarray()], ids=["csr", "dense"])
@each("features", [RandomFourier(Gaussian(0.1), 9), SparseFourier(9)], ids=repr)
def test_copies_files_and_cuts(features, container, path):
    X, y = container(rows(80, 500)), np.arange(80) % 2
    description = Hashed(features, 64)
    assert clone(description) == description
    assert eval(repr(description)) == description
    fitted = clone(description).set_params(features__random_state=0).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), fitted.transform(X))
    whole, parts = (OnlineClassifier(Mapped(description, Kalman()), random_state=0) for _ in range(2))
    whole.fit(X, y)
    for a in range(0, 80, 11):
        parts.partial_fit(X[a : a + 11], y[a : a + 11], classes=[0, 1])
        parts.save(path)
        parts = load(path)
    assert members.same_state(parts, whole)
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize(
    "features",
    [
        RandomFourier(Gaussian(0.1), 9),
        Hashed(RandomFourier(Gaussian(0.1), 9), 64),
    ],
    ids=repr,
)
def test_a_refused_first_row_leaves_the_map_as_it_was(features):
    X = rows(5, 500)
    model = OnlineRegressor(Mapped(features, Kalman()), random_state=0).start(X)
    before = members.bits(model)
    with pytest.raises(ValueError, match="Row 0 gives"):
        model.partial_fit(X, np.full(5, 1e200))
    assert members.bits(model) == before


def test_is_reached_by_name():
    model = OnlineClassifier(Mapped(Hashed(RandomFourier(Gaussian(0.1))), Kalman()))
    model.set_params(learner__features__columns=7, learner__features__features__components=3)
    assert model.learner.features == Hashed(RandomFourier(Gaussian(0.1), 3), 7)


@each(
    ("features", "message"),
    [
        (Hashed(ITSELF, columns=0), "Hashed: columns must be"),
        (Hashed(ITSELF, columns=2.5), "Hashed: columns must be"),
        (Hashed(ITSELF, columns=2**20 + 1), "Hashed: columns must be at most 2^20, got 1048577."),
        (Hashed(Gaussian(0.5)), "Hashed: features must be a FeatureMap"),
        (Hashed(Nystrom(Gaussian(0.5), 4), columns=1), "Hashed: needs a map that does not learn from rows"),
    ],
    ids=repr,
)
def test_bad_parameters_are_one_sentence(features, message):
    with refused(message):
        clone(features).fit([[0.0, 1.0]])
    with refused(message):
        OnlineClassifier(Mapped(features, Kalman())).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])


# ---- what depends on the number of columns


@each("columns", [1, 4, 9, 1000])
def test_inputs_divided_by_the_root_of_their_number(columns):
    X = np.random.default_rng(0).standard_normal((3, columns))
    expected = np.hstack([X / np.sqrt(columns), np.ones((3, 1))])
    for matrix in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(Identity("1/sqrt(d)").fit_transform(matrix), expected, rtol=1e-15)


@each("scale", ["1/d", "1", None, np.nan])
def test_bad_scales_are_one_sentence(scale):
    with refused("Identity: scale must be"):
        Identity(scale).fit([[0.0]])


@each(("gamma", "value"), [("0.25/d", 0.05), ("4/d", 0.8), ("1/d", 0.2), ("1e-3/d", 2e-4)])
def test_gamma_over_the_number_of_columns(gamma, value):
    X = np.random.default_rng(0).standard_normal((9, 5))
    y = np.arange(9) % 2
    one, other = (
        OnlineClassifier(Mapped(RandomFourier(Gaussian(g), 6), Kalman()), random_state=0).fit(X, y)
        for g in (gamma, value)
    )
    assert one.gamma_ == pytest.approx(value, rel=1e-15)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-12)


@each("gamma", ["0/d", "-1/d", "inf/d", "nan/d", "/d", "x/d", "1/n", "1/d/d"])
def test_bad_gammas_are_one_sentence(gamma):
    with refused("gamma must be"):
        OnlineClassifier(Mapped(RandomFourier(Gaussian(gamma), 6), Kalman())).fit([[0.0], [1.0]], [0, 1])
