"""regret: the best function in hindsight against other solvers, and what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC, LinearSVR

from budgetron import (
    Absolute,
    EpsilonInsensitive,
    Gaussian,
    Hinge,
    Logistic,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    Sigmoid,
    Squared,
    SquaredHinge,
    fogd,
    ogd,
    perceptron,
)
from budgetron.evaluate import regret
from budgetron.evaluate.ball import best_in_ball
from tests.helpers.cases import each

KERNEL = Gaussian(0.4)


def stream(n=120, d=3, seed=0):
    """Rows, and labels of -1 and +1 of which a tenth is wrong."""
    r = np.random.default_rng(seed)
    X = r.standard_normal((n, d))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0) * np.where(
        r.random(n) < 0.1, -1.0, 1.0
    )


def features(X):
    """G with G G' = K."""
    return np.linalg.cholesky(KERNEL(X) + 1e-9 * np.eye(len(X)))


SOLVERS = {
    "hinge": (
        Hinge(),
        lambda C: LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-9, max_iter=10**7),
    ),
    "squared hinge": (
        SquaredHinge(),
        lambda C: LinearSVC(C=C / 2, fit_intercept=False, tol=1e-9, max_iter=10**6),
    ),
    "logistic": (
        Logistic(),
        lambda C: LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10**4),
    ),
    "squared": (Squared(), lambda C: Ridge(alpha=1 / C, fit_intercept=False, tol=1e-12)),
    "absolute": (Absolute(), lambda C: LinearSVR(C=C, fit_intercept=False, tol=1e-9, max_iter=10**7)),
    "tube": (
        EpsilonInsensitive(0.3),
        lambda C: LinearSVR(epsilon=0.3, C=C, fit_intercept=False, tol=1e-9, max_iter=10**7),
    ),
}


@each("C", [0.1, 3.0])
@each("name", SOLVERS)
def test_the_best_of_a_ball_is_what_scikit_learn_finds(name, C):
    """The w of |w|^2 / 2 + C sum of losses has the least sum of losses among all of its norm."""
    X, y = stream()
    G, (loss, solver) = features(X), SOLVERS[name]
    w = solver(C).fit(G, y).coef_.ravel()
    value = np.vectorize(loss.value)
    best = best_in_ball(G, y, loss, float(np.linalg.norm(w)))
    assert best.losses.sum() == pytest.approx(value(G @ w, y).sum(), rel=2e-5)
    assert np.linalg.norm(best.w) <= np.linalg.norm(w) * (1 + 1e-12)
    assert best.gap <= 1e-4 * best.losses.sum()


def test_another_function_of_the_ball_is_not_better():
    """Many random ones, and those near the best; and the answer for half the radius is worse."""
    X, y = stream(60)
    G, r, value = features(X), np.random.default_rng(0), np.vectorize(Hinge().value)
    best = best_in_ball(G, y, Hinge(), 4.0)
    for size in (1e-4, 0.01, 1.0, 100.0):
        for _ in range(50):
            w = best.w + size * r.standard_normal(60)
            w *= min(1, 4 / np.linalg.norm(w))
            assert value(G @ w, y).sum() >= best.losses.sum() - best.gap - 1e-9
    assert best_in_ball(G, y, Hinge(), 2.0).losses.sum() > best.losses.sum() + 1


def test_the_losses_are_those_of_the_run_and_of_the_coefficients():
    X, y = stream()
    answer = regret(perceptron(KERNEL), (X, y > 0), radius=3.0)
    wrong = OnlineClassifier(perceptron(KERNEL)).progressive_predict(X, y) != y
    np.testing.assert_array_equal(answer.mistakes, wrong)
    assert (answer.losses[wrong] >= 1).all()
    g = KERNEL(X) @ answer.coefficients
    np.testing.assert_allclose(answer.best_losses, np.maximum(0, 1 - y * g), atol=1e-6)
    assert answer.norm == pytest.approx(np.sqrt(answer.coefficients @ g), rel=1e-6)
    assert answer.total == pytest.approx(answer.curve()[-1])


def test_a_span_has_fewer_functions_than_the_space():
    X, y = stream()
    everywhere, some, few = (
        regret(ogd(KERNEL), (X, y), radius=5.0, span=span).best_losses.sum() for span in (X, X[:60], X[:10])
    )
    assert everywhere < some < few
    assert regret(ogd(KERNEL), (X, y), radius=5.0, span=X[:10]).coefficients.shape == (10,)


def test_targets_and_the_loss_of_the_rule():
    X, _ = stream()
    y = X[:, 0] + 0.1 * X[:, 1] ** 2 + 0.01
    answer = regret(ogd(KERNEL), (X, y), radius=3.0)
    before = OnlineRegressor(ogd(KERNEL)).progressive_predict(X, y)
    np.testing.assert_allclose(answer.losses, (before - y) ** 2 / 2)
    assert not answer.mistakes.any()
    absolute = regret(ogd(KERNEL, loss=Absolute()), (X, y), radius=3.0)
    assert absolute.best_losses.sum() <= np.abs(y).sum()


def test_features_have_the_kernel_that_they_approximate():
    X, y = stream()
    one, other = regret(fogd(KERNEL), (X, y), radius=3.0), regret(perceptron(KERNEL), (X, y), radius=3.0)
    assert one.best_losses.sum() == pytest.approx(other.best_losses.sum())
    assert one.losses.sum() != other.losses.sum()


@each(
    ("options", "message"),
    [
        ({"radius": 0}, "radius must be above 0"),
        ({"radius": np.inf}, "radius must be a finite number"),
        ({"radius": 1.0, "span": np.empty((0, 3))}, "1 to 10000 rows"),
        ({"radius": 1.0, "kernel": Sigmoid(0.1)}, "positive semidefinite"),
        ({"radius": 1.0, "loss": Hinge(), "task": "regression"}, "loss of labels"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        regret(ogd(KERNEL), stream(20), **options)


def test_data_that_are_refused():
    X, y = stream(20)
    with pytest.raises(ValueError, match="two labels or targets, got 3 labels"):
        regret(ogd(KERNEL), (X, np.arange(20) % 3), radius=1.0)
    with pytest.raises(ValueError, match="give kernel="):
        regret(Neighbours(), (X, y), radius=1.0)
    with pytest.raises(TypeError, match="pair"):
        regret(ogd(KERNEL), X, radius=1.0)
    with pytest.raises(TypeError, match="got records"):
        regret(ogd(KERNEL), ([{"a": 1.0}, {"a": 2.0}], [0, 1]), radius=1.0)
    with pytest.raises(ValueError, match="NaN"):
        regret(ogd(KERNEL), (np.full((2, 1), np.nan), [0, 1]), radius=1.0)
