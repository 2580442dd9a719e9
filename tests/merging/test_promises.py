"""Every learner merges, in the way that is promised for it."""

import pickle

import numpy as np
import pytest

import budgetron as bt
from tests.helpers.cases import each

K = bt.Gaussian(0.5)
F = bt.RandomFourier(K, components=40)
CELLS = [
    bt.Tiles(9, 3),
    bt.Bins(8, 2, 3),
    bt.RandomBinning(bt.Laplacian(0.5), 9),
    bt.Recruited(bt.Tiles(9, 3)),
]
UNIONS = [
    *(make(K) for make in (bt.perceptron, bt.pa, bt.ogd)),
    *(
        make(K, budget=30)
        for make in (
            bt.stoptron,
            bt.rbp,
            bt.forgetron,
            bt.budget_perceptron,
            bt.projectron,
            bt.projectron_pp,
        )
    ),
    *(make(K, budget=30) for make in (bt.bpa_s, bt.bpa_nn, bt.bpa_p, bt.bogd, bt.bogd_pp)),
    bt.nogd(K, budget=30, rank=10),
    bt.sgd(K, lam=0.01),
    bt.bsgd(K, budget=30, lam=0.01),
]
PRECISE = [
    bt.Mapped(F, bt.Kalman()),
    bt.Mapped(F, bt.Kalman(covariance="diagonal")),
    bt.Mapped(F, bt.Kalman(drift=0.01)),
    bt.Mapped(F, bt.AROW()),
    bt.Mapped(F, bt.AROW(covariance="diagonal")),
    bt.Mapped(F, bt.OnlineNewton()),
]
AVERAGES = [
    bt.fogd(K),
    bt.Mapped(F, bt.AdaGrad()),
    bt.Mapped(F, bt.CoinBetting()),
    bt.Averaged(bt.fogd(K)),
    bt.Mapped(F, bt.sgd(K, lam=0.1).rule),
]
STACKS = [
    bt.duol(K),
    bt.bduol(K, budget=30),
    bt.Mapped(bt.Nystrom(K, landmarks=30), bt.OGD()),
    bt.Mapped(bt.Hashed(bt.Nystrom(K, landmarks=30)), bt.OGD()),
    bt.Averaged(bt.perceptron(K), suffix=0.5),
    bt.Standardised(bt.duol(K)),
    bt.Stacked(bt.rbp(K, budget=10), bt.duol(K)),
    bt.Neighbours(100),
    bt.Standardised(bt.Neighbours(100)),
]
WHOLE = [
    bt.Auto(size=10),
    bt.Standardised(bt.rbp(K, budget=30)),
    bt.Ranged(bt.fogd(K)),
    bt.Stacked(bt.perceptron(K), prior=0.2),
    bt.Stacked(*(bt.Mapped(cells, bt.Kalman()) for cells in CELLS), bt.Mapped(F, bt.Kalman())),
]
CUTS = [slice(0, 200), slice(200, 300), slice(300, 600)]


