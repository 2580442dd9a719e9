"""Orabona et al. 2008: a finite support set, and bounded mistakes (Theorems 1 to 3, Corollary 1, Eq. 15).

R = 1 for the Gaussian kernel.
"""

import numpy as np
import pytest

from budgetron import Gaussian, OnlineClassifier, perceptron, projectron, projectron_pp
from tests.bounds.runs import KERNEL, below, fault, run, stream
from tests.helpers.cases import each

ETA, U = 0.3, 3.0


def norm(g):
    return float(np.sqrt(g @ g))


def theorem_2(r, eta):
    """A mistake moves f towards g by at least 2 l_t(f) - 2 l_t(g) - R^2 - 2 eta |g|."""
    for g in r.competitors():
        least = 2 * r.losses() - 2 * r.losses_of(g) - 1 - 2 * eta * norm(g)
        below(least[r.mistakes], r.progress(g)[r.mistakes])
        below(np.abs(r.progress(g)[~r.mistakes]), 0)


@each("eta", [0.0, 0.3, 0.8])
def test_theorem_2(eta):
    X, y = stream()
    r = run(projectron(KERNEL, eta=eta), X, y)
    theorem_2(r, eta)
    for g in r.competitors():
        if 2 * eta * norm(g) < 1:
            bound = (g @ g + 2 * r.losses_of(g).sum()) / (1 - 2 * eta * norm(g))
            below(r.mistakes.sum(), bound)


def test_theorem_2_fails_if_too_much_is_projected():
    X, y = stream()
    fault(theorem_2, run(projectron(KERNEL, eta=0.9), X, y), 0.01)
    fault(theorem_2, run(projectron(KERNEL, budget=3), X, y), 0.01)


def corollary_1(r, U):
    """With Eq. 13 a mistake moves f towards g by at least 0.5 - 2 l_t(g), for |g| <= U."""
    for g in r.competitors():
        if norm(g) <= U:
            below(0.5 - 2 * r.losses_of(g)[r.mistakes], r.progress(g)[r.mistakes])


@each("U", [1.0, 3.0, 10.0])
def test_corollary_1(U):
    X, y = stream()
    r = run(projectron(KERNEL, U=U), X, y)
    corollary_1(r, U)
    for g in r.competitors():
        if norm(g) <= U:
            below(r.mistakes.sum(), 2 * (g @ g) + 4 * r.losses_of(g).sum())


def test_corollary_1_fails_for_a_smaller_U():
    X, y = stream()
    fault(corollary_1, run(projectron(KERNEL, U=0.8), X, y), 10.0)


def theorem_3(r, eta):
    """A mistake raises <f, g> by at least 1 - l_t(g) - eta |g|, and |f|^2 by at most R^2."""
    grown = np.diff((r.w**2).sum(1))
    below(grown[r.mistakes], 1)
    for g in r.competitors():
        along = np.diff(r.w @ g)
        below((1 - r.losses_of(g) - eta * norm(g))[r.mistakes], along[r.mistakes])


@each("eta", [0.0, 0.3])
def test_theorem_3(eta):
    X, y = stream()
    r = run(projectron(KERNEL, eta=eta), X, y)
    theorem_3(r, eta)
    for g in r.competitors():
        if eta * norm(g) < 1:
            left = 1 - eta * norm(g)
            bound = (norm(g) + np.sqrt(g @ g + 4 * left * r.losses_of(g).sum())) / (2 * left)
            below(r.mistakes.sum(), bound**2)


def test_theorem_3_fails_if_too_much_is_projected():
    X, y = stream()
    fault(theorem_3, run(projectron(KERNEL, eta=0.9), X, y), 0.01)


def equation_15(r, U):
    """A margin error moves f towards g by at least beta_t - 2 l_t(g), with beta of Eqs. 16 and 17."""
    K = r.Z @ r.Z.T
    margin, competitors = r.y * r.f, [g for g in r.competitors() if norm(g) <= U]
    for t in np.flatnonzero((margin > 0) & (margin < 1)):
        S = r.support[t]
        P = float(K[t, S] @ np.linalg.lstsq(K[np.ix_(S, S)], K[S, t], rcond=1e-12)[0])
        loss, delta = 1 - margin[t], np.sqrt(max(0.0, K[t, t] - P))
        tau = min(loss / P, 1)
        beta = max(0.0, tau * (2 * loss - tau * P - 2 * U * delta))
        for g in competitors:
            allowed = 2 * max(0.0, 1 - r.y[t] * (r.Z[t] @ g))
            below(beta - allowed, r.progress(g)[t] + 1e-6)


def test_equation_15():
    """Margin errors of the Projectron++; those of the Projectron, which ignores them, are not progress."""
    X, y = stream(300)
    equation_15(run(projectron_pp(KERNEL, U=U), X, y), U)
    fault(equation_15, run(projectron(KERNEL, U=U), X, y), U)


def separated(S, eta, gamma):
    """Theorem 1 on a line: support vectors are eta apart in the space; so many fit between 0 and 1."""
    apart = np.sqrt(-np.log(1 - eta**2 / 2) / gamma)
    gaps = np.diff(np.sort(S.ravel()))
    assert (gaps >= apart * (1 - 1e-9)).all()
    assert len(S) <= 1 + 1 / apart


@each("eta", [0.3, 0.6])
def test_theorem_1(eta):
    """Labels at random: there is a mistake in every second row, and the Perceptron grows without end."""
    r = np.random.default_rng(0)
    X, y = r.random((3000, 1)), r.integers(0, 2, 3000)
    small = OnlineClassifier(projectron(Gaussian(4.0), eta=eta)).fit(X, y)
    separated(small.support_vectors_, eta, 4.0)
    before = OnlineClassifier(projectron(Gaussian(4.0), eta=eta)).fit(X[:1500], y[:1500])
    assert before.n_support_ == small.n_support_  # and it has long stopped growing
    fault(separated, OnlineClassifier(perceptron(Gaussian(4.0))).fit(X, y).support_vectors_, eta, 4.0)


@each("algorithm", [projectron, projectron_pp])
def test_a_U_with_which_nothing_is_learned_warns(algorithm):
    X, y = stream()
    with pytest.warns(UserWarning, match="nothing is ever learned.*give a larger U"):
        model = OnlineClassifier(algorithm(KERNEL, U=0.75)).fit(X, y)
    assert model.n_support_ == 0
    assert OnlineClassifier(algorithm(KERNEL, U=0.76)).fit(X, y).n_support_ > 0
