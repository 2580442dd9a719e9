"""One row at a time: the handle, and the estimators' short way."""

import pickle
import subprocess
import sys
import threading
import warnings
from time import process_time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from budgetron import Averaged, Gaussian, OneByOne, OnlineClassifier, Polynomial, fogd, nogd, ogd, rbp
from budgetron._util.rows import Compressed
from budgetron.estimators.input import are_learnable, known_rows
from budgetron.estimators.online import same_classes
from tests.helpers.cases import each
from tests.helpers.members import bits, cases, data, estimator, fitted, make, scores, start

CLASSES = {"binary": 2, "multiclass": 3, "regression": None}


def handle(task, learner="rbp", features=3, **more):
    """A handle for the rows of ``members.data``."""
    learner = make(learner) if isinstance(learner, str) else learner
    return OneByOne(learner, features, CLASSES[task], **more)


def labels(task, y):
    """Labels as the handle reads them."""
    return 2 * y - 1 if task == "binary" else y


def state(model):
    """A model's state, as something that can be compared later."""
    return {name: a.tobytes() for name, a in model.state().items()}


@each(("task", "name"), cases())
@each("dtype", [np.float64, np.float32])
def test_the_model_is_the_estimators(task, name, dtype):
    """Every learner: steps through the handle give the model, and the scores, that the estimator has."""
    X, y = data(task)
    X = X.astype(dtype)
    one, batch = handle(task, name, dtype=dtype), handle(task, name, dtype=dtype)
    expected = batch.learn(X, labels(task, y).astype(float))
    made = [one.learn_one(x, label) for x, label in zip(X, labels(task, y), strict=True)]
    assert np.array_equal(np.reshape(made, expected.shape), expected)
    model = start(estimator(task, name), task, X, y)
    assert state(one) == state(model.fitted_.model)
    assert np.array_equal(one.score_one(X[3]), np.squeeze(scores(model, X[3:4])))


@each(("task", "name"), cases())
def test_weights_are_those_of_a_batch(task, name):
    X, y = data(task)
    weights = np.random.default_rng(0).choice([0.0, 0.25, 1.0, 2.0], len(X))
    one, batch = handle(task, name), handle(task, name)
    expected = batch.learn(X, labels(task, y).astype(float), weights)
    made = [one.learn_one(x, t, w) for x, t, w in zip(X, labels(task, y), weights, strict=True)]
    assert np.array_equal(np.reshape(made, expected.shape), expected)
    assert state(one) == state(batch)


@each("weight", [-1.0, np.nan, np.inf, "2", None])
def test_bad_weights_change_nothing(weight):
    one = handle("binary")
    one.learn_one(np.ones(3), 1)
    before = state(one)
    with pytest.raises(ValueError, match="OneByOne: weight must be"):
        one.learn_one(np.ones(3), -1, weight)
    assert state(one) == before


def test_types_of_scores():
    """A float for one output, an array of its own for more."""
    assert type(handle("binary").learn_one(np.zeros(3), -1)) is float
    assert type(handle("regression").score_one(np.zeros(3))) is float
    model = handle("multiclass")
    first, second = model.learn_one(np.zeros(3), 0), model.learn_one(np.ones(3), 1)
    assert first.shape == second.shape == (3,)
    assert first is not second


def test_average():
    """A step gives f(x), a score the average of f."""
    one = handle("binary", Averaged(ogd(Gaussian(0.5), eta=1.0)))
    x = np.zeros(3)
    assert [one.learn_one(x, 1), one.learn_one(x, 1)] == [0.0, 1.0]
    assert one.learn_one(x, -1) == 1.0  # which takes f(x) to 0, the average over three rounds to 2/3
    assert one.score_one(x) == pytest.approx(2 / 3)


def test_pickle():
    """A handle pickles, and goes on as if it had not."""
    X, y = data("binary")
    one = handle("binary")
    for x, label in zip(X[:40], labels("binary", y), strict=False):
        one.learn_one(x, label)
    other = pickle.loads(pickle.dumps(one))
    made = [
        [m.learn_one(x, label) for x, label in zip(X[40:], labels("binary", y)[40:], strict=True)]
        for m in (one, other)
    ]
    assert made[0] == made[1]
    assert state(one) == state(other)


