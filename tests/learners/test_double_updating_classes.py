"""Double updating with more than two classes (equations of ours): trajectories, and the dual objective."""

import numpy as np
import pytest
from scipy.optimize import minimize

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
    bduol,
    duol,
    pa,
)
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.helpers.cases import each, pairs
from tests.references import step
from tests.references.double_updating import ManyClasses, possible

MAINTENANCE = {"remove": DualRemoval, "nearest": DualNearest, "fast_nearest": DualRemovalThenNearest}
KERNELS = {
    "gaussian": (Gaussian(0.2), step.gaussian(0.2)),
    "laplacian": (Laplacian(0.1), step.laplacian(0.1)),
}
KERNEL = Gaussian(0.2)
each_maintenance = each("maintenance", MAINTENANCE)


def stream(n=300, seed=0, d=5, classes=4):
    """Rows in general position, and labels that a model can partly learn."""
    r = np.random.default_rng(seed)
    X = r.standard_normal((n, d))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * r.standard_normal(n)
    return X, np.digitize(f, np.linspace(-1, 1, classes - 1)).astype(float)


def model(learner, classes=4, d=5):
    return Model(learner, Labels(classes), d, np.float64, 0)


class Dual:
    """The dual variables of a model, the oldest support vector first, and what follows from them."""

    def __init__(self, fitted, kernel=KERNEL):
        state = fitted.state()
        births = np.argsort(state["expansion.births"])
        self.y = state["dual.label"][births].astype(int)
        self.C = state["dual.C"][births]
        self.A = fitted.dual_coef().T
        self.F = np.array([state[f"dual.F.{c}"][births] for c in range(self.A.shape[1])]).T
        self.S = fitted.support_vectors()
        self.K = kernel(self.S) if len(self.S) else np.zeros((0, 0))
        self.stated, self.maintained = state["dual.objective"][0], state["dual.ascents"][0]
        self.own = np.arange(len(self.y)), self.y

    @property
    def objective(self):
        return objective(self.K, self.y, self.A)

    def check(self, tolerance=1e-9):
        """Every weight is at least 0, their sums are at most C, and cached scores are right."""
        others = np.ones_like(self.A, bool)
        others[self.own] = False
        assert (self.A[others] <= 0).all()
        assert (self.A[self.own] <= self.C + tolerance).all()
        np.testing.assert_allclose(self.A.sum(1), 0, atol=tolerance)
        np.testing.assert_allclose(self.F, self.K @ self.A, rtol=tolerance, atol=tolerance)
        assert self.stated == pytest.approx(self.objective, rel=tolerance, abs=tolerance)


def objective(K, y, A):
    """D = the sum of the weights - |f|^2 / 2."""
    return A[np.arange(len(y)), y].sum() - (A * (K @ A)).sum() / 2


# ---- against the plain version


