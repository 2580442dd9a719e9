"""Kernels against scikit-learn's pairwise ones, and what a kernel must be."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

from budgetron import Gaussian, Laplacian, Linear, Polynomial, Sigmoid, perceptron
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.helpers.cases import each

PAIRWISE = [
    (Gaussian(0.3), lambda X, Z: rbf_kernel(X, Z, gamma=0.3)),
    (Laplacian(0.3), lambda X, Z: laplacian_kernel(X, Z, gamma=0.3)),
    (Polynomial(0.3, 0.5, 4), lambda X, Z: polynomial_kernel(X, Z, gamma=0.3, coef0=0.5, degree=4)),
    (Linear(), linear_kernel),
    (Sigmoid(0.3, 0.5), lambda X, Z: sigmoid_kernel(X, Z, gamma=0.3, coef0=0.5)),
]
KERNELS = [kernel for kernel, _ in PAIRWISE]


def rows(n, d, seed=0):
    r = np.random.default_rng(seed)
    return r.standard_normal((n, d)) * (r.random((n, d)) < 0.7)


@each(("kernel", "expected"), PAIRWISE, ids=lambda k: type(k).__name__)
@each("d", [1, 7, 33])
@each("layout", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_equal_to_scikit_learn(kernel, expected, d, layout):
    X, Z = rows(19, d), rows(37, d, seed=1)
    np.testing.assert_allclose(kernel(layout(X), layout(Z)), expected(X, Z), rtol=1e-12, atol=1e-13)


@each("kernel", KERNELS, ids=repr)
def test_symmetric(kernel):
    X = rows(40, 6)
    np.testing.assert_array_equal(kernel(X), kernel(X).T)


@each("kernel", [k for k in KERNELS if k.positive_semidefinite], ids=repr)
def test_positive_semidefinite_with_duplicates(kernel):
    X = np.vstack([rows(40, 6), rows(40, 6)])
    eigenvalues = np.linalg.eigvalsh(kernel(X))
    assert eigenvalues.min() > -1e-10 * eigenvalues.max()


def test_sigmoid_is_not_positive_semidefinite():
    assert np.linalg.eigvalsh(Sigmoid(1.0, -1.0)(rows(40, 6))).min() < -1e-3
    assert not Sigmoid().positive_semidefinite
    assert not Polynomial(coef0=-1.0).positive_semidefinite


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3)], ids=repr)
def test_exactly_1_at_itself(kernel):
    X = 1e3 * rows(40, 6)
    np.testing.assert_array_equal(np.diag(kernel(X)), 1.0)


def test_width_is_sigma():
    X = rows(5, 3)
    expected = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / (2 * 0.7**2))
    np.testing.assert_allclose(Gaussian.of_width(0.7)(X), expected, rtol=1e-12)


@each("kernel", [Gaussian(), Laplacian(), Polynomial(), Sigmoid()], ids=repr)
@each("layout", [np.asarray, sparse.csr_matrix])
def test_gamma_scale_is_that_of_scikit_learn(kernel, layout):
    X = rows(30, 4)
    assert kernel.resolved(layout(X)).gamma == pytest.approx(1 / (4 * X.var()), rel=1e-12)
    assert type(kernel)("auto").resolved(X).gamma == 0.25
    assert type(kernel)().resolved(np.ones((3, 4))).gamma == 1.0


@each("gamma", [0.25, 1.0, 0.3, 1 / 128])
@each("dtype", [np.float64, np.float32])
def test_the_exponential_in_a_kernel_row(gamma, dtype):
    """Within 2 ulp, and what rounding the exponent gamma t costs; down to where it underflows."""
    limit = 700 if dtype == np.float64 else 85
    t = np.concatenate([np.linspace(0, limit / gamma, 20_001), np.logspace(-18, 0, 2001)]).astype(dtype)[
        :, None
    ]
    model = Model(perceptron(Laplacian(gamma)), Labels(2), 1, dtype, 0)
    model.learn(np.zeros((1, 1), dtype), np.array([-1.0]))
    exponent = np.longdouble(gamma) * t[:, 0].astype(np.longdouble)
    exact = np.exp(-exponent)
    allowed = (
        2 * np.spacing(exact.astype(dtype)).astype(np.longdouble) + exact * exponent * np.finfo(dtype).eps
    )
    assert (np.abs(-model.scores(t)[:, 0] - exact) <= allowed).all()
    far = np.array([[2 * limit / gamma], [1e30]], dtype)
    np.testing.assert_array_equal(model.scores(far), 0)
