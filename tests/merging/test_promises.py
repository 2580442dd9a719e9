"""Every learner merges, in the way that is promised for it."""

import pickle

import numpy as np
import pytest

from budgetron import (
    AROW,
    OGD,
    AdaGrad,
    Auto,
    Averaged,
    CoinBetting,
    Gaussian,
    Hashed,
    Identity,
    Kalman,
    Mapped,
    Nystrom,
    OnlineClassifier,
    OnlineNewton,
    OnlineRegressor,
    RandomFourier,
    Ranged,
    Stack,
    Stacked,
    Standardised,
    bduol,
    bogd,
    bogd_pp,
    bpa_nn,
    bpa_p,
    bpa_s,
    bsgd,
    budget_perceptron,
    duol,
    fogd,
    forgetron,
    load,
    merge,
    merge_promise,
    nogd,
    ogd,
    pa,
    perceptron,
    projectron,
    projectron_pp,
    rbp,
    sgd,
    stoptron,
)
from tests.helpers.cases import each

K = Gaussian(0.5)
F = RandomFourier(K, components=40)
UNIONS = [
    *(make(K) for make in (perceptron, pa, ogd)),
    *(
        make(K, budget=30)
        for make in (stoptron, rbp, forgetron, budget_perceptron, projectron, projectron_pp)
    ),
    *(make(K, budget=30) for make in (bpa_s, bpa_nn, bpa_p, bogd, bogd_pp)),
    nogd(K, budget=30, rank=10),
    sgd(K, lam=0.01),
    bsgd(K, budget=30, lam=0.01),
]
PRECISE = [
    Mapped(F, Kalman()),
    Mapped(F, Kalman(covariance="diagonal")),
    Mapped(F, Kalman(drift=0.01)),
    Mapped(F, AROW()),
    Mapped(F, AROW(covariance="diagonal")),
    Mapped(F, OnlineNewton()),
]
AVERAGES = [
    fogd(K),
    Mapped(F, AdaGrad()),
    Mapped(F, CoinBetting()),
    Averaged(fogd(K)),
    Mapped(F, sgd(K, lam=0.1).rule),
]
STACKS = [
    duol(K),
    bduol(K, budget=30),
    Mapped(Nystrom(K, landmarks=30), OGD()),
    Mapped(Hashed(Nystrom(K, landmarks=30)), OGD()),
    Averaged(perceptron(K), suffix=0.5),
    Standardised(duol(K)),
    Stacked(rbp(K, budget=10), duol(K)),
]
WHOLE = [Auto(size=10), Standardised(rbp(K, budget=30)), Ranged(fogd(K)), Stacked(perceptron(K), prior=0.2)]
CUTS = [slice(0, 200), slice(200, 300), slice(300, 600)]


