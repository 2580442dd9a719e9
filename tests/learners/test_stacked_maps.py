"""Stacked: experts with equal maps share them."""

import numpy as np
import pytest
from scipy import sparse

from budgetron import (
    OGD,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    Nystrom,
    OnlineClassifier,
    RandomFourier,
    Stack,
    Stacked,
    rbp,
)
from budgetron.learners import stacked
from tests.helpers import members
from tests.helpers.trajectories import native_scores

SHARED = RandomFourier(Gaussian(0.5), 6, random_state=3)
SHARING = Stacked(
    Mapped(SHARED, Kalman()),
    Mapped(SHARED, OGD(0.1)),
    Mapped(Stack(SHARED, Identity()), Kalman()),
    Mapped(SHARED, Kalman(drift=0.01)),
    Mapped(Stack(SHARED, Identity()), Kalman(drift=0.01)),
)


@pytest.fixture
def unshared(monkeypatch):
    """A function that builds every map for itself from then on."""

    def build_each(_self, learner, n_features, dtype, seed):
        return learner.build_map(n_features, dtype, seed)

    return lambda: monkeypatch.setattr(stacked._Maps, "shared", build_each)


@pytest.mark.parametrize("task", members.TASKS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_shared_maps_change_nothing(task, container, unshared):
    X, y = members.data(task, 150)
    rows = container(X)
    one = members.start(members.estimator(task, SHARING), task, rows, y)
    unshared()
    other = members.start(members.estimator(task, SHARING), task, rows, y)
    assert members.same_state(one, other)
    np.testing.assert_array_equal(members.scores(one, rows), members.scores(other, rows))


def test_the_memory_of_a_shared_map_is_counted_once(unshared):
    X, y = members.data("binary", 20, features=500)
    one = OnlineClassifier(SHARING).fit(X, y)
    unshared()
    apart = OnlineClassifier(SHARING).fit(X, y)
    assert one.memory_bytes_ < apart.memory_bytes_ - 8 * 16 * 500  # the frequencies, padded


def test_equal_maps_are_one_map():
    """Without a seed of their own, equal maps have the same frequencies, and others have not."""
    X, y = members.data("binary", 50)
    fourier = RandomFourier(Gaussian(0.5), 6)
    experts = [Mapped(fourier, Kalman()), Mapped(RandomFourier(Gaussian(0.5), 6), Kalman())]
    other = Mapped(RandomFourier(Gaussian(0.5), 6, random_state=1), Kalman())
    state = OnlineClassifier(Stacked(*experts, other), random_state=0).fit(X, y).fitted_.model.state()
    np.testing.assert_array_equal(state["expert.0.weights.0"], state["expert.1.weights.0"])
    assert (state["expert.0.weights.0"] != state["expert.2.weights.0"]).any()


def test_maps_that_learn_are_not_shared():
    X, y = members.data("binary", 80)
    nystrom = Nystrom(Gaussian(0.5), 8, selection="uniform")
    learner = Stacked(Mapped(nystrom, Kalman()), Mapped(nystrom, Kalman()))
    state = OnlineClassifier(learner, random_state=0).fit(X, y).fitted_.model.state()
    assert (state["expert.0.weights.0"] != state["expert.1.weights.0"]).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_are_not_remembered_beyond_their_rows(dtype):
    """An array that is changed in place, between two predictions, is another one."""
    X, y = members.data("binary", 100)
    X = X.astype(dtype)
    model = OnlineClassifier(SHARING, random_state=0).fit(X, y)
    expected = [model.decision_function(rows) for rows in (X.copy(), -X)]
    rows = X.copy()
    np.testing.assert_array_equal(model.decision_function(rows), expected[0])
    rows *= -1
    np.testing.assert_array_equal(model.decision_function(rows), expected[1])


def test_shared_maps_learn_columns_that_another_expert_refused(unshared):
    """Sparse rows whose columns are new, in a row that only one expert learns."""
    X = np.zeros((60, 40))
    X[range(60), np.arange(60) % 40] = np.linspace(-1, 1, 60)
    y = np.where(X.sum(axis=1) > 0, 1, -1)
    X[25] = 0
    X[25, 39] = 1e140
    features = Stack(RandomFourier(Gaussian(0.5), 4, random_state=2), Identity())
    learner = Stacked(Mapped(features, Kalman()), rbp(Gaussian(0.5), budget=9), Mapped(features, OGD(0.1)))
    rows = sparse.csr_array(X)
    scores, _ = native_scores("binary", learner, rows, y)
    unshared()
    np.testing.assert_array_equal(scores, native_scores("binary", learner, rows, y)[0])
