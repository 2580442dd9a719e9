"""Rules on explicit features, against the plain version in reference_features.py and among each other."""

import copy
import pickle
from functools import partial
from itertools import pairwise
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from budgetron import (
    AROW,
    NORMA,
    OGD,
    PA,
    SGD,
    AdaGrad,
    Averaged,
    CoinBetting,
    Gaussian,
    Hinge,
    Identity,
    Linear,
    Logistic,
    Mapped,
    Nystrom,
    OnlineClassifier,
    OnlineNewton,
    OnlineRegressor,
    Perceptron,
    RandomFourier,
    Stack,
    fogd,
    load,
    nogd,
    ogd,
)
from budgetron._tasks import Labels
from budgetron.learners import Model
from tests.helpers import members
from tests.model import test_golden
from tests.model.test_reference import LOSSES, TASKS, native_scores, stream
from tests.references import features as plain
from tests.references import kernelized as reference

D, GAMMA, SEED = 13, 0.2, 7  # the seed is that of the estimators in test_reference
FOURIER = RandomFourier(Gaussian(GAMMA), components=D)
SEEDED = RandomFourier(
    Gaussian(GAMMA), components=D, random_state=SEED
)  # in a stack, every map has its own
MAPS = {
    "fourier": (FOURIER, lambda U: plain.fourier(U)),
    "stack": (Stack(SEEDED, Identity(0.5)), lambda U: plain.stack(plain.fourier(U), plain.identity(0.5))),
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
        found["norma"] = NORMA(0.1, 0.4, 0.02, 0.1), partial(reference.Norma, 0.1, 0.4, 0.02, 0.1)
    return found


def compare(task, map_name, rule, their_rule, X, y, weights=None, tolerance=1e-9):
    """Scores before every update, and the final function, are those of the reference."""
    features, make = MAPS[map_name]
    scores, model = native_scores(task, Mapped(features, rule), X, y, weights)
    U = plain.frequencies(plain.gaussian_law(GAMMA), SEED, range(X.shape[1]), D)
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


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize(("task", "loss", "name"), CASES)
def test_trajectories_with_every_loss(task, loss, name, map_name):
    X, y = stream(task, 300, 1)
    weights = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], len(X))
    compare(task, map_name, *rules(task, *LOSSES[loss])[name], X, y, weights)


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task in TASKS for name in rules_without_loss(task)]
)
@pytest.mark.parametrize("seed", range(3))
def test_trajectories_over_500_steps(task, name, map_name, seed):
    X, y = stream(task, 500, seed)
    compare(task, map_name, *rules_without_loss(task)[name], X, y)


@pytest.mark.parametrize("task", TASKS)
def test_fogd_is_gradient_descent_on_fourier_features(task):
    assert fogd(Gaussian(GAMMA), components=D, eta=0.3) == Mapped(FOURIER, OGD(0.3))
    X, y = stream(task, 500, 2)
    ours, theirs = (None, reference.squared if task == "regression" else reference.hinge)
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
            runs.append(model._learn_labels(X, y, [-1, 1], None))
        distance[components] = np.sqrt(np.mean((np.array(runs) - exact) ** 2))
    assert distance[1600] < distance[100] / 3


