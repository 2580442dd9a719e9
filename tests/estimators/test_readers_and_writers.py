"""Threads predict with a model while another thread teaches it."""

import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from budgetron import (
    Averaged,
    Gaussian,
    OnlineClassifier,
    Ranged,
    Standardised,
    auto,
    fogd,
    nogd,
    perceptron,
)
from tests.helpers.members import TASKS, data, estimator, make, same_state, scores, start

each_task = pytest.mark.parametrize("task", TASKS)


@each_task
def test_readers_beside_a_writer(task):
    """Threads may predict while another one teaches the model."""
    X, y = data(task, 300)
    model = start(estimator(task, make("nogd", budget=30, rank=10)), task, X[:10], y[:10])
    alone = copy.deepcopy(model)

    def teach():
        for i in range(10, len(y), 10):
            model.partial_fit(X[i : i + 10], y[i : i + 10])

    def ask():
        for _ in range(30):
            assert np.isfinite(scores(model, X)).all()
            assert np.isfinite(model.dual_coef_).all()
            assert model.support_vectors_.shape[0] <= 30
            assert model.memory_bytes_ > 0
            assert np.isfinite(scores(pickle.loads(pickle.dumps(model)), X[:5])).all()

    with ThreadPoolExecutor(5) as pool:
        for done in [pool.submit(teach), *(pool.submit(ask) for _ in range(4))]:
            done.result(timeout=300)
    assert same_state(model, alone.partial_fit(X[10:], y[10:]))


INSIDE = {
    "perceptron": (Standardised(perceptron(Gaussian(1.0))), ("dual_coef_", "support_vectors_")),
    "average of nogd": (
        Averaged(Standardised(nogd(Gaussian(0.3), budget=60, rank=30))),
        ("dual_coef_", "support_vectors_"),
    ),
    "ranged nogd": (Ranged(nogd(Gaussian(0.3), budget=60, rank=30)), ("dual_coef_", "support_vectors_")),
    "fogd": (Standardised(fogd(Gaussian(0.3), components=30)), ("coef_",)),
    "auto": (auto(size=10), ("expert_weights_", "expert_losses_")),
}


@pytest.mark.parametrize(("learner", "attributes"), INSIDE.values(), ids=INSIDE)
def test_readers_of_a_learner_inside(learner, attributes):
    """What belongs to a learner inside of another is read under the lock of the outer one."""
    X, y = data("binary", 4000)
    model, alone = (OnlineClassifier(learner, random_state=0).partial_fit(X[:50], y[:50]) for _ in range(2))
    taught = threading.Event()

    def read():
        while not taught.is_set():
            for attribute in attributes:
                assert np.isfinite(getattr(model, attribute)).all()

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            model.partial_fit(X[50:], y[50:])
        finally:
            taught.set()
        for reader in readers:
            reader.result(timeout=300)
    assert same_state(model, alone.partial_fit(X[50:], y[50:]))


@pytest.mark.timing
def test_readers_do_not_shut_out_a_writer():
    """Threads that predict all the time do not keep another one from learning."""
    X, y = data("binary", 3000, features=300)
    model = estimator("binary", make("rbp", Gaussian(0.01), budget=1000)).fit(X, y)
    taught, end = threading.Event(), time.monotonic() + 60  # long, since the machine may be busy

    def ask():
        while not taught.is_set() and time.monotonic() < end:
            model.predict(X)

    def teach():
        for i in range(10):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        taught.set()
        return time.monotonic()

    with ThreadPoolExecutor(5) as pool:
        readers = [pool.submit(ask) for _ in range(4)]
        time.sleep(0.2)
        assert pool.submit(teach).result() < end
        for done in readers:
            done.result()
