"""progressive_predict_many on a card: models learn together, with the results of single calls."""

import gc
import pickle
import weakref

import numpy as np
import pytest

from benchmarks.card import estimator, rows_of
from budgetron import (
    OGD,
    SGD,
    DivergedError,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    OnlineClassifier,
    OnlineRegressor,
    Perceptron,
    RandomFourier,
    Squared,
    Stack,
    Stacked,
    Standardised,
    Tiles,
    auto,
    progressive_predict_many,
)
from budgetron.learners.cuda import experts
from budgetron.learners.cuda.arrays import Arrays
from tests.helpers.cases import each
from tests.helpers.refusals import refused
from tests.learners.cuda.test_engine import Interrupt, OnCard, numpy_arrays, scores  # noqa: F401

MAP = Stack(RandomFourier(Gaussian(0.3), 10), Identity())
OTHER = RandomFourier(Gaussian(1.0), 12)
STEPS = OGD(0.02), OGD(0.1), OGD(0.05, lam=1e-3), SGD(0.5), Perceptron()
RULES = *STEPS, Kalman(1.0), Kalman(1.0, drift=1e-4)
MAPPED = [*(Mapped(MAP, rule) for rule in RULES), Mapped(OTHER, OGD(0.2))]
STACKS = [
    Standardised(
        Stacked(Mapped(MAP, Kalman(1.0, drift)), Mapped(Tiles(4), Kalman(1.0)), Mapped(MAP, OGD(eta)))
    )
    for drift, eta in ((0, 0.1), (1e-4, 0.1), (0, 0.5))
]
SETS = {
    "mapped": MAPPED,
    "standardised": [Standardised(each) for each in MAPPED[:3]],
    "stacks": [*STACKS, auto(8)],
    "mixed": [MAPPED[0], Standardised(MAPPED[0]), Standardised(MAPPED[0], clip=3.0), MAPPED[1]],
}


def models(learners, task, device="cuda"):
    return [estimator(learner, task, device) for learner in learners]


def assert_same(many, alone, X):
    for model, other in zip(many, alone, strict=True):
        np.testing.assert_allclose(scores(model, X), scores(other, X), rtol=1e-9, atol=1e-9)


@each("name", SETS)
@each("task", [2, 7, 0])
def test_as_if_alone(name, task):
    X, ys = rows_of(900)
    weights = np.random.default_rng(1).integers(0, 3, len(X)) / 2.0
    many, alone = models(SETS[name], task), models(SETS[name], task, "cpu")
    for cut, w in ((slice(0, 600), None), (slice(600, 900), weights[600:])):
        found = progressive_predict_many(many, X[cut], ys[task][cut], sample_weight=w)
        expected = [model.progressive_predict(X[cut], ys[task][cut], sample_weight=w) for model in alone]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        assert_same(many, alone, X)
    for model, other in zip(many, alone, strict=True):
        model.partial_fit(X[:300], ys[task][:300])  # each goes on alone
        other.partial_fit(X[:300], ys[task][:300])
    assert_same(many, alone, X)


@pytest.fixture
def groups(monkeypatch):
    """The numbers of learners of every map that was put on the card."""
    seen, make = [], experts.Group.__init__
    monkeypatch.setattr(
        experts.Group, "__init__", lambda self, *args: (seen.append(len(args[1])), make(self, *args))[0]
    )
    return seen


def test_equal_maps_are_one(groups):
    X, ys = rows_of(300)
    progressive_predict_many(models(MAPPED, 2), X, ys[2])
    assert sorted(groups) == [1, 1, 1, 5]  # OTHER, and on MAP each kind of walk
    groups.clear()
    other = estimator(MAPPED[0], 2)
    progressive_predict_many([estimator(MAPPED[0], 2), other.set_params(random_state=1)], X, ys[2])
    assert groups == [1, 1]  # other frequencies


def test_the_memory_of_a_card_is_given_back(monkeypatch):
    X, ys = rows_of(300)
    seen, make = [], experts.Group.__init__
    monkeypatch.setattr(
        experts.Group,
        "__init__",
        lambda self, *args: (seen.append(weakref.ref(self)), make(self, *args))[1],
    )
    monkeypatch.setattr(Arrays, "prepare", lambda *_: None)  # in NumPy it knows the experts
    monkeypatch.setattr(Arrays, "block", lambda *_: None)
    gc.disable()
    try:
        progressive_predict_many(models(MAPPED, 2), X, ys[2])
        assert seen
        assert not any(group() for group in seen)
    finally:
        gc.enable()