# ---- Nystrom


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("selection", ["first", "steps"])
@pytest.mark.parametrize("name", ["ogd", "perceptron", "pa", "sgd"])
def test_nystrom_trajectories(task, selection, name):
    if name == "pa" and selection == "steps":
        pytest.skip("at the switch |z|^2 of the exact and of the mapped model differ")
    X, y = stream(task, 400, 3)
    theirs = reference.squared if task == "regression" else reference.hinge
    ours, make = (rules(task, None, theirs) | rules_without_loss(task))[name]
    learner = Mapped(Nystrom(Gaussian(GAMMA), 25, 8, selection), ours)
    scores, model = native_scores(task, learner, X, y)
    chosen = {"first": "first", "steps": "updates"}[selection]
    oracle = plain.NystromMapped(reference.gaussian(GAMMA), TASKS[task], make(), 25, 8, chosen)
    expected = np.array([np.atleast_1d(oracle.learn(*row)) for row in zip(X, y, strict=True)])
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)
    assert oracle.mapped is not None
    assert model.n_support_ == 25
    assert model.coef_.shape[1] == 8


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("seed", range(3))
def test_nogd_is_the_same_algorithm_as_a_projection_and_as_a_feature_map(task, seed):
    X, y = stream(task, 500, seed)
    projected = nogd(Gaussian(GAMMA), budget=30, rank=8, eta=0.2)
    mapped = Mapped(Nystrom(Gaussian(GAMMA), landmarks=30, rank=8, selection="steps"), OGD(0.2))
    one, first = native_scores(task, projected, X, y)
    other, second = native_scores(task, mapped, X, y)
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(first._model.scores(X), second._model.scores(X), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(second.support_vectors_, first.support_vectors_)
    np.testing.assert_allclose(second.dual_coef_, first.dual_coef_, rtol=1e-6, atol=1e-7)


GOLDEN_NOGD = [
    pytest.param(data, i, value, id=f"{data}-{i}")
    for kind in ("binary", "multiclass")
    for data, golden in test_golden.GOLDEN[kind].items()
    for i, value in enumerate(golden["mistakes"].get("nogd", []))
]


@pytest.mark.parametrize(("data", "i", "mistakes"), GOLDEN_NOGD)
def test_mistakes_of_nogd_in_feature_space_are_those_of_the_authors(data, i, mistakes):
    X, y = getattr(test_golden, data)()
    g = test_golden.GOLDEN["binary" if data in test_golden.GOLDEN["binary"] else "multiclass"][data]
    features = Nystrom(Gaussian.of_width(g["sigma"]), g["budget"], g["rank"], "steps")
    order = np.random.default_rng(i).permutation(len(X))
    model = OnlineClassifier(Mapped(features, OGD(g["eta"])))
    assert np.sum(model.progressive_predict(X[order], y[order]) != y[order]) == mistakes


@pytest.mark.parametrize("i", range(5))
def test_losses_of_nogd_in_feature_space_are_those_of_the_authors(i):
    X, y = test_golden.diabetes()
    g = test_golden.GOLDEN["regression"]["diabetes"]
    g = g | g.get("nogd", {})
    order = np.random.default_rng(i).permutation(len(X))
    features = Nystrom(Gaussian.of_width(g["sigma"]), g["budget"], g["rank"], "steps")
    model = OnlineRegressor(Mapped(features, OGD(g["eta"], epsilon=g.get("epsilon", 0.1))))
    loss = np.mean((model.progressive_predict(X[order], y[order]) - y[order]) ** 2)
    assert loss == pytest.approx(g["mean_squared_loss"]["nogd"][i], rel=g["tolerance"].get("nogd", 1e-9))


@pytest.mark.parametrize("selection", ["first", "steps", "uniform", "leverage"])
def test_until_the_map_is_made_nothing_is_lost(selection):
    """Within the first landmarks, every choice of them gives exact kernel gradient descent."""
    X, y = stream("multiclass", 60, 5)
    exact = native_scores("multiclass", ogd(Gaussian(GAMMA), eta=0.2), X, y)[0]
    features = Nystrom(Gaussian(GAMMA), landmarks=100, selection=selection)
    np.testing.assert_allclose(
        native_scores("multiclass", Mapped(features, OGD(0.2)), X, y)[0], exact, atol=1e-9
    )


# ---- the contract of every learner, for those that have no name

LEARNERS = {
    "adagrad": Mapped(FOURIER, AdaGrad()),
    "arow": Mapped(Stack(FOURIER, Identity()), AROW()),
    "arow-diagonal": Mapped(FOURIER, AROW(covariance="diagonal")),
    "newton": Mapped(FOURIER, OnlineNewton(loss=None)),
    "newton-diagonal": Mapped(FOURIER, OnlineNewton(covariance="diagonal")),
    "coin": Mapped(FOURIER, CoinBetting()),
    "sgd": Mapped(FOURIER, SGD(0.1)),
    "nystrom-first": Mapped(Nystrom(Gaussian(GAMMA), 12, 5), AROW()),
    "nystrom-steps": Mapped(Nystrom(Gaussian(GAMMA), 12, 5, "steps"), OGD(0.2)),
    "nystrom-uniform": Mapped(Nystrom(Gaussian(GAMMA), 12, 5, "uniform"), AdaGrad()),
    "nystrom-leverage": Mapped(Nystrom(Gaussian(GAMMA), 12, 5, "leverage"), CoinBetting()),
    "nystrom-stack": Mapped(
        Stack(Identity(), Nystrom(Gaussian(GAMMA), 9), FOURIER, Nystrom(Gaussian(1.0), 6)), OnlineNewton()
    ),
    "averaged": Averaged(Mapped(Nystrom(Gaussian(GAMMA), 12, 5), AROW()), suffix=0.5),
}
each_learner = pytest.mark.parametrize(
    ("name", "task"), [(name, task) for name in LEARNERS for task in members.TASKS]
)


@each_learner
@given(
    cuts=st.lists(st.integers(0, 90), max_size=6), container=st.sampled_from([np.asarray, sparse.csr_array])
)
@settings(max_examples=8)
def test_any_cut_of_the_rows_is_the_same_model(name, task, cuts, container):
    X, y = members.data(task, 90)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 90)
    whole = members.start(
        members.estimator(task, LEARNERS[name]), task, container(X), y, sample_weight=weights
    )
    parts = members.start(
        members.estimator(task, LEARNERS[name]), task, container(X[:1]), y[:1], sample_weight=weights[:1]
    )
    edges = sorted({1, *cuts, 90} - {0})
    for a, b in pairwise(edges):
        parts.partial_fit(container(X[a:b]), y[a:b], sample_weight=weights[a:b])
    np.testing.assert_array_equal(members.scores(parts, X), members.scores(whole, X))
    assert members.same_state(parts, whole)


