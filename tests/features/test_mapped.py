"""Rules on explicit features, against the plain version in references/features.py, and on hard rows."""

from functools import partial

import numpy as np
import pytest

from budgetron import (
    AROW,
    NORMA,
    OGD,
    PA,
    SGD,
    AdaGrad,
    CoinBetting,
    Gaussian,
    Identity,
    Logistic,
    Mapped,
    OnlineClassifier,
    OnlineNewton,
    OnlineRegressor,
    Perceptron,
    RandomFourier,
    Stack,
    fogd,
    ogd,
)
from budgetron.estimators.online import progressive
from tests.helpers import members
from tests.helpers.cases import each, pairs
from tests.model.test_reference import LOSSES, TASKS, native_scores, stream
from tests.references import features as plain
from tests.references import kernelized as reference
from tests.references import maps, step

D, GAMMA, SEED = 13, 0.2, 7  # the seed is that of the estimators in test_reference
FOURIER = RandomFourier(Gaussian(GAMMA), components=D)
SEEDED = RandomFourier(
    Gaussian(GAMMA), components=D, random_state=SEED
)  # in a stack, every map has its own
MAPS = {
    "fourier": (FOURIER, lambda U: maps.fourier(U)),
    "stack": (Stack(SEEDED, Identity(0.5)), lambda U: maps.stack(maps.fourier(U), maps.identity(0.5))),
}
EPSILON = 0.05


def rules(task, ours, theirs):
    """Every rule with a loss: ours, and a maker of the reference's."""
    e = EPSILON if task == "regression" else None
    found = {
        "ogd": (
            OGD(0.3, 0.02, ours, EPSILON),
            partial(reference._ogd, TASKS[task], 0.3, 0.02, theirs, EPSILON),
        ),
        "sgd": (SGD(0.05, ours), partial(plain.StochasticGradient, 0.05, theirs)),
        "adagrad": (AdaGrad(0.2, ours, EPSILON, 0.01), partial(plain.AdaGrad, 0.2, 0.01, theirs, e)),
        "coin": (CoinBetting(ours, 20.0, EPSILON), partial(plain.CoinBetting, theirs, e, 20.0)),
    }
    for kind in ("full", "diagonal"):
        newton = OnlineNewton(0.5, ours, 2.0, kind, EPSILON)
        found[f"newton-{kind}"] = (
            newton,
            partial(plain.OnlineNewton, 0.5, 2.0, theirs, e, kind == "diagonal"),
        )
    return found


def rules_without_loss(task):
    """The others."""
    e = EPSILON if task == "regression" else None
    found = {
        "perceptron": (Perceptron(0.5, EPSILON), partial(reference._perceptron, TASKS[task], 0.5, EPSILON)),
        "pa": (PA(0.7, EPSILON), partial(reference._pa, TASKS[task], 0.7, EPSILON)),
        "arow-full": (AROW(0.8, "full", EPSILON), partial(plain.AROW, 0.8, e)),
        "arow-diagonal": (AROW(0.8, "diagonal", EPSILON), partial(plain.AROW, 0.8, e, True)),
    }
    if task == "regression":
        found["norma"] = NORMA(0.1, 0.4, 0.02, 0.1), partial(step.Norma, 0.1, 0.4, 0.02, 0.1)
    return found


def compare(task, map_name, rule, their_rule, X, y, weights=None, tolerance=1e-9):
    """Scores before every update, and the final function, are those of the reference."""
    features, make = MAPS[map_name]
    scores, model = native_scores(task, Mapped(features, rule), X, y, weights)
    U = maps.frequencies(maps.gaussian_law(GAMMA), SEED, range(X.shape[1]), D)
    oracle = plain.Mapped(make(U), TASKS[task], their_rule())
    w = np.ones(len(X)) if weights is None else weights
    expected = np.array([np.atleast_1d(oracle.learn(*row)) for row in zip(X, y, w, strict=True)])
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(model.coef_, oracle.w, rtol=tolerance, atol=tolerance)


CASES = [
    pytest.param(task, loss, name, id=f"{task}-{loss}-{name}")
    for task in TASKS
    for loss, (ours, theirs) in LOSSES.items()
    if task != "regression" or not ours.of_margin
    for name in rules(task, ours, theirs)
]


@pairs
@each("map_name", MAPS)
@each(("task", "loss", "name"), CASES)
def test_trajectories_with_every_loss(task, loss, name, map_name):
    X, y = stream(task, 300, 1)
    weights = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], len(X))
    compare(task, map_name, *rules(task, *LOSSES[loss])[name], X, y, weights)


@pairs
@each("map_name", MAPS)
@each(("task", "name"), [(task, name) for task in TASKS for name in rules_without_loss(task)])
@each("seed", range(3))
def test_trajectories_over_500_steps(task, name, map_name, seed):
    X, y = stream(task, 500, seed)
    compare(task, map_name, *rules_without_loss(task)[name], X, y)


@pytest.mark.parametrize("task", TASKS)
def test_fogd_is_gradient_descent_on_fourier_features(task):
    assert fogd(Gaussian(GAMMA), components=D, eta=0.3) == Mapped(FOURIER, OGD(0.3))
    X, y = stream(task, 500, 2)
    ours, theirs = (None, step.squared if task == "regression" else step.hinge)
    compare(
        task,
        "fourier",
        OGD(0.3, 0.0, ours),
        partial(reference._ogd, TASKS[task], 0.3, 0.0, theirs, 0.1),
        X,
        y,
    )


