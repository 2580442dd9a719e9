"""SparseFourier: frequencies of one or two columns each, and the kernel they estimate."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import j0
from sklearn.base import clone

from budgetron import Kalman, Mapped, OnlineClassifier, SparseFourier, Standardised, load
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.refusals import refused


def frequencies(features, columns):
    """u_ij, one row per column, from the features of short unit vectors."""
    t = 2.0**-10
    Z = features.fit(np.zeros((1, columns))).transform(t * np.eye(columns))
    D = Z.shape[1] // 2
    return np.arctan2(Z[:, :D], Z[:, D:]) / t


def test_every_component_looks_at_one_or_two_columns():
    U = frequencies(SparseFourier(components=4000, random_state=0), 6)
    used = (U != 0).sum(axis=0)
    assert set(used) == {1, 2}
    assert np.mean(used == 2) == pytest.approx(0.5, abs=0.04)
    np.testing.assert_allclose((U != 0).mean(axis=1), 1.5 / 6, atol=0.04)
    pairs = np.array([np.flatnonzero(u) for u in U.T if (u != 0).sum() == 2])
    _, counts = np.unique(pairs, axis=0, return_counts=True)
    assert len(counts) == 15  # every pair
    assert counts.min() > 0.6 * counts.mean()
    u, v = U[pairs[:, 0], np.flatnonzero(used == 2)], U[pairs[:, 1], np.flatnonzero(used == 2)]
    assert abs(np.mean(np.sign(u * v))) < 0.1


def lengths(U):
    """The length of the frequency of every component."""
    return np.sqrt((U**2).sum(axis=0))


def test_widths_are_spread_evenly_on_a_logarithmic_scale():
    """Of all components, and of those of each column."""
    U = frequencies(SparseFourier(components=6000, narrowest=0.3, widest=2.0, random_state=1), 3)
    singles = U[:, (U != 0).sum(axis=0) == 1]
    for own in [U, *(singles[:, singles[j] != 0] for j in range(3))]:
        places = np.log(1 / lengths(own) / 0.3) / np.log(2.0 / 0.3)
        np.testing.assert_allclose(np.sort(places), np.linspace(0, 1, len(places)), atol=0.01)


@pytest.mark.parametrize("width", [0.1, 3.0])
def test_of_one_width_all_frequencies_are_as_long(width):
    U = frequencies(SparseFourier(200, width, width, random_state=1), 2)
    np.testing.assert_allclose(lengths(U), 1 / width, rtol=1e-9)


def test_estimates_an_additive_kernel():
    """Half of it the mean of cos((x_j - z_j) / width), half of it that of a Bessel function for pairs."""
    X = np.random.default_rng(0).standard_normal((12, 4))
    Z = SparseFourier(40_000, 1.0, 1.0, random_state=0).fit_transform(X)
    D = X[:, None, :] - X[None, :, :]
    pairs = [np.hypot(D[..., i], D[..., j]) for i in range(4) for j in range(i)]
    expected = np.cos(D).mean(axis=-1) / 2 + np.mean([j0(r) for r in pairs], axis=0) / 2
    np.testing.assert_allclose(Z @ Z.T, expected, atol=0.02)


def test_one_column_is_enough():
    X = np.linspace(-2, 2, 9)[:, None]
    Z = SparseFourier(20, 0.5, 0.5, random_state=0).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, np.cos(2 * (X - X.T)), atol=1e-12)


def test_columns_take_turns():
    """With as many single components as columns, every column has one."""
    U = frequencies(SparseFourier(components=40, random_state=5), 20)
    singles = U[:, (U != 0).sum(axis=0) == 1]
    assert ((singles != 0).sum(axis=1) == 1).all()


def test_the_seed_decides():
    X = np.random.default_rng(0).standard_normal((5, 4))
    one, other, third = (SparseFourier(30, random_state=s).fit_transform(X) for s in (3, 3, 4))
    np.testing.assert_array_equal(one, other)
    assert (one != third).any()
    y = [0, 1, 0, 1, 1]
    first, again, another = (
        OnlineClassifier(Mapped(SparseFourier(30), Kalman()), random_state=s).fit(X, y) for s in (3, 3, 4)
    )
    assert members.same_state(first, again)
    assert (first.coef_ != another.coef_).any()


@pytest.mark.parametrize("columns", [3, 50, 3000])
def test_dense_and_sparse_rows_are_alike(columns):
    r = np.random.default_rng(0)
    X = r.standard_normal((20, columns)) * (r.random((20, columns)) < 0.2)
    features = SparseFourier(40, random_state=0)
    np.testing.assert_allclose(
        features.fit_transform(X), features.fit_transform(sparse.csr_array(X)), rtol=0, atol=1e-14
    )
    y = r.integers(0, 2, 20)
    one, other = (
        OnlineClassifier(Mapped(features, Kalman())).fit(rows, y) for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-10)


def test_a_column_depends_on_no_other_row():
    """Columns that appear later have the frequencies that they always had."""
    X = np.diag(np.arange(1.0, 9.0))
    y = np.arange(8) % 2
    whole = OnlineClassifier(Mapped(SparseFourier(20), Kalman()), random_state=0).fit(
        sparse.csr_array(X), y
    )
    rows = OnlineClassifier(Mapped(SparseFourier(20), Kalman()), random_state=0)
    for i in range(8):
        rows.partial_fit(sparse.csr_array(X[i : i + 1]), y[i : i + 1], classes=[0, 1])
    np.testing.assert_array_equal(rows.coef_, whole.coef_)


def test_a_million_columns_of_which_few_appear_take_little_memory():
    X = sparse.csr_array((np.ones(20), (np.arange(20) % 10, np.arange(20) * 50_000)), shape=(10, 1_000_000))
    model = OnlineClassifier(Mapped(SparseFourier(50), Kalman()), random_state=0).fit(X, np.arange(10) % 2)
    assert model.memory_bytes_ < 1e6


def test_finds_a_rule_over_two_of_fifty_columns():
    r = np.random.default_rng(0)
    X = r.standard_normal((4000, 50))
    y = np.abs(X[:, 7]) > 0.7
    model = OnlineClassifier(Standardised(Mapped(SparseFourier(300), Kalman())), random_state=0)
    assert np.mean((model.progressive_predict(X, y) != y)[2000:]) < 0.3


def test_single_precision():
    X = np.random.default_rng(0).standard_normal((20, 4))
    features = SparseFourier(30, random_state=0)
    Z = features.fit_transform(X.astype(np.float32))
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z, features.fit_transform(X), atol=1e-5)


def test_copies_and_files(path):
    X = np.random.default_rng(0).standard_normal((20, 4))
    features = SparseFourier(30, 0.2, 5.0, random_state=0)
    assert clone(features) == features
    assert eval(repr(features)) == features
    fitted = features.fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), fitted.transform(X))
    for rows in (X, sparse.csr_array(X)):
        model = OnlineClassifier(Mapped(SparseFourier(30), Kalman()), random_state=0).fit(
            rows, np.arange(20) % 2
        )
        model.save(path)
        assert members.same_state(load(path), model)
        np.testing.assert_array_equal(load(path).decision_function(rows), model.decision_function(rows))


@each(
    ("parameters", "message"),
    [
        ({"components": 0}, "SparseFourier: components must be"),
        ({"components": 10_000_001}, "SparseFourier: components must be at most 10000000"),
        ({"narrowest": 0.0}, "SparseFourier: narrowest must be above 0"),
        ({"widest": np.inf}, "SparseFourier: widest must be a finite number"),
        ({"narrowest": 5.0}, "SparseFourier: widest must be at least narrowest, got 4.0 < 5.0."),
    ],
    ids=repr,
)
def test_bad_parameters_are_one_sentence(parameters, message):
    with refused(message):
        SparseFourier(**parameters).fit([[0.0, 1.0]])
    with refused(message):
        OnlineClassifier(Mapped(SparseFourier(**parameters), Kalman())).fit([[0.0], [1.0]], [0, 1])
