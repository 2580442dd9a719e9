"""``n_jobs``: the experts of a stack, and pieces of rows to predict, in threads, with the same bits."""

import os
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from budgetron import (
    Auto,
    DivergedError,
    Encoder,
    Gaussian,
    HadamardFourier,
    Identity,
    Kalman,
    Mapped,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    OrthogonalFourier,
    SobolFourier,
    Stacked,
    Standardised,
    bpa_p,
    load,
    ogd,
    rbp,
)
from tests.estimators.test_threads import forks, in_child
from tests.helpers.cases import each
from tests.helpers.members import TASKS, bits, data, estimator, same_state, scores, start
from tests.helpers.refusals import refused
from tests.learners.test_stacked import LINEAR
from tests.learners.test_stacked_maps import SHARING

N = 700
LEARNERS = {
    "auto": Auto(size=9),
    "sharing": SHARING,
    "scaled": Standardised(SHARING),
    "kernels": Stacked(rbp(Gaussian(0.5), budget=9), bpa_p(Gaussian(0.5), budget=20), LINEAR),
    "learned maps": Stacked(Mapped(Nystrom(Gaussian(0.5), 9, 5), Kalman()), ogd(Gaussian(0.5), eta=0.1)),
    "nested": Stacked(Stacked(rbp(Gaussian(0.5), budget=9), LINEAR), Mapped(Identity(), Kalman())),
    "alone": ogd(Gaussian(0.5), eta=0.1),
}


def weights_of(n):
    return np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], n)


def taught(jobs, task, learner, X, y, **more):
    """The model of these rows, its scores of each row from before, and those of all rows after."""
    model = start(estimator(task, learner, n_jobs=jobs), task, X[:5], y[:5])
    before = model.progressive_predict(X[5:], y[5:], **more)
    return bits(model), before.tobytes(), scores(model, X).tobytes()


@each("jobs", [2, 4])
@each("task", TASKS)
@each("name", LEARNERS)
def test_same_bits(name, task, jobs):
    X, y = data(task, N)
    more = {"sample_weight": weights_of(N)[5:]} if jobs == 4 else {}
    rows = sparse.csr_array(X) if jobs == 4 else X
    alone = taught(None, task, LEARNERS[name], rows, y, **more)
    assert taught(jobs, task, LEARNERS[name], rows, y, **more) == alone


