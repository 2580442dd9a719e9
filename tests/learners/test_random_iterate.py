"""f of a random round: the f that was kept, which rounds are drawn, and that it is the same for any cut."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from budgetron import (
    Averaged,
    Gaussian,
    Mapped,
    Merge,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    RandomIterate,
    Standardised,
    bduol,
    bsgd,
    nbsgd,
    norma,
    perceptron,
    sgd,
)
from budgetron.model.model import Model
from budgetron.parts.rules import OGD
from budgetron.parts.tasks import Labels, Targets
from tests.helpers.cases import each
from tests.helpers.trajectories import stream
from tests.references import random_iterate as reference

KERNEL = Gaussian(0.3)
TASKS = {"binary": Labels(2), "multiclass": Labels(4), "regression": Targets()}
LEARNERS = {
    "sgd": sgd(KERNEL, lam=0.05),
    "bsgd": bsgd(KERNEL, budget=15, lam=0.05),
    "merging": bsgd(KERNEL, budget=15, lam=0.05, maintenance=Merge),
    "nbsgd": nbsgd(KERNEL, budget=10, beta=50.0, lam=0.05),
    "fourier": Mapped(RandomFourier(KERNEL, 10), OGD(0.2)),
    "nystrom": Mapped(Nystrom(KERNEL, 15), OGD(0.2)),
    "standardised": Standardised(bsgd(KERNEL, budget=15, lam=0.05)),
}


def built(learner, task, seed=0):
    return Model(learner, TASKS[task], 5, np.float64, seed)


@each("suffix", [1.0, 0.5, 0.1])
@each("task", TASKS)
@each("name", LEARNERS)
def test_it_is_f_before_the_round_that_was_drawn(name, task, suffix):
    """After every round the scores are those of a plain model that stopped before round r."""
    X, y = stream(task, 60, 11)
    plain, kept = built(LEARNERS[name], task), built(RandomIterate(LEARNERS[name], suffix), task)
    rounds, history = reference.RandomIterate(0, suffix), []
    for i in range(len(X)):
        row, label = X[i : i + 1], y[i : i + 1].astype(float)
        history.append(plain.scores(X))
        np.testing.assert_array_equal(kept.learn(row, label), plain.learn(row, label))
        r = rounds.next_round()
        np.testing.assert_array_equal(kept.scores(X), history[r - 1])


@each("suffix", [1.0, 0.4])
def test_rows_of_weight_0_are_no_rounds(suffix):
    X, y = stream("binary", 80, 3)
    weights = np.random.default_rng(0).choice([0.0, 1.0], 80)
    one, other = (built(RandomIterate(LEARNERS["bsgd"], suffix), "binary") for _ in range(2))
    one.learn(X, y.astype(float), weights)
    other.learn(X[weights > 0], y[weights > 0].astype(float))
    np.testing.assert_array_equal(one.scores(X), other.scores(X))


@each("suffix", [1.0, 0.3])
@each("seed", range(5))
def test_any_cut_gives_the_same_bits(seed, suffix):
    X, y = stream("multiclass", 300, seed)
    learner = RandomIterate(bsgd(KERNEL, budget=15, lam=0.05), suffix)
    whole, parts = built(learner, "multiclass", seed), built(learner, "multiclass", seed)
    whole.learn(X, y.astype(float))
    cuts = np.sort(np.random.default_rng(seed).integers(0, 300, 12))
    for piece in np.split(np.arange(300), cuts):
        parts.learn(X[piece], y[piece].astype(float))
    assert {k: v.tobytes() for k, v in whole.state().items()} == {
        k: v.tobytes() for k, v in parts.state().items()
    }


def test_every_round_is_drawn_equally_often():
    """Of 4,000 seeds; the probability of such a chi-squared is not small."""
    drawn = Counter()
    for seed in range(4000):
        rounds = reference.RandomIterate(seed)
        drawn[[rounds.next_round() for _ in range(20)][-1]] += 1
    assert set(drawn) == set(range(1, 21))
    assert chisquare([drawn[r] for r in range(1, 21)]).pvalue > 0.01


@each("suffix", [0.2, 0.5, 0.9])
@each("T", [1, 2, 10, 57, 400])
def test_the_suffix_covers_what_it_says(suffix, T):
    """R is from the last share, or from at most 1 - (1 - suffix)^2 of the rounds."""
    for seed in range(20):
        rounds = reference.RandomIterate(seed, suffix)
        r = [rounds.next_round() for _ in range(T)][-1]
        share = (T - rounds.older.start) / T
        assert suffix - 1e-9 <= share <= 1 - (1 - suffix) ** 2 + 2 / T
        assert rounds.older.start < r <= T


def test_a_refused_row_changes_nothing():
    """Not even if it would have been a round that is kept."""
    X, y = stream("regression", 30, 0)
    y[1] = 1e300
    learner = RandomIterate(norma(KERNEL, eta=0.3))
    model = built(learner, "regression")
    model.learn(X[:1], y[:1])
    before = model.state()
    for _ in range(3):
        done = model.run(X[1:2] * 1e200, y[1:2])
        assert done.error is not None
        after = model.state()
        assert {k: v.tobytes() for k, v in after.items()} == {k: v.tobytes() for k, v in before.items()}


def test_attributes_are_those_of_the_f_that_predicts():
    X, y = stream("binary", 200, 1)
    model = OnlineClassifier(RandomIterate(bduol(KERNEL, budget=20)), random_state=0).fit(X, y)
    f = KERNEL(X, model.support_vectors_) @ model.dual_coef_[0]
    np.testing.assert_allclose(f, model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert model.n_support_ == len(model.support_vectors_)


def test_labels_and_columns_may_come():
    X, y = stream("multiclass", 200, 2)
    grown = OnlineClassifier(RandomIterate(bsgd(KERNEL, budget=20, lam=0.05), 0.5), random_state=0)
    early = y < 2
    grown.partial_fit(X[early], y[early])
    grown.partial_fit(X[~early], y[~early])
    assert set(grown.classes_) == {0, 1, 2, 3}
    assert np.isfinite(grown.decision_function(X)).all()


@each("suffix", [0, -0.5, 1.5, "all"])
def test_bad_suffix(suffix):
    with pytest.raises(ValueError, match="suffix"):
        OnlineClassifier(RandomIterate(perceptron(KERNEL), suffix=suffix)).fit([[0.0], [1.0]], [0, 1])


@each("inner", [Averaged(perceptron(KERNEL)), RandomIterate(perceptron(KERNEL))], ids=repr)
def test_what_it_cannot_be_around(inner):
    with pytest.raises(TypeError, match=r"^RandomIterate: learner must not itself be"):
        OnlineRegressor(RandomIterate(inner)).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="must have an f to average"):
        OnlineRegressor(Averaged(RandomIterate(perceptron(KERNEL)))).fit([[0.0], [1.0]], [0.0, 1.0])
