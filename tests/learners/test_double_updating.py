"""DUOL and BDUOL: trajectories, what the dual objective does, and the box QP."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetron import (
    DoubleUpdating,
    DualNearest,
    DualProjection,
    DualProjectionClipped,
    DualRemoval,
    DualRemovalThenNearest,
    DualRemovalThenProjection,
    Gaussian,
    Laplacian,
    Linear,
    OnlineClassifier,
    OnlineRegressor,
    Polynomial,
    Sigmoid,
    _core,
    bduol,
    duol,
    pa,
)
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.helpers.cases import each, pairs
from tests.references import double_updating as reference_double_updating
from tests.references import step

MAINTENANCE = {
    "remove": DualRemoval,
    "project": DualProjection,
    "clip": DualProjectionClipped,
    "nearest": DualNearest,
    "fast": DualRemovalThenProjection,
    "fast_nearest": DualRemovalThenNearest,
}
KERNELS = {
    "gaussian": (Gaussian(0.2), step.gaussian(0.2)),
    "laplacian": (Laplacian(0.1), step.laplacian(0.1)),
}
KERNEL = Gaussian(0.2)

each_maintenance = each("maintenance", MAINTENANCE)
each_learner = pytest.mark.parametrize(
    "learner",
    [duol(KERNEL, C=0.8), *(bduol(KERNEL, budget=12, C=0.8, maintenance=m) for m in MAINTENANCE.values())],
    ids=lambda learner: type(learner.maintenance).__name__,
)


def stream(n=500, seed=0, d=5):
    """Rows in general position, and labels of -1 and +1 that a model can partly learn."""
    r = np.random.default_rng(seed)
    X = r.standard_normal((n, d))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * r.standard_normal(n) > 0, 1.0, -1.0)


def hard_stream(n=500, seed=0, d=3):
    """Duplicates, zero rows and contradicting labels, many of each."""
    r = np.random.default_rng(seed)
    X = r.integers(-1, 2, (n, d)).astype(float)
    X[r.random(n) < 0.2] = 0
    return X, np.where(r.random(n) < 0.5, 1.0, -1.0)


def model(learner, d=5):
    """A native model to look into."""
    return Model(learner, Labels(2), d, np.float64, 0)


class Dual:
    """The dual variables of a model, by place, and what follows from them."""

    def __init__(self, fitted, kernel):
        state = fitted.state()
        births = np.argsort(state["expansion.births"])
        self.y = state["dual.y"][births]
        self.C = state["dual.C"][births]
        self.cached = (state["dual.y"] * state["dual.F"])[births]
        self.g = fitted.dual_coef()[0] * self.y
        self.S = fitted.support_vectors()
        self.K = kernel(self.S) if len(self.S) else np.zeros((0, 0))
        self.stated = state["dual.objective"][0]
        self.ascents = state["dual.ascents"][0]

    @property
    def margins(self):
        return self.y * (self.K @ (self.g * self.y))

    @property
    def objective(self):
        return self.g.sum() - (self.g * self.y) @ self.K @ (self.g * self.y) / 2

    def check(self, tolerance=1e-9):
        """Weights in their boxes; margins as recomputed."""
        assert (self.g >= 0).all()
        assert (self.g <= self.C).all()
        np.testing.assert_allclose(self.cached, self.margins, rtol=tolerance, atol=tolerance)


# ---- against the plain version


@pairs
@each(("seed", "budget", "C", "rho"), [(0, 10, 1.0, 0.0), (1, 20, 0.3, 0.0), (2, 15, 5.0, 0.1)])
@each("kernel", KERNELS)
@each("maintenance", [None, *MAINTENANCE])
def test_trajectories(maintenance, kernel, budget, C, rho, seed, long):
    native, plain = KERNELS[kernel]
    X, y = stream(500 if long else 200, seed)
    if maintenance is None:
        learner, slow = duol(native, C=C, rho=rho), reference_double_updating.duol(plain, C=C, rho=rho)
    else:
        budget = 10 if maintenance == "project" else budget  # the reference solves a problem for each
        learner = bduol(native, budget=budget, C=C, rho=rho, maintenance=MAINTENANCE[maintenance])
        slow = reference_double_updating.bduol(plain, budget=budget, C=C, rho=rho, maintenance=maintenance)
    fitted = model(learner)
    expected = [slow.learn(*row) for row in zip(X, y, strict=True)]
    np.testing.assert_allclose(fitted.learn(X, y)[:, 0], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fitted.dual_coef()[0], slow.A, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(fitted.support_vectors(), slow.S)


# ---- identities


@each_maintenance
def test_a_budget_that_is_never_full_is_duol(maintenance):
    X, y = stream()
    learner = bduol(KERNEL, budget=len(X), maintenance=MAINTENANCE[maintenance])
    np.testing.assert_array_equal(model(learner).learn(X, y), model(duol(KERNEL)).learn(X, y))


def test_without_a_conflict_it_is_passive_aggressive():
    X, _ = stream()
    ones = np.ones(len(X))
    scores = model(duol(KERNEL, C=0.3)).learn(X, ones)
    np.testing.assert_allclose(scores, model(pa(KERNEL, C=0.3)).learn(X, ones), rtol=1e-12)


def test_rho_of_nearly_1_finds_no_conflict():
    X, y = stream()
    scores = model(duol(KERNEL, rho=1 - 1e-12)).learn(X, y)
    np.testing.assert_allclose(scores, model(pa(KERNEL)).learn(X, y), rtol=1e-9, atol=1e-12)


def test_one_step_by_hand():
    """Two points of opposite labels at kernel 1/2: the interior optimum makes both margins 1."""
    kernel = Gaussian(np.log(2))
    fitted = model(duol(kernel, C=10.0), 1)
    fitted.learn(np.array([[0.0], [1.0]]), np.array([1.0, -1.0]))
    np.testing.assert_allclose(fitted.dual_coef(), [[2, -2]])
    np.testing.assert_allclose(fitted.scores(np.array([[0.0], [1.0]]))[:, 0], [1, -1])


@each("learner", [duol(Linear(), C=2.0), bduol(Linear(), budget=3, C=2.0)])
def test_of_equal_conflicts_the_newest_is_corrected(learner):
    """Algorithm 1, line 16: <= takes the last. Both rows of +1 have the same w."""
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0, -1.0])
    fitted = model(learner, 2)
    fitted.learn(X, y)
    first, second, _ = fitted.dual_coef()[0]
    assert first == 1
    assert second > 1


@each("C", [0.3, 2.0])
def test_trajectories_with_ties(C):
    """Rows of few values: equal conflicts at every step."""
    X, y = hard_stream(200, seed=3)
    fitted, slow = model(duol(KERNEL, C=C), 3), reference_double_updating.duol(KERNELS["gaussian"][1], C=C)
    expected = [slow.learn(*row) for row in zip(X, y, strict=True)]
    np.testing.assert_allclose(fitted.learn(X, y)[:, 0], expected, rtol=1e-9, atol=1e-9)


# ---- the dual objective


def test_the_dual_objective_never_falls_without_maintenance():
    X, y = stream()
    fitted, before = model(duol(KERNEL, C=0.8)), 0.0
    for i in range(len(X)):
        fitted.learn(X[i : i + 1], y[i : i + 1])
        now = Dual(fitted, KERNEL).objective
        assert now >= before - 1e-12
        before = now


@each_learner
@pytest.mark.parametrize("make", [stream, hard_stream])
def test_every_step_states_its_change_of_the_dual_objective(learner, make):
    """Single and double updates and maintenance: what they state adds up to the objective recomputed."""
    X, y = make(400)
    fitted = model(learner, X.shape[1])
    for i in range(len(X)):
        fitted.learn(X[i : i + 1], y[i : i + 1])
        dual = Dual(fitted, KERNEL)
        assert dual.stated == pytest.approx(dual.objective, rel=1e-9, abs=1e-9)
        dual.check()
    assert (dual.ascents != 0) == (learner.maintenance is not None)


each_number = pytest.mark.parametrize("enough", [60, pytest.param(1000, marks=pytest.mark.slow)])
"""After how many steps that were compared the reference, which is slow, is left."""


@each_number
@each_maintenance
def test_nobody_else_could_have_gone_at_a_better_change(maintenance, enough):
    """The stated DA is the largest over all j, each from the equations."""
    X, y = stream(200)
    fitted = model(bduol(KERNEL, budget=12, C=0.8, maintenance=MAINTENANCE[maintenance]))
    looked = 0
    refit = {
        "remove": reference_double_updating.nothing,
        "project": reference_double_updating.projected,
        "clip": reference_double_updating.clipped,
        "nearest": reference_double_updating.on_nearest,
        "fast": reference_double_updating.projected,
        "fast_nearest": reference_double_updating.on_nearest,
    }[maintenance]
    for i in range(len(X)):
        before = Dual(fitted, KERNEL)
        fitted.learn(X[i : i + 1], y[i : i + 1])
        stated = Dual(fitted, KERNEL).ascents - before.ascents
        if stated == 0:
            continue
        given = before.K, before.y, before.g
        choices = [
            reference_double_updating.ascent_without(*given, j, refit(*given, 0.8, j)) for j in range(12)
        ]
        if maintenance in ("fast", "fast_nearest"):
            j = int(np.argmax(before.g * (before.margins - 1) - before.g**2 / 2))
            assert stated == pytest.approx(choices[j], rel=1e-9)
        else:
            assert stated == pytest.approx(max(choices), rel=1e-9)
        looked += 1
        if looked == enough:
            break
    assert looked > 50


@each_number
@pytest.mark.parametrize(("noise", "least", "most"), [(0.2, 1e1, 1e5), (1e-2, 1e4, 1e6), (3e-3, 1e6, 1e9)])
def test_the_exact_projection_of_clusters(noise, least, most, enough):
    """The same where K is ill-conditioned, and j is ranked by an inverse of few digits."""
    r = np.random.default_rng(0)
    centres = r.standard_normal((5, 3))
    X = centres[r.integers(5, size=300)] + noise * r.standard_normal((300, 3))
    y = r.choice([-1.0, 1.0], 300)
    fitted = model(bduol(KERNEL, budget=12, C=0.8, maintenance=MAINTENANCE["project"]), 3)
    compared = 0
    for i in range(300):
        before = Dual(fitted, KERNEL)
        fitted.learn(X[i : i + 1], y[i : i + 1])
        stated = Dual(fitted, KERNEL).ascents - before.ascents
        if stated == 0 or not least < (size := np.diag(np.linalg.inv(before.K)).max()) < most:
            continue
        compared += 1
        given = before.K, before.y, before.g
        choices = [
            reference_double_updating.ascent_without(
                *given, j, reference_double_updating.projected(*given, 0.8, j)
            )
            for j in range(12)
        ]
        assert stated == pytest.approx(max(choices), rel=1e-9 + 1e-12 * size)
        if compared == enough:
            break
    assert compared > 50


@each(("noise", "tires"), [(1.0, False), (1e-2, True)])
def test_a_choice_among_clusters_may_tire(noise, tires):
    """Elsewhere all are tried. The one chosen is projected exactly in any case, so D is right."""
    r = np.random.default_rng(0)
    X = 3 * r.standard_normal((10, 8))[r.integers(10, size=180)] + noise * r.standard_normal((180, 8))
    y = r.choice([-1.0, 1.0], 180)
    kernel = Gaussian(1 / 16)
    maintenances = DualProjection(100), DualProjection(100, exact=True)
    quick, exact = (model(DoubleUpdating(kernel, maintenance=m), 8) for m in maintenances)
    same = np.array_equal(quick.learn(X, y), exact.learn(X, y))
    assert same != tires
    for fitted in (quick, exact):
        dual = Dual(fitted, kernel)
        dual.check()
        assert dual.stated == pytest.approx(dual.objective, rel=1e-9)


@each("seed", range(5))
def test_exact_projection_loses_least(seed):
    """For the same j its residual is at most that of clipping and of removal."""
    r = np.random.default_rng(seed)
    K = KERNEL(r.standard_normal((15, 4)))
    y, g = r.choice([-1.0, 1.0], 15), r.uniform(0, 1, 15)

    def residual(c, j):
        c = -c
        c[j] = g[j] * y[j]
        return c @ K @ c

    for j in range(15):
        lo, hi = np.where(y > 0, -g, g - 1), np.where(y > 0, 1 - g, g)
        lo[j] = hi[j] = 0
        exact = residual(_core.box_qp(K, g[j] * y[j] * K[j], lo, hi), j)
        clipped = residual(reference_double_updating.clipped(K, y, g, 1.0, j) * y, j)
        assert 0 <= exact <= min(clipped, residual(np.zeros(15), j)) + 1e-12


# ---- rounding and degenerate streams


@each("maintenance", [None, *MAINTENANCE])
def test_margins_after_10_000_steps(maintenance):
    X, y = stream(10_000)
    budget = 8 if maintenance == "project" else 25  # the exact projection takes its time
    chosen = None if maintenance is None else MAINTENANCE[maintenance](budget=budget)
    if maintenance is None:  # without a budget: labels that are learned with few support vectors
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        X[:, 0] += y
    fitted = model(DoubleUpdating(KERNEL, C=0.8, maintenance=chosen))
    fitted.learn(X, y)
    dual = Dual(fitted, KERNEL)
    dual.check()
    assert dual.stated == pytest.approx(dual.objective, rel=1e-8, abs=1e-8)


@each(
    "kernel", [KERNEL, Laplacian(0.5), Linear(), Polynomial(1.0, 0.0, 2), Polynomial(1.0, 1.0, 3)], ids=repr
)
@each("budget", [1, 2, 7, 30])
@each_maintenance
def test_duplicates_zero_rows_and_contradicting_labels(maintenance, budget, kernel):
    X, y = hard_stream(600)
    fitted = model(bduol(kernel, budget=budget, C=0.8, maintenance=MAINTENANCE[maintenance]), 3)
    for cut in range(0, 600, 100):
        scores = fitted.learn(X[cut : cut + 100], y[cut : cut + 100])
        assert np.isfinite(scores).all()
        assert fitted.size <= budget
        Dual(fitted, kernel).check()


@each("kernel", [Gaussian(0.5), Gaussian(0.01), Linear()], ids=repr)
@each("d", [1, 2])
@each_maintenance
def test_rows_that_nearly_depend_on_each_other(maintenance, d, kernel):
    """One and two features: the Gram matrix is singular as far as rounding tells."""
    X, y = stream(400)
    X = np.ascontiguousarray(X[:, :d])
    fitted = model(bduol(kernel, budget=30, C=0.8, maintenance=MAINTENANCE[maintenance]), d)
    fitted.learn(X, y)
    dual = Dual(fitted, kernel)
    dual.check()
    assert dual.stated == pytest.approx(dual.objective, rel=1e-8, abs=1e-8)


@given(
    rows=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=40),
    labels=st.lists(st.sampled_from([-1.0, 1.0]), min_size=40, max_size=40),
    budget=st.integers(1, 5),
    maintenance=st.sampled_from([*MAINTENANCE.values()]),
)
@settings(max_examples=200, deadline=None)
def test_any_short_stream(rows, labels, budget, maintenance):
    X, y = np.array(rows)[:, None], np.array(labels[: len(rows)])
    weights = np.random.default_rng(0).uniform(0.1, 2, len(rows))
    fitted = model(bduol(Gaussian(0.3), budget=budget, maintenance=maintenance), 1)
    fitted.learn(X, y, weights)
    dual = Dual(fitted, Gaussian(0.3))
    dual.check()
    assert dual.stated == pytest.approx(dual.objective, rel=1e-9, abs=1e-9)


def test_a_weight_multiplies_C():
    X, y = stream(300)
    weights = np.random.default_rng(1).choice([0.1, 1.0, 3.0], 300)
    fitted = model(duol(KERNEL, C=0.2))
    fitted.learn(X, y, weights)
    dual = Dual(fitted, KERNEL)
    dual.check()
    np.testing.assert_allclose(np.unique(dual.C.round(12)), [0.02, 0.2, 0.6])
    assert dual.g.max() > 0.2


# ---- the box QP


def optimal(Q, q, lo, hi, x, tolerance):
    """The conditions of Karush, Kuhn and Tucker."""
    slope = Q @ x - q
    tolerance *= 1 + np.abs(q).max()
    assert (lo <= x).all()
    assert (x <= hi).all()
    assert (slope[x > lo] <= tolerance).all()
    assert (slope[x < hi] >= -tolerance).all()


each_method = each("solve", [_core.box_qp, _core.box_qp_by_descent], ids=lambda f: f.__name__)


@each_method
@each("n", [1, 2, 5, 20, 60])
@each("seed", range(5))
def test_box_qp(solve, n, seed):
    r = np.random.default_rng(seed)
    A = r.standard_normal((n + 2, n))
    Q, q = A.T @ A, 3 * r.standard_normal(n)
    lo = -r.uniform(0, 0.5, n)
    hi = r.uniform(0, 0.5, n)
    optimal(Q, q, lo, hi, solve(Q, q, lo, hi), 1e-10)


@each_method
@each("seed", range(20))
def test_box_qp_where_rows_repeat_and_bounds_meet(solve, seed):
    """Singular Q with q in its range, variables pinned, boxes that exclude 0."""
    r = np.random.default_rng(seed)
    X = r.integers(-1, 2, (25, 3)).astype(float)
    Q = KERNEL(X)
    q = Q @ r.standard_normal(25)
    lo = r.choice([-1.0, -0.3, 0.0, 0.1], 25)
    hi = lo + r.choice([0.0, 0.2, 1.0], 25)
    optimal(Q, q, lo, hi, solve(Q, q, lo, hi), 1e-9)


@each_method
@each("noise", [1e-1, 1e-3, 1e-7])
@each("seed", range(5))
def test_box_qp_of_near_duplicates(solve, noise, seed):
    """Most columns of Q are in the span of the others, but for rounding."""
    r = np.random.default_rng(seed)
    Q = KERNEL(r.standard_normal(5) + noise * r.standard_normal((60, 5)))
    x = r.uniform(-1, 1, 60)
    lo, hi = -r.choice([0.0, 0.1, 1.0], 60), r.choice([0.0, 0.1, 1.0], 60)
    optimal(Q, Q @ x, lo, hi, solve(Q, Q @ x, lo, hi), 1e-9)


def test_box_qp_that_is_inside_is_the_solution():
    r = np.random.default_rng(0)
    Q = KERNEL(r.standard_normal((10, 4)))
    x = r.uniform(-1, 1, 10)
    np.testing.assert_allclose(_core.box_qp(Q, Q @ x, np.full(10, -2.0), np.full(10, 2.0)), x, atol=1e-10)


# ---- what is refused


def test_labels_only():
    with pytest.raises(ValueError, match=r"^DoubleUpdating is defined for classification only\.$"):
        OnlineRegressor(duol(KERNEL)).fit([[0.0], [1.0]], [0, 1])


@each(
    ("learner", "culprits"),
    [
        (duol(KERNEL, C=0), ["DoubleUpdating", "C", "0"]),
        (duol(KERNEL, rho=1.0), ["DoubleUpdating", "rho", "below 1", "1.0"]),
        (duol(KERNEL, rho=-0.1), ["DoubleUpdating", "rho", "-0.1"]),
        (duol(Sigmoid(0.1)), ["DoubleUpdating", "positive semidefinite", "Sigmoid"]),
        (bduol(KERNEL, budget=0), ["DualNearest", "budget", "0"]),
        (bduol(KERNEL, budget=2.5, maintenance=DualRemoval), ["DualRemoval", "budget", "2.5"]),
        (DoubleUpdating(KERNEL, maintenance=DualRemoval), ["maintenance must be a DualMaintenance"]),
        (DoubleUpdating("rbf"), ["kernel must be a Kernel", "'rbf'"]),
    ],
    ids=str,
)
def test_refused(learner, culprits):
    with pytest.raises((ValueError, TypeError), match=r"^[^\n]+[.?]$") as caught:
        OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1])
    for culprit in culprits:
        assert culprit in str(caught.value)
