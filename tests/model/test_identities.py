"""What the theorems say, and identities between the algorithms."""

import numpy as np
import pytest

from budgetron import (
    Gaussian,
    OnlineClassifier,
    OnlineRegressor,
    bogd,
    bogd_pp,
    forgetron,
    nogd,
    ogd,
    perceptron,
    projectron,
    projectron_pp,
)
from budgetron.estimators.online import progressive
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.helpers.cases import each
from tests.helpers.members import cases, make, parameters, unbounded

KERNEL = Gaussian(0.3)


def stream(n=400, d=4, classes=2, seed=0):
    r = np.random.default_rng(seed)
    X = r.standard_normal((n, d))
    f = np.sin(2 * X[:, 0]) + X[:, 0] * X[:, -1] + 0.3 * r.standard_normal(n)
    return X, np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))


def scores_of(learner, X, y, classes):
    """The scores before each update."""
    if classes is None:
        _, [scored] = progressive(OnlineRegressor(learner, random_state=0), X, y / 2)
    else:
        model = OnlineClassifier(learner, random_state=0)
        _, [scored] = progressive(model, X, y, classes=range(classes))
    return scored.scores


def room(name):
    """The algorithm with a budget that 400 rows do not fill."""
    settings = {"budget": 400} | ({"rank": 400} if "rank" in parameters(name) else {})
    return make(name, Gaussian(2.0), **settings)  # narrow: no point is near the span of the others


@each(("task", "name"), [case for case in cases() if "budget" in parameters(case[1])])
def test_a_budget_that_is_never_full_is_the_same_without_one(task, name):
    learner = room(name)
    if not getattr(getattr(learner, "budget", None), "appends_until_full", True):
        pytest.skip("its budget does more than to make room")
    classes = {"binary": 2, "multiclass": 3, "regression": None}[task]
    X, y = stream(classes=classes or 3)
    expected = scores_of(unbounded(learner), X, y, classes)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(scores_of(learner, X, y, classes), expected, rtol=1e-12, atol=1e-12 * scale)


def test_forgetron_that_is_never_full_differs_from_the_perceptron_only_where_f_is_0():
    X, y = stream()
    y[0] = 0  # a mistake to begin with: from then on f(x) is never exactly 0
    np.testing.assert_array_equal(
        scores_of(forgetron(KERNEL, budget=400), X, y, 2), scores_of(perceptron(KERNEL), X, y, 2)
    )


@each("classes", [2, 4])
@each("seed", range(5))
def test_projectron_with_threshold_0_predicts_as_the_perceptron(classes, seed):
    X, y = stream(classes=classes, d=2, n=1000, seed=seed)
    X[500:] = X[np.random.default_rng(seed).integers(0, 500, 500)]  # duplicates; in 2-d also of low rank
    one, other = OnlineClassifier(projectron(KERNEL, eta=0.0)), OnlineClassifier(perceptron(KERNEL))
    np.testing.assert_array_equal(one.progressive_predict(X, y), other.progressive_predict(X, y))
    assert one.n_support_ < other.n_support_


def test_nogd_of_full_rank_is_ogd_projected_on_the_landmarks():
    """While the budget lasts it is OGD; with rank = budget = all points it is OGD to the end."""
    X, y = stream(n=60)
    again = np.vstack([X, X])  # from row 60 on every point is in the span of the landmarks
    labels = np.concatenate([y, y])
    full = scores_of(nogd(KERNEL, budget=60, rank=60, eta=0.05), again, labels, 2)
    np.testing.assert_allclose(
        full, scores_of(ogd(KERNEL, eta=0.05), again, labels, 2), rtol=1e-9, atol=1e-9
    )


def test_margin_errors_shrink_the_mistakes_of_the_projectron():
    X, y = stream(n=2000, d=3)
    plain, plus = (
        OnlineClassifier(projectron(KERNEL, budget=50)),
        OnlineClassifier(projectron_pp(KERNEL, budget=50)),
    )
    mistakes = [np.sum(m.progressive_predict(X, y) != y) for m in (plain, plus)]
    assert mistakes[1] < mistakes[0]


