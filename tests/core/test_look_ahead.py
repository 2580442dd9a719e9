"""Looking ahead over a block of rows changes the speed, and not one bit of a model."""

import numpy as np
import pytest
from scipy import sparse

from budgetron import Gaussian, Laplacian, Merge, Polynomial, _core
from tests.helpers.cases import each
from tests.helpers.members import data, estimator, expansions, make, parameters, same_state, scores, start


def learned(task, learner, X, y, length, chunk=1000):
    model = start(estimator(task, learner), task, X[:50], y[:50])
    model.fitted_.model.engine.look_ahead = length
    for i in range(50, len(y), chunk):
        model.partial_fit(X[i : i + chunk], y[i : i + chunk])
    return model


def of_budget(name, kernel=None, budget=70):
    return make(name, kernel, **({"budget": budget} if "budget" in parameters(name) else {}))


@each(("task", "name"), expansions())
def test_is_row_by_row_bit_for_bit(task, name):
    X, y = data(task, 600, features=5)
    plain = learned(task, of_budget(name), X, y, 1)
    ahead = learned(task, of_budget(name), X, y, 64)
    assert same_state(plain, ahead)
    np.testing.assert_array_equal(scores(plain, X), scores(ahead, X))


KERNELS = {"gaussian": Gaussian(0.1), "laplacian": Laplacian(0.1), "polynomial": Polynomial(0.1, 1.0, 2)}


@each("kernel", KERNELS)
@each("dtype", [np.float32, np.float64])
@each("features", [2, 130, 300])
def test_holds_for_rows_of_any_length(kernel, dtype, features):
    X, y = data("binary", 400, features=features)
    X = X.astype(dtype)
    models = [
        learned("binary", of_budget("bpa_s", KERNELS[kernel]), X, y, length) for length in (1, 8, 23, 64)
    ]
    assert all(same_state(models[0], model) for model in models[1:])


@pytest.mark.parametrize("name", ["perceptron", "bpa_p", "bduol"])
def test_holds_however_the_stream_is_cut(name):
    X, y = data("binary", 500)
    models = [learned("binary", of_budget(name), X, y, 64, chunk) for chunk in (1, 7, 40, 1000)]
    assert all(same_state(models[0], model) for model in models[1:])


@each("task", ["binary", "multiclass"])
@each("budget", [5, 16, 27])
@each("dtype", [np.float32, np.float64])
@each("margin", [False, True])
def test_holds_where_rows_to_come_are_projected_together(task, budget, dtype, margin):
    """A full span is final: projections of four rows that would make a step are solved together."""
    X, y = data(task, 700, features=3)
    X, weights = X.astype(dtype), np.where(np.arange(700) < 400, 1, np.arange(700) % 5 * 0.5)
    learner = of_budget("projectron_pp" if margin else "projectron", Gaussian(0.5), budget)
    models = []
    for chunk in (1, 3, 25, 1000):
        model = start(estimator(task, learner), task, X[:100], y[:100])
        for i in range(100, 700, chunk):
            rows = slice(i, i + chunk)
            model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        models.append(model)
    assert models[0].n_support_ == budget
    assert all(same_state(models[0], model) for model in models[1:])


def test_holds_where_support_vectors_merge():
    X, y = data("binary", 600)
    learner = make("bsgd", budget=70, maintenance=Merge)
    assert same_state(learned("binary", learner, X, y, 1), learned("binary", learner, X, y, 64))


@each("dtype", [np.float32, np.float64])
@each("kernel", ["gaussian", "polynomial"])
def test_sparse_rows_give_the_bits_of_dense_ones(dtype, kernel):
    X, y = data("binary", 400, features=300)
    X = (X * (np.random.default_rng(1).random(X.shape) < 0.1) + 0.0).astype(dtype)  # no -0
    dense = learned("binary", of_budget("bpa_s", KERNELS[kernel]), X, y, 64)
    csr = learned("binary", of_budget("bpa_s", KERNELS[kernel]), sparse.csr_array(X), y, 64)
    assert same_state(dense, csr)


PRODUCTS = {np.float32: _core.products_single, np.float64: _core.products}


@each("features", [1, 127, 129, 600])
@each("dtype", [np.float32, np.float64])
def test_products_are_right(dtype, features):
    r = np.random.default_rng(0)
    X, S = (r.standard_normal((features, n)).astype(dtype) for n in (32, 112))
    expected = X.astype(np.longdouble).T @ S.astype(np.longdouble)
    bound = 40 * np.finfo(dtype).eps * (np.abs(X).T @ np.abs(S))
    assert (np.abs(PRODUCTS[dtype](X, S) - expected) <= bound).all()


@each("features", [17, 129, 600])
@each("dtype", [np.float32, np.float64])
@each("used", ["the same columns", "columns of their own"])
def test_zeros_that_are_skipped_change_no_bit(dtype, features, used):
    """Eight rows are multiplied together: a zero is skipped only if all have it."""
    r = np.random.default_rng(0)
    kept = r.random((features, 1 if used == "the same columns" else 16)) < 0.1
    zeros = np.where(r.random((features, 16)) < 0.5, 0.0, -0.0)
    S = r.standard_normal((features, 272)).astype(dtype)
    for size in (
        1.0,
        1e-30 if dtype == np.float32 else 1e-200,
    ):  # products of small numbers underflow to -0
        X, small = (
            np.where(kept, r.standard_normal((features, 16)) * size, zeros).astype(dtype),
            S * dtype(size),
        )
        together = PRODUCTS[dtype](X, small)
        for a in range(16):
            Y = r.standard_normal(X.shape).astype(dtype)
            Y[:, a] = X[:, a]
            assert PRODUCTS[dtype](Y, small)[a].tobytes() == together[a].tobytes()


def test_long_rows_of_floats_keep_their_accuracy():
    X = np.full((200_000, 16), 0.1, np.float32)
    exact = len(X) * float(np.float32(0.1)) ** 2
    np.testing.assert_allclose(_core.products_single(X, X), exact, rtol=2e-5)
