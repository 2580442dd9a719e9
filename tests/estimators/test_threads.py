"""Threads and forks on one estimator: nothing is lost, nothing is mixed, nothing hangs.

Each race runs some dozen times here and a thousand times with ``make slow``.
"""

import os
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial

import numpy as np
import pytest

from budgetron import (
    OGD,
    Gaussian,
    Laplacian,
    LearnedWidths,
    Mapped,
    OneByOne,
    OnlineClassifier,
    OnlineRegressor,
    RandomBinning,
    RandomFourier,
    Squared,
    auto,
    load,
    ogd,
    perceptron,
)
from tests.helpers import forked
from tests.helpers.members import bits, data, estimator, start

often = pytest.mark.parametrize(
    "trials", [pytest.param(40, id="some"), pytest.param(1000, id="thousand", marks=pytest.mark.slow)]
)


@pytest.fixture(autouse=True)
def _switch_often():
    """Switches threads a thousand times as often, to find races."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def at_once(*calls):
    """Run the calls in threads that start together. Returns their results or errors."""
    gate = threading.Barrier(len(calls))

    def run(call):
        gate.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(run, call) for call in calls]
    return [future.result() for future in futures]


@often
def test_two_first_calls(trials):
    """Two first ``partial_fit`` calls at once: all rows are learned, in either order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.ones(300)
    for _ in range(trials):
        model = OnlineRegressor(ogd(Gaussian(0.5), eta=1e-6))
        at_once(partial(model.partial_fit, X[:150], y[:150]), partial(model.partial_fit, X[150:], y[150:]))
        assert model.n_support_ == 300


@often
def test_a_failing_fit_beside_a_good_one(trials):
    """A ``fit`` that fails does not undo that of another thread."""
    X, y = data("binary", 60)

    def fail(model):
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full((60, 3), np.nan), y)

    for _ in range(trials):
        model = estimator("binary", "rbp")
        at_once(partial(model.fit, X, y), partial(fail, model))
        assert bits(model) == bits(estimator("binary", "rbp").fit(X, y))


@often
def test_checks_beside_a_first_fit(trials):
    """A first ``fit`` adds an attribute while another thread looks at them; many make that likely."""
    X, y = data("binary", 60)
    for _ in range(trials):
        model = estimator("binary", "rbp")
        vars(model).update({f"other{i}": i for i in range(1000)})
        at_once(
            partial(model.fit, X, y), lambda model=model: [model.__sklearn_tags__() for _ in range(100)]
        )


@often
def test_readers_beside_fits_with_other_classes(trials, tmp_path):
    """While ``fit`` changes the number and type of labels, readers see one fit or the other."""
    X, y = data("binary", 60)
    X3, y3 = np.hstack([X, X]), np.array(["a", "b", "c"])[data("multiclass", 60)[1]]
    model = OnlineClassifier(perceptron(Gaussian(0.5))).fit(X, y)
    done = threading.Event()
    seen = set()

    def predicted(rows):
        try:
            seen.add(model.predict(rows).dtype.kind)
            model.decision_function(rows)
        except ValueError as refusal:
            if "features" not in str(refusal):  # rows of the other fit's width are refused
                raise

    def read(number):
        path = tmp_path / f"model{number}"
        while not done.is_set():
            predicted(X)
            predicted(X3)
            copy = pickle.loads(pickle.dumps(model))
            assert len(copy.classes_) == (2 if copy.n_features_in_ == 3 else 3)
            assert copy.predict([[0.0] * copy.n_features_in_])[0] in copy.classes_
            model.save(path)
            copy = load(path)
            assert copy.predict([[0.0] * copy.n_features_in_])[0] in copy.classes_
            seen.add(copy.n_features_in_)

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read, i) for i in range(2)]
        for _ in range(trials):
            model.fit(X3, y3)
            model.fit(X, y)
        while len(seen) < 4 and not any(reader.done() for reader in readers):
            model.fit(X3, y3)
            model.fit(X, y)
        done.set()
        for reader in readers:
            reader.result()
    assert seen == {"i", "U", 3, 6}