def test_threads():
    """Steps of several threads come one after the other: none is lost."""
    one = OneByOne(ogd(Gaussian(0.5), eta=1e-6), 3, n_classes=None)
    X, _ = data("regression", 400)

    def walk(rows):
        for x in rows:
            one.learn_one(x, 1.0)

    threads = [threading.Thread(target=walk, args=(X[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.size == 400


# ---- what is refused


@each(
    ("x", "got"),
    [
        (np.zeros(4), r"float64 of shape \(4,\)"),
        (np.zeros((1, 3)), r"float64 of shape \(1, 3\)"),
        (np.zeros(3, np.float32), r"float32 of shape \(3,\)"),
        (np.zeros(3, int), r"int64 of shape \(3,\)"),
        (np.zeros(6)[::2], r"float64 of shape \(3,\) that is not contiguous"),
        ([0.0, 0.0, 0.0], "list"),
    ],
)
def test_rows_that_are_none(x, got):
    """Rows of another length, type or layout are refused by both methods."""
    one = handle("binary")
    one.learn_one(np.ones(3), -1)
    before = state(one)
    for call in (lambda: one.learn_one(x, 1), lambda: one.score_one(x)):
        with pytest.raises(ValueError, match=rf"of float64 and shape \(3,\), got {got}: "):
            call()
    assert state(one) == before


@each("learner", ["rbp", "fogd", "nogd", "duol", "sgd"])
@each(
    ("value", "why"),
    [(np.nan, "x[1] is not finite"), (-np.inf, "x[1] is not finite"), (1e200, "overflows")],
)
def test_numbers_that_are_none(learner, value, why):
    """Rows that are not finite, or not when squared, are refused from the first on."""
    x = np.array([0.0, value, 0.0])
    one = handle("binary", learner)
    for _ in range(2):
        before = state(one)
        for call in (lambda: one.learn_one(x, 1), lambda: one.score_one(x)):
            with pytest.raises(ValueError, match=why.replace("[", r"\[")):
                call()
        assert state(one) == before
        one.learn_one(np.ones(3), -1)


@each(
    ("task", "bad", "why"),
    [
        ("binary", 0, "must be -1 or 1, got 0"),
        ("binary", np.nan, "must be -1 or 1, got nan"),
        ("multiclass", 3, "from 0 to 2, got 3"),
        ("multiclass", -1, "from 0 to 2, got -1"),
        ("multiclass", 0.5, "from 0 to 2, got 0.5"),
        ("multiclass", np.nan, "from 0 to 2, got nan"),
        ("regression", np.inf, "must be a finite number, got inf"),
        ("regression", np.nan, "must be a finite number, got nan"),
    ],
)
def test_labels_that_are_none(task, bad, why):
    """Labels outside those announced, which the core does not check."""
    one = handle(task)
    with pytest.raises(ValueError, match=why):
        one.learn_one(np.zeros(3), bad)
    assert one.size == 0


def test_divergence():
    """A score or a step that is not finite refuses the row and leaves the model."""
    one = handle("regression", ogd(Polynomial(gamma=1.0, degree=3), eta=0.1))
    one.learn_one(np.ones(3), 1.0)
    before = state(one)
    for call in (lambda: one.learn_one(np.full(3, 1e120), 1.0), lambda: one.score_one(np.full(3, 1e120))):
        with pytest.raises(ValueError, match="score that is not finite, and the model is unchanged"):
            call()
    assert state(one) == before


@each(
    ("arguments", "why"),
    [
        ({"n_features": 0}, "OneByOne: n_features must be a whole number above 0, got 0"),
        ({"n_classes": 1}, "OneByOne: n_classes must be at least 2, got 1"),
        ({"n_classes": 2.5}, "OneByOne: n_classes must be a whole number above 0, got 2.5"),
        ({"seed": -1}, "OneByOne: seed must be a whole number from 0"),
        ({"dtype": int}, "OneByOne: dtype must be float64 or float32"),
        ({"learner": rbp(Gaussian(), budget=5)}, 'gamma="scale" is computed from rows'),
        ({"learner": fogd(Gaussian(), components=5)}, 'gamma="scale" is computed from rows'),
    ],
)
def test_bad_beginnings(arguments, why):
    """What a handle is made of is checked when it is made."""
    good = {"learner": rbp(Gaussian(0.5), budget=5), "n_features": 3}
    with pytest.raises(ValueError, match=why):
        OneByOne(**(good | arguments))


def test_no_learner():
    """Something else in the place of the learner."""
    with pytest.raises(TypeError, match="OneByOne: learner must be a Learner, got 'rbp'"):
        OneByOne("rbp", 3)


# ---- the estimators' short way


def needs_no_checks(model, X):
    """Whether a fitted model takes X past scikit-learn's checks."""
    rows = known_rows(model.fitted_, X)
    return rows is not None and are_learnable(model.fitted_, rows)


@each(("task", "name"), [(task, name) for task, name in cases() if name in ("rbp", "bogd", "fogd")])
def test_the_short_way_is_the_long_one(task, name):
    """Arrays that skip scikit-learn's checks and arrays that do not give the same model and predictions."""
    X, y = data(task)
    short, long = estimator(task, name), estimator(task, name)
    start(short, task, X[:5], y[:5]), start(long, task, X[:5], y[:5])
    for i in range(5, 80):
        rows, label = X[i : i + 1], y[i : i + 1]
        swapped = rows.astype(">f8")
        assert needs_no_checks(short, rows)
        assert not needs_no_checks(long, swapped)
        one, other = (
            short.progressive_predict(rows, label),
            long.progressive_predict(swapped, label.tolist()),
        )
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
        assert np.array_equal(scores(short, rows), scores(long, swapped))
    assert bits(short) == bits(long)


@each("kind", [np.int64, np.int8, np.uint8, np.float64, np.bool_, np.str_])
def test_labels_of_every_kind(kind):
    """Labels of the kind of the classes take the short way, and mean the same."""
    X, y = data("binary")
    y = y.astype(kind)
    model, other = estimator("binary", "rbp"), estimator("binary", "rbp")
    classes = np.unique(y)
    model.partial_fit(X[:1], y[:1], classes=classes)
    assert model.fitted_.answers.quick_codes(y) is not None
    for i in range(1, 80):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert bits(model) == bits(other.partial_fit(X, y, classes=classes))


def test_classes_again():
    """The classes of the first call, given again, take the short way too; others are refused."""
    model = fitted("binary")
    assert same_classes(model.fitted_, [0, 1])
    assert same_classes(model.fitted_, np.array([0, 1]))
    for doubtful in ([1, 0], [0, 1, 2], [0.0, 1.0], (0, 1), [False, True], [[0], [1]], "01", 2):
        assert not same_classes(model.fitted_, doubtful)
    x = np.zeros((1, 3))
    model.partial_fit(x, np.array([1]), classes=[1, 0])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(x, np.array([1]), classes=[0, 2])


def test_rows_that_need_checks():
    """Whatever scikit-learn might have something to say about goes to it."""
    model = fitted("binary")
    row = np.zeros((1, 3))
    assert needs_no_checks(model, row)
    assert needs_no_checks(model, row.astype(np.float32))
    nan, large = row.copy(), row.copy()
    nan[0, 1], large[0, 1] = np.nan, 1e200
    doubtful = [
        nan,
        large,
        row[:, :2],
        row[:0],
        row[0],
        np.asfortranarray(np.zeros((2, 3))),
        np.zeros((1, 6))[:, ::2],
    ]
    doubtful += [
        row.astype(int),
        row.astype(">f8"),
        row.astype(np.float16),
        np.ma.array(row),
        pd.DataFrame(row),
    ]
    assert [needs_no_checks(model, X) for X in doubtful] == [False] * len(doubtful)


@each("form", ["csr_matrix", "csr_array", "frame", "frame of two types"])
@each("kind", [np.float64, np.float32])
def test_the_short_way_of_matrices_and_frames(form, kind):
    """One row at a time, past scikit-learn's checks, is the same model as all rows through them."""
    X, y = data("binary")
    X = np.round(X, 1).astype(kind)
    if form.startswith("frame"):
        X = pd.DataFrame(X, columns=list("abc"))
        X = X.assign(b=(10 * X["b"]).astype(np.int64)) if form == "frame of two types" else X
    else:
        X = getattr(sparse, form)(X)
    model, other = estimator("binary", "rbp"), estimator("binary", "rbp")
    start(model, "binary", X[:5], y[:5])
    for i in range(5, 80):
        assert needs_no_checks(model, X[i : i + 1])
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert bits(model) == bits(start(other, "binary", X, y))
    assert np.array_equal(model.decision_function(X[:1]), other.decision_function(X)[:1])


def broken(**parts):
    """A CSR matrix of one row and three columns, with other parts than its own."""
    X = sparse.csr_matrix([[1.0, 0.0, 2.0]])
    for name, values in parts.items():
        setattr(X, name, np.asarray(values))
    return X


def test_matrices_that_need_checks():
    """Rows that are unsorted, or outside their arrays, take the long way: it sorts or refuses them."""
    model = start(estimator("binary", "rbp"), "binary", sparse.csr_matrix(np.eye(3)), np.array([0, 1, 0]))
    assert type(known_rows(model.fitted_, broken())) is Compressed
    doubtful = [
        broken(indices=np.int32([2, 0])),
        broken(indices=np.int32([1, 1])),
        broken(indices=np.int32([0, 3])),
        broken(indices=np.int32([-1, 0])),
        broken(indices=[0, 2**32 + 1]),
        broken(indptr=np.int32([1, 2])),
        broken(indptr=np.int32([0, 3])),
        broken(indptr=np.int32([0, -1])),
        broken(indptr=np.int32([0, 2, 1])),
        broken(indptr=np.int32([])),
        broken(data=[1.0]),
        broken(data=[1, 2]),
        broken(data=[1j, 2]),
        broken(data=[[1.0, 2.0]]),
        sparse.csc_matrix([[1.0, 0.0, 2.0]]),
    ]
    for X in doubtful:
        assert known_rows(model.fitted_, X) is None
    for values in ([np.nan, 1.0], [np.inf, 1.0], [1e200, 1.0]):
        with pytest.raises(ValueError, match=r"NaN|infinity|too large"):
            model.partial_fit(broken(data=values), np.array([1]))
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(sparse.csr_matrix([[1.0, 2.0]]), np.array([1]))
    unsorted, same = broken(indices=np.int32([2, 0])), sparse.csr_matrix([[2.0, 0.0, 1.0]])
    assert model.decision_function(unsorted) == model.decision_function(same)


def test_frames_that_need_checks():
    """Other names, other orders and other types take the long way."""
    frame = pd.DataFrame(np.eye(3), columns=list("abc"))
    model = start(estimator("binary", "rbp"), "binary", frame, np.array([0, 1, 0]))
    assert needs_no_checks(model, frame[:1])
    for doubtful in (
        frame[list("acb")],
        frame[list("ab")],
        frame.rename(columns={"c": "d"}),
        frame.astype("Float64"),
        frame.astype(pd.SparseDtype(float)),
        frame.astype(object),
        frame.astype(bool),
        frame.assign(c="1"),
    ):
        assert known_rows(model.fitted_, doubtful) is None


def test_too_large_for_a_single_model():
    """A float64 row whose square overflows in float32 is refused by a model of float32."""
    X, y = data("binary")
    model = start(estimator("binary", "rbp"), "binary", X.astype(np.float32), y)
    with pytest.raises(ValueError, match="its squared norm overflows"):
        model.partial_fit(np.full((1, 3), 1e25), y[:1])


def test_names_of_features():
    """A model that learned names still warns where they are missing."""
    X, y = data("binary")
    model = start(estimator("binary", "rbp"), "binary", pd.DataFrame(X, columns=list("abc")), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(pd.DataFrame(X, columns=list("abc")))
        with pytest.raises(UserWarning, match="does not have valid feature names"):
            model.predict(X)


# ---- what it costs


def yardstick():
    """About 10 microseconds of Python on an idle machine."""
    return sum(range(1000))


def cost(call, rounds=20, calls=100):
    """The processor time of a call in tenths of the yardstick's, so about microseconds on any machine.

    Both are the least of rounds that take turns, since other jobs slow both down alike.
    """
    least = {}
    for _ in range(rounds):
        for timed in (call, yardstick):
            began = process_time()
            for _ in range(calls):
                timed()
            least[timed] = min(process_time() - began, least.get(timed, np.inf))
    return 10 * least[call] / least[yardstick]


@pytest.mark.timing
def test_one_row_costs_microseconds():
    """The handle within 15 microseconds, the estimators within 80, native work included."""
    x, y = np.zeros(3), np.array([1])
    one, model = handle("binary"), fitted("binary")
    assert cost(lambda: one.learn_one(x, 1)) < 15
    assert cost(lambda: one.score_one(x)) < 15
    assert cost(lambda: model.partial_fit(x[None], y)) < 80
    assert cost(lambda: model.progressive_predict(x[None], y)) < 80
    assert cost(lambda: model.predict(x[None])) < 80
    rows = sparse.csr_matrix(x[None])
    matrices = fitted("binary").partial_fit(rows, y)
    assert cost(lambda: model.partial_fit([[0.5, 1.0, 2.0]], [1])) < 120
    assert cost(lambda: matrices.partial_fit(rows, y)) < 120
    frame = pd.DataFrame(x[None], columns=list("abc"))
    frames = start(estimator("binary", "rbp"), "binary", pd.concat([frame] * 2), np.array([0, 1]))
    assert cost(lambda: frames.partial_fit(frame, y)) < 160
    other, target = fitted("regression"), np.ones(1)
    assert cost(lambda: other.partial_fit(x[None], target)) < 80
    assert cost(lambda: other.predict(x[None])) < 80


def test_nystrom_landmarks():
    """The map that learns from rows sees each of them once."""
    one = handle("binary", nogd(Gaussian(0.5), budget=2, rank=1))
    X, y = data("binary", 20)
    for x, label in zip(X, labels("binary", y), strict=True):
        one.learn_one(x, label)
    assert one.size <= 2


def test_its_import_waits_neither_for_scipy_nor_for_scikit_learn():
    script = (
        "import sys, numpy as np; from budgetron import Gaussian, OneByOne, forgetron;"
        "model = OneByOne(forgetron(Gaussian(0.5), budget=10), n_features=2);"
        "model.learn_one(np.ones(2), 1); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"scipy", "sklearn", "pandas"}.isdisjoint(done.stdout.split())


def test_parts_that_need_lapack_find_it():
    script = (
        "import numpy as np; from budgetron import Gaussian, OneByOne, nogd;"
        "model = OneByOne(nogd(Gaussian(0.5), budget=3, rank=2), n_features=2);"
        "rows = np.random.default_rng(0).normal(size=(20, 2));"
        "print(np.isfinite([model.learn_one(x, 1 if x[0] > 0 else -1) for x in rows]).all())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.parametrize("whole", [False, True])
def test_lists_and_frames_learn_what_arrays_learn(whole):
    X = np.random.default_rng(0).normal(size=(60, 3)).round(0 if whole else 9)
    y = (X[:, 0] > 0).astype(int)
    frame = pd.DataFrame(X.astype(int) if whole else X, columns=["a", "b", "c"])
    array, listed, framed = (
        OnlineClassifier(rbp(Gaussian(0.5), budget=9), random_state=0) for _ in range(3)
    )
    for i in range(60):
        array.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        listed.partial_fit([frame.iloc[i].tolist()], [int(y[i])], classes=[0, 1])
        framed.partial_fit(frame[i : i + 1], y[i : i + 1], classes=[0, 1])
    np.testing.assert_array_equal(listed.decision_function(X), array.decision_function(X))
    np.testing.assert_array_equal(framed.decision_function(frame), array.decision_function(X))


@each(
    ("x", "error"),
    [
        ([[1.0, "a", 2.0]], "could not convert string to float: 'a'"),
        ([[1.0, None, 2.0]], "Input X contains NaN"),
        ([[1.0, np.nan, 2.0]], "Input X contains NaN"),
        ([[1.0, 2.0]], "X has 2 features"),
        ([[1.0, 2.0, 10**400]], "must hold numbers that a double can hold"),
        ([[1.0, 2.0], [1.0]], "inhomogeneous"),
        ([1.0, 2.0, 3.0], "Expected 2D array"),
        ([], "Expected 2D array"),
    ],
)
def test_lists_meet_every_check(x, error):
    model = OnlineClassifier(rbp(Gaussian(0.5), budget=9)).partial_fit(np.eye(3), [0, 1, 1], classes=[0, 1])
    with pytest.raises((ValueError, TypeError), match=error):
        model.partial_fit(x, [1])


def test_frames_meet_every_check():
    frame = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    model = OnlineClassifier(rbp(Gaussian(0.5), budget=9)).partial_fit(frame, [0, 1, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="same order"):
        model.partial_fit(frame[["b", "a", "c"]], [0, 1, 1])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.partial_fit(frame.replace(1.0, np.nan), [0, 1, 1])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.partial_fit(np.eye(3), [0, 1, 1])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.partial_fit(np.eye(3).tolist(), [0, 1, 1])
