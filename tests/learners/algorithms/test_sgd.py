"""Stochastic gradient descent and its maintenances: reference, identities, and what the theory says."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

from budgetron import (
    PA,
    SGD,
    Gaussian,
    Hinge,
    Kernelized,
    Linear,
    Merge,
    OnlineClassifier,
    Polynomial,
    Project,
    ProjectSmallest,
    RemoveOldest,
    RemoveRandom,
    RemoveSmallest,
    SampleByWeight,
    SampleUniform,
    Sometimes,
    Squared,
    Stop,
    Swap,
    SwapNearest,
    SwapProject,
    Unbounded,
    _core,
    algorithms,
    avm,
    bsgd,
    nbsgd,
    sgd,
)
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels, Targets
from tests.helpers.cases import each, pairs
from tests.helpers.members import filled
from tests.helpers.trajectories import (
    KERNELS,
    LOSSES,
    TASKS,
    labelled,
    native_scores,
    seeded,
    stream,
    streams,
)
from tests.references import sgd as reference_sgd

MAINTENANCES = {
    "remove": RemoveSmallest,
    "project": ProjectSmallest,
    "nearest": partial(ProjectSmallest, neighbours=4),
    "merge": Merge,
}
GAMMA = KERNELS["gaussian"][0].gamma


def agree(task, native, plain, X, y, weights=None):
    """The same scores before every update, and the same function in the end."""
    scores, estimator = native_scores(task, native, X, y, weights)
    w = np.ones(len(X)) if weights is None else weights
    expected = np.array([np.atleast_1d(plain.learn(*row)) for row in zip(X, y, w, strict=True)])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9 * max(1, scale))
    assert estimator.n_support_ == len(plain.S)


@pairs
@each("task", TASKS)
@each("loss", LOSSES)
@each("lam", [0.05, 2.0])
def test_sgd_follows_the_reference(loss, task, lam):
    native, plain = LOSSES[loss]
    if task == "regression" and native.of_margin:
        pytest.skip("a loss of the margin, for labels only")
    X, y = stream(task, 300, 5)
    kernel, plain_kernel = KERNELS["gaussian"]
    model = reference_sgd.sgd(plain_kernel, TASKS[task], lam=lam, loss=plain)
    agree(task, sgd(kernel, lam=lam, loss=native), model, X, y)


@pytest.mark.parametrize("n", [200, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", [name for name in algorithms.__all__ if hasattr(reference_sgd, name)])
def test_every_algorithm_that_has_a_reference_follows_it(name, task, n):
    X, y = stream(task, n, 9)
    kernel, plain_kernel = KERNELS["gaussian"]
    settings = filled(getattr(algorithms, name)) | {"lam": 0.05}
    model = getattr(reference_sgd, name)(plain_kernel, TASKS[task], **seeded(name, settings, reference_sgd))
    agree(task, getattr(algorithms, name)(kernel, **settings), model, X, y)


@pairs
@each("seed", [0, 1, 2])
@each("task", TASKS)
@each("loss", LOSSES)
@each("kernel", ["gaussian", "laplacian"])
def test_avm_follows_the_reference(kernel, loss, task, seed, long):
    native, plain = LOSSES[loss]
    if task == "regression" and native.of_margin:
        pytest.skip("a loss of the margin, for labels only")
    X, y = stream(task, 500 if long else 250, seed)
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], len(X))
    own, plain_kernel = KERNELS[kernel]
    settings = {"delta": 1.5, "lam": 0.05} if kernel == "gaussian" else {"delta": 2.5, "lam": 0.05}
    order = 2 if kernel == "gaussian" else 1
    model = reference_sgd.avm(plain_kernel, TASKS[task], loss=plain, order=order, **settings)
    agree(task, avm(own, loss=native, **settings), model, X, y, weights)
    assert 10 < len(model.S) < 300


@pytest.mark.parametrize("task", TASKS)
@given(drawn=streams())
@settings(max_examples=50, deadline=None)
def test_avm_on_streams_with_duplicates_and_ties(task, drawn):
    X, codes = drawn
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    model = reference_sgd.avm(KERNELS["gaussian"][1], TASKS[task], delta=1.2, lam=0.05)
    learner = avm(KERNELS["gaussian"][0], delta=1.2, lam=0.05)
    agree(task, learner, model, X, labelled(task, codes), weights)


def test_support_vectors_of_avm_are_farther_apart_than_delta():
    X, y = stream("binary", 500, 0)
    model = OnlineClassifier(avm(Gaussian(0.2), delta=1.5, lam=0.05)).fit(X, y)
    S = model.support_vectors_
    distances = np.linalg.norm(S[:, None] - S[None], axis=2) + 1e9 * np.eye(len(S))
    assert distances.min() > 1.5


def test_avm_of_a_tiny_delta_is_sgd_on_rows_that_differ():
    X = np.random.default_rng(0).standard_normal((300, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    one, other = (
        native_scores("binary", learner, X, y)[0]
        for learner in (avm(Gaussian(0.5), delta=1e-3, lam=0.05), sgd(Gaussian(0.5), lam=0.05))
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(0.5)], ids=repr)
def test_avm_is_for_kernels_that_fall_with_the_distance(kernel):
    with pytest.raises(ValueError, match=r"^Approximate: needs a kernel that falls .*, got .*\.$"):
        OnlineClassifier(avm(kernel, delta=0.5)).fit([[0.0], [1.0]], [0, 1])


@pairs
@each("task", TASKS)
@each("loss", LOSSES)
@each("maintenance", MAINTENANCES)
@each("seed", [0, 1, 2])
def test_bsgd_follows_the_reference(maintenance, loss, task, seed, long):
    native, plain = LOSSES[loss]
    if task == "regression" and native.of_margin:
        pytest.skip("a loss of the margin, for labels only")
    X, y = stream(task, 500 if long else 200, seed)
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, len(X))  # no accidental ties of size
    kernel, plain_kernel = KERNELS["gaussian"]
    settings = {"budget": 20, "lam": 0.05}
    model = reference_sgd.bsgd(
        plain_kernel, TASKS[task], loss=plain, maintenance=maintenance, gamma=GAMMA, **settings
    )
    learner = bsgd(kernel, loss=native, maintenance=MAINTENANCES[maintenance], **settings)
    agree(task, learner, model, X, y, weights)


@pytest.mark.parametrize("n", [200, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("maintenance", MAINTENANCES)
def test_nbsgd_follows_the_reference(maintenance, task, n):
    X, y = stream(task, n, 3)
    weights = np.random.default_rng(3).uniform(0.5, 1.5, len(X))
    kernel, plain_kernel = KERNELS["gaussian"]
    settings = {"budget": 15, "lam": 0.05, "beta": 150.0}
    model = reference_sgd.nbsgd(
        plain_kernel, TASKS[task], maintenance=maintenance, gamma=GAMMA, seed=7, **settings
    )
    agree(task, nbsgd(kernel, maintenance=MAINTENANCES[maintenance], **settings), model, X, y, weights)


@pytest.mark.parametrize("kernel", ["laplacian", "polynomial"])
@pytest.mark.parametrize("maintenance", ["remove", "project", "nearest"])
def test_other_kernels(maintenance, kernel):
    X, y = stream("binary", 300, 4)
    weights = np.random.default_rng(4).uniform(0.5, 1.5, len(X))
    native_kernel, plain_kernel = KERNELS[kernel]
    model = reference_sgd.bsgd(plain_kernel, TASKS["binary"], budget=15, lam=0.05, maintenance=maintenance)
    learner = bsgd(native_kernel, budget=15, lam=0.05, maintenance=MAINTENANCES[maintenance])
    agree("binary", learner, model, X, y, weights)


def test_exact_ties_take_the_oldest():
    """Hinge: all coefficients are of one size, so removal is first in, first out."""
    X, y = stream("binary", 300, 6)
    model = reference_sgd.bsgd(KERNELS["gaussian"][1], TASKS["binary"], budget=20, lam=0.05)
    agree("binary", bsgd(KERNELS["gaussian"][0], budget=20, lam=0.05), model, X, y)


# ---- identities


def scores_of(learner, task, X, y):
    return native_scores(task, learner, X, y)[0]


@each("task", TASKS)
@each("maintenance", ["remove", "nearest", "merge"])
def test_identities_of_budget_and_beta(maintenance, task):
    X, y = stream(task, 300, 7)
    kernel, kind = KERNELS["gaussian"][0], MAINTENANCES[maintenance]
    plain = scores_of(sgd(kernel, lam=0.05), task, X, y)
    roomy = scores_of(bsgd(kernel, budget=300, lam=0.05, maintenance=kind), task, X, y)
    never = scores_of(nbsgd(kernel, budget=10, lam=0.05, beta=0, maintenance=kind), task, X, y)
    tight = scores_of(bsgd(kernel, budget=10, lam=0.05, maintenance=kind), task, X, y)
    always = scores_of(nbsgd(kernel, budget=10, lam=0.05, beta=300, maintenance=kind), task, X, y)
    np.testing.assert_array_equal(roomy, plain)
    np.testing.assert_array_equal(never, plain)
    np.testing.assert_array_equal(always, tight)
    assert np.abs(tight - plain).max() > 1e-3


def test_identities_of_exact_projection():
    """Dependent points are folded in, so these hold to rounding."""
    X, y = stream("binary", 300, 8)
    kernel = KERNELS["gaussian"][0]
    plain = scores_of(sgd(kernel, lam=0.05), "binary", X, y)
    settings = {"budget": 10, "lam": 0.05, "maintenance": ProjectSmallest}
    never = scores_of(nbsgd(kernel, beta=0, **settings), "binary", X, y)
    always = scores_of(nbsgd(kernel, beta=300, **settings), "binary", X, y)
    np.testing.assert_allclose(never, plain, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(always, scores_of(bsgd(kernel, **settings), "binary", X, y))
    roomy = scores_of(bsgd(kernel, budget=300, lam=0.05, maintenance=ProjectSmallest), "binary", X, y)
    np.testing.assert_allclose(roomy, plain, rtol=1e-9, atol=1e-9)


def test_every_coefficient_of_hinge_is_exactly_1_over_lam_t():
    X, y = stream("binary", 257, 9)
    lam = 0.03
    model = Model(sgd(Gaussian(0.5), lam=lam), Labels(2), X.shape[1], np.float64, 0)
    model.learn(X, y.astype(float))
    assert model.size > 50
    np.testing.assert_array_equal(np.abs(model.dual_coef()), (1 / lam) / 257)


def test_the_share_of_maintenance_follows_beta_over_t():
    """Updates are maintained with probability beta/t: their number is a sum of coins, to 5 deviations."""
    r = np.random.default_rng(0)
    X = r.standard_normal((20_000, 3))
    y = np.where(r.random(len(X)) < 0.5, 1.0, -1.0)  # noise: every round updates with a large lam
    beta = 500.0
    model = Model(nbsgd(Gaussian(0.5), budget=1, beta=beta, lam=10.0), Labels(2), 3, np.float64, 0)
    expected = variance = 0.0
    before, maintained, t = 0, 0, 0
    for start in range(0, len(X), 2000):
        scores = model.learn(X[start : start + 2000], y[start : start + 2000])[:, 0]
        updates = y[start : start + 2000] * scores < 1
        times = start + 1 + np.flatnonzero(updates)
        times = times[1:] if start == 0 else times  # the first one is within the budget
        p = np.minimum(beta / times, 1)
        expected, variance = expected + p.sum(), variance + (p * (1 - p)).sum()
        maintained += before + updates.sum() - model.size
        before, t = model.size, start + 2000
    assert t == 20_000
    assert abs(maintained - expected) <= 5 * np.sqrt(variance)


# ---- maintenance


def random_model(maintenance, budget=12, n=12, outputs=2, seed=0, loss=None):
    """A model that is exactly full, and the rows to come."""
    X, y = stream("binary" if outputs == 2 else "multiclass", 400, seed)
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, len(X))
    learner = bsgd(Gaussian(0.4), budget=budget, lam=0.1, loss=loss, maintenance=MAINTENANCES[maintenance])
    return Model(learner, Labels(outputs), X.shape[1], np.float64, 0), X, y.astype(float), weights, n


@pytest.mark.parametrize("outputs", [2, 4])
@pytest.mark.parametrize("maintenance", MAINTENANCES)
def test_maintenance_loses_what_it_says(maintenance, outputs):
    """|f_new - f|^2 is |alpha_p|^2 k_pp, the residual of the projection, or the cost of the merge."""
    model, X, y, weights, _ = random_model(maintenance, outputs=outputs)
    kernel, checked = Gaussian(0.4), 0
    for t in range(1, 200):
        S, A = model.support_vectors(), model.dual_coef()
        row = slice(t - 1, t)
        f = model.learn(X[row], y[row], weights[row])[0]
        grown = A * (t - 1) / t
        beta, v = _term(f, y[t - 1], weights[t - 1], t)
        if beta == 0 or model.size < 12 or len(S) < 12 or (X[row] == S).all(axis=1).any():
            continue
        S, A = np.vstack([S, X[row]]), np.hstack([grown, beta * v[:, None]])
        union = np.vstack([S, model.support_vectors()])
        change = np.hstack([-A, model.dual_coef()])
        lost = np.einsum("ci,ij,cj", change, kernel(union), change)
        assert lost == pytest.approx(_stated_loss(maintenance, kernel(S), A), rel=1e-7, abs=1e-10)
        checked += 1
    assert checked > 30


def _term(f, y, weight, t):
    """The hinge step of the round: its size and direction."""
    if len(f) == 1:
        return (weight * y / (0.1 * t) if y * f[0] < 1 else 0.0), np.ones(1)
    wrong = np.where(np.arange(len(f)) == int(y), -np.inf, f)
    v = np.zeros(len(f))
    v[int(y)], v[int(np.argmax(wrong))] = 1, -1
    return (weight / (0.1 * t) if f @ v < 1 else 0.0), v


def _stated_loss(maintenance, K, A):
    sizes = (A**2).sum(axis=0)
    p = int(np.argmin(sizes))
    others = [j for j in range(len(K)) if j != p]
    if maintenance == "nearest":
        others = sorted(others, key=lambda j: -K[p, j])[:4]
    if maintenance in ("project", "nearest"):
        return sizes[p] * (1 - K[p, others] @ np.linalg.solve(K[np.ix_(others, others)], K[others, p]))
    if maintenance == "remove":
        return sizes[p]
    return min(
        (_merge_cost(A[:, p], A[:, j], K[p, j]) for j in others if A[:, p] @ A[:, j] > 0), default=sizes[p]
    )


def _merge_cost(a, b, kap):
    m = np.linalg.norm(a) / (np.linalg.norm(a) + np.linalg.norm(b))
    h = reference_sgd.merging_point(m, np.log(kap))
    z = a * kap ** ((1 - h) ** 2) + b * kap ** (h**2)
    return a @ a + b @ b + 2 * (a @ b) * kap - z @ z


def golden_section(m, L):
    """The plain search for the best h on [0, 1], from both halves."""

    def value(h):
        return m * np.exp(L * (1 - h) ** 2) + (1 - m) * np.exp(L * h**2)

    ratio, best = (np.sqrt(5) - 1) / 2, []
    for low, high in ((0.0, 0.5), (0.5, 1.0)):
        a, b = low, high
        for _ in range(80):
            c, d = b - ratio * (b - a), a + ratio * (b - a)
            a, b = (a, d) if value(c) > value(d) else (c, b)
        best.append((value((a + b) / 2), (a + b) / 2))
    return max(best)


@each("m", [1e-6, 0.01, 0.2, 0.37, 0.49, 0.5])
@each("L", [-1e-8, -0.01, -0.5, -1.9, -2.0, -2.1, -3.0, -10.0, -100.0])
def test_the_best_merge_is_that_of_golden_section(m, L):
    h = _core.best_merge(m, L)
    value = m * np.exp(L * (1 - h) ** 2) + (1 - m) * np.exp(L * h**2)
    assert 0 <= h <= 0.5
    assert value == pytest.approx(golden_section(m, L)[0], abs=1e-9)
    assert value >= golden_section(m, L)[0] - 1e-15
    slope = m * (1 - h) * np.exp(L * (1 - h) ** 2) - (1 - m) * h * np.exp(L * h**2)
    assert abs(slope) < 1e-14 or m == 0.5


@each("budget", [1, 2])
def test_a_tiny_term_goes_to_its_nearest_partner(budget):
    """Its cost is mostly rounding. A cost below 0 must not leave it without partners."""
    far_apart, labels = 3.0 * np.arange(budget)[:, None], -np.ones(budget)
    for seed in range(20):
        r = np.random.default_rng(seed)
        x, weight = far_apart[-1:] + 0.5 * r.random(), 1e-9 * (1 + r.random())
        model = Model(Kernelized(Gaussian(0.5), PA(), Merge(budget)), Labels(2), 1, np.float64, 0)
        model.learn(far_apart, labels)
        before = model.scores(x)[0, 0]
        model.learn(x, -np.ones(1), np.array([weight]))
        assert before - model.scores(x)[0, 0] == pytest.approx(weight, rel=0.05)


@pytest.mark.parametrize("maintenance", MAINTENANCES)
@pytest.mark.parametrize("name", TASKS)
def test_the_norm_kept_is_that_of_the_kernel_matrix(maintenance, name):
    """With the squared loss f stays in its ball, and |f|^2 kept step by step is the recomputed one."""
    task = {"binary": Labels(2), "multiclass": Labels(4), "regression": Targets()}[name]
    X, y = stream(name, 300, 3)
    kernel = Gaussian(0.4)
    learner = bsgd(kernel, budget=15, lam=0.01, loss=Squared(), maintenance=MAINTENANCES[maintenance])
    model = Model(learner, task, X.shape[1], np.float64, 0)
    y_max, at_the_edge = 0.0, 0
    for t in range(len(X)):
        model.learn(X[t : t + 1], y[t : t + 1].astype(float))
        y_max = max(y_max, abs(float(y[t]))) if name == "regression" else 1.0
        A = model.dual_coef()
        norm2 = np.einsum("ci,ij,cj", A, kernel(model.support_vectors()), A)
        kept = model.state()["expansion.norm2"][0] / model.state()["expansion.divisor"][0] ** 2
        assert kept == pytest.approx(norm2, rel=1e-9, abs=1e-9)
        assert norm2 <= y_max**2 / 0.01 * (1 + 1e-9)
        at_the_edge += norm2 >= y_max**2 / 0.01 * (1 - 1e-6)
    assert at_the_edge > 0


@pytest.mark.parametrize(
    "budget",
    [
        Unbounded(),
        Stop(15),
        RemoveRandom(15),
        RemoveOldest(15),
        SampleUniform(15, cap=100),
        SampleByWeight(15, cap=100),
        Swap(15),
        SwapNearest(15),
        SwapProject(15),
        Sometimes(RemoveSmallest(15), 20),
        Project(15, rank=4),
    ],
    ids=repr,
)
def test_every_budget_keeps_the_norm(budget):
    X, y = stream("regression", 200, 3)
    kernel = Gaussian(0.4)
    model = Model(Kernelized(kernel, SGD(0.01, Squared()), budget), Targets(), X.shape[1], np.float64, 0)
    for t in range(len(X)):
        model.learn(X[t : t + 1], y[t : t + 1].astype(float))
        A, state = model.dual_coef(), model.state()
        norm2 = np.einsum("ci,ij,cj", A, kernel(model.support_vectors()), A)
        kept = state["expansion.norm2"][0] / state["expansion.divisor"][0] ** 2
        assert kept == pytest.approx(norm2, rel=1e-9, abs=1e-9)
        assert norm2 <= np.abs(y[: t + 1]).max() ** 2 / 0.01 * (1 + 1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_norm_stays_right_where_the_kernel_matrix_is_nearly_singular(dtype):
    r = np.random.default_rng(0)
    X = r.standard_normal((3000, 1)).astype(dtype)
    y = np.sin(2 * X[:, 0].astype(float)) + X[:, 0]
    kernel = Gaussian(0.5)
    learner = bsgd(kernel, budget=40, lam=1e-3, loss=Squared(), maintenance=ProjectSmallest)
    model = Model(learner, Targets(), 1, dtype, 0)
    model.learn(X, y)
    A, state = model.dual_coef(), model.state()
    norm2 = np.einsum("ci,ij,cj", A, kernel(model.support_vectors().astype(float)), A)
    kept = state["expansion.norm2"][0] / state["expansion.divisor"][0] ** 2
    assert kept == pytest.approx(norm2, rel=1e-3)


@each("maintenance", MAINTENANCES)
@each("loss", [Hinge(), Squared()], ids=repr)
def test_a_step_too_large_to_square_is_refused(maintenance, loss):
    X, y = stream("binary", 50, 0)
    learner = bsgd(Gaussian(0.5), budget=5, lam=1e-155, loss=loss, maintenance=MAINTENANCES[maintenance])
    model = Model(learner, Labels(2), X.shape[1], np.float64, 0)
    with pytest.raises(ValueError, match="not finite"):
        model.learn(X, y.astype(float))
    assert np.isfinite(model.dual_coef()).all()


def test_no_ball_above_lam_1():
    X, y = stream("regression", 50, 3)
    one = Model(sgd(Gaussian(0.4), lam=1.5, loss=Squared()), Targets(), X.shape[1], np.float64, 0)
    one.learn(X, y)
    assert one.state()["expansion.norm2"][0] == 0
    assert "sgd.y_max" not in one.state()


@each("maintenance", MAINTENANCES)
def test_duplicates_and_zero_rows_never_break_maintenance(maintenance):
    r = np.random.default_rng(0)
    X = r.integers(0, 2, (2000, 3)).astype(float)  # eight points only
    y = np.where(r.random(2000) < 0.5, 1.0, -1.0)
    learner = bsgd(Gaussian(0.4), budget=5, lam=0.01, loss=Hinge(), maintenance=MAINTENANCES[maintenance])
    model = Model(learner, Labels(2), 3, np.float64, 0)
    assert np.isfinite(model.learn(X, y)).all()
    assert model.size <= 5
    assert np.abs(model.dual_coef()).max() < 1e3


def test_the_inverse_stays_exact_over_many_replacements():
    """20,000 rows through exact projection: K W'W = 1 to 1e-9, on points of moderate condition."""
    r = np.random.default_rng(0)
    X = r.standard_normal((20_000, 4))
    y = np.where(np.sin(3 * X[:, 0]) + 0.5 * r.standard_normal(len(X)) > 0, 1.0, -1.0)
    model = Model(
        bsgd(Gaussian(0.5), budget=40, lam=0.01, maintenance=ProjectSmallest), Labels(2), 4, np.float64, 0
    )
    model.learn(X, y, r.uniform(0.5, 1.5, len(X)))
    state = model.state()
    n = int(state["gram.n"][0])
    side = int(np.sqrt(len(state["gram.values"])))
    K = state["gram.values"].reshape(side, side)[:n, :n]
    W = state["factor.values"].reshape(side, side)[:n, :n]
    np.testing.assert_allclose(K @ W.T @ W, np.eye(n), atol=1e-9)
    np.testing.assert_allclose(np.sort(np.diag(K)), 1.0)
