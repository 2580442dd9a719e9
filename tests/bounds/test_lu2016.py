"""Lu et al. 2016: how near the features come to the kernel, and the regret (Theorems 1 to 4)."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from budgetron import Gaussian, Hinge, Logistic, Nystrom, RandomFourier, fogd, nogd, projectron
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.bounds.runs import KERNEL, Run, below, coordinates, descends, fault, run, stream
from tests.helpers.cases import each

ETA, D = 0.3, 200


def fourier(X, components=D, seed=0, kernel=KERNEL):
    return RandomFourier(kernel, components=components, random_state=seed).fit(X).transform(X)


def mapped(learner, X, y, Z):
    """A run on explicit features."""
    model = Model(learner, Labels(2), X.shape[1], np.float64, 0)
    w = np.zeros((len(X) + 1, Z.shape[1]))
    for t in range(len(X)):
        model.learn(X[t : t + 1], y[t : t + 1])
        w[t + 1] = model.coef()[0]
    return Run(w, Z, y, [])


@each("loss", [Hinge(), Logistic()])
def test_theorem_1_equation_5(loss):
    """Gradient descent on the features. The paper's |z|^2 = D is 1 here."""
    X, y = stream()
    Z = fourier(X)
    np.testing.assert_allclose((Z**2).sum(1), 1)
    descends(mapped(fogd(KERNEL, components=D, eta=ETA, loss=loss), X, y, Z), ETA, 0, loss)
    wrong = mapped(fogd(KERNEL, components=D, eta=4 * ETA, loss=loss), X, y, Z)
    fault(descends, wrong, ETA, 0, loss)


def spread(X, kernel, components=20, draws=400):
    """The mean squared error of z'z over draws is (1 + k(2 delta) - 2 k(delta)^2) / (2 D)."""
    i, j = np.triu_indices(len(X), 1)
    delta = X[i] - X[j]
    k, double = (KERNEL(s * delta, np.zeros((1, X.shape[1])))[:, 0] for s in (1, 2))
    maps = (fourier(X, components, seed, kernel) for seed in range(draws))
    errors = np.mean([((Z[i] * Z[j]).sum(1) - k) ** 2 for Z in maps], axis=0)
    assert errors.mean() == pytest.approx(((1 + double - 2 * k**2) / (2 * components)).mean(), rel=0.1)


def test_the_error_of_the_features_falls_with_D():
    X, _ = stream(30)
    spread(X, KERNEL)
    fault(spread, X, Gaussian(1.0))


def uniform(X, kernel, components, p=0.01):
    """Claim 1 of Rahimi & Recht: all errors are below eps with probability 1 - p."""
    d, width = X.shape[1], np.sqrt(2 * X.shape[1] * 0.5)
    R = np.linalg.norm(X[:, None] - X, axis=2).max()
    eps = np.linspace(0.05, 3, 3000)
    chance = 2**8 * (width * R / eps) ** 2 * np.exp(-components * eps**2 / (4 * (d + 2)))
    Z = fourier(X, components, kernel=kernel)
    below(np.abs(Z @ Z.T - KERNEL(X)).max(), eps[np.argmax(chance <= p)])


@each("components", [2000, 20000])
def test_theorem_1_the_probability(components):
    X, _ = stream(100)
    uniform(X, KERNEL, components)
    fault(uniform, X, Gaussian(10.0), 20000)


def carried_over(X, y, Z, eps):
    """Eqs. 6 and 7: |w*|^2 <= (1 + eps) |f*|_1^2; losses of w* and f* differ by at most eps |f*|_1."""
    r = np.random.default_rng(0)
    for size in (0.01, 0.1, 1.0):
        alpha = size * r.standard_normal(len(X)) * y
        w, total = alpha @ Z, np.abs(alpha).sum()
        below(w @ w, (1 + eps) * total**2)
        losses = [np.maximum(0, 1 - y * f) for f in (Z @ w, KERNEL(X) @ alpha)]
        below(np.abs(losses[0] - losses[1]), eps * total)


def test_theorem_1_equations_6_and_7():
    X, y = stream()
    Z = fourier(X)
    eps = np.abs(Z @ Z.T - KERNEL(X)).max()
    carried_over(X, y, Z, eps)
    fault(carried_over, X, y, fourier(X, 5), eps / 5)


# ---- NOGD


def in_subspace(learner, X, y, B, rank, eta):
    """NOGD is gradient descent in the span of k eigenvectors: Eq. 5 for every g there."""
    r = run(learner, X, y)
    S = next(s for s in r.support if len(s) == B)
    S = np.sort(S)
    D, V = np.linalg.eigh(KERNEL(X[S]))
    U = r.Z[S].T @ V[:, -rank:] / np.sqrt(D[-rank:])
    full = next(t for t, s in enumerate(r.support) if len(s) == B)
    below(np.abs(r.w[-1] - U @ (U.T @ r.w[-1])).max(), 1e-6)
    for g in r.competitors():
        g = U @ (U.T @ g)
        left = r.losses() - r.losses_of(g)
        right = r.progress(g) / (2 * eta) + eta / 2
        below(left[full + 1 :], right[full + 1 :] + 1e-9)