def test_what_cannot_learn_together_learns_alone():
    X, ys = rows_of(500)
    y = ys[2]
    several = lambda device: [  # noqa: E731
        estimator(MAPPED[0], 2, device),
        estimator(MAPPED[1], 2, device).set_params(class_weight="balanced"),
        estimator(MAPPED[5], 2, device).set_params(coverage=0.9),
        estimator(MAPPED[1], 0, device),
        estimator(MAPPED[1], 2, device).set_params(costs={1: 3}, learner=MAPPED[5]),
        estimator(MAPPED[1], 2, "cpu"),
    ]
    many, alone = several("cuda"), several("cpu")
    found = progressive_predict_many(many, X, y, n_jobs=2)
    for a, model in zip(found, alone, strict=True):
        np.testing.assert_allclose(a, model.progressive_predict(X, y), rtol=1e-9, atol=1e-9)
    assert_same(many, alone, X)
    more = np.where(np.arange(500) < 250, y, ys[7])  # labels that come later
    found = progressive_predict_many(many[:1] + many[3:], X, more)
    for a, model in zip(found, alone[:1] + alone[3:], strict=True):
        np.testing.assert_allclose(a, model.progressive_predict(X, more), rtol=1e-9, atol=1e-9)
    records = [{f"c{j}": x for j, x in enumerate(row[: 3 + 3 * (i > 200)])} for i, row in enumerate(X)]
    many, alone = models(STACKS, 2), models(STACKS, 2, "cpu")
    for _ in range(2):  # columns come later, and then none
        found = progressive_predict_many(many, np.array(records), y)
        for a, model in zip(found, alone, strict=True):
            np.testing.assert_array_equal(a, model.progressive_predict(records, y))


def test_a_model_that_refuses_a_row_stops_there_and_others_go_on():
    X, ys = rows_of(1500)
    learners = [
        Mapped(Identity(), OGD(0.01)),
        Mapped(Identity(), OGD(5.0, loss=Squared())),
        Mapped(MAP, Kalman()),
    ]
    many, alone = models(learners, 0), models(learners, 0, "cpu")
    with pytest.raises(DivergedError) as caught:
        progressive_predict_many(many, X, ys[0])
    with pytest.raises(DivergedError) as expected:
        alone[1].progressive_predict(X, ys[0])
    assert caught.value.rows_learned == expected.value.rows_learned > 100
    assert str(caught.value) == str(expected.value)
    for i in (0, 2):
        alone[i].partial_fit(X, ys[0])
    assert_same(many[::2], alone[::2], X)
    wild, native = scores(many[1], X[:5]), scores(alone[1], X[:5])
    np.testing.assert_allclose(wild / np.abs(native).max(), native / np.abs(native).max(), rtol=1e-6)


def test_bad_rows_and_a_card_that_fails_change_nothing(monkeypatch):
    X, ys = rows_of(500)
    many, bad = models(MAPPED[:3], 2), X.copy()
    bad[7, 1] = np.nan
    for rows, words in ((bad, "NaN"), (X[:, :0], "0 feature")):
        with refused(words, ours=False):
            progressive_predict_many(many, rows, ys[2])
    with refused("X has 500 rows, y has 499"):
        progressive_predict_many(many, X, ys[2][:499])
    with refused("X has 500 rows, sample_weight has 3"):
        progressive_predict_many(many, X, ys[2], sample_weight=[1, 2, 3])
    assert not any(hasattr(model, "fitted_") for model in many)
    one = models(MAPPED[:1], 2)[0].fit(X, ys[2]).fitted_.model.engine.needed_bytes
    with monkeypatch.context() as patch:
        patch.setattr(Arrays, "free_bytes", one + 1)
        with pytest.raises(
            MemoryError, match=r"^device=\"cuda\" needs 0\.\d GiB on the card for this learner"
        ):
            progressive_predict_many(many, X, ys[2])
    assert not any(hasattr(model, "fitted_") for model in many)
    progressive_predict_many(many, X, ys[2])
    before = [scores(model, X) for model in many]
    monkeypatch.setattr(Arrays, "walk_rules", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        progressive_predict_many(many, X, ys[2])
    monkeypatch.undo()
    for model, known in zip(many, before, strict=True):
        np.testing.assert_allclose(scores(model, X), known, rtol=1e-12)


def test_interrupts_lose_nothing():
    X, ys = rows_of(1000)
    learners = [*STACKS[:2], Standardised(MAPPED[1])]
    begun = pickle.dumps([model.fit(X[:100], ys[2][:100]) for model in models(learners, 2)])
    native = [model.fit(X[:100], ys[2][:100]) for model in models(learners, 2, "cpu")]
    expected, line, learned, n = {}, 0, set(), len(X) - 100
    while n not in learned:
        line += 1 + line // 30
        many = pickle.loads(begun)
        try:
            with Interrupt(line):
                progressive_predict_many(many, X[100:], ys[2][100:])
            done = n
        except KeyboardInterrupt as error:
            done = getattr(error, "rows_learned", 0)
        learned.add(done)
        if done not in expected:
            rows = slice(100, 100 + done)
            same = [model.__copy__() for model in native]
            expected[done] = [model.partial_fit(X[rows], ys[2][rows]) for model in same] if done else same
        assert_same(many, expected[done], X)
    assert len(learned) > 3


def test_rows_on_the_card():
    X, ys = rows_of(500)
    many, alone = models(MAPPED[:2], 7), models(MAPPED[:2], 7, "cpu")
    found = progressive_predict_many(many, X.view(OnCard), ys[7].view(OnCard))
    for a, model in zip(found, alone, strict=True):
        np.testing.assert_array_equal(a, model.progressive_predict(X, ys[7]))


def test_regressor_and_classifier_of_the_same_rows():
    X, ys = rows_of(300)
    pair = (
        OnlineClassifier(MAPPED[0], random_state=0, device="cuda"),
        OnlineRegressor(MAPPED[0], random_state=0, device="cuda"),
    )
    labels, numbers = progressive_predict_many(pair, X, ys[2])
    assert labels.dtype == ys[2].dtype
    assert numbers.dtype == np.float64
