"""Algorithms after the five papers: what they promise, and those whose reference is of its own kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.kernel_ridge import KernelRidge

from budgetron import (
    AROW,
    OGD,
    Absolute,
    AggressivePerceptron,
    Averaged,
    Gaussian,
    Hinge,
    Identity,
    Kernelized,
    LearnedWidths,
    LeastSquares,
    Linear,
    Logistic,
    Mapped,
    OnlineClassifier,
    OnlineRegressor,
    Perceptron,
    Polynomial,
    RemoveHalf,
    Stack,
    ahpatron,
    dualsgd,
    fogd,
    krls,
    merge_promise,
    ogd,
    polk,
    rrf,
    sgd,
)
from tests.helpers.cases import each, pairs
from tests.helpers.trajectories import (
    KERNELS,
    LOSSES,
    SEED,
    TASKS,
    assert_close,
    labelled,
    native_scores,
    stream,
    streams,
)
from tests.helpers.trajectories import trajectory as reference_scores
from tests.references import maps, step
from tests.references.ahpatron import ahpatron as reference_ahpatron
from tests.references.dualsgd import DualSGD
from tests.references.krls import KRLS
from tests.references.rrf import RRF

GAUSSIAN, PLAIN = KERNELS["gaussian"]


def weights_of(n, seed):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], n)


# ---- POLK


def norm(S, A):
    """|f|, over all outputs, of the rows of S with the columns of coefficients A."""
    return np.sqrt(max(0.0, np.sum(A * (PLAIN(S[:, None], S) @ A)))) if len(S) else 0.0


def state(model):
    """Support vectors and coefficients."""
    return model.support_vectors_, model.dual_coef_.T


def steps_of(model, task, X, y, eta, lam, loss):
    """For each row: f after the step, before any removal, and f after the removals, as (S, A)."""
    S, A = np.zeros((0, X.shape[1])), np.zeros((0, TASKS[task].outputs))
    for x, label in zip(X, y, strict=True):
        f = PLAIN(S, x) @ A if len(S) else np.zeros(A.shape[1])
        q = TASKS[task].ask(f, label, 1.0)
        beta = -eta * loss.slope(q.fx, q.y)
        model.partial_fit(x[None], [label], classes=np.unique(y))
        g = np.vstack([S, x]), np.vstack([(1 - eta * lam) * A, beta * q.v])
        S, A = state(model)
        yield g, (S, A)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_polk_stays_within_its_error_in_every_round(task):
    error, eta, lam = 0.1, 0.3, 0.05
    X, y = stream(task, 150, 1)
    model = OnlineClassifier(polk(GAUSSIAN, error=error, eta=eta, lam=lam))
    used = []
    for (S, A), (T, B) in steps_of(model, task, X, y, eta, lam, step.hinge):
        used.append(norm(np.vstack([S, T]), np.vstack([A, -B])))
    assert max(used) <= error + 1e-7
    assert max(used) > 0.8 * error  # and removes as long as it may
    assert 3 < model.n_support_ < len(np.unique(X, axis=0)) / 2


@each("task", TASKS)
def test_polk_without_error_is_gradient_descent(task):
    X, y = stream(task, 200, 2)
    X = X + 1e-1 * np.random.default_rng(0).standard_normal(X.shape)  # no row twice
    one, small = native_scores(task, polk(Gaussian(1.0), error=0.0, eta=0.2, lam=0.01), X, y)
    other, large = native_scores(task, ogd(Gaussian(1.0), eta=0.2, lam=0.01, epsilon=0.0), X, y)
    assert_close(one, other)
    assert small.n_support_ == large.n_support_


def test_polk_also_removes_after_rows_without_a_step():
    model = OnlineClassifier(polk(Gaussian(1.0), error=0.2, eta=1.0, lam=0.5))
    model.fit([[0.0], [0.5]], [0, 1])
    assert model.n_support_ == 2
    far = np.full((60, 1), 50.0)  # after its own step such a row needs none, and f only shrinks
    model.partial_fit(far, np.ones(60, int))
    assert model.n_support_ == 1


@pytest.mark.parametrize("error", [1e-3, 0.05, 0.3])
def test_a_larger_error_keeps_fewer(error):
    X, y = stream("binary", 300, 3)
    sizes = [OnlineClassifier(polk(GAUSSIAN, error=e)).fit(X, y).n_support_ for e in (error, 2 * error)]
    assert sizes[0] >= sizes[1]


@given(streams(), st.integers(1, 4), st.floats(0, 2))
@settings(max_examples=50, deadline=None)
def test_polk_never_exceeds_its_budget(drawn, budget, error):
    X, codes = drawn
    learner = polk(GAUSSIAN, error=error, budget=budget, loss=Logistic(), eta=0.5)
    _, model = native_scores("multiclass", learner, X, codes)
    assert model.n_support_ <= budget


# ---- KRLS

KRLS_SETTINGS = [
    {"nu": 0.1},
    {"nu": 0.01, "lam": 0.1},
    {"nu": 0.05, "lam": 1.0, "budget": 15},
    {"nu": 0.2, "budget": 5},
    {"nu": 0.0, "lam": 0.3},
]


@pairs
@each("settings", KRLS_SETTINGS)
@each("kernel", ["gaussian", "laplacian", "polynomial"])
@each("seed", [0, 1])
def test_krls_is_least_squares_over_all_rows(settings, kernel, seed):
    X, y = stream("regression", 120, seed)
    weights = weights_of(len(X), seed)
    native, plain = KERNELS[kernel]
    scores, model = native_scores("regression", krls(native, **settings), X, y, weights)
    reference = KRLS(plain, **settings)
    assert_close(scores, reference_scores(reference, X, y, weights))
    assert model.n_support_ == len(reference.S)


@given(streams())
@settings(max_examples=50, deadline=None)
def test_krls_on_duplicates_and_constant_targets(drawn):
    X, codes = drawn
    y = labelled("regression", codes)
    scores, _ = native_scores("regression", krls(GAUSSIAN, nu=0.01, lam=0.1), X, y)
    assert_close(scores, reference_scores(KRLS(PLAIN, nu=0.01, lam=0.1), X, y))


@each("lam", [0.01, 0.1, 1.0])
def test_krls_without_threshold_is_kernel_ridge_regression(lam):
    X, y = stream("regression", 200, 4)
    model = OnlineRegressor(krls(Gaussian(0.2), nu=0.0, lam=lam)).fit(X, y)
    batch = KernelRidge(alpha=lam, kernel="rbf", gamma=0.2).fit(X, y)
    probes = np.random.default_rng(0).standard_normal((50, 5))
    assert_close(model.predict(probes), batch.predict(probes))


def test_krls_without_a_regulariser_passes_through_rows_that_differ():
    X = np.random.default_rng(0).standard_normal((60, 5))
    y = np.sin(X[:, 0])
    model = OnlineRegressor(krls(Gaussian(1.0), nu=0.0)).fit(X, y)
    assert_close(model.predict(X), y)


@each("nu", [0.01, 0.1, 0.5])
def test_krls_keeps_no_row_that_is_nearly_dependent(nu):
    X, y = stream("regression", 300, 5)
    S = OnlineRegressor(krls(GAUSSIAN, nu=nu)).fit(X, y).support_vectors_
    for n in range(1, len(S)):
        k = PLAIN(S[:n], S[n])
        assert 1 - k @ np.linalg.solve(PLAIN(S[:n, None], S[:n]), k) > nu
    assert 2 < len(S) < 300


def test_krls_does_not_drift_in_a_long_stream():
    """P is updated row by row: after many rows it is still that of all rows at once."""
    r = np.random.default_rng(0)
    X = r.uniform(-2, 2, (30_000, 2))
    y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * r.standard_normal(len(X))
    model = OnlineRegressor(krls(Gaussian(0.5), nu=1e-3, lam=0.01)).fit(X, y)
    S = model.support_vectors_
    K, G = np.exp(-0.5 * ((S[:, None] - S) ** 2).sum(-1)), np.exp(-0.5 * ((X[:, None] - S) ** 2).sum(-1))
    first = np.array([np.flatnonzero((s == X).all(1))[0] for s in S])
    A = np.linalg.solve(K, G.T).T
    for n, i in enumerate(first):  # the coordinates of a row are those in the span of its time
        until = first[n + 1] if n + 1 < len(first) else len(X)
        A[i:until] = 0
        A[i:until, : n + 1] = np.linalg.solve(K[: n + 1, : n + 1], G[i:until, : n + 1].T).T
    alpha = np.linalg.solve(A.T @ A @ K + 0.01 * np.eye(len(S)), A.T @ y)
    assert_close(model.predict(X[:500]), G[:500] @ alpha, 1e-7)


def test_krls_refuses_what_it_is_not_defined_for():
    with pytest.raises(ValueError, match=r"^LeastSquares: is defined for regression only; .*\.$"):
        OnlineClassifier(krls(GAUSSIAN)).fit([[0.0], [1.0]], [0, 1])
    for rule in (OGD(), OGD(eta=1.0, loss=Absolute(), epsilon=0.0), Perceptron()):
        with pytest.raises(ValueError, match=r"^LeastSquares: is defined for OGD\(eta=1\.0, .*, got .*\.$"):
            OnlineRegressor(Kernelized(GAUSSIAN, rule, LeastSquares())).fit([[0.0], [1.0]], [0.0, 1.0])
    for name in ("nu", "lam"):
        with pytest.raises(ValueError, match=rf"^LeastSquares: {name} must be"):
            OnlineRegressor(krls(GAUSSIAN, **{name: -1.0})).fit([[0.0]], [0.0])


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 0.0, 2)], ids=repr)
def test_rows_of_zeros_are_in_every_span(kernel):
    X, y = stream("regression", 100, 5)
    X = X * (np.arange(len(y)) % 4 > 0)[:, None]
    for learner in (krls(kernel, nu=0.0), krls(kernel, nu=0.1, lam=0.1)):
        model = OnlineRegressor(learner).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        assert (model.support_vectors_ != 0).any(axis=1).all()


def test_models_of_krls_are_not_united():
    """The coefficients of another model are no residuals."""
    learner = krls(GAUSSIAN)
    assert merge_promise(learner, targets=True)[repr(learner)].startswith("stacked")


# ---- Ahpatron

AHPATRON_SETTINGS = [{"budget": 10}, {"budget": 11, "U": 1.2, "eta": 0.5}, {"budget": 20, "margin": 1.0}]


@pairs
@each("settings", AHPATRON_SETTINGS)
@each("kernel", ["gaussian", "laplacian", "polynomial"])
@each("task", ["binary", "multiclass"])
@each("seed", [0, 1])
def test_ahpatron_follows_the_reference(settings, kernel, task, seed):
    X, y = stream(task, 200, seed)
    weights = weights_of(len(X), seed)
    native, plain = KERNELS[kernel]
    scores, model = native_scores(task, ahpatron(native, **settings), X, y, weights)
    reference = reference_ahpatron(plain, TASKS[task], **settings)
    assert_close(scores, reference_scores(reference, X, y, weights))
    assert model.n_support_ == len(reference.S)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@given(drawn=streams(), budget=st.integers(1, 7))
@settings(max_examples=50, deadline=None)
def test_ahpatron_on_duplicates_and_constant_labels(task, drawn, budget):
    X, codes = drawn
    y = labelled(task, codes)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    scores, _ = native_scores(task, ahpatron(GAUSSIAN, budget=budget), X, y, weights)
    reference = reference_ahpatron(PLAIN, TASKS[task], budget=budget)
    assert_close(scores, reference_scores(reference, X, y, weights))


def test_ahpatron_halves_its_set_and_stays_in_its_ball():
    X, y = stream("binary", 400, 6)
    model, before, halved = OnlineClassifier(ahpatron(GAUSSIAN, budget=20, U=1.5)), 0, 0
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None], [label], classes=[-1, 1])
        now = model.n_support_
        assert now <= 20
        if now < before:
            assert (before, now) == (20, 11)
            halved += 1
        before = now
        assert norm(model.support_vectors_, model.dual_coef_.T) <= 1.5 + 1e-9
    assert halved > 5


def test_ahpatron_without_a_full_budget_or_a_ball_is_a_perceptron_with_a_margin():
    X, y = stream("binary", 200, 7)
    learner = Kernelized(GAUSSIAN, AggressivePerceptron(1.0, 0.5, radius=1e6), RemoveHalf(1000))
    scores, _ = native_scores("binary", learner, X, y)
    model = step.Model(PLAIN, step.BINARY, step.Perceptron(1.0, 0.5), Append())
    assert_close(scores, reference_scores(model, X, y))


class Append:
    def insert(self, m, x, q, beta):
        m.append(x, beta * q.v)


def test_the_average_of_ahpatron_follows_the_removals():
    """Nearly all of the average is left when half of the support vectors go."""
    X, y = stream("binary", 600, 8)
    model = OnlineClassifier(Averaged(ahpatron(GAUSSIAN, budget=60))).fit(X, y)
    whole = OnlineClassifier(Averaged(ahpatron(GAUSSIAN, budget=1000, U=60**0.5 / 2, eta=0.25))).fit(X, y)
    one, other = (each.decision_function(X) for each in (model, whole))
    assert np.corrcoef(one, other)[0, 1] > 0.9


def test_defaults_of_ahpatron_are_those_of_the_program():
    assert ahpatron(GAUSSIAN, budget=400) == Kernelized(
        GAUSSIAN, AggressivePerceptron(eta=0.25, margin=0.5, radius=10.0), RemoveHalf(400, ridge=0.0005)
    )


# ---- DualSGD


def features_of(kernel, d, D):
    law = maps.gaussian_law(0.2) if kernel == "gaussian" else maps.laplacian_law(0.1)
    return maps.fourier(maps.frequencies(law, SEED, range(d), D))


DUALSGD_SETTINGS = [
    {"budget": 20, "components": 30, "at_once": 1, "lam": 0.05},
    {"budget": 20, "components": 7, "at_once": 10, "lam": 0.05},
    {"budget": 5, "components": 16, "at_once": 10, "lam": 0.5},
]


@pairs
@each("settings", DUALSGD_SETTINGS)
@each("kernel", ["gaussian", "laplacian"])
@each("task", TASKS)
@each("loss", LOSSES)
def test_dualsgd_follows_the_reference(settings, kernel, task, loss):
    native_loss, plain_loss = LOSSES[loss]
    if task == "regression" and native_loss.of_margin:
        pytest.skip("a loss of the margin, for labels only")
    X, y = stream(task, 200, 9)
    weights = weights_of(len(X), 9)
    native, plain = KERNELS[kernel]
    scores, model = native_scores(task, dualsgd(native, loss=native_loss, **settings), X, y, weights)
    z = features_of(kernel, X.shape[1], settings["components"])
    taken = {k: v for k, v in settings.items() if k != "components"}
    reference = DualSGD(plain, TASKS[task], z, loss=plain_loss, **taken)
    assert_close(scores, reference_scores(reference, X, y, weights))
    assert model.n_support_ == len(reference.S)


@pytest.mark.parametrize("task", TASKS)
@given(drawn=streams(), budget=st.integers(1, 6), at_once=st.integers(1, 7))
@settings(max_examples=30, deadline=None)
def test_dualsgd_on_duplicates_and_constant_labels(task, drawn, budget, at_once):
    X, codes = drawn
    y, weights = labelled(task, codes), np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    learner = dualsgd(GAUSSIAN, budget=budget, at_once=at_once, components=6, lam=0.05)
    scores, _ = native_scores(task, learner, X, y, weights)
    z = features_of("gaussian", X.shape[1], 6)
    reference = DualSGD(PLAIN, TASKS[task], z, budget=budget, at_once=at_once, lam=0.05, loss=None)
    assert_close(scores, reference_scores(reference, X, y, weights))


def test_dualsgd_with_a_budget_that_is_never_full_is_sgd():
    X, y = stream("binary", 200, 10)
    one, _ = native_scores("binary", dualsgd(GAUSSIAN, budget=300, lam=0.05), X, y)
    other, _ = native_scores("binary", sgd(GAUSSIAN, lam=0.05), X, y)
    np.testing.assert_array_equal(one, other)


def test_dualsgd_comes_nearer_to_sgd_with_more_components():
    X, y = stream("binary", 300, 11)
    exact, _ = native_scores("binary", sgd(GAUSSIAN, lam=0.05), X, y)
    far = []
    for components in (10, 1000, 100_000):
        learner = dualsgd(GAUSSIAN, budget=10, components=components, lam=0.05)
        scores, _ = native_scores("binary", learner, X[:60], y[:60])
        far.append(np.sqrt(np.mean((scores - exact[:60]) ** 2)))
    assert far[0] > 4 * far[1] > 16 * far[2]


def test_dualsgd_takes_sparse_rows_as_dense_ones():
    X, y = stream("multiclass", 200, 12)
    learner = dualsgd(GAUSSIAN, budget=10, lam=0.05)
    dense, sparse = (OnlineClassifier(learner, random_state=0).fit(rows, y) for rows in (X, csr_matrix(X)))
    assert_close(dense.decision_function(X), sparse.decision_function(X))
    assert_close(sparse.decision_function(X), sparse.decision_function(csr_matrix(X)))


def test_dualsgd_has_no_average_and_no_union():
    learner = dualsgd(GAUSSIAN, budget=10)
    with pytest.raises(ValueError, match="average"):
        OnlineClassifier(Averaged(learner)).fit([[0.0], [1.0]], [0, 1])
    assert merge_promise(learner)[repr(learner)].startswith("stacked")
    with pytest.raises(ValueError, match=r"^MoveToFeatures: needs a kernel that has random .*, got .*\.$"):
        OnlineClassifier(dualsgd(Linear(), budget=10)).fit([[0.0], [1.0]], [0, 1])


# ---- reparameterised random features

RRF_SETTINGS = [
    {"eta": 0.5, "rate": 0.02},  # with large steps a rounding error grows tenfold every few rows
    {"eta": 0.2, "rate": 0.1, "lam": 0.05},
    {"eta": 0.3, "rate": 0.0},
]


@pairs
@each("settings", RRF_SETTINGS)
@each("task", TASKS)
@each("loss", LOSSES)
def test_rrf_follows_the_reference(settings, task, loss):
    native_loss, plain_loss = LOSSES[loss]
    if task == "regression" and native_loss.of_margin:
        pytest.skip("a loss of the margin, for labels only")
    X, y = stream(task, 200, 13)
    weights = weights_of(len(X), 13)
    learner = rrf(Gaussian(0.2), components=7, loss=native_loss, epsilon=0.0, **settings)
    scores, model = native_scores(task, learner, X, y, weights)
    e = maps.frequencies(maps.gaussian_law(0.2), SEED, range(X.shape[1]), 7)
    of_paper = {
        "eta_widths": settings["rate"] * settings["eta"],
        "eta": settings["eta"],
        "lam": settings.get("lam", 0.0),
    }
    reference = RRF(e, TASKS[task], loss=plain_loss, **of_paper)
    assert_close(scores, reference_scores(reference, X, y, weights))
    assert_close(model.fitted_.model.state()["widths.logs"], reference.g)


def test_the_slopes_of_the_reference_are_those_of_its_function():
    r = np.random.default_rng(0)
    model = RRF(r.standard_normal((4, 5)), step.BINARY, eta=0.1, eta_widths=0.1)
    model.g, x, w = 0.3 * r.standard_normal(4), r.standard_normal(4), r.standard_normal(10)
    small = 1e-6 * np.eye(4)
    numbers = [(w @ model.z(x, model.g + h) - w @ model.z(x, model.g - h)) / 2e-6 for h in small]
    np.testing.assert_allclose(model.slopes(x, w), numbers, rtol=1e-6, atol=1e-9)


def test_rrf_without_steps_of_the_widths_is_fogd():
    X, y = stream("binary", 200, 14)
    one, _ = native_scores("binary", rrf(GAUSSIAN, components=20, rate=0.0), X, y)
    other, _ = native_scores("binary", fogd(GAUSSIAN, components=20), X, y)
    assert_close(one, other)


def test_rrf_narrows_what_helps_and_widens_what_does_not():
    r = np.random.default_rng(0)
    X = r.standard_normal((20_000, 2))
    y = np.where(np.sin(3 * X[:, 0]) > 0, 1, -1)
    model = OnlineClassifier(rrf(Gaussian(0.5), eta=1.0, rate=0.01), random_state=0).fit(X, y)
    helps, noise = model.fitted_.model.state()["widths.logs"]
    assert helps > 0.5 > 0 > noise


def test_rrf_in_a_stack_of_maps_learns_its_widths():
    X, y = stream("binary", 200, 15)
    features = Stack(Identity(), LearnedWidths(GAUSSIAN, 10, rate=0.1))
    model = OnlineClassifier(Mapped(features, OGD(0.3)), random_state=0).fit(X, y)
    assert np.abs(model.fitted_.model.state()["map.1.widths.logs"]).min() > 0.001


def test_learned_widths_have_no_average():
    """The average of the weights is that of f only if the features stay."""
    with pytest.raises(ValueError, match="average"):
        OnlineClassifier(Averaged(rrf(GAUSSIAN))).fit([[0.0], [1.0]], [0, 1])


def test_learned_widths_need_a_scalar_rule():
    for features in (LearnedWidths(), Stack(Identity(), LearnedWidths())):
        with pytest.raises(ValueError, match=r"^LearnedWidths: is defined for scalar rules only, .*AROW"):
            OnlineClassifier(Mapped(features, AROW())).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"^LearnedWidths: components times columns must be at most"):
        OnlineClassifier(Mapped(LearnedWidths(components=2**26), OGD())).fit([[0.0, 1.0]] * 2, [0, 1])


def test_successors_for_labels_only():
    with pytest.raises(ValueError, match="AggressivePerceptron is defined for classification only"):
        OnlineRegressor(ahpatron(GAUSSIAN, budget=10)).fit([[0.0]], [0.0])
    with pytest.raises(ValueError, match="OGD: Hinge is a loss for labels"):
        OnlineRegressor(polk(GAUSSIAN, error=0.1, loss=Hinge())).fit([[0.0]], [0.0])