@each_learner
def test_a_copy_goes_on_as_the_original(name, task):
    X, y = members.data(task, 120)
    for stop in (1, 5, 12, 40, 70):
        model = members.start(members.estimator(task, LEARNERS[name]), task, X[:stop], y[:stop])
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert members.same_state(other, model)
            other.partial_fit(X[stop:], y[stop:])
            again = pickle.loads(pickle.dumps(model)).partial_fit(X[stop:], y[stop:])
            assert members.same_state(other, again)
            np.testing.assert_array_equal(members.scores(other, X), members.scores(again, X))


@each_learner
def test_weight_0_changes_nothing(name, task):
    X, y = members.data(task, 60)
    for stop in (5, 60):
        model = members.start(members.estimator(task, LEARNERS[name]), task, X[:stop], y[:stop])
        before = members.bits(model)
        model.partial_fit(2 * X, y, sample_weight=np.zeros(60))
        assert members.bits(model) == before


@each_learner
def test_memory_stays_where_it_is(name, task):
    X, y = members.data(task, 500)
    model = members.start(members.estimator(task, LEARNERS[name]), task, X, y)
    held = model.memory_bytes_
    assert model.partial_fit(X, y).memory_bytes_ == held
    assert held > model.coef_.nbytes


@each_learner
def test_float32_is_close(name, task):
    X, y = members.data(task, 60)
    double = members.scores(members.start(members.estimator(task, LEARNERS[name]), task, X, y), X)
    X = X.astype(np.float32)
    single = members.scores(members.start(members.estimator(task, LEARNERS[name]), task, X, y), X)
    assert (
        np.median(np.abs(single - double)) < 0.01
    )  # a step that one takes and the other not moves some more


def test_the_model_in_the_open():
    """The features times coef_ are the scores; of a Nystrom map also the landmarks with dual_coef_."""
    X, y = members.data("multiclass", 100)
    model = OnlineClassifier(Mapped(Nystrom(Gaussian(GAMMA), 12, 5), AROW())).fit(X, y)
    f = model.decision_function(X)
    np.testing.assert_allclose(
        Gaussian(GAMMA)(X, model.support_vectors_) @ model.dual_coef_.T, f, atol=1e-9
    )
    np.testing.assert_array_equal(model.support_vectors_, X[:12])
    model = OnlineClassifier(fogd(Gaussian(GAMMA), components=D), random_state=3).fit(X, y)
    z = RandomFourier(Gaussian(GAMMA), D, random_state=3).fit_transform(X)
    np.testing.assert_allclose(z @ model.coef_.T, model.decision_function(X), atol=1e-12)
    assert (model.n_support_, model.support_vectors_.shape, model.dual_coef_.shape) == (0, (0, 3), (3, 0))
    with pytest.raises(AttributeError, match="has no coef_"):
        OnlineClassifier(ogd(Gaussian(GAMMA))).fit(X, y).coef_  # noqa: B018


