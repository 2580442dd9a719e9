"""device="cuda" with NumPy's arrays in place of a card's: all of the engine but the kernels.

The walks in NumPy are their definition. `test_card.py` compares the kernels with the processor, on a card.
"""

import pickle
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from benchmarks.card import differences, estimator, learned, learners, rows_of
from budgetron import (
    OGD,
    SGD,
    AdaGrad,
    Dated,
    DivergedError,
    Gaussian,
    Hashed,
    Identity,
    Kalman,
    Kernelized,
    Laplacian,
    Mapped,
    Neighbours,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    OrthogonalFourier,
    Perceptron,
    PythonRule,
    RandomFourier,
    RemoveOldest,
    Squared,
    Stack,
    Stacked,
    Standardised,
    Tiles,
    auto,
    load,
    rbp,
    to_c,
)
from budgetron.learners.cuda import arrays, engine, experts
from budgetron.learners.cuda.arrays import Arrays
from tests.estimators.test_threads import forks, in_child
from tests.helpers.cases import each
from tests.helpers.refusals import refused

FEATURES = Stack(RandomFourier(Gaussian(0.3), 10), Identity())
FILTER, STEPS = Mapped(FEATURES, Kalman(1.0)), Mapped(FEATURES, OGD(0.3))
STACK = Standardised(Stacked(FILTER, Mapped(Tiles(4), Kalman(1.0)), STEPS))
CASES = [(name, learner, task) for name, learner, tasks in learners() for task in tasks]
CASES = [case if case[0] != "auto(50)" else (case[0], auto(8), case[2]) for case in CASES]


@pytest.fixture(autouse=True)
def numpy_arrays(monkeypatch):
    monkeypatch.setattr(engine, "ARRAYS", Arrays)
    monkeypatch.setattr(arrays, "SUPER", 400)
    monkeypatch.setattr(engine, "SUPER", 400)


def scores(model, X):
    return model.fitted_.model.scores(X)


@each("name, learner, task", CASES)
def test_scores_are_those_of_the_processor(name, learner, task):
    X, ys = rows_of(900)
    native, card = (
        learned(estimator(learner, task, device), X, ys[task], task) for device in ("cpu", "cuda")
    )
    largest, row = differences(native, card)
    assert row is None, f"{name}: row {row} differs by up to {largest}"
    cut = learned(estimator(learner, task), X, ys[task], task, pieces=7)
    assert differences(card, cut)[1] is None