@pytest.mark.parametrize("algorithm", [bogd, bogd_pp], ids=lambda a: a.__name__)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("n_draws", [4_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_sampling_leaves_f_right_on_average(algorithm, classes, n_draws):
    """E[f after sampling] = shrink f + beta k(x,.), over many draws, to 5 standard errors."""
    X = np.random.default_rng(2).standard_normal((7, 4))
    codes = np.array([0, 1, 2, 0, 1, 2, 0]) if classes == 3 else np.tile([-1.0, 1.0], 4)[:7]
    rule = {"eta": 0.3, "lam": 0.5}
    kernel = Gaussian(2.0)
    unbounded = Model(ogd(kernel, **rule), Labels(classes), 4, np.float64, 0)
    unbounded.learn(X, codes.astype(float), np.linspace(0.5, 1.5, 7))
    assert unbounded.size == 7  # so the last row makes the first draw at budget 6
    learner = algorithm(kernel, budget=6, cap=1e9, **rule)
    draws = np.empty((n_draws, 7 * unbounded.engine.outputs))
    for seed in range(len(draws)):
        model = Model(learner, Labels(classes), 4, np.float64, seed)
        model.learn(X, codes.astype(float), np.linspace(0.5, 1.5, 7))
        draws[seed] = model.scores(X).ravel()
    standard_error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (standard_error > 0).any()
    assert (np.abs(draws.mean(axis=0) - unbounded.scores(X).ravel()) <= 5 * standard_error + 1e-12).all()


def sizes(model):
    """The size of every support vector's coefficient."""
    pairs = zip(model.support_vectors(), model.dual_coef().T, strict=True)
    return {tuple(s): np.abs(a).max() for s, a in pairs}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("budget", [1, 5, 30])
def test_forgetron_stays_within_what_its_bound_allows(budget, classes):
    """0 < phi <= 1, and Q <= 15/32 M after every example."""
    X, y = stream(n=600, classes=classes)
    model = Model(forgetron(KERNEL, budget=budget), Labels(classes), 4, np.float64, 0)
    codes = (2.0 * y - 1) if classes == 2 else y.astype(float)
    newest = 1.0
    for i in range(len(X)):
        before = sizes(model)
        model.learn(X[i : i + 1], codes[i : i + 1])
        state = model.state()
        assert state["forget.Q"][0] <= 15 / 32 * state["forget.M"][0] + 1e-9
        after = sizes(model)
        phis = {after[s] / before.get(s, newest) for s in after}
        assert all(0 < phi <= 1 + 1e-12 for phi in phis)
        assert max(phis) - min(phis) < 1e-9  # everything shrinks alike


def test_a_projected_term_keeps_its_values_on_the_support_vectors():
    """What a projection leaves out is orthogonal to the span: f changes by beta k(x, s_i) at every s_i."""
    X, y = stream(n=300)
    model = Model(projectron(KERNEL, budget=25), Labels(2), 4, np.float64, 0)
    projected = 0
    for i in range(len(X)):
        S, label = model.support_vectors(), 2.0 * y[i] - 1
        before = model.scores(S) if len(S) else None
        f = model.learn(X[i : i + 1], np.array([label]))[0, 0]
        if model.size == len(S) == 25 and (f >= 0) != (label > 0):
            change = model.scores(S)[:, 0] - before[:, 0]
            np.testing.assert_allclose(change, label * KERNEL(X[i : i + 1], S)[0], atol=1e-10)
            projected += 1
    assert projected > 20


@pytest.mark.parametrize("name", ["bpa_s", "bpa_nn", "bpa_p"])
def test_a_swap_loses_least(name):
    """No other support vector could have gone at a smaller |f_new - f|, and f_new(x) is as PA wants it."""
    X, y = stream(n=200)
    budget = 12
    model = Model(make(name, KERNEL, budget=budget), Labels(2), 4, np.float64, 0)
    swaps = 0
    for i in range(len(X)):
        S, alpha = model.support_vectors(), model.dual_coef()[0]
        label = 2.0 * y[i] - 1
        f = model.learn(X[i : i + 1], np.array([label]))[0, 0]
        tau = min(1.0, max(0.0, 1 - label * f))
        if len(S) < budget or tau <= 1e-12:
            continue
        swaps += 1
        all_points = np.vstack([S, X[i : i + 1]])
        K = KERNEL(all_points)
        costs = [_loss_of_swap(name, K, alpha, tau, r) for r in range(budget)]
        new_S, new_alpha = model.support_vectors(), model.dual_coef()[0]
        union = np.vstack([all_points, new_S])
        change = np.concatenate([-alpha, [0.0], new_alpha])
        lost = change @ KERNEL(union) @ change
        assert lost == pytest.approx(min(costs), rel=1e-8, abs=1e-12)
        np.testing.assert_allclose(model.scores(X[i : i + 1])[0, 0], f + label * tau, atol=1e-10)
    assert swaps > 50


def _loss_of_swap(name, K, alpha, tau, r):
    """|f_new - f|^2 if r goes: what of alpha_r k(s_r,.) is lost, and the step along k(x,.)."""
    t = len(alpha)
    others = [j for j in range(t) if j != r]
    distances = [K[r, r] + K[j, j] - 2 * K[r, j] for j in others]
    V = {"bpa_s": [t], "bpa_nn": [others[int(np.argmin(distances))], t], "bpa_p": [*others, t]}[name]
    residual = K[r, r] - K[r, V] @ np.linalg.solve(K[np.ix_(V, V)], K[V, r])
    return alpha[r] ** 2 * residual + tau**2 * K[t, t]