def rows(classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (classes - 2) * (X[:, 2] > 1)
    return X, y


def learned(learner, X, y, cuts=CUTS, kind=bt.OnlineClassifier):
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
    model = bt.merge(parts)
    assert [pickle.dumps(part.fitted_.model.state()) for part in parts] == before
    more = 0.15 if "RemoveRandom" in repr(learner) else 0.1  # which removes large terms too
    assert error(model, X, y) < max(error(part, X, y) for part in parts) + more
    most = budget_of(learner)
    assert most is None or model.n_support_ <= most or "DoubleUpdating" in repr(learner)
    model.save(tmp_path / "model")
    again = bt.load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit(X, y)
    assert np.array_equal(model.decision_function(X), again.decision_function(X))
    assert np.array_equal(bt.merge(parts).decision_function(X), bt.merge(parts).decision_function(X))


@each("learner", [*PRECISE, *AVERAGES, bt.Auto(size=10)], ids=repr)
def test_merging_on_explicit_features_beats_the_parts(learner):
    X, y = rows()
    parts = learned(learner, X, y)
    assert error(bt.merge(parts), X, y) < np.mean([error(part, X, y) for part in parts])


@each("learner", [*UNIONS[:13], *PRECISE[:4], bt.fogd(K), bt.Auto(size=10)], ids=repr)
def test_targets(learner):
    X, _ = rows()
    y = 100 + 20 * np.sin(2 * X[:, 0])
    scaled = bt.Standardised(learner)
    try:
        parts = learned(scaled, X, y, kind=bt.OnlineRegressor)
    except ValueError as refused:
        pytest.skip(str(refused))
    model = bt.merge(parts)
    assert np.isfinite(model.partial_fit(X, y).predict(X)).all()


# ---- what each way is


def test_a_union_without_a_budget_is_the_average_of_the_scores():
    X, y = rows()
    for learner in (bt.perceptron(K), bt.sgd(K, lam=0.01)):
        parts = learned(learner, X, y)
        mean = average(parts, X)
        model = bt.merge(parts)
        np.testing.assert_allclose(model.decision_function(X), mean, atol=1e-12)
        assert model.n_support_ == sum(part.n_support_ for part in parts)


def test_first_order_weights_are_averaged_by_rows():
    X, y = rows()
    for learner in AVERAGES:
        parts = learned(learner, X, y)
        mean = average(parts, X)
        np.testing.assert_allclose(bt.merge(parts).decision_function(X), mean, atol=1e-12)


def test_betting_goes_on_from_the_averaged_weights():
    X, y = rows()
    model = bt.merge(learned(bt.Mapped(F, bt.CoinBetting()), X, y))
    before = model.coef_
    model.partial_fit(X[:1], y[:1])
    assert np.abs(model.coef_ - before).max() < 0.1 * np.abs(before).max()


def test_a_model_that_knows_more_counts_more():
    """One filter has seen a coordinate often, the other never: the first decides."""
    X = np.zeros((400, 2))
    X[:200, 0] = X[200:, 1] = np.random.default_rng(0).normal(size=200)
    y = 3 * X[:, 0] - 2 * X[:, 1]
    learner = bt.Mapped(bt.Identity(), bt.Kalman())
    parts = learned(learner, X, y, [slice(0, 200), slice(200, 400)], bt.OnlineRegressor)
    assert bt.merge(parts).predict(np.eye(2)) == pytest.approx([3, -2], abs=0.02)


def test_filters_that_forget_are_averaged_not_added():
    X, y = rows()
    learner = bt.Mapped(F, bt.Kalman(drift=0.01))
    part = learned(learner, X, y)[0]
    np.testing.assert_allclose(
        bt.merge([part] * 5).decision_function(X), part.decision_function(X), rtol=1e-6
    )


@each("learner", STACKS, ids=repr)
def test_a_stack_has_all_models_and_stays_flat(learner):
    X, y = rows()
    a, b, c = learned(learner, X, y)
    one, other = bt.merge([a, b, c]), bt.merge([bt.merge([a, b]), c])
    assert len(one.expert_weights_) == 3
    assert one.n_support_ == sum(each.n_support_ for each in (a, b, c))
    assert np.array_equal(one.decision_function(X), other.decision_function(X))


def test_of_budgeted_experts_the_best_stays():
    X, y = rows()
    learner = bt.Stacked(bt.rbp(K, budget=10), bt.Mapped(F, bt.Kalman()))
    parts = learned(learner, X, y)
    best = parts[int(np.argmin([part.expert_losses_[0] for part in parts]))]
    assert bt.merge(parts).n_support_ == best.n_support_
    kept, own = (
        model.fitted_.model.state()["expert.0.support.values"] for model in (bt.merge(parts), best)
    )
    assert np.array_equal(kept, own)
    assert "the expert with the lowest loss" in bt.merge_promise(learner)[repr(learner.learners[0])]


def test_so_do_the_best_cells_and_neighbours():
    X, y = rows()
    cells = [bt.Mapped(each, bt.Kalman()) for each in CELLS]
    local = [*cells, bt.Standardised(cells[0]), bt.Neighbours(99), bt.Standardised(bt.Neighbours(99))]
    learner = bt.Stacked(bt.Mapped(F, bt.Kalman()), *local)
    starts = [bt.OnlineClassifier(learner, random_state=0) for _ in CUTS]
    parts = [start.partial_fit(X[i], y[i], classes=[0, 1]) for start, i in zip(starts, CUTS, strict=True)]
    model = bt.merge(parts)
    for i in range(1, len(learner.learners)):
        best = parts[int(np.argmin([part.expert_losses_[i] for part in parts]))]
        states = [each.fitted_.model.state() for each in (model, best)]
        names = [name for name in states[0] if name.startswith(f"expert.{i}.")]
        assert len(names) >= 3
        assert all(np.array_equal(states[0][name], states[1][name], equal_nan=True) for name in names)
        assert "the expert with the lowest loss" in bt.merge_promise(learner)[repr(learner.learners[i])]


def test_one_model_merges_to_itself():
    X, y = rows()
    for learner in (bt.rbp(K, budget=10), bt.duol(K), bt.Auto(size=10)):
        part = learned(learner, X, y)[0]
        model = bt.merge([part])
        assert model is not part
        assert np.array_equal(model.decision_function(X), part.decision_function(X))


def test_models_that_learned_nothing_add_nothing():
    X, y = rows()
    for learner in (
        bt.Mapped(F, bt.Kalman()),
        bt.Mapped(F, bt.AROW()),
        bt.fogd(K),
        bt.perceptron(K),
        bt.Standardised(bt.rbp(K, budget=9)),
    ):
        part = bt.OnlineClassifier(learner, random_state=0).partial_fit(X, y, classes=[0, 1])
        empty = bt.OnlineClassifier(learner, random_state=0).start(X, classes=[0, 1])
        for pair in ([part, empty], [empty, part]):
            np.testing.assert_allclose(
                bt.merge(pair).decision_function(X), part.decision_function(X), atol=1e-9
            )


def test_seeds_matter_for_random_features_only():
    X, y = rows()
    assert (
        bt.merge(
            [bt.OnlineClassifier(bt.rbp(K, budget=9), random_state=i).fit(X, y) for i in range(2)]
        ).n_support_
        == 9
    )
    seeded = bt.RandomFourier(K, components=9, random_state=7)
    for features in (seeded, bt.Hashed(seeded, columns=2)):
        learner = bt.Mapped(features, bt.Kalman())
        bt.merge([bt.OnlineClassifier(learner, random_state=i).fit(X, y) for i in range(2)])
    mixed = bt.Mapped(
        bt.Stack(bt.RandomFourier(K, components=9, random_state=7), bt.Nystrom(K, landmarks=9)), bt.OGD()
    )
    a, b = (bt.OnlineClassifier(mixed, random_state=i).fit(X, y) for i in range(2))
    mean = (a.decision_function(X) + b.decision_function(X)) / 2
    np.testing.assert_allclose(bt.merge([a, b]).decision_function(X), np.clip(mean, -8, 8), atol=1e-12)


# ---- what is promised


@each(
    ("learners", "word"),
    [(UNIONS, "union"), (PRECISE, "precision"), (AVERAGES, "average"), (STACKS, "stacked")],
    ids=["union", "precision", "average", "stacked"],
)
def test_promises(learners, word):
    for learner in learners:
        promises = bt.merge_promise(learner)
        assert all(word in promise for promise in promises.values()), (learner, promises)


def test_what_is_exact_is_promised():
    exact = [bt.Mapped(F, bt.Kalman()), bt.Mapped(F, bt.AROW())]
    other = [
        bt.Mapped(F, bt.Kalman(drift=0.1)),
        bt.Mapped(F, bt.AROW(epsilon=0.1)),
        bt.Averaged(exact[0]),
        *PRECISE[4:],
    ]
    for learner in exact:
        assert bt.merge_promise(learner, targets=True) == {
            repr(learner): "exact: the model of a single pass over all rows, up to rounding"
        }
    for learner in (*other, *map(bt.Standardised, exact)):
        assert not any(
            "a single pass" in promise for promise in bt.merge_promise(learner, targets=True).values()
        )
    assert bt.merge_promise(bt.Auto())["Standardised columns"] == "exact"
