"""A batch with a bad row: if a check finds it, nothing changes; else the rows before it are learned."""

import pickle
import signal
import threading

import numpy as np
import pytest
from scipy import sparse

from budgetron import DivergedError, Gaussian, OnlineClassifier, OnlineRegressor, Polynomial
from tests.helpers.cases import each, pairs
from tests.helpers.members import bits, cases, data, estimator, expansions, make, scaling, start

HUGE = 1e307
METHODS = ["partial_fit", "progressive_predict"]


def labels_of(task):
    return {} if task == "regression" else {"classes": [0, 1] if task == "binary" else [0, 1, 2]}


def explosive(n, first):
    """Weights that make every step from row ``first`` on infinite."""
    weights = np.ones(n)
    weights[first:] = HUGE
    return weights


def diverging(task, name):
    """A learner, rows, labels and weights such that a row after the first 20 must be refused."""
    X, y = data(task, 60)
    if (task, name) in expansions() and name not in ("avm", "bsgd", "nbsgd"):
        X[40] = 1e30  # k(x,x) is infinite
        return make(name, Polynomial(1.0, 1.0, degree=9)), X, y, np.ones(60)
    return make(name), X, y * 1e5 if task == "regression" else y, explosive(60, 20)


@pairs
@each(("task", "name"), [case for case in cases() if case[1] not in scaling()])
@each("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@each("method", METHODS)
def test_the_rows_before_a_refused_one_are_learned(task, name, kind, method):
    """The estimator equals one that was given only these rows, and the error says how many they are."""
    learner, X, y, weights = diverging(task, name)
    X = kind(X)
    model, other = (start(estimator(task, learner), task, X[:5], y[:5]) for _ in range(2))
    with pytest.raises(DivergedError, match=r"^Row \d+ .* not finite") as caught:
        getattr(model, method)(X, y, sample_weight=weights)
    done = caught.value.rows_learned
    assert 20 <= done < 60
    assert f"Row {done} " in str(caught.value)
    assert bits(model) == bits(other.partial_fit(X[:done], y[:done], sample_weight=weights[:done]))


@each("task", ["binary", "multiclass", "regression"])
@each("method", METHODS)
@each("first", [0, 20])
def test_a_first_call_with_a_refused_row(task, method, first):
    """If the very first row is refused, the estimator is unfitted; else it has learned the rows before."""
    X, y = data(task, 60)
    model = estimator(task, "ogd")
    weights = explosive(60, first)
    y = y + 100 if task == "regression" else y
    with pytest.raises(DivergedError) as caught:
        getattr(model, method)(X, y, **labels_of(task), sample_weight=weights)
    done = caught.value.rows_learned
    if first == 0:
        assert done == 0
        assert set(vars(model)) == set(model.get_params(deep=False))
    else:
        alone = start(estimator(task, "ogd"), task, X[:done], y[:done], sample_weight=weights[:done])
        assert done >= first
        assert bits(model) == bits(alone)


@each("task", ["binary", "multiclass", "regression"])
@each("before", [False, True])
def test_a_refused_fit_changes_nothing(task, before):
    """``fit`` replaces everything or nothing, so no row of a failed call is learned."""
    X, y = data(task, 60)
    model = estimator(task, "ogd")
    if before:
        model.fit(X[:30], y[:30])
    was = bits(model) if before else None
    with pytest.raises(DivergedError) as caught:
        model.fit(X, y * 1e5 if task == "regression" else y, sample_weight=explosive(60, 20))
    assert caught.value.rows_learned == 0
    assert hasattr(model, "fitted_") == before
    if before:
        assert bits(model) == was


WRONG = {
    "nan": lambda X, y, w: (spoilt(X, np.nan), y, w),
    "infinite": lambda X, y, w: (spoilt(X, -np.inf), y, w),
    "too large": lambda X, y, w: (spoilt(X, 1e200), y, w),
    "columns": lambda X, y, w: (X[:, :2], y, w),
    "labels": lambda X, y, w: (X, spoilt(y, 7 if y.dtype.kind == "i" else np.nan), w),
    "fewer labels": lambda X, y, w: (X, y[:-1], w),
    "nan weight": lambda X, y, w: (X, y, spoilt(w, np.nan)),
    "negative weight": lambda X, y, w: (X, y, spoilt(w, -1)),
    "fewer weights": lambda X, y, w: (X, y, w[:-1]),
}


def spoilt(values, bad):
    values = values.copy()
    values[-1] = bad
    return values


@each("task", ["binary", "multiclass", "regression"])
@each("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@each(
    ("wrong", "method"),
    [
        *((wrong, method) for wrong in WRONG for method in METHODS),
        *((wrong, "fit") for wrong in WRONG if wrong not in ("columns", "labels")),  # fit may change these
    ],
)
def test_what_can_be_seen_beforehand_changes_nothing(task, kind, wrong, method):
    """A check finds that the last row is bad: no row is learned, and the error is one sentence."""
    X, y = data(task, 30)
    model = start(estimator(task, "rbp"), task, kind(X), y)
    was = bits(model)
    X, y, weights = WRONG[wrong](X, y, np.ones(30))
    with pytest.raises(ValueError, match=r"\w") as caught:
        getattr(model, method)(kind(X), y, sample_weight=weights)
    assert getattr(caught.value, "rows_learned", 0) == 0
    assert bits(model) == was


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to threads")
@pytest.mark.parametrize("first", [False, True])
def test_an_interrupt_says_how_many_rows_were_learned(first):
    """An interrupted first call keeps the rows it has learned."""
    X, y = data("binary", 60_000, features=20)
    model = estimator("binary", make("perceptron", Gaussian(50.0)))
    if not first:
        start(model, "binary", X[:10], y[:10])
    main, before = threading.main_thread().ident, signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            model.partial_fit(X, y, classes=[0, 1])
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    done = caught.value.rows_learned
    assert 0 < done < len(y)
    other = estimator("binary", make("perceptron", Gaussian(50.0)))
    if not first:
        start(other, "binary", X[:10], y[:10])
    assert bits(model) == bits(other.partial_fit(X[:done], y[:done], classes=[0, 1]))


def test_the_error_pickles():
    """The error can be pickled with its ``rows_learned``."""
    error = pickle.loads(pickle.dumps(DivergedError("Row 3.", 3)))
    assert (str(error), error.rows_learned) == ("Row 3.", 3)


def test_it_is_a_value_error():
    """DivergedError is a ValueError."""
    with pytest.raises(ValueError, match="not finite"):
        OnlineRegressor(make("ogd")).fit([[0.0]] * 2, [0.0, 1e300], sample_weight=[1, HUGE])
    assert not hasattr(OnlineClassifier(), "fitted_")