def test_arow_without_a_dead_zone_is_recursive_least_squares():
    X, y = members.data("regression", 80)
    model = OnlineRegressor(Mapped(Identity(), AROW(r=0.3))).fit(X, y)
    Z = np.hstack([X, np.ones((80, 1))])
    ridge = np.linalg.solve(Z.T @ Z / 0.3 + np.eye(4), Z.T @ y / 0.3)
    np.testing.assert_allclose(model.coef_[0], ridge, rtol=1e-9)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Mapped(Gaussian(1.0), OGD()), "features must be a FeatureMap"),
        (Mapped(FOURIER, Gaussian(1.0)), "rule must be a Rule"),
        (Mapped(FOURIER, AROW(r=0)), "r must be above 0"),
        (Mapped(FOURIER, AROW(covariance="low")), 'covariance must be "full" or "diagonal"'),
        (Mapped(FOURIER, AdaGrad(eta=-1)), "eta must be above 0"),
        (Mapped(FOURIER, AdaGrad(loss="hinge")), "loss must be a Loss"),
        (Mapped(FOURIER, OnlineNewton(delta=0)), "delta must be above 0"),
        (Mapped(FOURIER, CoinBetting(alpha=np.inf)), "alpha must be a finite number"),
    ],
    ids=lambda v: repr(v)[:50],
)
def test_bad_descriptions_are_one_sentence(learner, message):
    with pytest.raises((ValueError, TypeError), match=message):
        OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1])


def test_a_loss_for_labels_is_refused_for_targets():
    with pytest.raises(ValueError, match="Hinge is a loss for labels"):
        OnlineRegressor(Mapped(FOURIER, AdaGrad(loss=Hinge()))).fit([[0.0], [1.0]], [0, 1])


# ---- what a review found


def test_a_seed_of_its_own_is_kept_inside_a_learner():
    X, y = members.data("binary")
    for features in (
        SEEDED,
        Stack(FOURIER, Identity(), random_state=5),
        Stack(Stack(FOURIER, random_state=5), Identity()),
    ):
        one, other = (
            OnlineClassifier(Mapped(features, OGD(0.1)), random_state=s).fit(X, y) for s in (0, 1)
        )
        np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("scale", [1e7, 1e8, 1e10])
def test_a_full_covariance_stays_positive_where_a_column_is_far_too_large(scale):
    """Subtracting beta Sigma z z'Sigma loses positivity here, and the model with it."""
    r = np.random.default_rng(0)
    X = r.standard_normal((3000, 3))
    y = X[:, 0] * X[:, 1] > 0
    X[:, 2] = scale * (1.7 + 0.01 * np.arange(3000) / 3000)
    learner = Mapped(Stack(RandomFourier(Gaussian(0.1), 20), Identity()), OnlineNewton())
    model = OnlineClassifier(learner, random_state=0).fit(X, y)
    assert (model._model.state()["covariance.D.0"] > 0).all()
    assert np.isfinite(model.coef_).all()