@pairs
@each(("seed", "budget", "C", "rho"), [(0, 10, 1.0, 0.0), (1, 20, 0.3, 0.0), (2, 15, 5.0, 0.1)])
@each("kernel", KERNELS)
@each("maintenance", [None, *MAINTENANCE])
def test_trajectories(maintenance, kernel, budget, C, rho, seed, long):
    native, plain = KERNELS[kernel]
    X, y = stream(300 if long else 120, seed)
    if maintenance is None:
        learner, slow = duol(native, C=C, rho=rho), ManyClasses(plain, 4, C, rho)
    else:
        learner = bduol(native, budget=budget, C=C, rho=rho, maintenance=MAINTENANCE[maintenance])
        slow = ManyClasses(plain, 4, C, rho, budget, maintenance)
    fitted = model(learner)
    expected = [slow.learn(*row) for row in zip(X, y, strict=True)]
    np.testing.assert_allclose(fitted.learn(X, y), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fitted.dual_coef().T, slow.A, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(fitted.support_vectors(), slow.S)
    assert Dual(fitted, native).stated == pytest.approx(slow.dual(), rel=1e-9)


# ---- every step is an ascent of the dual


@each(("C", "least"), [(0.1, 0), (1.0, 50), (10.0, 50)])
def test_every_step_rises(C, least):
    """D never falls without a budget, and rises at every row with a loss. Two weights may change.

    If C is small, every weight is C at once, and no conflict can be corrected.
    """
    X, y = stream(250)
    fitted = model(duol(KERNEL, C=C))
    before, doubles = Dual(fitted), 0
    for i in range(len(X)):
        scores = fitted.learn(X[i : i + 1], y[i : i + 1])[0]
        after = Dual(fitted)
        after.check()
        wrong = np.delete(scores, int(y[i])).max()
        assert after.objective >= before.objective - 1e-12
        if scores[int(y[i])] - wrong < 1 - 1e-9:
            assert after.objective > before.objective
            old = len(before.y)
            changed = np.flatnonzero(np.abs(after.A[:old] - before.A).max(axis=1) > 0)
            assert len(changed) <= 1
            doubles += len(changed)
        before = after
    assert doubles >= least


def test_a_double_update_is_the_best_for_its_two_weights():
    """No other pair in the box gives a larger D: a general solver finds the same."""
    X, y = stream(150)
    fitted = model(duol(KERNEL, C=0.7))
    compared = 0
    for i in range(len(X)):
        before = Dual(fitted)
        fitted.learn(X[i : i + 1], y[i : i + 1])
        after = Dual(fitted)
        old = len(before.y)
        if len(after.y) == old:
            continue
        changed = np.flatnonzero(np.abs(after.A[:old] - before.A).max(axis=1) > 0)
        if len(changed) != 1:
            continue
        [b] = changed
        label, rival = before.y[b], int(np.argmin(after.A[b] - before.A[b]))
        s = int(np.argmin(after.A[-1]))

        def fall(pair, b=b, label=label, rival=rival, s=s, before=before, after=after):
            A = np.vstack([before.A, np.zeros(4)])
            A[-1, after.y[-1]], A[-1, s] = pair[0], -pair[0]
            A[b, label] += pair[1]
            A[b, rival] -= pair[1]
            return -objective(after.K, after.y, A)

        box = [(0, 0.7), (before.A[b, rival], 0.7 - before.A[b, label])]
        found = minimize(fall, [0.0, 0.0], bounds=box, method="L-BFGS-B", tol=1e-14)
        assert after.objective >= -found.fun - 1e-9
        compared += 1
    assert compared > 30


@each_maintenance
def test_a_maintenance_takes_the_best(maintenance):
    """The stated change of D is that of the choice with the largest ascent among all support vectors."""
    X, y = stream(250)
    fitted = model(bduol(KERNEL, budget=12, C=0.8, maintenance=MAINTENANCE[maintenance]))
    looked = 0
    for i in range(len(X)):
        before = Dual(fitted)
        fitted.learn(X[i : i + 1], y[i : i + 1])
        after = Dual(fitted)
        after.check()
        assert len(after.y) <= 12
        stated = after.maintained - before.maintained
        if stated == 0:
            continue
        rises = [ascent(before, j, maintenance) for j in range(12)]
        if maintenance == "fast_nearest":
            chosen = int(np.argmax([ascent(before, j, "remove") for j in range(12)]))
            assert stated == pytest.approx(rises[chosen], rel=1e-9, abs=1e-12)
        else:
            assert stated == pytest.approx(max(rises), rel=1e-9, abs=1e-12)
        looked += 1
    assert looked > 50


def ascent(dual, j, maintenance):
    """How much D changes if j goes."""
    A = dual.A.copy()
    if maintenance != "remove":
        distance = np.diag(dual.K) - 2 * dual.K[j]
        distance[j] = np.inf
        n = int(np.argmin(distance))
        A[n] = possible(A[n] + A[j] * dual.K[j, n] / dual.K[n, n], dual.y[n], 0.8)
    A[j] = 0
    return objective(dual.K, dual.y, A) - dual.objective


def test_the_dual_stays_below_the_primal():
    """Weak duality: D is at most |h|^2 / 2 + C sum loss for every h, here f itself and its multiples."""
    X, y = stream(200)
    fitted = model(duol(KERNEL, C=0.5))
    fitted.learn(X, y)
    dual = Dual(fitted)
    scores, own = KERNEL(X, dual.S) @ dual.A, (np.arange(len(X)), y.astype(int))
    for share in np.linspace(0, 2, 21):
        f = share * scores
        wrong = f.copy()
        wrong[own] = -np.inf
        losses = np.maximum(0, 1 - (f[own] - wrong.max(axis=1)))
        primal = share**2 * (dual.A * (dual.K @ dual.A)).sum() / 2 + 0.5 * losses.sum()
        assert dual.objective <= primal


@each("seed", range(20))
def test_possible_coefficients_are_the_nearest(seed):
    """A general solver finds no nearer coefficients with sum 0, a_y <= C and a_r <= 0."""
    r = np.random.default_rng(seed)
    z, y, C = r.normal(size=5), int(r.integers(5)), float(r.uniform(0.1, 2))
    a = possible(z, y, C)
    bounds = [(None, C if c == y else 0) for c in range(5)]
    found = minimize(
        lambda a: ((a - z) ** 2).sum(),
        np.zeros(5),
        bounds=bounds,
        constraints={"type": "eq", "fun": np.sum},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(a, found.x, atol=1e-6)


# ---- identities


def test_without_a_conflict_it_is_passive_aggressive():
    """Rows at right angles never conflict."""
    X, y = 2 * np.eye(30), np.arange(30) % 4.0
    for rows in (X, np.vstack([X, 0.5 * X])):
        labels = np.resize(y, len(rows))
        one, other = model(duol(Linear(), C=0.3), d=30), model(pa(Linear(), C=0.3), d=30)
        np.testing.assert_allclose(one.learn(rows[:30], labels[:30]), other.learn(rows[:30], labels[:30]))
        np.testing.assert_allclose(one.scores(rows), other.scores(rows), atol=1e-12)


@each_maintenance
def test_a_budget_that_is_never_full_is_duol(maintenance):
    X, y = stream()
    learner = bduol(KERNEL, budget=len(X), maintenance=MAINTENANCE[maintenance])
    np.testing.assert_array_equal(model(learner).learn(X, y), model(duol(KERNEL)).learn(X, y))


@each("maintenance", [None, *MAINTENANCE])
def test_a_third_label_may_appear(maintenance):
    """Scores of old rows stay, the dual is halved with f, and learning goes on."""
    X, y = stream(300)
    learner = DoubleUpdating(KERNEL, maintenance=maintenance and MAINTENANCE[maintenance](15))
    fitted = Model(learner, Labels(2), 5, np.float64, 0)
    fitted.learn(X[:100], np.where(y[:100] > 1, 1.0, -1.0))
    before, stated = fitted.scores(X)[:, 0], fitted.state()["dual.objective"][0]
    fitted.widen(5, 3)
    np.testing.assert_array_equal(fitted.scores(X), np.column_stack([-before / 2, before / 2, 0 * before]))
    Dual(fitted).check()
    assert Dual(fitted).stated == stated / 2
    fitted.widen(5, 4)
    fitted.learn(X[100:], y[100:])
    Dual(fitted).check()


# ---- rounding and degenerate streams


@each("kernel", [KERNEL, Linear()], ids=repr)
@each("budget", [1, 2, 7])
@each_maintenance
def test_duplicates_zero_rows_and_contradicting_labels(maintenance, budget, kernel):
    r = np.random.default_rng(0)
    X = r.integers(-1, 2, (400, 3)).astype(float)
    X[r.random(400) < 0.2] = 0
    y = r.integers(0, 3, 400).astype(float)
    fitted = model(bduol(kernel, budget=budget, C=0.8, maintenance=MAINTENANCE[maintenance]), 3, 3)
    for cut in range(0, 400, 100):
        assert np.isfinite(fitted.learn(X[cut : cut + 100], y[cut : cut + 100])).all()
        assert fitted.size <= budget
        Dual(fitted, kernel).check()


def test_margins_after_5_000_steps():
    X, y = stream(5000)
    fitted = model(bduol(KERNEL, budget=25, C=0.8))
    fitted.learn(X, y)
    Dual(fitted).check(1e-8)


def test_a_weight_multiplies_C():
    X, y = stream(200)
    weights = np.random.default_rng(1).choice([0.1, 1.0, 3.0], 200)
    fitted = model(duol(KERNEL, C=0.2))
    fitted.learn(X, y, weights)
    dual = Dual(fitted)
    dual.check()
    np.testing.assert_allclose(np.unique(dual.C.round(12)), [0.02, 0.2, 0.6])


# ---- what is refused


@each("maintenance", [DualProjection, DualProjectionClipped, DualRemovalThenProjection])
def test_projections_are_for_two_classes(maintenance):
    told = rf"^{maintenance.__name__} is defined for two classes; for more take DualNearest"
    learner = bduol(KERNEL, budget=2, maintenance=maintenance)
    with pytest.raises(ValueError, match=told):
        OnlineClassifier(learner).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    two = OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="two classes"):
        two.partial_fit([[2.0]], [2])