@each("learner", [FILTER, STEPS, STACK, Standardised(FILTER)])
@each("task", [2, 7, 0])
def test_weights_missing_values_and_predictions(learner, task):
    X, ys = rows_of(700)
    random = np.random.default_rng(1)
    weights, y = random.integers(0, 3, len(X)) / 2.0, ys[task]
    if learner.accepts_missing:
        X[random.random(X.shape) < 0.1] = np.nan
    models = [
        estimator(learner, task, device).fit(X, y, sample_weight=weights) for device in ("cpu", "cuda")
    ]
    native, card = models
    np.testing.assert_allclose(scores(card, X), scores(native, X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scores(card, X[:3]), scores(native, X[:3]), rtol=1e-9, atol=1e-9)
    state = native.fitted_.model.state()
    for name, value in card.fitted_.model.state().items():
        if not name.endswith(("posterior.P", "posterior.pending")):  # taken up at other times
            np.testing.assert_allclose(value, state[name], rtol=1e-8, atol=1e-8, err_msg=name)


@each("first, second", [("cuda", "cpu"), ("cpu", "cuda")])
@each("learner", [FILTER, STEPS, STACK])
@each("task", [2, 0])
def test_one_file_for_both(first, second, learner, task, tmp_path):
    X, ys = rows_of(800)
    y = ys[task]
    model = estimator(learner, task, first).fit(X[:500], y[:500])
    model.save(tmp_path / "model")
    back = load(tmp_path / "model", device=second).partial_fit(X[500:], y[500:])
    assert back.device == back.fitted_.model.device == second
    whole = estimator(learner, task, "cpu").fit(X[:500], y[:500]).partial_fit(X[500:], y[500:])
    np.testing.assert_allclose(scores(back, X), scores(whole, X), rtol=1e-9, atol=1e-9)
    moved = model.set_params(device=second).partial_fit(X[500:], y[500:])
    assert moved.fitted_.model.device == second
    np.testing.assert_allclose(scores(moved, X), scores(whole, X), rtol=1e-9, atol=1e-9)


def test_the_next_row_moves_a_model_to_its_device():
    X, ys = rows_of(100)
    for learn in ("learn_one", "partial_fit"):
        model = OnlineClassifier(FILTER, random_state=0, device="cuda").fit(X, ys[2])
        model.set_params(device="cpu")
        row = (X[0], ys[2][0]) if learn == "learn_one" else (X[:1], ys[2][:1])
        assert getattr(model, learn)(*row).fitted_.model.device == "cpu"


def test_the_twin_is_asked_when_it_is_up_to_date():
    X, ys = rows_of(500)
    model = OnlineClassifier(FILTER, random_state=0, device="cuda").fit(X, ys[2])
    state = model.fitted_.model.engine.state  # another thread may learn before the call
    model.partial_fit(X, ys[2])
    assert state()["t"] == 1000


def test_the_default_is_exported_from_a_card():
    X, ys = rows_of(200)
    model = OnlineClassifier(auto(8), random_state=0, device="cuda").fit(X, ys[2])
    assert "float" in str(to_c(model))


def test_dates_are_columns_like_others():
    X, ys = rows_of(200)
    rows = [{"x": x[0], "when": f"2026-03-01 {i % 24:02}:00"} for i, x in enumerate(X)]
    inside = Stacked(Dated(Stacked(STEPS), Stacked(STEPS)), FILTER)  # which learns on the processor
    model = OnlineClassifier(inside, random_state=0, device="cuda").partial_fit(rows, ys[2])
    assert model.fitted_.model.aside == ()
    assert (model.__copy__().predict(rows) == model.predict(rows)).all()


@each("learner", [FILTER, STEPS, STACK])
def test_copies_pickles_and_clones(learner):
    X, ys = rows_of(500)
    model = OnlineClassifier(learner, random_state=0, device="cuda").fit(X, ys[7])
    assert clone(model).device == "cuda"
    for other in (pickle.loads(pickle.dumps(model)), model.__copy__()):
        np.testing.assert_allclose(scores(other, X), scores(model, X), rtol=1e-9, atol=1e-12)
        other.partial_fit(X, ys[7])
        assert np.abs(scores(other, X) - scores(model, X)).max() > 1e-3


@each("learner", [FILTER, STEPS, STACK])
def test_classes_and_columns_come_later(learner):
    X, ys = rows_of(900)
    records = [{f"c{j}": x for j, x in enumerate(row[: 3 + 3 * (i > 400)])} for i, row in enumerate(X)]
    y = np.where(np.arange(900) < 200, ys[2], ys[7])
    guesses = [
        OnlineClassifier(learner, random_state=0, device=device).progressive_predict(records, y)
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_array_equal(*guesses)


def test_a_shared_map_stays_on_one_thread(monkeypatch):
    """The first rows are learned beside the card, where two threads would draw the map at once."""
    X, ys = rows_of(64)
    shared = OrthogonalFourier(Gaussian(0.3), 6)
    learner = Stacked(STEPS, *(Mapped(shared, OGD(eta)) for eta in (0.1, 0.3, 1.0)))
    model = OnlineClassifier(learner, random_state=0, device="cuda", n_jobs=8).fit(X, ys[2])
    back, qr, threads = pickle.loads(pickle.dumps(model)), np.linalg.qr, set()

    def slow(matrix):
        threads.add(threading.get_ident())
        time.sleep(0.1)  # time for others
        return qr(matrix)

    monkeypatch.setattr(np.linalg, "qr", slow)
    back.partial_fit(X, ys[2])
    assert len(threads) == 1


def test_deviations_in_threads():
    X, ys = rows_of(1200)
    guesses = [
        OnlineRegressor(STACK, random_state=0, device="cuda", n_jobs=jobs)
        .fit(X, ys[0])
        .predict(X, return_std=True)
        for jobs in (1, 8)
    ]
    np.testing.assert_allclose(*guesses, rtol=1e-9, atol=1e-9)


@each("learner", [FILTER, STACK])
def test_one_row_at_a_time_and_explanations(learner):
    X, ys = rows_of(150)
    native, card = (OnlineClassifier(learner, random_state=0, device=device) for device in ("cpu", "cuda"))
    for model in (native, card):
        model.partial_fit(X[:100], ys[2][:100])
        for x, y in zip(X[100:], ys[2][100:], strict=True):
            model.learn_one(x, y)
        model.partial_fit(X[:1], ys[2][:1])
        assert (model.predict(X[:1]) == model.predict(X)[:1]).all()
    assert card.predict_one(X[0]) == native.predict_one(X[0])
    np.testing.assert_allclose(card.predict_proba(X), native.predict_proba(X), atol=1e-9)
    background = X[30:]
    np.testing.assert_allclose(card.novelty(X, background), native.novelty(X, background), atol=1e-9)
    assert card.memory_bytes_ > 0
    assert card.n_support_ == native.n_support_


def test_coefficients_and_deviations():
    X, ys = rows_of(300)
    native, card = (
        OnlineRegressor(FILTER, random_state=0, device=d).fit(X, ys[0]) for d in ("cpu", "cuda")
    )
    np.testing.assert_allclose(card.coef_, native.coef_, atol=1e-9)
    for mean, other in zip(
        card.predict(X, return_std=True), native.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(mean, other, atol=1e-9)


def test_sparse_rows_and_rows_of_single_precision():
    X, ys = rows_of(600)
    X[np.abs(X) < 1] = 0
    native, card = (
        OnlineClassifier(STACK, random_state=0, device=d).fit(sparse.csr_matrix(X), ys[7])
        for d in ("cpu", "cuda")
    )
    np.testing.assert_allclose(scores(card, X), scores(native, X), atol=1e-9)
    single = OnlineClassifier(FILTER, random_state=0, device="cuda").fit(X.astype(np.float32), ys[2])
    assert single.fitted_.model.engine.arrays.real == np.float32
    native = OnlineClassifier(FILTER, random_state=0).fit(X.astype(np.float32), ys[2])
    np.testing.assert_allclose(
        single.decision_function(X), native.decision_function(X), rtol=1e-3, atol=1e-3
    )


@each("calls", [30, 300])
def test_repairs_of_P_follow_the_rows_and_not_the_calls(calls):
    X, ys = rows_of(2400, np.float32)
    diagonals = []
    for pieces in (1, calls):
        model = OnlineClassifier(FILTER, random_state=0, device="cuda")
        for cut in np.array_split(np.arange(len(X)), pieces):
            model.partial_fit(X[cut], ys[2][cut], classes=[0, 1])
        P = model.fitted_.model.state()["posterior.P"]
        diagonals.append(P[np.cumsum(np.arange(1, 28)) - 1])
    np.testing.assert_allclose(*diagonals, rtol=2e-5)


def test_a_step_too_large_is_refused_where_the_processor_refuses_it():
    X, ys = rows_of(3000)
    learner = Mapped(Identity(), OGD(5.0, loss=Squared()))
    found = []
    for device in ("cpu", "cuda"):
        model = OnlineRegressor(learner, device=device)
        with pytest.raises(DivergedError) as caught:
            model.partial_fit(X, ys[0])
        found.append((caught.value.rows_learned, scores(model, X[:5])))
        with pytest.raises(DivergedError):
            model.partial_fit(X, ys[0])
    (row, native), (own_row, card) = found
    assert own_row == row > 100
    np.testing.assert_allclose(card / np.abs(native).max(), native / np.abs(native).max(), rtol=1e-6)


def test_an_expert_that_refuses_a_row_abstains():
    X, ys = rows_of(1500)
    wild = Mapped(Identity(), OGD(5.0, loss=Squared()))
    learner = Stacked(FILTER, wild, Mapped(Tiles(4), Kalman(1.0)))
    native, card = (OnlineRegressor(learner, random_state=0, device=d) for d in ("cpu", "cuda"))
    for model in (native, card):
        model.partial_fit(X, ys[0]).partial_fit(X, ys[0])
    a, b = (model.fitted_.model.state() for model in (card, native))  # the wild one is chaos, up to 1e150
    for name in ("expert.0.weights.0", "expert.0.t"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-9, atol=1e-9)
    assert np.isfinite(scores(card, X)).all()


def test_huge_rows_and_weights_go_to_the_twin():
    X, ys = rows_of(600)
    X[300] *= 1e70
    weights = np.ones(600)
    weights[400] = 1e80
    native, card = (OnlineClassifier(STACK, random_state=0, device=d) for d in ("cpu", "cuda"))
    for model in (native, card):
        model.fit(X, ys[7], sample_weight=weights)
    np.testing.assert_allclose(scores(card, X), scores(native, X), rtol=1e-8, atol=1e-8)


@each(
    "learner",
    [
        rbp(Gaussian(1.0), budget=5),
        Mapped(FEATURES, AdaGrad()),
        Mapped(Tiles(4), Kalman()),
        Stacked(Neighbours(9)),
    ],
)
def test_other_learners_are_refused_in_one_sentence(learner):
    X, ys = rows_of(50)
    with refused('device="cuda" runs Mapped with Fourier features', 'use device="cpu"'):
        OnlineClassifier(learner, device="cuda").fit(X, ys[2])


def test_bad_devices_are_one_sentence(tmp_path):
    X, ys = rows_of(50)
    with refused("device", "tpu"):
        OnlineClassifier(FILTER, device="tpu").fit(X, ys[2])
    model = OnlineClassifier(FILTER).fit(X, ys[2])
    before = scores(model, X)
    with refused("device", "tpu"):
        model.set_params(device="tpu").partial_fit(X, ys[2])
    model.save(tmp_path / "model")
    with refused("device", "tpu"):
        load(tmp_path / "model", device="tpu")
    np.testing.assert_array_equal(scores(model, X), before)


def test_too_little_memory_is_said_before_learning(monkeypatch):
    monkeypatch.setattr(Arrays, "free_bytes", 1000.0)
    X, ys = rows_of(50)
    model = OnlineClassifier(FILTER, device="cuda")
    with pytest.raises(
        MemoryError, match=r'^device="cuda" needs 0\.2 GiB on the card for this learner, and 0\.0'
    ):
        model.fit(X, ys[2])
    assert not hasattr(model, "fitted_")


class Counted(Arrays):
    """Only takes the memory that a card would."""

    add_product = walk_filters = walk_rules = turn = lambda *_, **__: None


@each("task", [2, 7])
@each(
    "learner",
    [
        Mapped(RandomFourier(Gaussian(0.1), 500), Kalman()),
        Mapped(Stack(RandomFourier(Gaussian(0.1), 500), Identity()), Kalman(1.0, 1e-4, covariance=300)),
        Stacked(*(Mapped(RandomFourier(Gaussian(0.1), 4000), OGD(eta)) for eta in (0.1, 0.2, 0.3))),
        Mapped(Hashed(RandomFourier(Gaussian(0.1), 1000), columns=4), SGD(0.1)),
        Mapped(Nystrom(Laplacian(0.5), 300, rank=200), Kalman(1.0, 1e-4)),
    ],
)
def test_the_memory_that_is_announced_is_enough(learner, task, monkeypatch):
    monkeypatch.setattr(engine, "ARRAYS", Counted)
    X, ys = rows_of(700)
    model = OnlineClassifier(learner, random_state=0, device="cuda").start(X, classes=np.unique(ys[task]))
    announced = model.fitted_.model.engine.needed_bytes - experts.LIBRARIES - experts.LANE
    card = model.partial_fit(X, ys[task]).fitted_.model.engine
    card.restore(card.state())
    tracemalloc.start()
    program = card._lifted()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    program.run(X[:400], ys[task][:400], np.ones(400))
    _, work = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    program.predict(X[:256])
    _, more = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    taken = held + 2 * (work - held) + (more - held)
    assert taken < announced < 4 * taken


def test_a_filter_too_large_for_the_card_is_refused_before_learning(monkeypatch):
    monkeypatch.setattr(Arrays, "most_features", 16.0)
    X, ys = rows_of(50)
    with refused("at most 16 features in a filter", "got"):
        OnlineClassifier(Mapped(FEATURES, Kalman(1.0, drift=0.01)), device="cuda").fit(X, ys[2])
    OnlineClassifier(STEPS, device="cuda").fit(X, ys[2])


def test_a_card_that_fails_says_that_what_it_learned_is_lost(monkeypatch):
    X, ys = rows_of(1000)
    model = OnlineClassifier(FILTER, device="cuda").fit(X, ys[2])

    def fails(*_):
        raise OSError("the bus has fallen off")

    monkeypatch.setattr(Arrays, "walk_filters", fails)
    with pytest.raises(OSError, match="bus"):
        model.partial_fit(X, ys[2])
    with pytest.raises(RuntimeError, match=r"^The card failed, and what it had learned is lost"):
        model.partial_fit(X, ys[2])

    for ask in (lambda: model.predict(X), lambda: model.predict(X[:1]), lambda: pickle.dumps(model)):
        with pytest.raises(RuntimeError, match=r"^The card failed, and what it had learned is lost"):
            ask()


def test_readers_and_forks_do_not_wait_for_the_end_of_a_call():
    X, ys = rows_of(20000)
    model = OnlineClassifier(FILTER, random_state=0, device="cuda").fit(X[:500], ys[2][:500])
    learns = threading.Thread(target=model.partial_fit, args=(X[500:], ys[2][500:]))
    learns.start()
    while model.fitted_.model.rows_done < 1000:
        time.sleep(1e-3)
    seen = [scores(model, X[:300]), scores(model, X[:1]), model.fitted_.model.state()["t"]]
    alone = learns.is_alive()
    learns.join()
    assert alone
    assert all(np.isfinite(each).all() for each in seen)
    assert 1000 <= seen[2] < 20000
    native = OnlineClassifier(FILTER, random_state=0).fit(X, ys[2])
    np.testing.assert_allclose(scores(model, X), scores(native, X), rtol=1e-9, atol=1e-9)


class Interrupt:
    """In it, a line of the engine raises KeyboardInterrupt: the one that is run as the given number."""

    def __init__(self, line):
        self.left = line

    def __enter__(self):
        sys.settrace(self._call)

    def __exit__(self, *_):
        sys.settrace(None)

    def _call(self, frame, *_):
        return self._line if frame.f_code.co_filename == engine.__file__ else None

    def _line(self, frame, event, _):  # noqa: ARG002
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


def test_interrupts_lose_nothing():
    X, ys = rows_of(800)
    begun = pickle.dumps(OnlineClassifier(STACK, random_state=0, device="cuda").fit(X[:100], ys[2][:100]))
    native = OnlineClassifier(STACK, random_state=0).fit(X[:100], ys[2][:100])
    expected, line, learned, n = {}, 0, set(), len(X) - 100
    while n not in learned:
        line += 1
        model = pickle.loads(begun)
        try:
            with Interrupt(line):
                model.partial_fit(X[100:], ys[2][100:])
            done = n
        except KeyboardInterrupt as error:
            done = error.rows_learned
        learned.add(done)
        if done not in expected:
            rows = slice(100, 100 + done)
            same = native.__copy__()
            expected[done] = scores(same.partial_fit(X[rows], ys[2][rows]) if done else same, X)
        np.testing.assert_allclose(scores(model, X), expected[done], rtol=1e-9, atol=1e-9)
    assert len(learned) > 3


class Fails(PythonRule):
    """Learns nothing, and fails once, at row 500."""

    def propose(self, row):
        SEEN.append(row)
        if len(SEEN) == 500:
            raise ZeroDivisionError
        return 0.0


SEEN = []


def test_a_part_in_python_that_fails_beside_the_card():
    X, ys = rows_of(1200)
    SEEN.clear()
    learner = Stacked(FILTER, Kernelized(Gaussian(1.0), Fails(), RemoveOldest(5)), STEPS)
    card = OnlineClassifier(learner, random_state=0, device="cuda").start(X, classes=[0, 1])
    with pytest.raises(ZeroDivisionError) as caught:
        card.partial_fit(X, ys[2])
    done = caught.value.rows_learned
    SEEN.clear()
    native = OnlineClassifier(learner, random_state=0).start(X, classes=[0, 1])
    native.partial_fit(X[:done], ys[2][:done])
    assert 64 <= done <= 500
    np.testing.assert_allclose(scores(card, X), scores(native, X), atol=1e-9)
    SEEN.clear()
    for model in (card, native):
        model.partial_fit(X[:200], ys[2][:200])
    np.testing.assert_allclose(scores(card, X), scores(native, X), atol=1e-9)


class OnCard(np.ndarray):
    """An array that says it is on a card."""

    def __dlpack_device__(self):
        return 2, 0


@each("learner", [FILTER, STEPS, STACK, Mapped(Nystrom(Gaussian(0.5), 20), Perceptron())])
def test_rows_that_are_on_the_card(learner):
    X, ys = rows_of(700)
    native = OnlineClassifier(learner, random_state=0).fit(X, ys[7])
    there, labels = X.view(OnCard), ys[7].view(OnCard)
    card = OnlineClassifier(learner, random_state=0, device="cuda").fit(there, labels)
    np.testing.assert_allclose(scores(card, X), scores(native, X), atol=1e-9)
    np.testing.assert_array_equal(card.predict(there), native.predict(X))
    with refused("X is on a card"):
        native.predict(there)
    with refused("X has 5 features"):
        card.predict(X[:, :5].view(OnCard))
    bad = X.copy()
    bad[3, 2] = np.inf
    before = scores(card, X)
    with refused("Row 3 of X is not finite"):
        card.partial_fit(bad.view(OnCard), ys[7])
    for dtype, much in ((None, 1e160), ("float32", 1e20)):
        bad[3, 2] = much
        other = OnlineClassifier(learner, random_state=0, device="cuda", dtype=dtype)
        with refused("Row 3 of X is too large"):
            other.partial_fit(bad.view(OnCard), ys[7])
    np.testing.assert_array_equal(scores(card, X), before)
    with refused("labels"):
        card.partial_fit(there, labels[:5])


@forks
def test_a_forked_process_goes_on_without_the_card():
    X, ys = rows_of(500)
    model = OnlineClassifier(FILTER, random_state=0, device="cuda").fit(X, ys[2])
    expected = scores(model, X)

    def child():
        np.testing.assert_allclose(scores(model, X), expected, atol=1e-12)
        model.partial_fit(X, ys[2])
        return model.fitted_.model.engine._program is None

    assert in_child(child)
    model.partial_fit(X, ys[2])