def test_fogd_becomes_kernel_gradient_descent_as_components_grow():
    """The distance of the scores to those of ogd falls as 1/sqrt(D): by 4 from D = 100 to 1600."""
    X, y = stream("binary", 300, 0)
    exact = native_scores("binary", ogd(Gaussian(GAMMA), eta=0.1), X, y)[0]
    distance = {}
    for components in (100, 1600):
        runs = []
        for seed in range(10):
            model = OnlineClassifier(
                fogd(Gaussian(GAMMA), components=components, eta=0.1), random_state=seed
            )
            runs += [scored.scores for scored in progressive(model, X, y, classes=[-1, 1])[1]]
        distance[components] = np.sqrt(np.mean((np.array(runs) - exact) ** 2))
    assert distance[1600] < distance[100] / 3


# ---- what each rule promises


def test_arow_without_a_dead_zone_is_recursive_least_squares():
    X, y = members.data("regression", 80)
    model = OnlineRegressor(Mapped(Identity(), AROW(r=0.3))).fit(X, y)
    Z = np.hstack([X, np.ones((80, 1))])
    ridge = np.linalg.solve(Z.T @ Z / 0.3 + np.eye(4), Z.T @ y / 0.3)
    np.testing.assert_allclose(model.coef_[0], ridge, rtol=1e-9)


@each(
    "rule",
    [AROW(), AROW(covariance="diagonal"), OnlineNewton(loss=Logistic()), AdaGrad(), CoinBetting()],
    ids=repr,
)
def test_rules_learn(rule):
    """Two moons' worth of structure: every rule gets below 10 % where the Perceptron's is near 15 %."""
    r = np.random.default_rng(0)
    X = r.standard_normal((4000, 2)) * 1.5
    y = np.sin(2 * X[:, 0]) + X[:, 1] > 0
    model = OnlineClassifier(
        Mapped(Stack(RandomFourier(Gaussian(0.5), 100), Identity()), rule), random_state=0
    )
    assert np.mean((model.progressive_predict(X, y) != y)[1000:]) < 0.1


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_coin_betting_does_not_care_for_the_scale_of_the_gradients(scale):
    X, y = members.data("binary", 200)
    one, other = (OnlineClassifier(Mapped(FOURIER, CoinBetting()), random_state=0) for _ in range(2))
    one.fit(X, y)
    other.fit(X, y, sample_weight=np.full(200, scale))
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-9)


# ---- hard rows


@pytest.mark.parametrize("scale", [1e7, 1e8, 1e10])
def test_a_full_covariance_stays_positive_where_a_column_is_far_too_large(scale):
    """Subtracting beta Sigma z z'Sigma loses positivity here, and the model with it."""
    r = np.random.default_rng(0)
    X = r.standard_normal((3000, 3))
    y = X[:, 0] * X[:, 1] > 0
    X[:, 2] = scale * (1.7 + 0.01 * np.arange(3000) / 3000)
    learner = Mapped(Stack(RandomFourier(Gaussian(0.1), 20), Identity()), OnlineNewton())
    model = OnlineClassifier(learner, random_state=0).fit(X, y)
    assert (model.fitted_.model.state()["covariance.D.0"] > 0).all()
    assert np.isfinite(model.coef_).all()


def test_a_full_covariance_is_the_inverse_of_what_was_observed():
    X, y = members.data("regression", 200)
    model = OnlineRegressor(Mapped(Identity(), AROW(r=0.5))).fit(X, y)
    state, m = model.fitted_.model.state(), 4
    U = np.eye(m)
    for j in range(m):
        U[:j, j] = state["covariance.U.0"][j * (j - 1) // 2 : j * (j - 1) // 2 + j]
    Z = np.hstack([X, np.ones((200, 1))])
    sigma = U @ np.diag(state["covariance.D.0"]) @ U.T
    np.testing.assert_allclose(sigma, np.linalg.inv(np.eye(m) + Z.T @ Z / 0.5), rtol=1e-8, atol=1e-12)


@each("size", [1e-200, 1e-100, 1e100])
@each("rule", [CoinBetting(), AROW(), AdaGrad(), OnlineNewton()], ids=lambda r: type(r).__name__)
def test_rows_of_any_size_leave_numbers(rule, size):
    model = OnlineClassifier(Mapped(Identity(constant=False), rule))
    model.partial_fit(size * np.ones((5, 2)), [0, 1, 0, 1, 1], classes=[0, 1])
    assert np.isfinite(model.coef_).all()


def test_a_target_too_large_leaves_the_model_as_it_was():
    X, y = members.data("regression", 100)
    y[50] = 1e300
    for rule in (AROW(r=1e-9), OnlineNewton(), SGD(0.1), AdaGrad()):
        model = OnlineRegressor(Mapped(FOURIER, rule), random_state=0)
        with pytest.raises(ValueError, match="Row 50 gives a score that is not finite"):
            model.partial_fit(X, y)
        expected = OnlineRegressor(Mapped(FOURIER, rule), random_state=0).partial_fit(X[:50], y[:50])
        assert members.same_state(model, expected)
