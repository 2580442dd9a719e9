"""Kalman: maps that change their coordinates, and the contract of every learner."""

import pickle
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
    load,
)
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.refusals import refused
from tests.helpers.trajectories import covariance, fourier_and_inputs, native_scores, stream

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


# ---- the contract of every learner

COVARIANCES = 'Kalman: covariance must be "auto", "full", "diagonal" or a whole number of at least 0'
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


@each("task", members.TASKS)
@each("name", LEARNERS)
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


@each("task", members.TASKS)
@each("name", LEARNERS)
def test_a_prediction_has_the_bits_of_the_score_before_learning(name, task):
    """Whatever is pending when it is made."""
    X, y = stream(task, 40, 1)
    expected, whole = native_scores(task, LEARNERS[name], X, y)
    _, one = native_scores(task, LEARNERS[name], X[:1], y[:1])
    for i in range(1, 40):
        np.testing.assert_array_equal(one.fitted_.model.scores(X[i : i + 1])[0], expected[i])
        one.partial_fit(X[i : i + 1], y[i : i + 1])
    assert members.same_state(one, whole)


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


COVARIANCES = 'Kalman: covariance must be "auto", "full", "diagonal" or a whole number of at least 0'


@each("estimator", [OnlineClassifier, OnlineRegressor])
@each(
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
        ({"covariance": "low"}, f"{COVARIANCES}, got 'low'."),
        ({"covariance": None}, f"{COVARIANCES}, got None."),
        ({"covariance": -1}, f"{COVARIANCES}, got -1."),
        ({"covariance": 10.0}, f"{COVARIANCES}, got 10.0."),
        ({"covariance": True}, f"{COVARIANCES}, got True."),
        ({"covariance": [10]}, f"{COVARIANCES}, got [10]."),
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
    U = state["posterior.pending"]
    yield state | {"posterior.pending": U[:-1]}
    yield state | {"posterior.pending": np.where(np.arange(len(U)) == 0, np.nan, U)}
    yield state | {"posterior.pending": np.tile(U, 2)}
    yield state | {"kalman.noise": np.array([-1.0])}
    yield state | {"kalman.noise": np.array([np.inf])}


def test_forged_states_are_refused():
    X, y = members.data("regression", 30)
    model = OnlineRegressor(Mapped(Identity(), Kalman())).fit(X, y)
    for forged in forged_states(model.fitted_.model.state()):
        with pytest.raises(ValueError, match="do not fit together"):
            pickle.loads(pickle.dumps(model)).fitted_.model.restore(forged)