def test_a_full_covariance_is_the_inverse_of_what_was_observed():
    X, y = members.data("regression", 200)
    model = OnlineRegressor(Mapped(Identity(), AROW(r=0.5))).fit(X, y)
    state, m = model._model.state(), 4
    U = np.eye(m)
    for j in range(m):
        U[:j, j] = state["covariance.U.0"][j * (j - 1) // 2 : j * (j - 1) // 2 + j]
    Z = np.hstack([X, np.ones((200, 1))])
    sigma = U @ np.diag(state["covariance.D.0"]) @ U.T
    np.testing.assert_allclose(sigma, np.linalg.inv(np.eye(m) + Z.T @ Z / 0.5), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    "rule", [CoinBetting(), AROW(), AdaGrad(), OnlineNewton(loss=Logistic())], ids=repr
)
def test_a_rule_keeps_the_model_when_the_map_is_made(rule):
    """With all landmarks kept, f is the same before and after, and a step later it is not lost."""
    r = np.random.default_rng(0)
    X = r.standard_normal((400, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] > 0
    model = OnlineClassifier(Mapped(Nystrom(Gaussian(0.5), 100), rule), random_state=0)
    model.partial_fit(X[:99], y[:99], classes=[False, True])
    before = model.score(X[:99], y[:99])
    model.partial_fit(X[99:103], y[99:103])
    assert model.coef_.shape[1] <= 100
    assert model.score(X[:99], y[:99]) > before - 0.1


@pytest.mark.parametrize("size", [1e-200, 1e-100, 1e100])
@pytest.mark.parametrize(
    "rule", [CoinBetting(), AROW(), AdaGrad(), OnlineNewton()], ids=lambda r: type(r).__name__
)
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


@pytest.mark.parametrize("selection", ["first", "uniform", "leverage"])
def test_landmarks_skip_what_adds_nothing(selection):
    X, y = members.data("binary", 200)
    X[:20] = 0
    X[20:40] = X[20]
    model = OnlineClassifier(Mapped(Nystrom(Linear(), 3, selection=selection, window=5), OGD(0.1))).fit(
        X, y
    )
    if selection == "first":
        assert np.linalg.matrix_rank(model.support_vectors_) == model.coef_.shape[1] == 3
    assert model.coef_.shape[1] > 0  # a sample may have the same row twice


def test_a_loaded_model_has_its_frequencies(tmp_path):
    """They are drawn when it is loaded, not for every prediction; memory is what it was."""
    X, y = members.data("binary", 60)
    for rows in (X, sparse.csr_array(X)):
        model = OnlineClassifier(fogd(Gaussian(0.5)), random_state=0).fit(rows, y)
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
        assert loaded.memory_bytes_ >= 0.5 * model.memory_bytes_


@each_learner
def test_model_files(name, task, tmp_path):
    X, y = members.data(task, 120)
    for stop in (4, 70):
        model = members.start(members.estimator(task, LEARNERS[name]), task, X[:stop], y[:stop])
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert loaded.get_params() == model.get_params()
        assert members.same_state(
            loaded.partial_fit(X[stop:], y[stop:]), model.partial_fit(X[stop:], y[stop:])
        )


def test_forged_states_of_a_map_are_refused():
    X, y = members.data("binary", 10)
    learner = Mapped(Nystrom(Gaussian(0.5), 50), AROW())
    full, empty = (
        OnlineClassifier(learner, random_state=0).partial_fit(
            X[:n], y[:n], classes=[0, 1], sample_weight=np.full(n, w)
        )
        for n, w in ((10, 1.0), (1, 0.0))
    )
    state, nothing = full._model.state(), empty._model.state()
    forged = {k: nothing[k] if "candidates" in k else v for k, v in state.items()}
    for bad in (
        forged,
        state | {"covariance.D.0": state["covariance.D.0"][:-1]},
        state | {"covariance.D.0": -state["covariance.D.0"]},
        state | {"nystrom.settled": np.array([1], np.uint64)},
        state | {"weights.0": state["weights.0"][1:]},
        forged | {"nystrom.settled": np.array([1], np.uint64)},
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            pickle.loads(pickle.dumps(empty))._model.restore(bad)


def test_a_map_is_used_while_it_is_fitted_anew():
    X = np.random.default_rng(0).standard_normal((1500, 4))
    features = Nystrom(Gaussian(0.1), 150).fit(X)
    going = True

    def use():
        while going:
            assert features.transform(X[:50]).shape == (50, 150)

    threads = [Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        features.fit(X)
    going = False
    for thread in threads:
        thread.join()


def test_passive_aggressive_steps_mend_the_loss_while_landmarks_are_chosen():
    X, y = members.data("regression", 60)
    model = OnlineRegressor(
        Mapped(Nystrom(Gaussian(0.5), 10, selection="uniform", window=50), PA(1e9, 0.0)), random_state=0
    )
    for i in range(45):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        assert model.predict(X[i : i + 1])[0] == pytest.approx(y[i], abs=1e-6)


def test_set_params_reaches_a_part_of_a_new_part():
    learner = Mapped(Stack(FOURIER, Identity()), OGD())
    learner.set_params(features__0__kernel__gamma=2.0, features__0__kernel=Gaussian(5.0))
    assert learner.features.maps[0].kernel == Gaussian(2.0)


def test_a_forged_width_takes_no_memory():
    """Two thousand million columns are not drawn because a small file says that all were seen."""
    model = Model(fogd(Gaussian(0.5)), Labels(2), 2**31 - 2, np.float64, 0)
    model.restore(model.state() | {"fourier.all": np.array([1], np.uint64)})
    assert model.memory_bytes < 1e6
