"""Threads predict with a model while another thread teaches it."""

import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from budgetron import (
    Gaussian,
)
from tests.helpers.members import (
    TASKS,
    data,
    estimator,
    make,
    same_state,
    scores,
    start,
)

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
