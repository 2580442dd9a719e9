"""Kalman: trajectories against the reference, the accuracy of P, and the contract of every learner."""

import json
import os
import pickle
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from budgetron import (
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    Stack,
    _core,
    load,
)
from tests.helpers import members
from tests.helpers.refusals import refused
from tests.model.test_reference import native_scores, stream
from tests.references import auto
from tests.references import features as plain

D, SEED = 6, 7
TASKS = {"binary": ("labels", 2), "multiclass": ("labels", 4), "regression": ("targets",)}


def fourier_and_inputs(d, gamma=0.2):
    """A map with the inputs at its end, and the reference's."""
    features = Stack(RandomFourier(Gaussian(gamma), components=D, random_state=SEED), Identity(0.5))
    U = plain.frequencies(plain.gaussian_law(gamma), SEED, range(d), D)
    return features, plain.stack(plain.fourier(U), plain.identity(0.5))


def assert_close(got, expected, tolerance=1e-9):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    assert np.max(np.abs(got - expected) / np.maximum(1, np.abs(expected))) <= tolerance


def trajectory(oracle, X, y, weights=None):
    """The reference's scores before each row is learned."""
    scores = []
    for x, label, weight in zip(X, y, np.ones(len(X)) if weights is None else weights, strict=True):
        scores.append(np.atleast_1d(oracle.score(x)))
        oracle.learn(x, label, weight)
    return np.array(scores)


def covariance(model):
    """P, from the packed triangle and the variances outside of the block."""
    state = model._model.state()
    packed, variance = state["posterior.P"], state["posterior.variance"]
    full = int((np.sqrt(8 * len(packed) + 1) - 1) / 2 + 0.5)
    P = np.zeros((full + len(variance), full + len(variance)))
    P[np.tril_indices(full)] = packed
    P += np.tril(P, -1).T
    P[range(full, len(P)), range(full, len(P))] = variance
    return P


def compare(task, rule, full, X, y, weights=None, gamma=0.2):
    features, z = fourier_and_inputs(X.shape[1], gamma)
    scores, model = native_scores(task, Mapped(features, rule), X, y, weights)
    oracle = auto.Kalman(z, TASKS[task], rule.prior, rule.drift, full)
    assert_close(scores, trajectory(oracle, X, y, weights))
    assert_close(model.coef_, oracle.W)
    assert_close(covariance(model), oracle.P)
    probes = np.vstack([X[:5], X[:5] + 0.1])
    assert_close(model._model.scores(probes), [oracle.score(x) for x in probes])
    if task == "regression":
        predictions, deviations = model.predict(probes, return_std=True)
        assert_close(predictions, [oracle.score(x)[0] for x in probes])
        assert_close(deviations, [oracle.deviation(x) for x in probes])
    return model


# ---- trajectories


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("drift", [0.0, 0.01])
@pytest.mark.parametrize(("kind", "full"), [("full", None), ("diagonal", 0), ("auto", None)])
def test_trajectories(task, drift, kind, full):
    X, y = stream(task, 1500, 1)  # more rows than between two repairs of P
    compare(task, Kalman(3.0, drift, kind), full, X, y)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("drift", [0.0, 0.01])
@pytest.mark.parametrize(("kind", "full"), [("full", None), ("diagonal", 0)])
def test_trajectories_with_weights(task, drift, kind, full):
    X, y = stream(task, 400, 2)
    weights = np.random.default_rng(4).choice(
        [0.0, 0.5, 1.0, 2.0], len(X)
    )  # 30 would be chaotic for labels
    compare(task, Kalman(10.0, drift, kind), full, X, y, weights)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("drift", [0.0, 0.01])
@pytest.mark.parametrize(("kind", "full"), [("auto", 2 * D), ("full", None), ("diagonal", 0)])
def test_beyond_a_thousand_features_the_inputs_have_a_diagonal(task, drift, kind, full):
    X, y = stream(task, 25, 3, d=1000)
    weights = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], len(X))
    model = compare(task, Kalman(10.0, drift, kind), full, X, y, weights, gamma=0.0002)
    outside = 0 if full is None else 2 * D + 1001 - full
    assert len(model._model.state()["posterior.variance"]) == outside


