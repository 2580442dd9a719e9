"""Kalman: P, against its inverse in exact arithmetic."""

import pickle
from fractions import Fraction
from operator import mul

import numpy as np
import pytest

from budgetron import Identity, Kalman, Mapped, OnlineClassifier, OnlineRegressor
from tests.helpers import members
from tests.helpers.cases import each, pairs
from tests.helpers.trajectories import OUTPUTS, covariance, native_scores

NOISE = 2**-49  # times the prior: S is at least this times |z|^2, so smaller eigenvalues of P are harmless


def exact(Z, prior, times=1):
    """The inverse of I / prior + times Z'Z, of the numbers as they are, rounded once."""
    m = Z.shape[1]
    mantissas, exponents = np.frexp(Z)
    least = int(exponents.min()) - 53  # every number is an integer times 2^least
    shifts = (exponents - 53 - least).T.tolist()
    integers = (mantissas * 2.0**53).astype(np.int64).T.tolist()
    columns = [
        [v << by for v, by in zip(*both, strict=True)] for both in zip(integers, shifts, strict=True)
    ]
    unit, rows = times * Fraction(2) ** (2 * least), []
    for i in range(m):
        gram = [unit * sum(map(mul, columns[i], columns[j])) for j in range(m)]
        gram[i] += 1 / Fraction(prior)
        rows.append(gram + [Fraction(i == j) for j in range(m)])
    for c in range(m):
        rows[c] = [v / rows[c][c] for v in rows[c]]
        for i in range(m):
            if i != c:
                rows[i] = [a - rows[i][c] * b for a, b in zip(rows[i], rows[c], strict=True)]
    return np.array([[float(v) for v in row[m:]] for row in rows])


def extremes(n):
    """Rows that make P badly conditioned."""
    r = np.random.default_rng(0)
    normal, late = r.standard_normal((n, 4)), np.arange(n)[:, None] >= n // 2
    return {
        "normal": normal,
        "correlated": r.standard_normal((n, 1)) + 1e-3 * normal,
        "duplicate": np.repeat(normal[:4], n // 4, axis=0),
        "two rows in turn": np.tile(normal[:2], (n // 2, 1)),
        "constant": np.ones((n, 4)),
        "one huge row": np.vstack([1e8 * normal[:1], normal[1:]]),
        "huge, then tiny": normal * np.where(late, 1e-6, 1e6),
        "a column huge, then tiny": normal * np.where(late, [1e-6, 1, 1, 1], [1e6, 1, 1, 1]),
    }


# |P - exact| / |exact| (Frobenius), measured and rounded up. S is at least 2^-49 prior |z|^2, so rows with
# |z|^2 above 1e10 are trusted less than they should be.
LARGEST_ERROR = {
    "normal": 1e-13,
    "correlated": 2e-13,
    "duplicate": 1e-9,
    "two rows in turn": 1e-13,
    "constant": 1e-13,
    "one huge row": 3e-7,
    "huge, then tiny": 0.2,
    "a column huge, then tiny": 0.02,
}
LARGEST_ERROR_AFTER_TEN_MILLION = {
    "normal": 5e-11,
    "correlated": 5e-11,
    "duplicate": 5e-11,
    "two rows in turn": 5e-11,
    "constant": 5e-11,
    "one huge row": 3e-7,
    "huge, then tiny": 0.2,
    "a column huge, then tiny": 0.02,
}


def assert_accurate(model, expected, largest):
    P = covariance(model)
    error = np.linalg.norm(P - expected) / np.linalg.norm(expected)
    smallest = np.linalg.eigvalsh(P).min()
    assert smallest > -NOISE * 10.0
    assert error <= largest
    assert np.isfinite(model.coef_).all()
    return error, smallest


@pytest.mark.parametrize("name", LARGEST_ERROR)
def test_P_is_the_inverse_of_what_was_observed(name):
    X = extremes(20_000)[name]
    y = X @ [1.0, -1.0, 0.5, 0.0] + np.random.default_rng(1).standard_normal(len(X))
    model = OnlineRegressor(Mapped(Identity(constant=False), Kalman())).fit(X, y)
    assert_accurate(model, exact(X, 10.0), LARGEST_ERROR[name])
    assert (model.predict(X, return_std=True)[1] > 0).all()


@pairs
@each("task", OUTPUTS)
@each("drift", [0.0, 1e-4])
@each("name", LARGEST_ERROR)
def test_P_is_positive_definite_but_for_rounding(task, drift, name):
    X = extremes(20_000)[name]
    r = X @ [1.0, -1.0, 0.5, 0.0] + np.random.default_rng(1).standard_normal(len(X))
    y = {"binary": np.where(r > 0, 1, -1), "multiclass": np.digitize(r, [-1, 0, 1]), "regression": r}[task]
    _, model = native_scores(task, Mapped(Identity(), Kalman(10.0, drift)), X, y)
    P = covariance(model)
    assert np.linalg.eigvalsh(P).min() > -NOISE * 10.0
    assert np.diag(P).min() > 0
    assert np.diag(P).max() <= 10.0
    assert np.isfinite(members.scores(model, X[:: len(X) // 50])).all()


def test_P_is_positive_definite_after_a_huge_row():
    smallest = []
    for seed in range(50):
        X = np.random.default_rng(seed).standard_normal((11, 4))
        X[0] *= 1e7
        model = OnlineRegressor(Mapped(Identity(constant=False), Kalman())).fit(X, X[:, 0])
        smallest.append(np.linalg.eigvalsh(covariance(model)).min())
    assert min(smallest) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGEST_ERROR)
def test_P_after_ten_million_rows(name):
    X = extremes(20_000)[name]
    y = X @ [1.0, -1.0, 0.5, 0.0] + np.random.default_rng(1).standard_normal(len(X))
    model = OnlineRegressor(Mapped(Identity(constant=False), Kalman()))
    for _ in range(500):
        model.partial_fit(X, y)
    error, smallest = assert_accurate(model, exact(X, 10.0, 500), LARGEST_ERROR_AFTER_TEN_MILLION[name])
    print(f"{name}: relative error {error:.1e}, smallest eigenvalue {smallest:.1e}")


@pytest.mark.parametrize("prior", [1e30, 1e75, 1e99])
def test_a_prior_beyond_precision_does_not_grow_the_covariance(prior):
    """P loses its positivity to rounding at once; it must not grow for that, and the file must load."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3)) * 10.0 ** random.integers(-6, 6, (300, 1))
    y = random.choice([0, 1], 300)
    model = OnlineClassifier(Mapped(Identity(), Kalman(prior=prior, drift=prior * 1e-9))).fit(X, y)
    P = model.fitted_.model.state()["posterior.P"]
    assert np.abs(P).max() <= 2 * prior
    assert np.isfinite(pickle.loads(pickle.dumps(model)).predict_proba(X)).all()
