"""The kernels, on a card: `make gpu` runs these where there is one, and they skip where there is none."""

import numpy as np
import pytest

from benchmarks.card import differences, estimator, learned, learners, rows_of
from budgetron import (
    OGD,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    OnlineClassifier,
    RandomFourier,
    Stack,
    progressive_predict_many,
)
from budgetron.learners.cuda import card
from tests.helpers.cases import each

CASES = [(name, learner, task) for name, learner, tasks in learners() for task in tasks]


@pytest.fixture(scope="module", autouse=True)
def cupy():
    try:
        return card.cupy()
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"needs a card: {error}")


@each("name, learner, task", CASES)
def test_scores_are_those_of_the_processor(name, learner, task):
    X, ys = rows_of(3000)
    native, there = (
        learned(estimator(learner, task, device), X, ys[task], task) for device in ("cpu", "cuda")
    )
    largest, row = differences(native, there)
    assert row is None, f"{name}: row {row} differs by up to {largest}"


@each("features", [40, 600, 2000])
@each("task", [2, 7, 0])
def test_filters_of_one_block_and_of_several(features, task):
    X, ys = rows_of(700)
    learner = Mapped(
        Stack(RandomFourier(Gaussian(0.1), features // 2), Identity()), Kalman(1.0, drift=1e-4)
    )
    native, there = (
        learned(estimator(learner, task, device), X, ys[task], task) for device in ("cpu", "cuda")
    )
    assert differences(native, there)[1] is None


def test_rows_on_the_card_are_not_copied_to_the_host(cupy, monkeypatch):
    X, ys = rows_of(1000)
    learner = Mapped(RandomFourier(Gaussian(0.3), 40), Kalman())
    native = OnlineClassifier(learner, random_state=0).fit(X, ys[7])
    there = OnlineClassifier(learner, random_state=0, device="cuda").fit(X[:200], ys[7][:200])
    seen = []
    monkeypatch.setattr(card.Card, "host", lambda _, a: seen.append(a.shape) or cupy.asnumpy(a))
    there.partial_fit(cupy.asarray(X[200:]), cupy.asarray(ys[7][200:]))
    assert not any(shape[1:] == X.shape[1:] for shape in seen)
    np.testing.assert_allclose(there.decision_function(X), native.decision_function(X), atol=1e-9)


def test_many_models_in_one_call(cupy):
    X, ys = rows_of(1500)
    features = Stack(RandomFourier(Gaussian(0.3), 40), Identity(scale="1/sqrt(d)"))
    rules = OGD(0.1), OGD(0.5), Kalman(1.0), Kalman(1.0, drift=1e-4)
    alone = [estimator(Mapped(features, rule), 7, "cpu").fit(X, ys[7]) for rule in rules]
    for rows, y in ((X, ys[7]), (cupy.asarray(X), cupy.asarray(ys[7]))):
        there = [estimator(Mapped(features, rule), 7) for rule in rules]
        progressive_predict_many(there, rows, y)
        for model, native in zip(there, alone, strict=True):
            np.testing.assert_allclose(
                model.decision_function(X), native.decision_function(X), rtol=1e-9, atol=1e-9
            )


def test_calls_of_few_rows_in_single_precision():
    X, ys = rows_of(2400)
    learner, diagonals = Mapped(RandomFourier(Gaussian(0.3), 20), Kalman()), []
    for pieces in (1, 300):
        model = OnlineClassifier(learner, random_state=0, device="cuda", dtype="float32")
        for cut in np.array_split(np.arange(len(X)), pieces):
            model.partial_fit(X[cut], ys[2][cut], classes=[0, 1])
        P = model.fitted_.model.state()["posterior.P"]
        diagonals.append(P[np.cumsum(np.arange(1, 41)) - 1])
    np.testing.assert_allclose(*diagonals, rtol=2e-5)


def test_rows_of_pytorch(cupy):  # noqa: ARG001
    torch = pytest.importorskip("torch")
    X, ys = rows_of(500)
    learner = Mapped(RandomFourier(Gaussian(0.3), 40), Kalman())
    there = OnlineClassifier(learner, random_state=0, device="cuda")
    there.fit(torch.asarray(X, device="cuda"), torch.asarray(ys[7], device="cuda"))
    native = OnlineClassifier(learner, random_state=0).fit(X, ys[7])
    np.testing.assert_allclose(there.decision_function(X), native.decision_function(X), atol=1e-9)
