"""Stacked: the contract of every learner, parameters of the experts, and bad descriptions."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import budgetron
from budgetron import (
    OGD,
    Averaged,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    Stacked,
    Standardised,
    bpa_p,
    load,
    ogd,
    rbp,
)
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.refusals import refused
from tests.learners.test_stacked import FEATURES, LINEAR, weights_of
from tests.learners.test_stacked_maps import SHARING

LEARNERS = {
    "experts": Stacked(
        Mapped(FEATURES, Kalman(drift=0.001)), rbp(Gaussian(0.5), budget=9), bpa_p(Gaussian(0.5), budget=9)
    ),
    "sharing": SHARING,
    "nystrom": Stacked(Mapped(Nystrom(Gaussian(0.5), 9, 5), Kalman()), ogd(Gaussian(0.5), eta=0.1)),
    "nested": Stacked(Stacked(rbp(Gaussian(0.5), budget=9)), Mapped(Identity(), Kalman())),
    "averaged": Stacked(Averaged(Mapped(FEATURES, OGD(0.1))), Mapped(Identity(), Kalman())),
    "standardised": Standardised(Stacked(rbp(Gaussian("1/d"), budget=9), Mapped(Identity(), Kalman()))),
}
each_learner = each(("name", "task"), [(name, task) for name in LEARNERS for task in members.TASKS])


@each_learner
@given(
    cuts=st.lists(st.integers(1, 119), max_size=6),
    container=st.sampled_from([np.asarray, sparse.csr_array]),
)
@settings(max_examples=8)
def test_any_cut_of_the_rows_is_the_same_model(name, task, cuts, container):
    X, y = members.data(task, 120)
    rows, weights = container(X), weights_of(120)
    whole = members.start(members.estimator(task, LEARNERS[name]), task, rows, y, sample_weight=weights)
    parts = members.estimator(task, LEARNERS[name])
    for a, b in pairwise(sorted({0, *cuts, 120})):
        members.start(parts, task, rows[a:b], y[a:b], sample_weight=weights[a:b])
    assert members.same_state(parts, whole)
    expected = members.scores(whole, rows)
    np.testing.assert_array_equal(members.scores(parts, rows), expected)
    each = [members.scores(whole, rows[i : i + 1])[0] for i in range(120)]
    np.testing.assert_array_equal(each, expected)


@each_learner
def test_saved_and_pickled_models_go_on(name, task, path):
    X, y = members.data(task, 90)
    for stop in (1, 50):
        model = members.start(members.estimator(task, LEARNERS[name]), task, X[:stop], y[:stop])
        model.save(path)
        for other in (load(path), pickle.loads(pickle.dumps(model))):
            assert members.same_state(other, model)
            assert other.get_params() == model.get_params()
            np.testing.assert_array_equal(members.scores(other, X), members.scores(model, X))
            np.testing.assert_array_equal(other.expert_losses_, model.expert_losses_)
            again = pickle.loads(pickle.dumps(model)).partial_fit(X[stop:], y[stop:])
            assert members.same_state(other.partial_fit(X[stop:], y[stop:]), again)


@each("learner", LEARNERS.values(), ids=LEARNERS)
def test_descriptions_are_copied_and_printed(learner):
    copied = clone(OnlineClassifier(learner)).learner
    assert copied == learner
    assert copied is not learner
    names = {name: getattr(budgetron, name) for name in budgetron.__all__}
    assert eval(repr(learner), names) == learner
    assert pickle.loads(pickle.dumps(learner)) == learner


def test_experts_are_known_by_their_numbers():
    learner = Stacked(Mapped(Identity(), Kalman()), rbp(Gaussian(0.5), budget=9), prior=0.2)
    parameters = learner.get_params()
    assert parameters["0__rule__drift"] == 0.0
    assert parameters["1__kernel__gamma"] == 0.5
    assert parameters["prior"] == 0.2
    learner.set_params(**{"0__rule__drift": 0.5, "1__kernel": Gaussian(2.0), "prior": 0.3})
    expected = Stacked(Mapped(Identity(), Kalman(drift=0.5)), rbp(Gaussian(2.0), budget=9), prior=0.3)
    assert learner == expected
    model = OnlineClassifier(learner).set_params(learner__0__rule__drift=0.25)
    assert model.learner.learners[0].rule.drift == 0.25
    learner.set_params(learners=[rbp(Gaussian(1.0), budget=3)], **{"0__kernel__gamma": 4.0})
    assert learner.learners[0].kernel == Gaussian(4.0)
    assert Stacked(learners=(LINEAR, LINEAR)) == Stacked(LINEAR, LINEAR)
    assert repr(Stacked(LINEAR)) == f"Stacked({LINEAR!r})"
    assert repr(Stacked(LINEAR, prior=0.7)) == f"Stacked({LINEAR!r}, prior=0.7)"


@each("name", ["2__rule", "0__", "0", "rule", "x__y", "-1__rule"])
def test_unknown_parameters_are_one_sentence(name):
    learner = Stacked(LINEAR, LINEAR)
    with refused("Stacked has no parameter", repr(name)):
        learner.set_params(**{name: 1})
    assert learner == Stacked(LINEAR, LINEAR)


@each(
    ("make", "message"),
    [
        (lambda: Stacked(), "Stacked: learners must hold at least one, got none."),
        (lambda: Stacked(LINEAR, Gaussian(0.5)), "Stacked: learners[1] must be a Learner"),
        (lambda: Stacked(learners=LINEAR), "Stacked: learners must be a sequence of learners"),
        (lambda: Stacked(LINEAR, learners=[LINEAR]), "Stacked: give the learners one after the other"),
        (lambda: Stacked(LINEAR, prior=0), "Stacked: prior must be above 0"),
        (lambda: Stacked(LINEAR, drift=-1), "Stacked: drift must be at least 0"),
        (lambda: Stacked(LINEAR, drift=np.nan), "Stacked: drift must be a finite number"),
    ],
)
@each("estimator", [OnlineClassifier, OnlineRegressor])
def test_bad_descriptions_are_one_sentence(estimator, make, message):
    with refused(message):
        estimator(make()).fit([[0.0], [1.0]], [0, 1])


FORGED = {
    "stacked.weights": lambda w: w[:-1],
    "stacked.losses": lambda losses: np.append(losses, 0.0),
    "stacked.learned": lambda _: np.array([np.nan]),
    "stacked.squares": lambda squares: squares[1:],
    "stacked.posterior.P": lambda P: -P,
    "stacked.posterior.pending": lambda U: U[1:],
    "stacked.calibration.slopes": lambda slopes: slopes[1:],
    "stacked.calibration.posterior.P": lambda P: -P,
    "expert.0.posterior.P": lambda P: P[:-1],
}


@each("name", FORGED)
def test_forged_states_are_refused(name):
    X, y = members.data("binary", 30)
    model = OnlineClassifier(LEARNERS["experts"], random_state=0).fit(X, y)
    state = model.fitted_.model.state()
    with pytest.raises(ValueError, match="do not fit together"):
        model.fitted_.model.restore(state | {name: FORGED[name](state[name])})