@pytest.mark.parametrize(("components", "columns", "outside"), [(5, 999, 0), (5, 1000, 1001), (600, 3, 0)])
def test_auto_changes_above_a_thousand_inputs(components, columns, outside):
    features = Stack(RandomFourier(Gaussian(0.5), components), Identity())
    model = OnlineRegressor(Mapped(features, Kalman())).partial_fit(np.ones((1, columns)), [1.0])
    assert len(model._model.state()["posterior.variance"]) == outside


@pytest.mark.parametrize("size", range(1, 20))
def test_any_number_of_features(size):
    """The full block is stored in blocks of eight rows."""
    X = np.random.default_rng(size).standard_normal((60, size))
    y = X.sum(axis=1) + 0.1
    model = OnlineRegressor(Mapped(Identity(constant=False), Kalman(2.0, 0.001)))
    oracle = auto.Kalman(lambda x: x, ("targets",), 2.0, 0.001)
    assert_close(model.progressive_predict(X, y)[:, None], trajectory(oracle, X, y))
    assert_close(covariance(model), oracle.P)


def test_without_drift_a_target_is_ridge_regression():
    X, y = members.data("regression", 200)
    model = OnlineRegressor(Mapped(Identity(), Kalman(prior=4.0))).fit(X, y)
    Z = np.hstack([X, np.ones((200, 1))])
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(Z.T @ Z + np.eye(4) / 4, Z.T @ y), rtol=1e-9)


def test_the_deviation_is_that_of_the_equations():
    X, y = members.data("regression", 100)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], 100)
    model = OnlineRegressor(Mapped(Identity(), Kalman(prior=4.0)))
    assert (model.start(X).predict(X, return_std=True)[1] == 0).all()
    errors = total = 0.0
    for i in range(100):
        z = np.append(X[i], 1.0)
        S = z @ covariance(model) @ z
        e = y[i] - model.predict(X[i : i + 1])[0]
        errors, total = errors + weights[i] * e**2 / (1 + S), total + weights[i]
        model.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weights[i : i + 1])
    Z, P = np.hstack([X, np.ones((100, 1))]), covariance(model)
    S = np.sum((Z @ P) * Z, axis=1)
    np.testing.assert_allclose(
        model.predict(X, return_std=True)[1], np.sqrt(errors / total * (1 + S)), rtol=1e-9
    )