@often
def test_many_writers(trials):
    """Several threads teach one estimator: every row is learned once."""
    X, y = data("regression", 80)[0], np.ones(80)
    model = OnlineRegressor(ogd(Gaussian(0.5), eta=1e-6))
    for trial in range(1, max(2, trials // 10)):
        at_once(*(lambda i=i: model.partial_fit(X[i::4], y[i::4]) for i in range(4)))
        assert model.n_support_ == 80 * trial


def test_views_share_nothing_but_the_state():
    """A snapshot does not change when another fit follows."""
    X, y = data("binary", 60)
    model = estimator("binary", "rbp").fit(X, y)
    before, was = copy(model), bits(model)
    fitted = model.fitted_
    model.fit(np.hstack([X, X]), np.where(y == 0, "x", "y"))
    assert (
        bits(before)
        == was
        == {name: (a.dtype.str, a.tobytes()) for name, a in fitted.model.state().items()}
    )
    assert before.classes_.tolist() == fitted.labels.classes.tolist() == [0, 1]
    assert model.classes_.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    "features",
    [LearnedWidths(Gaussian(0.5), 20), RandomBinning(Laplacian(0.5), 20), RandomFourier()],
    ids=str,
)
def test_the_first_predictions_of_a_loaded_model(features, tmp_path):
    """It draws its features when the first row needs them, here in four threads at once."""
    X, y = data("regression", 60)
    model = estimator("regression", Mapped(features, OGD(0.1, loss=Squared()))).fit(X, y)
    model.save(tmp_path / "model")
    for _ in range(20):
        loaded = load(tmp_path / "model")
        *found, _ = at_once(*[partial(loaded.predict, X)] * 4, lambda loaded=loaded: loaded.memory_bytes_)
        for each in found:
            np.testing.assert_array_equal(each, model.predict(X))


def test_the_default_is_saved_in_two_threads_at_once():
    """The thread sanitizer says whether saving writes what both read."""
    X, y = data("regression", 60)
    model = OnlineRegressor(auto(6), random_state=0).fit(X, y)
    one, other = at_once(*(lambda: bits(model) for _ in range(2)))
    assert one == other


# ---- forks

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def in_child(call, seconds=60):
    """The result of a call in a forked child; fails if the child does not answer."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, pickle.dumps(call()))
        finally:
            os._exit(0)
    os.close(writer)
    end = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.001)
    with os.fdopen(reader, "rb") as pipe:
        return pickle.loads(pipe.read())


@forks
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("forks", [5, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_fork_while_threads_learn_and_predict(forks):
    """The child can predict, learn, save and pickle; its model has learned whole rows."""
    X, y = data("binary", 4000)
    model = start(OnlineClassifier(perceptron(Gaussian(50.0))), "binary", X[:5], y[:5])
    single = OneByOne(ogd(Gaussian(0.5), eta=0.1), 3, n_classes=None)
    done = threading.Event()

    def learn():
        while not done.is_set():
            model.partial_fit(X, y)
            if model.n_support_ > 5000:
                start(model.fit(X[:50], y[:50]), "binary", X[:5], y[:5])

    def predict():
        while not done.is_set():
            model.predict(X[:200])

    def step():
        while not done.is_set():
            single.learn_one(X[0], 1.0)

    def work():
        model.predict(X[:10])
        model.partial_fit(X[:10], y[:10])
        single.learn_one(X[1], 1.0)
        pickle.dumps(model)
        return bool(np.isfinite(model.decision_function(X[:10])).all()), single.size > 0

    with ThreadPoolExecutor(4) as pool:
        threads = [pool.submit(call) for call in (learn, predict, predict, step)]
        time.sleep(0.05)
        try:
            for _ in range(forks):
                assert in_child(work) == (True, True)
        finally:
            done.set()
        for thread in threads:
            thread.result()


@forks
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_fork_while_another_thread_has_the_turn():
    """The child does not wait for locks of threads that exist only in the parent."""
    X, y = data("binary", 20_000, features=20)
    model = start(OnlineClassifier(perceptron(Gaussian(50.0))), "binary", X[:5], y[:5])
    thread = threading.Thread(target=lambda: model.partial_fit(X, y))
    thread.start()
    time.sleep(0.1)
    assert in_child(lambda: model.partial_fit(X[:5], y[:5]).n_support_) > 0
    thread.join()


FIRST_SAVES = """
import sys, threading
from budgetron import OnlineClassifier, load

sys.setswitchinterval(1e-6)
folder, ready, failed = sys.argv[1], threading.Barrier(4), []
model = OnlineClassifier().fit([[0.0], [1.0]], [0, 1])


def save(number):
    try:
        ready.wait()
        model.save(f"{folder}/{number}")
        load(f"{folder}/{number}")
    except Exception as error:
        failed.append(error)


threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failed, failed
"""


def test_the_first_saves_of_a_process_at_once(tmp_path):
    """What a model file may name is found at the first save; no thread may see half of it."""
    words = [sys.executable, "-c", FIRST_SAVES, str(tmp_path)]
    done = forked.run(words, capture_output=True, text=True, libraries=True)
    assert done.returncode == 0, done.stderr