def rows(classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (classes - 2) * (X[:, 2] > 1)
    return X, y


def learned(learner, X, y, cuts=CUTS, kind=OnlineClassifier):
    more = {"classes": [0, 1]} if "DoubleUpdating" in repr(learner) else {}  # in the same order
    return [kind(learner, random_state=0).partial_fit(X[cut], y[cut], **more) for cut in cuts]


def error(model, X, y):
    return float((model.predict(X) != y).mean())


def average(parts, X):
    """The scores of the parts, averaged by their rows."""
    shares = [1 / 3, 1 / 6, 1 / 2]
    return sum(share * part.decision_function(X) for share, part in zip(shares, parts, strict=True))


def budget_of(learner):
    return getattr(getattr(learner, "budget", None), "budget", None)


@each("classes", [2, 3])
@each("learner", [*UNIONS, *PRECISE, *AVERAGES, *STACKS, *WHOLE], ids=repr)
def test_merged_models_predict_learn_and_are_saved(learner, classes, tmp_path):
    X, y = rows(classes)
    if classes > 2 and "DoubleUpdating" in repr(learner):
        pytest.skip("DoubleUpdating is defined for two classes")
    parts = learned(learner, X, y)
    before = [pickle.dumps(part.fitted_.model.state()) for part in parts]
    model = merge(parts)
    assert [pickle.dumps(part.fitted_.model.state()) for part in parts] == before
    more = 0.15 if "RemoveRandom" in repr(learner) else 0.1  # which removes large terms too
    assert error(model, X, y) < max(error(part, X, y) for part in parts) + more
    most = budget_of(learner)
    assert most is None or model.n_support_ <= most or "DoubleUpdating" in repr(learner)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit(X, y)
    assert np.array_equal(model.decision_function(X), again.decision_function(X))
    assert np.array_equal(merge(parts).decision_function(X), merge(parts).decision_function(X))


@each("learner", [*PRECISE, *AVERAGES, Auto(size=10)], ids=repr)
def test_merging_on_explicit_features_beats_the_parts(learner):
    X, y = rows()
    parts = learned(learner, X, y)
    assert error(merge(parts), X, y) < np.mean([error(part, X, y) for part in parts])


@each("learner", [*UNIONS[:13], *PRECISE[:4], fogd(K), Auto(size=10)], ids=repr)
def test_targets(learner):
    X, _ = rows()
    y = 100 + 20 * np.sin(2 * X[:, 0])
    scaled = Standardised(learner)
    try:
        parts = learned(scaled, X, y, kind=OnlineRegressor)
    except ValueError as refused:
        pytest.skip(str(refused))
    model = merge(parts)
    assert np.isfinite(model.partial_fit(X, y).predict(X)).all()


# ---- what each way is


def test_a_union_without_a_budget_is_the_average_of_the_scores():
    X, y = rows()
    for learner in (perceptron(K), sgd(K, lam=0.01)):
        parts = learned(learner, X, y)
        mean = average(parts, X)
        model = merge(parts)
        np.testing.assert_allclose(model.decision_function(X), mean, atol=1e-12)
        assert model.n_support_ == sum(part.n_support_ for part in parts)


def test_first_order_weights_are_averaged_by_rows():
    X, y = rows()
    for learner in AVERAGES:
        parts = learned(learner, X, y)
        mean = average(parts, X)
        np.testing.assert_allclose(merge(parts).decision_function(X), mean, atol=1e-12)


def test_betting_goes_on_from_the_averaged_weights():
    X, y = rows()
    model = merge(learned(Mapped(F, CoinBetting()), X, y))
    before = model.coef_
    model.partial_fit(X[:1], y[:1])
    assert np.abs(model.coef_ - before).max() < 0.1 * np.abs(before).max()


def test_a_model_that_knows_more_counts_more():
    """One filter has seen a coordinate often, the other never: the first decides."""
    X = np.zeros((400, 2))
    X[:200, 0] = X[200:, 1] = np.random.default_rng(0).normal(size=200)
    y = 3 * X[:, 0] - 2 * X[:, 1]
    learner = Mapped(Identity(), Kalman())
    parts = learned(learner, X, y, [slice(0, 200), slice(200, 400)], OnlineRegressor)
    assert merge(parts).predict(np.eye(2)) == pytest.approx([3, -2], abs=0.02)


def test_filters_that_forget_are_averaged_not_added():
    X, y = rows()
    learner = Mapped(F, Kalman(drift=0.01))
    part = learned(learner, X, y)[0]
    np.testing.assert_allclose(merge([part] * 5).decision_function(X), part.decision_function(X), rtol=1e-6)


@each("learner", STACKS, ids=repr)
def test_a_stack_has_all_models_and_stays_flat(learner):
    X, y = rows()
    a, b, c = learned(learner, X, y)
    one, other = merge([a, b, c]), merge([merge([a, b]), c])
    assert len(one.expert_weights_) == 3
    assert one.n_support_ == sum(each.n_support_ for each in (a, b, c))
    assert np.array_equal(one.decision_function(X), other.decision_function(X))


def test_of_budgeted_experts_the_best_stays():
    X, y = rows()
    learner = Stacked(rbp(K, budget=10), Mapped(F, Kalman()))
    parts = learned(learner, X, y)
    best = parts[int(np.argmin([part.expert_losses_[0] for part in parts]))]
    assert merge(parts).n_support_ == best.n_support_
    kept, own = (model.fitted_.model.state()["expert.0.support.values"] for model in (merge(parts), best))
    assert np.array_equal(kept, own)
    assert "the expert with the lowest loss" in merge_promise(learner)[repr(learner.learners[0])]


def test_one_model_merges_to_itself():
    X, y = rows()
    for learner in (rbp(K, budget=10), duol(K), Auto(size=10)):
        part = learned(learner, X, y)[0]
        model = merge([part])
        assert model is not part
        assert np.array_equal(model.decision_function(X), part.decision_function(X))


def test_models_that_learned_nothing_add_nothing():
    X, y = rows()
    for learner in (
        Mapped(F, Kalman()),
        Mapped(F, AROW()),
        fogd(K),
        perceptron(K),
        Standardised(rbp(K, budget=9)),
    ):
        part = OnlineClassifier(learner, random_state=0).partial_fit(X, y, classes=[0, 1])
        empty = OnlineClassifier(learner, random_state=0).start(X, classes=[0, 1])
        for pair in ([part, empty], [empty, part]):
            np.testing.assert_allclose(
                merge(pair).decision_function(X), part.decision_function(X), atol=1e-9
            )


def test_seeds_matter_for_random_features_only():
    X, y = rows()
    assert (
        merge([OnlineClassifier(rbp(K, budget=9), random_state=i).fit(X, y) for i in range(2)]).n_support_
        == 9
    )
    seeded = RandomFourier(K, components=9, random_state=7)
    for features in (seeded, Hashed(seeded, columns=2)):
        merge([OnlineClassifier(Mapped(features, Kalman()), random_state=i).fit(X, y) for i in range(2)])
    mixed = Mapped(Stack(RandomFourier(K, components=9, random_state=7), Nystrom(K, landmarks=9)), OGD())
    a, b = (OnlineClassifier(mixed, random_state=i).fit(X, y) for i in range(2))
    mean = (a.decision_function(X) + b.decision_function(X)) / 2
    np.testing.assert_allclose(merge([a, b]).decision_function(X), np.clip(mean, -8, 8), atol=1e-12)


# ---- what is promised


@each(
    ("learners", "word"),
    [(UNIONS, "union"), (PRECISE, "precision"), (AVERAGES, "average"), (STACKS, "stacked")],
    ids=["union", "precision", "average", "stacked"],
)
def test_promises(learners, word):
    for learner in learners:
        promises = merge_promise(learner)
        assert all(word in promise for promise in promises.values()), (learner, promises)


def test_what_is_exact_is_promised():
    exact = [Mapped(F, Kalman()), Mapped(F, AROW())]
    other = [Mapped(F, Kalman(drift=0.1)), Mapped(F, AROW(epsilon=0.1)), Averaged(exact[0]), *PRECISE[4:]]
    for learner in exact:
        assert merge_promise(learner, targets=True) == {
            repr(learner): "exact: the model of a single pass over all rows, up to rounding"
        }
    for learner in (*other, *map(Standardised, exact)):
        assert not any(
            "a single pass" in promise for promise in merge_promise(learner, targets=True).values()
        )
    assert merge_promise(Auto())["Standardised columns"] == "exact"
