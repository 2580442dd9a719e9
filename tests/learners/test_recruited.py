"""Recruited Fourier features: against references/recruited.py, and the promises of every learner."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from budgetron import (
    AROW,
    OGD,
    SGD,
    AdaGrad,
    Averaged,
    CoinBetting,
    Gaussian,
    Hashed,
    Identity,
    Kalman,
    Laplacian,
    Mapped,
    Nystrom,
    OnlineClassifier,
    OnlineNewton,
    OrthogonalFourier,
    RandomFourier,
    Recruited,
    SparseFourier,
    Spectrum,
    Stack,
    Stacked,
    Standardised,
    Tiles,
    load,
    merge,
)
from budgetron._util.spec import seed_of_part
from budgetron.export.formulas.freezing import freeze
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.trajectories import OUTPUTS, assert_close, native_scores, stream, trajectory
from tests.references import maps
from tests.references import recruited as plain
from tests.references.cells import Recruiting

D, COLUMNS, SEED = 20, 5, 11
KINDS = {
    "sparse": SparseFourier(D, random_state=SEED),
    "gaussian": RandomFourier(Gaussian(0.3), D, random_state=SEED),
    "laplacian": RandomFourier(Laplacian(0.2), D, random_state=SEED),
}


def components(kind):
    """The reference's components, of a map with a seed of its own."""
    features = KINDS[kind]
    if kind == "sparse":
        native = features.fit(np.zeros((1, COLUMNS))).native_
        return plain.SparseComponents(
            native.frequencies(COLUMNS), features.narrowest, features.widest, SEED
        )
    if kind == "gaussian":
        return plain.RandomComponents(maps.gaussian_law(0.3), *plain.GAUSSIAN, SEED, COLUMNS, D)
    return plain.RandomComponents(maps.laplacian_law(0.2), *plain.LAPLACIAN, SEED, COLUMNS, D)


@each(["kind", "task"], [(kind, task) for kind in KINDS for task in members.TASKS])
def test_reference(kind, task):
    X, y = stream(task, 3800, 5, COLUMNS)
    weights = np.where(np.arange(len(X)) % 19 == 0, 0.0, 1.0)
    features = Stack(Recruited(KINDS[kind], every=10, share=0.8), Identity(0.5), random_state=SEED)
    got, model = native_scores(task, Mapped(features, Kalman(3.0)), X, y, weights)
    seed = seed_of_part(seed_of_part(SEED, 0), 0)  # of the stack, its first map, and what recruits there
    oracle = plain.RecruitedKalman(
        components(kind), OUTPUTS[task], 3.0, Recruiting(16, 10, 3000, seed), scale=0.5
    )
    assert_close(got, trajectory(oracle, X, y, weights))
    assert oracle.exchanges > 10
    state = model.fitted_.model.state()
    np.testing.assert_allclose(state["map.0.recruiting.use"], oracle.recruiting.use, atol=1e-9)
    native = model.fitted_.model.engine.map.maps[0]
    np.testing.assert_allclose(native.frequencies(COLUMNS), oracle.components.U, rtol=1e-12)


SPARSE = Recruited(SparseFourier(12), every=7)
LEARNERS = {
    "sparse": Mapped(SPARSE, Kalman(3.0)),
    "drift": Mapped(Stack(SPARSE, Identity()), Kalman(3.0, 1e-3)),
    "diagonal": Mapped(Recruited(RandomFourier(Gaussian(0.2), 12), 5), Kalman(covariance="diagonal")),
    "hashed": Mapped(Stack(Hashed(SPARSE, 3), Recruited(RandomFourier(Laplacian(0.2), 9), 11)), Kalman()),
    "nystrom": Mapped(Stack(Nystrom(Gaussian(0.2), 9), SPARSE), AROW()),
    "ogd": Mapped(SPARSE, OGD(0.3)),
    "sgd": Mapped(SPARSE, SGD(0.01)),
    "adagrad": Mapped(SPARSE, AdaGrad()),
    "coin": Mapped(SPARSE, CoinBetting()),
    "newton": Mapped(SPARSE, OnlineNewton(covariance="diagonal")),
    "averaged": Averaged(Mapped(SPARSE, OGD(0.3)), 0.5),
    "stacked": Standardised(Stacked(Mapped(SPARSE, Kalman(3.0)), Mapped(SPARSE, Kalman(3.0, 1e-3)))),
}
each_learner = each(("name", "task"), [(name, task) for name in LEARNERS for task in members.TASKS])