@each("container", [np.asarray, sparse.csr_array])
def test_same_bits_of_many_classes(container):
    """Labels that come along the stream, and more columns than a block of sparse rows may have alone."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 1100)) < 0.01, rng.normal(size=(400, 1100)), 0)
    y = np.minimum(rng.integers(0, 13, 400), np.arange(400) // 20)
    models = [OnlineClassifier(Auto(size=4), random_state=0, n_jobs=jobs) for jobs in (1, 2)]
    shares = [model.partial_fit(container(X), y).predict_proba(container(X)) for model in models]
    assert same_state(*models)
    np.testing.assert_array_equal(*shares)


def test_same_bits_of_deviations():
    X, y = data("regression", N)
    models = [OnlineRegressor(random_state=0, n_jobs=jobs).fit(X, y) for jobs in (None, 2)]
    np.testing.assert_array_equal(*(model.predict(X, return_std=True) for model in models))


def test_same_bits_of_epochs_class_weights_and_records():
    X, y = data("binary", N)
    records = [{"a": a, "b": b, "text": "xyz"[i % 3]} for i, (a, b, _) in enumerate(X.tolist())]
    for more in ({"epochs": 2, "shuffle": True}, {"class_weight": "balanced"}):
        models = [OnlineClassifier(random_state=0, n_jobs=jobs, **more) for jobs in (None, 3)]
        assert same_state(*(model.fit(records, y) for model in models))
        assert same_state(*(model.partial_fit(records, y) for model in models))


def test_maps_that_are_drawn_in_python():
    """A thread that needs frequencies asks Python for them: after loading, and when columns come."""
    kernel = Gaussian(0.5)
    maps = OrthogonalFourier(kernel, 6), HadamardFourier(kernel, 6), SobolFourier(kernel, 6)
    learner = Standardised(Stacked(LINEAR, *(Mapped(features, Kalman()) for features in maps)))
    X, y = data("binary", N, features=9)
    models = [OnlineClassifier(learner, random_state=0, encoder=Encoder(), n_jobs=jobs) for jobs in (1, 3)]
    records = [{f"x{j}": v for j, v in enumerate(row[: 3 + i // 100])} for i, row in enumerate(X.tolist())]
    for model in models:
        model.partial_fit(records[:300], y[:300])
    loaded = [pickle.loads(pickle.dumps(model)).partial_fit(records[300:], y[300:]) for model in models]
    whole = [model.partial_fit(records[300:], y[300:]) for model in models]
    assert same_state(*loaded)
    assert same_state(*whole)
    assert same_state(loaded[0], whole[0])
    readers = [pickle.loads(pickle.dumps(model)) for model in models]
    np.testing.assert_array_equal(*(model.predict_proba(records) for model in readers))


# ---- rows that experts refuse

HUGE = [0, 7, 8, 31, 32, 33, 63, 64, 90, 255, 256, 257, 300, 351, 352, 353, 354, 500, 699]


@each("jobs", [2, 4])
@each("order", [[0, 1, 2], [1, 0, 2], [0, 2, 0, 1]])
@each("task", TASKS)
def test_experts_abstain(task, order, jobs):
    """From rows in the middle, at the ends of pieces, and one after the other."""
    X, y = data(task, N)
    X[HUGE] = 1e140 * (1 + np.arange(len(HUGE))[:, None])
    members = [LINEAR, bpa_p(Gaussian(0.2), budget=12), rbp(Gaussian(0.2), budget=12)]
    learner = Stacked(*(members[i] for i in order))
    alone = taught(1, task, learner, X, y)
    assert taught(jobs, task, learner, X, y) == alone


@each("jobs", [2, 4])
@each("row", [0, 1, 31, 32, 63, 64, 95, 96, 150, 191, 192, 448, 699])
def test_a_row_that_all_experts_refuse(row, jobs):
    """No expert learns a row behind it."""
    X, y = data("regression", N)
    X[row] = 1e140
    learner = Stacked(LINEAR, Mapped(Identity(scale=2.0, constant=False), Kalman(drift=0.1)), LINEAR)
    model = OnlineRegressor(learner, n_jobs=jobs).partial_fit(X[-5:-1], y[-5:-1])
    alone = OnlineRegressor(learner).partial_fit(X[-5:-1], y[-5:-1])
    with pytest.raises(DivergedError, match=f"Row {row} gives") as caught:
        model.partial_fit(X, y)
    assert caught.value.rows_learned == row
    if row:
        alone.partial_fit(X[:row], y[:row])
    assert same_state(model, alone)


# ---- the parameter


@each("n_jobs", [0, -2, 1.5, True, "2"])
def test_bad_numbers_are_one_sentence(n_jobs):
    X, y = data("regression", N)
    with refused("OnlineRegressor: n_jobs must be", repr(n_jobs)):
        OnlineRegressor(n_jobs=n_jobs).fit(X, y)
    model = OnlineRegressor().fit(X, y).set_params(n_jobs=n_jobs)
    with refused("n_jobs must be"):
        model.predict(X)


@each("kind", [OnlineClassifier, OnlineRegressor])
def test_it_is_a_parameter_but_not_of_the_model(kind, tmp_path):
    X, y = data("binary", N)
    model = clone(kind(n_jobs=-1, random_state=0))
    assert model.get_params()["n_jobs"] == -1
    model.fit(X, y).save(tmp_path / "threads")
    kind(random_state=0).fit(X, y).save(tmp_path / "alone")
    assert (tmp_path / "threads").read_bytes() == (tmp_path / "alone").read_bytes()
    assert load(tmp_path / "threads").n_jobs is None
    assert same_state(
        load(tmp_path / "threads").set_params(n_jobs=2).partial_fit(X, y), model.partial_fit(X, y)
    )


# ---- threads


def threads_started():
    return len(os.listdir("/proc/self/task"))


@forks
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_threads_are_shared_and_start_when_they_are_needed():
    X, y = data("regression", N)

    def counts():
        began = threads_started()
        model = OnlineRegressor(Auto(size=9)).fit(X, y)
        model.predict(X)
        model.set_params(n_jobs=3)
        model.predict(X[:1])
        model.predict(X[:100])
        model.partial_fit(X[:1], y[:1]).partial_fit(X[:60], y[:60]).learn_one(X[0], y[0])
        few = threads_started() - began
        model.partial_fit(X, y)
        used = threads_started() - began
        for jobs in (1, 2, 3):
            OnlineRegressor(SHARING, n_jobs=jobs).fit(X, y).predict(X)
        return few, used, threads_started() - began

    assert in_child(counts) == (0, 2, 2)


@forks
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_fork_while_threads_learn():
    X, y = data("binary", N)
    model = OnlineClassifier(Auto(size=9), random_state=0, n_jobs=2).fit(X, y)
    expected = bits(clone(model).fit(X, y))
    done = threading.Event()

    def learn():
        while not done.is_set():
            model.partial_fit(X, y)
            model.predict(X)

    def work():
        model.partial_fit(X, y).predict(X)
        return bits(clone(model).fit(X, y)) == expected

    with ThreadPoolExecutor(2) as pool:
        threads = [pool.submit(learn) for _ in range(2)]
        try:
            for _ in range(5):
                assert in_child(work)
        finally:
            done.set()
        for thread in threads:
            thread.result()


def test_many_models_in_threads_at_once():
    """More models than threads of the pool, and readers beside them: each as if it were alone."""
    X, y = data("binary", N)
    expected = OnlineClassifier(Auto(size=9), random_state=0).fit(X, y)
    shown = expected.predict_proba(X)

    def learn(_):
        model = OnlineClassifier(Auto(size=9), random_state=0, n_jobs=3).fit(X, y)
        with ThreadPoolExecutor(2) as readers:
            np.testing.assert_array_equal(*readers.map(model.predict_proba, [X, X]))
        np.testing.assert_array_equal(model.predict_proba(X), shown)
        return same_state(model, expected)

    with ThreadPoolExecutor(5) as pool:
        assert all(pool.map(learn, range(10)))


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to threads")
@each("to_process", [False, True])
def test_an_interrupt_while_threads_learn(to_process):
    """It ends a long pass soon, between two rows, and the model goes on."""
    X, y = data("binary", 60_000, features=20)
    model = OnlineClassifier(random_state=0, n_jobs=2).partial_fit(X[:N], y[:N])
    main = threading.main_thread().ident
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt():
        time.sleep(0.2)
        if to_process:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            signal.pthread_kill(main, signal.SIGINT)

    def learn_for_ever():
        while True:
            model.partial_fit(X, y)

    timer = threading.Thread(target=interrupt)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            learn_for_ever()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert 0 <= caught.value.rows_learned < len(y)
    rows = model.fitted_.model.rows_done
    alone = OnlineClassifier(random_state=0).partial_fit(X[:N], y[:N])
    for learned in range(N, rows, len(y)):
        alone.partial_fit(X[: rows - learned], y[: rows - learned])
    assert same_state(model, alone)
