"""The contract of every learner, for those on explicit features that have no name."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from budgetron import (
    AROW,
    OGD,
    SGD,
    AdaGrad,
    Averaged,
    CoinBetting,
    Gaussian,
    Hinge,
    Identity,
    Mapped,
    Nystrom,
    OnlineClassifier,
    OnlineNewton,
    OnlineRegressor,
    RandomFourier,
    Stack,
    fogd,
    load,
    ogd,
)
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.helpers import members
from tests.helpers.cases import each
from tests.learners.test_mapped import FOURIER, GAMMA, SEEDED, D

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
each_learner = each(("name", "task"), [(name, task) for name in LEARNERS for task in members.TASKS])


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


# ---- files


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


def test_a_forged_width_takes_no_memory():
    """Two thousand million columns are not drawn because a small file says that all were seen."""
    model = Model(fogd(Gaussian(0.5)), Labels(2), 2**31 - 2, np.float64, 0)
    model.restore(model.state() | {"fourier.all": np.array([1], np.uint64)})
    assert model.memory_bytes < 1e6


# ---- descriptions


@each(
    ("learner", "message"),
    [
        (Mapped(Gaussian(1.0), OGD()), "features must be a FeatureMap"),
        (Mapped(FOURIER, Gaussian(1.0)), "rule must be a Rule"),
        (Mapped(FOURIER, AROW(r=0)), "r must be above 0"),
        (Mapped(FOURIER, AROW(covariance="low")), 'covariance must be "full" or "diagonal"'),
        (Mapped(FOURIER, AdaGrad(eta=-1)), "eta must be above 0"),
        (Mapped(FOURIER, AdaGrad(loss="hing")), "loss must be a Loss"),
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


def test_set_params_reaches_a_part_of_a_new_part():
    learner = Mapped(Stack(FOURIER, Identity()), OGD())
    learner.set_params(features__0__kernel__gamma=2.0, features__0__kernel=Gaussian(5.0))
    assert learner.features.maps[0].kernel == Gaussian(2.0)