def test_theorem_2_the_regret():
    X, y = stream(300)
    in_subspace(nogd(KERNEL, budget=40, rank=10, eta=ETA), X, y, 40, 10, ETA)
    fault(in_subspace, nogd(KERNEL, budget=40, rank=10, eta=4 * ETA), X, y, 40, 10, ETA)
    fault(in_subspace, projectron(KERNEL, budget=40), X, y, 40, 10, 1.0)


LAM = 0.01


def objective(Z, y, classes):
    """The least lam |w|^2 / 2 + mean hinge loss on features, by scikit-learn."""
    C = 1 / (LAM * len(y))
    if classes == 2:
        w = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-8, max_iter=10**6).fit(Z, y).coef_
        losses = np.maximum(0, 1 - y * (Z @ w[0]))
    else:
        options = {"multi_class": "crammer_singer", "fit_intercept": False, "tol": 1e-8, "max_iter": 10**6}
        w = LinearSVC(C=C, **options).fit(Z, y).coef_
        scores = Z @ w.T
        own = scores[np.arange(len(y)), y]
        scores[np.arange(len(y)), y] = -np.inf
        losses = np.maximum(0, 1 - own + scores.max(1))
    return LAM / 2 * (w**2).sum() + losses.mean()


def lemma(X, y, classes, landmarks, claimed):
    """Lemmas 1 and 2: P(f_N) - P(f*) <= c |K - K^|_2 / (2 lam T); c is 1, or 2 for three classes."""
    K = KERNEL(X)
    gaps = {}
    for m in {landmarks, claimed}:
        Z = Nystrom(KERNEL, landmarks=m, random_state=0).fit(X).transform(X)
        gaps[m] = Z, np.linalg.norm(K - Z @ Z.T, 2)
    difference = objective(gaps[landmarks][0], y, classes) - objective(coordinates(K), y, classes)
    below(-1e-4, difference)
    below(difference, min(classes - 1, 2) * gaps[claimed][1] / (2 * LAM * len(y)) + 1e-4)


@each("classes", [2, 3])
def test_lemmas_1_and_2_the_gap_of_nystrom(classes):
    X, y = stream(120)
    y = y if classes == 2 else np.digitize(X[:, 0] + 0.3 * y, [-0.5, 0.5])
    for landmarks in (10, 40, 80):
        lemma(X, y, classes, landmarks, landmarks)
    fault(lemma, X, y, classes, 10, 120)


def test_the_gap_falls_with_the_landmarks():
    """To 0 when all rows are landmarks. First rows: each set contains the smaller ones."""
    X, _ = stream(120)
    maps = (Nystrom(KERNEL, landmarks=m, selection="first").fit(X).transform(X) for m in (5, 20, 60, 120))
    gaps = [np.linalg.norm(KERNEL(X) - Z @ Z.T, 2) for Z in maps]
    below(gaps[1:], gaps[:-1])
    below(gaps[-1], 1e-5)


# ---- many classes


def many(learner, X, y, Z, eta):
    """Theorem 3, Eq. 14: l_t(W_t) - l_t(W) <= eta z'z + sum over the classes of the progress / (2 eta)."""
    model = Model(learner, Labels(3), X.shape[1], np.float64, 0)
    competitors = [
        np.zeros((3, Z.shape[1])),
        *np.random.default_rng(0).standard_normal((5, 3, Z.shape[1])) / 10,
    ]
    competitors.append(np.array([Z[y == c].sum(0) for c in range(3)]) / 5)
    for t in range(len(X)):
        before = model.coef().copy()
        model.learn(X[t : t + 1], y[t : t + 1].astype(float))
        after, c = model.coef(), int(y[t])
        for W in competitors:
            progress = ((before - W) ** 2).sum() - ((after - W) ** 2).sum()
            below(margin_loss(before, Z[t], c) - margin_loss(W, Z[t], c), eta + progress / (2 * eta))


def margin_loss(W, z, c):
    f = W @ z
    return max(0.0, 1 - f[c] + np.delete(f, c).max())


def test_theorem_3_equation_14():
    X, y = stream()
    y = np.digitize(X[:, 0] + 0.3 * y, [-0.5, 0.5])
    Z = fourier(X)
    many(fogd(KERNEL, components=D, eta=ETA), X, y, Z, ETA)
    fault(many, fogd(KERNEL, components=D, eta=4 * ETA), X, y, Z, ETA)