@each_learner
def test_any_cut_saved_and_loaded_is_the_same_model(name, task, tmp_path):
    X, y = members.data(task, 3300, features=4)
    weights = np.where(np.arange(len(X)) % 13 == 0, 0.0, 1.0)
    container = sparse.csr_array if name in ("drift", "ogd") else np.asarray
    whole = members.estimator(task, LEARNERS[name])
    members.start(whole, task, container(X), y, sample_weight=weights)
    cut = members.estimator(task, LEARNERS[name])
    for first, last in [(0, 1), (1, 3005), (3005, 3037), (3037, 3038), (3038, 3300)]:
        rows = slice(first, last)
        members.start(cut, task, container(X[rows]), y[rows], sample_weight=weights[rows])
        cut.save(tmp_path / "model")
        cut = load(tmp_path / "model")
    assert members.same_state(whole, cut)
    np.testing.assert_array_equal(members.scores(whole, container(X)), members.scores(cut, container(X)))
    redrawn = [v for k, v in members.bits(whole).items() if k.endswith("fourier.redrawn")]
    assert redrawn
    assert all(np.frombuffer(v, np.uint64)[0] > 2 for _, v in redrawn)


@each("features", [SPARSE, Recruited(RandomFourier(Gaussian(0.2), 12), every=7)], ids=repr)
def test_new_columns_are_taken_up(features):
    """Old scores stay when columns are added; components that are drawn later look at them too."""
    X, y = members.data("binary", 3300, features=3)
    model = Model(Mapped(features, Kalman()), Labels(2), 3, np.float64, 0)
    model.learn(X, 2.0 * y - 1)
    before = model.scores(X[:50])
    model.widen(6)
    np.testing.assert_array_equal(model.scores(np.hstack([X[:50], np.zeros((50, 3))])), before)
    later = np.random.default_rng(1).normal(size=(500, 6))
    labels = np.sign(later[:, 5])
    model.learn(later, labels)
    other = pickle.loads(pickle.dumps(model))
    model.learn(later, labels)
    other.learn(later, labels)
    for name, value in model.state().items():
        assert value.tobytes() == other.state()[name].tobytes(), name
    assert np.any(model.engine.map.frequencies(6)[3:] != 0)


def test_rules_over_few_columns_are_found():
    X = np.random.default_rng(0).normal(size=(20_000, 20))
    y = np.abs(X[:, 2]) > 0.67

    def errors(features):
        model = OnlineClassifier(Mapped(features, Kalman(3.0)), random_state=0)
        return (model.progressive_predict(X, y) != y)[10_000:].mean()

    assert errors(Recruited(SparseFourier(20))) < 0.5 * errors(SparseFourier(20))


def test_exported_with_the_frequencies_that_it_has():
    X, y = members.data("regression", 3300)
    learner = Mapped(Stack(SPARSE, Identity()), OGD(0.3))
    model, young = (
        members.start(members.estimator("regression", learner), "regression", X[:n], y[:n])
        for n in (3300, 1)
    )
    formula, first = freeze(model)[0], freeze(young)[0]
    waves = formula.features.pieces[0]
    changed = np.any(waves.frequencies != first.features.pieces[0].frequencies, axis=0)
    assert 3 <= changed.sum() < 12
    z = maps.stack(maps.fourier(waves.frequencies), maps.identity())
    assert_close([formula.coef @ z(x) for x in X[:99]], model.predict(X[:99])[:, None])


@each(
    ["features", "sentence"],
    [
        (Recruited(OrthogonalFourier()), "Recruited: needs Tiles, RandomFourier or SparseFourier"),
        (Recruited(Identity()), "Recruited: needs Tiles, RandomFourier or SparseFourier"),
        (Recruited(RandomFourier(Spectrum())), "Recruited: needs a Gaussian or a Laplacian kernel"),
        (Stack(Recruited(Tiles()), Identity()), "Recruited: tiles are cells"),
        (Recruited(SparseFourier(), every=0), "Recruited: every"),
        (Recruited(SparseFourier(), share=2.0), "Recruited: share"),
    ],
)
def test_refused_in_one_sentence(features, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        OnlineClassifier(Mapped(features, Kalman())).fit([[0.0], [1.0]], [0, 1])


def test_merged_models_are_stacked():
    X, y = members.data("binary", 400)
    learner = Mapped(Recruited(SparseFourier(12, random_state=0)), Kalman())
    parts = [members.start(members.estimator("binary", learner), "binary", X, y) for _ in range(2)]
    assert np.isfinite(merge(parts).decision_function(X)).all()
