"""Rules on Nystrom's features: against the reference, NOGD and its authors, and when the map is made."""

import pickle
from threading import Thread

import numpy as np
import pytest

from budgetron import (
    AROW,
    OGD,
    PA,
    AdaGrad,
    CoinBetting,
    Gaussian,
    Linear,
    Logistic,
    Mapped,
    Nystrom,
    OnlineClassifier,
    OnlineNewton,
    OnlineRegressor,
    nogd,
    ogd,
)
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.trajectories import TASKS, native_scores, stream
from tests.learners.algorithms import test_golden
from tests.learners.test_mapped import GAMMA, rules, rules_without_loss
from tests.references import features as plain
from tests.references import step


@each("task", TASKS)
@each("selection", ["first", "steps"])
@each("name", ["ogd", "perceptron", "pa", "sgd"])
def test_nystrom_trajectories(task, selection, name):
    if name == "pa" and selection == "steps":
        pytest.skip("at the switch |z|^2 of the exact and of the mapped model differ")
    X, y = stream(task, 400, 3)
    theirs = step.squared if task == "regression" else step.hinge
    ours, make = (rules(task, None, theirs) | rules_without_loss(task))[name]
    learner = Mapped(Nystrom(Gaussian(GAMMA), 25, 8, selection), ours)
    scores, model = native_scores(task, learner, X, y)
    chosen = {"first": "first", "steps": "updates"}[selection]
    oracle = plain.NystromMapped(step.gaussian(GAMMA), TASKS[task], make(), 25, 8, chosen)
    expected = np.array([np.atleast_1d(oracle.learn(*row)) for row in zip(X, y, strict=True)])
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)
    assert oracle.mapped is not None
    assert model.n_support_ == 25
    assert model.coef_.shape[1] == 8


@each("task", TASKS)
@each("seed", range(3))
def test_nogd_is_the_same_algorithm_as_a_projection_and_as_a_feature_map(task, seed):
    X, y = stream(task, 500, seed)
    projected = nogd(Gaussian(GAMMA), budget=30, rank=8, eta=0.2)
    mapped = Mapped(Nystrom(Gaussian(GAMMA), landmarks=30, rank=8, selection="steps"), OGD(0.2))
    one, first = native_scores(task, projected, X, y)
    other, second = native_scores(task, mapped, X, y)
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(
        first.fitted_.model.scores(X), second.fitted_.model.scores(X), rtol=1e-7, atol=1e-7
    )
    np.testing.assert_allclose(second.support_vectors_, first.support_vectors_)
    np.testing.assert_allclose(second.dual_coef_, first.dual_coef_, rtol=1e-6, atol=1e-7)


GOLDEN_NOGD = [
    (data, i, value)
    for kind in ("binary", "multiclass")
    for data, golden in test_golden.GOLDEN[kind].items()
    for i, value in enumerate(golden["mistakes"].get("nogd", []))
]


@each(("data", "i", "mistakes"), GOLDEN_NOGD)
def test_mistakes_of_nogd_in_feature_space_are_those_of_the_authors(data, i, mistakes):
    X, y = getattr(test_golden, data)()
    g = test_golden.GOLDEN["binary" if data in test_golden.GOLDEN["binary"] else "multiclass"][data]
    features = Nystrom(Gaussian.of_width(g["sigma"]), g["budget"], g["rank"], "steps")
    order = np.random.default_rng(i).permutation(len(X))
    model = OnlineClassifier(Mapped(features, OGD(g["eta"])))
    assert np.sum(model.progressive_predict(X[order], y[order]) != y[order]) == mistakes


@each("i", range(5))
def test_losses_of_nogd_in_feature_space_are_those_of_the_authors(i):
    X, y = test_golden.diabetes()
    g = test_golden.GOLDEN["regression"]["diabetes"]
    g = g | g.get("nogd", {})
    order = np.random.default_rng(i).permutation(len(X))
    features = Nystrom(Gaussian.of_width(g["sigma"]), g["budget"], g["rank"], "steps")
    model = OnlineRegressor(Mapped(features, OGD(g["eta"], epsilon=g.get("epsilon", 0.1))))
    loss = np.mean((model.progressive_predict(X[order], y[order]) - y[order]) ** 2)
    assert loss == pytest.approx(g["mean_squared_loss"]["nogd"][i], rel=g["tolerance"].get("nogd", 1e-9))


@each("selection", ["first", "steps", "uniform", "leverage"])
def test_until_the_map_is_made_nothing_is_lost(selection):
    """Within the first landmarks, every choice of them gives exact kernel gradient descent."""
    X, y = stream("multiclass", 60, 5)
    exact = native_scores("multiclass", ogd(Gaussian(GAMMA), eta=0.2), X, y)[0]
    features = Nystrom(Gaussian(GAMMA), landmarks=100, selection=selection)
    np.testing.assert_allclose(
        native_scores("multiclass", Mapped(features, OGD(0.2)), X, y)[0], exact, atol=1e-9
    )


@each("rule", [CoinBetting(), AROW(), AdaGrad(), OnlineNewton(loss=Logistic())], ids=repr)
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


def test_passive_aggressive_steps_mend_the_loss_while_landmarks_are_chosen():
    X, y = members.data("regression", 60)
    model = OnlineRegressor(
        Mapped(Nystrom(Gaussian(0.5), 10, selection="uniform", window=50), PA(1e9, 0.0)), random_state=0
    )
    for i in range(45):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        assert model.predict(X[i : i + 1])[0] == pytest.approx(y[i], abs=1e-6)


def test_forged_states_of_a_map_are_refused():
    X, y = members.data("binary", 10)
    learner = Mapped(Nystrom(Gaussian(0.5), 50), AROW())
    full, empty = (
        OnlineClassifier(learner, random_state=0).partial_fit(
            X[:n], y[:n], classes=[0, 1], sample_weight=np.full(n, w)
        )
        for n, w in ((10, 1.0), (1, 0.0))
    )
    state, nothing = full.fitted_.model.state(), empty.fitted_.model.state()
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
            pickle.loads(pickle.dumps(empty)).fitted_.model.restore(bad)


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