def test_deviations_hold_the_noise():
    """Of targets with noise of deviation 0.5, 95 % lie within two deviations, and 0.5 is found."""
    r = np.random.default_rng(0)
    X = r.standard_normal((4000, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.5 * r.standard_normal(4000)
    model = OnlineRegressor(Mapped(Identity(), Kalman())).fit(X[:3000], y[:3000])
    mean, deviation = model.predict(X[3000:], return_std=True)
    np.testing.assert_allclose(deviation, 0.5, atol=0.03)
    assert np.mean(np.abs(y[3000:] - mean) < 1.96 * deviation) == pytest.approx(0.95, abs=0.02)


def test_learners_without_deviations_say_so():
    X, y = members.data("regression", 20)
    model = members.estimator("regression", "rbp").fit(X, y)
    with pytest.raises(ValueError, match="return_std needs a learner that knows its deviation"):
        model.predict(X, return_std=True)


def test_probabilities_are_calibrated_on_logistic_labels():
    r = np.random.default_rng(0)
    X = r.standard_normal((6000, 2))
    p = 1 / (1 + np.exp(-(2 * X[:, 0] - X[:, 1] + 0.5)))
    y = r.random(6000) < p
    model = OnlineClassifier(Mapped(Identity(), Kalman())).fit(X, y)
    assert np.abs(model.predict_proba(X)[:, 1] - p).mean() < 0.03


# ---- maps that change their coordinates

NYSTROM = {
    "first": Nystrom(Gaussian(0.5), 12, 5),
    "steps": Nystrom(Gaussian(0.5), 12, 5, "steps"),
    "uniform": Nystrom(Gaussian(0.5), 12, 5, "uniform"),
    "leverage": Nystrom(Gaussian(0.5), 12, 5, "leverage"),
    "stack": Stack(Identity(), Nystrom(Gaussian(0.5), 9), Nystrom(Gaussian(1.0), 6)),
}


@pytest.mark.parametrize("task", members.TASKS)
@pytest.mark.parametrize("name", NYSTROM)
@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_maps_that_change_their_coordinates(task, name, kind, tmp_path):
    X, y = members.data(task, 120)
    rule = Kalman(5.0, 0.001, kind)
    model = members.start(members.estimator(task, Mapped(NYSTROM[name], rule)), task, X[:1], y[:1])
    for i in range(1, 120):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        P = covariance(model)
        assert P.shape == (model.coef_.shape[1],) * 2
        assert (np.diag(P) > 0).all()
        assert (np.diag(P) <= 5.0).all()
        assert np.linalg.eigvalsh(P).min() > 0
        assert np.isfinite(members.scores(model, X)).all()
        if i in (3, 20, 100):
            model.save(tmp_path / "model")
            loaded = load(tmp_path / "model")
            assert members.same_state(loaded, model)
            np.testing.assert_array_equal(members.scores(loaded, X), members.scores(model, X))
            model = loaded  # goes on as the loaded one
    whole = members.start(members.estimator(task, Mapped(NYSTROM[name], rule)), task, X, y)
    assert members.same_state(model, whole)


def test_a_change_of_coordinates_keeps_what_is_known_of_the_others():
    """The covariance of the inputs stays, and new coordinates start with the prior."""
    X, y = members.data("regression", 60)
    features = Stack(Identity(), Nystrom(Gaussian(0.5), 20, selection="first"))
    model = OnlineRegressor(Mapped(features, Kalman(5.0)), random_state=0).partial_fit(X[:10], y[:10])
    before = covariance(model)
    model.partial_fit(X[10:11], y[10:11])
    after = covariance(model)
    assert len(after) == len(before) + 1
    gained = after[:-1, :-1] - before  # one row was observed: a matrix of rank one was subtracted
    assert np.linalg.matrix_rank(gained, tol=1e-9) == 1
    assert np.linalg.eigvalsh(gained).max() < 1e-12
    assert 0 < after[-1, -1] < 5.0


# ---- P, against its inverse in exact arithmetic


def exact(Z, prior, times=1):
    """The inverse of I / prior + times Z'Z, of the numbers as they are, rounded once."""
    m = Z.shape[1]
    columns = [[Fraction(v) for v in column] for column in Z.T.tolist()]
    rows = []
    for i in range(m):
        gram = [times * sum(a * b for a, b in zip(columns[i], columns[j], strict=True)) for j in range(m)]
        gram[i] += 1 / Fraction(prior)
        rows.append(gram + [Fraction(i == j) for j in range(m)])
    for c in range(m):
        rows[c] = [v / rows[c][c] for v in rows[c]]
        for i in range(m):
            if i != c:
                rows[i] = [a - rows[i][c] * b for a, b in zip(rows[i], rows[c], strict=True)]
    return np.array([[float(v) for v in row[m:]] for row in rows])


def extremes(n):
    """Rows that make P badly conditioned."""
    r = np.random.default_rng(0)
    normal, late = r.standard_normal((n, 4)), np.arange(n)[:, None] >= n // 2
    return {
        "normal": normal,
        "correlated": r.standard_normal((n, 1)) + 1e-3 * normal,
        "duplicate": np.repeat(normal[:4], n // 4, axis=0),
        "two rows in turn": np.tile(normal[:2], (n // 2, 1)),
        "constant": np.ones((n, 4)),
        "one huge row": np.vstack([1e8 * normal[:1], normal[1:]]),
        "huge, then tiny": normal * np.where(late, 1e-6, 1e6),
        "a column huge, then tiny": normal * np.where(late, [1e-6, 1, 1, 1], [1e6, 1, 1, 1]),
    }


# |P - exact| / |exact| (Frobenius), measured and rounded up. S is at least 2^-49 prior |z|^2, so rows with
# |z|^2 above 1e10 are trusted less than they should be.
LARGEST_ERROR = {
    "normal": 1e-13,
    "correlated": 2e-13,
    "duplicate": 1e-9,
    "two rows in turn": 1e-13,
    "constant": 1e-13,
    "one huge row": 3e-7,
    "huge, then tiny": 0.2,
    "a column huge, then tiny": 0.02,
}
LARGEST_ERROR_AFTER_TEN_MILLION = {
    "normal": 5e-11,
    "correlated": 5e-11,
    "duplicate": 5e-11,
    "two rows in turn": 5e-11,
    "constant": 5e-11,
    "one huge row": 3e-7,
    "huge, then tiny": 0.2,
    "a column huge, then tiny": 0.02,
}


def assert_accurate(model, expected, largest):
    P = covariance(model)
    error = np.linalg.norm(P - expected) / np.linalg.norm(expected)
    smallest = np.linalg.eigvalsh(P).min()
    assert smallest > -NOISE * 10.0
    assert error <= largest
    assert np.isfinite(model.coef_).all()
    return error, smallest


@pytest.mark.parametrize("name", LARGEST_ERROR)
def test_P_is_the_inverse_of_what_was_observed(name):
    X = extremes(20_000)[name]
    y = X @ [1.0, -1.0, 0.5, 0.0] + np.random.default_rng(1).standard_normal(len(X))
    model = OnlineRegressor(Mapped(Identity(constant=False), Kalman())).fit(X, y)
    assert_accurate(model, exact(X, 10.0), LARGEST_ERROR[name])
    assert (model.predict(X, return_std=True)[1] > 0).all()


NOISE = 2**-49  # times the prior: S is at least this times |z|^2, so smaller eigenvalues of P are harmless


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("drift", [0.0, 1e-4])
@pytest.mark.parametrize("name", LARGEST_ERROR)
def test_P_is_positive_definite_but_for_rounding(task, drift, name):
    X = extremes(20_000)[name]
    r = X @ [1.0, -1.0, 0.5, 0.0] + np.random.default_rng(1).standard_normal(len(X))
    y = {"binary": np.where(r > 0, 1, -1), "multiclass": np.digitize(r, [-1, 0, 1]), "regression": r}[task]
    _, model = native_scores(task, Mapped(Identity(), Kalman(10.0, drift)), X, y)
    P = covariance(model)
    assert np.linalg.eigvalsh(P).min() > -NOISE * 10.0
    assert np.diag(P).min() > 0
    assert np.diag(P).max() <= 10.0
    assert np.isfinite(members.scores(model, X[:: len(X) // 50])).all()


def test_P_is_positive_definite_after_a_huge_row():
    smallest = []
    for seed in range(50):
        X = np.random.default_rng(seed).standard_normal((11, 4))
        X[0] *= 1e7
        model = OnlineRegressor(Mapped(Identity(constant=False), Kalman())).fit(X, X[:, 0])
        smallest.append(np.linalg.eigvalsh(covariance(model)).min())
    assert min(smallest) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGEST_ERROR)
def test_P_after_ten_million_rows(name):
    X = extremes(20_000)[name]
    y = X @ [1.0, -1.0, 0.5, 0.0] + np.random.default_rng(1).standard_normal(len(X))
    model = OnlineRegressor(Mapped(Identity(constant=False), Kalman()))
    for _ in range(500):
        model.partial_fit(X, y)
    error, smallest = assert_accurate(model, exact(X, 10.0, 500), LARGEST_ERROR_AFTER_TEN_MILLION[name])
    print(f"{name}: relative error {error:.1e}, smallest eigenvalue {smallest:.1e}")


# ---- the contract of every learner

LEARNERS = {
    "full": Mapped(fourier_and_inputs(3)[0], Kalman(drift=0.001)),
    "diagonal": Mapped(fourier_and_inputs(3)[0], Kalman(covariance="diagonal")),
    "inputs": Mapped(Identity("1/sqrt(d)"), Kalman(prior=1.0)),
    "nystrom": Mapped(NYSTROM["stack"], Kalman()),
}


@pytest.mark.parametrize("task", members.TASKS)
@pytest.mark.parametrize("name", LEARNERS)
@given(
    cuts=st.lists(st.integers(1, 1199), max_size=6),
    container=st.sampled_from([np.asarray, sparse.csr_array]),
)
@settings(max_examples=8)
def test_any_cut_of_the_rows_is_the_same_model(name, task, cuts, container):
    n = 1200  # P is repaired after 1024 rows
    X, y = members.data(task, n)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], n)
    whole = members.start(
        members.estimator(task, LEARNERS[name]), task, container(X), y, sample_weight=weights
    )
    parts = members.estimator(task, LEARNERS[name])
    for a, b in pairwise(sorted({0, *cuts, n})):
        members.start(parts, task, container(X[a:b]), y[a:b], sample_weight=weights[a:b])
    assert members.same_state(parts, whole)
    np.testing.assert_array_equal(members.scores(parts, X), members.scores(whole, X))


def test_beyond_a_thousand_features_any_cut_is_the_same_model():
    X, y = members.data("multiclass", 60, features=1000)
    learner = Mapped(Stack(RandomFourier(Gaussian(0.001), 5), Identity()), Kalman())
    whole = members.start(members.estimator("multiclass", learner), "multiclass", X, y)
    rows = members.estimator("multiclass", learner)
    for i in range(60):
        members.start(rows, "multiclass", X[i : i + 1], y[i : i + 1])
    assert members.same_state(rows, whole)


@pytest.mark.parametrize("task", members.TASKS)
@pytest.mark.parametrize("name", LEARNERS)
def test_saved_and_pickled_models_go_on(name, task, path):
    X, y = members.data(task, 90)
    for stop in (4, 50):
        model = members.start(members.estimator(task, LEARNERS[name]), task, X[:stop], y[:stop])
        model.save(path)
        for other in (load(path), pickle.loads(pickle.dumps(model))):
            assert members.same_state(other, model)
            again = pickle.loads(pickle.dumps(model)).partial_fit(X[stop:], y[stop:])
            assert members.same_state(other.partial_fit(X[stop:], y[stop:]), again)


@pytest.mark.parametrize("name", ["full", "diagonal"])
def test_looking_changes_nothing(name):
    """Predictions between rows of a stream, also of rows of weight 0, leave P as it is."""
    X, y = members.data("regression", 60)
    one, other = (members.estimator("regression", LEARNERS[name]).start(X) for _ in range(2))
    for i in range(60):
        row = slice(i, i + 1)
        one.partial_fit(X[row], y[row]).predict(X, return_std=True)
        one.partial_fit(X[:3], y[:3], sample_weight=0.0)
    assert members.same_state(one, other.partial_fit(X, y))


@pytest.mark.parametrize("task", members.TASKS)
def test_a_refused_row_leaves_the_model_as_it_was(task):
    X, y = members.data(task, 60)
    X[40] = 1e140
    learner = Mapped(Identity(constant=False), Kalman())
    model = members.estimator(task, learner)
    with pytest.raises(ValueError, match="Row 40 gives a score that is not finite") as caught:
        members.start(model, task, X, y)
    assert caught.value.rows_learned == 40
    expected = members.start(members.estimator(task, learner), task, X[:40], y[:40])
    assert members.same_state(model, expected)
    assert members.same_state(model.partial_fit(X[41:], y[41:]), expected.partial_fit(X[41:], y[41:]))


@pytest.mark.parametrize("estimator", [OnlineClassifier, OnlineRegressor])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior": 0}, "Kalman: prior must be above 0, got 0."),
        ({"prior": -1.0}, "Kalman: prior must be above 0, got -1.0."),
        ({"prior": np.inf}, "Kalman: prior must be a finite number"),
        ({"prior": 1e200}, "Kalman: prior must lie between 1e-100 and 1e100"),
        ({"prior": "large"}, "Kalman: prior must be a"),
        ({"drift": -1e-3}, "Kalman: drift must be at least 0, got -0.001."),
        ({"drift": np.nan}, "Kalman: drift must be a finite number"),
        ({"drift": None}, "Kalman: drift must be a"),
        ({"covariance": "low"}, 'Kalman: covariance must be "auto", "full" or "diagonal", got \'low\'.'),
        ({"covariance": None}, 'Kalman: covariance must be "auto", "full" or "diagonal", got None.'),
    ],
    ids=repr,
)
def test_bad_parameters_are_one_sentence(estimator, parameters, message):
    with refused(message):
        estimator(Mapped(Identity(), Kalman(**parameters))).fit([[0.0], [1.0]], [0, 1])


def test_a_full_covariance_too_large_for_memory_is_refused():
    with refused("a full covariance of 25001 features takes"):
        OnlineRegressor(Mapped(Identity(), Kalman(covariance="full"))).fit(np.ones((2, 25_000)), [0, 1])


def forged_states(state):
    P = state["posterior.P"]
    yield state | {"posterior.P": P[:-1]}
    yield state | {"posterior.P": np.append(P, 1.0)}
    yield state | {"posterior.P": np.where(np.arange(len(P)) == 0, -1.0, P)}
    yield state | {"posterior.P": np.where(np.arange(len(P)) == 1, np.nan, P)}
    yield state | {"posterior.P": np.where(np.arange(len(P)) == 2, 11.0, P)}
    yield state | {"posterior.P": P[: len(P) // 2]}
    yield state | {"posterior.variance": np.ones(1)}
    yield state | {"kalman.noise": np.array([-1.0])}
    yield state | {"kalman.noise": np.array([np.inf])}


def test_forged_states_are_refused():
    X, y = members.data("regression", 30)
    model = OnlineRegressor(Mapped(Identity(), Kalman())).fit(X, y)
    for forged in forged_states(model._model.state()):
        with pytest.raises(ValueError, match="do not fit together"):
            pickle.loads(pickle.dumps(model))._model.restore(forged)


# ---- instruction sets

PROGRAM = """
import json
import numpy as np
from budgetron import Gaussian, Identity, Kalman, Mapped, RandomFourier, Stack, _core
from tests.model.test_reference import native_scores, stream

found = {}
for task in ("binary", "multiclass", "regression"):
    X, y = stream(task, 1200, 5)
    for kind in ("full", "diagonal"):
        learner = Mapped(Stack(RandomFourier(Gaussian(0.2), 9), Identity()), Kalman(10.0, 0.001, kind))
        scores, model = native_scores(task, learner, X, y)
        found[task + kind] = scores.tolist() + model.coef_.tolist()
        found[task + kind + "P"] = model._model.state()["posterior.P"].tolist()
print(json.dumps([_core.instruction_set(), found]))
"""


def numbers_of(isa):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"BUDGETRON_ISA": isa, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    name, found = json.loads(done.stdout)
    assert name == isa
    return {key: np.concatenate([np.ravel(v) for v in values] or [[]]) for key, values in found.items()}


def test_every_instruction_set_gives_the_same():
    first, *others = _core.instruction_sets()
    expected = numbers_of(first)
    for isa in others:
        for key, numbers in numbers_of(isa).items():
            if len(numbers):
                assert_close(numbers, expected[key])
