"""`partial_fit` of one row: a short way for plain arrays, which must not differ from the long one."""

import cProfile
import pstats

import numpy as np
import pandas as pd
import pytest

from budgetron import DivergedError, Gaussian, OnlineClassifier, OnlineRegressor, Polynomial, rbp, sgd
from tests.helpers.members import same_state

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
LABELS = (X[:, 0] > 0).astype(int)


def classifier(rows=X, labels=LABELS, **parameters):
    learner = rbp(Gaussian(0.5), budget=10)
    return OnlineClassifier(learner, random_state=0, **parameters).partial_fit(rows[:20], labels[:20])


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def strided(a):
    return np.repeat(a, 2, axis=-1)[..., ::2]


FORMS = {
    "plain": lambda a: a,
    "read-only": read_only,
    "strided": strided,
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "list": lambda a: a.tolist(),
    "frame or list": lambda a: pd.DataFrame(a) if a.ndim == 2 else a.tolist(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model_dtype", [np.float64, np.float32])
def test_forms(form, dtype, model_dtype):
    """A row may come in any form: the model is that of one batch of plain arrays."""
    one, whole = classifier(X.astype(model_dtype)), classifier(X.astype(model_dtype))
    rows = X.astype(dtype)
    whole.partial_fit(rows[20:], LABELS[20:])
    for i in range(20, 60):
        one.partial_fit(form(rows[i : i + 1]), form(LABELS[i : i + 1]))
    scores = [one.decision_function(form(row[None])) for row in rows]
    assert b"".join(score.tobytes() for score in scores) == whole.decision_function(rows).tobytes()
    assert same_state(one, whole)


@pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS == 1, LABELS.astype(float), LABELS.astype(np.uint8), np.array(["no", "yes"])[LABELS]],
    ids=["int", "bool", "float", "uint8", "text"],
)
def test_kinds_of_labels(labels):
    """Labels of every kind give the same model; predictions have that kind."""
    one, ints = classifier(labels=labels), classifier()
    predicted = [one.progressive_predict(X[i : i + 1], labels[i : i + 1])[0] for i in range(20, 60)]
    codes = [ints.progressive_predict(X[i : i + 1], LABELS[i : i + 1])[0] for i in range(20, 60)]
    assert np.array_equal(np.array(predicted), one.classes_[codes])
    assert {type(label) for label in predicted} == {type(labels[0])}
    assert one.decision_function(X).tobytes() == ints.decision_function(X).tobytes()


def test_new_label():
    """A row may still bring a label."""
    model = classifier()
    assert model.progressive_predict(X[:1], np.array([7]))[0] in (0, 1)
    assert model.classes_.tolist() == [0, 1, 7]


def test_class_weights():
    """Class weights are used for single rows as for batches."""
    one, whole = classifier(class_weight={0: 1.0, 1: 3.0}), classifier(class_weight={0: 1.0, 1: 3.0})
    whole.partial_fit(X[20:], LABELS[20:])
    for i in range(20, 60):
        one.partial_fit(X[i : i + 1], LABELS[i : i + 1])
    assert same_state(one, whole)


BAD_ROWS = {
    "NaN": (X[:1] * np.nan, "contains NaN"),
    "infinity": (X[:1] + np.inf, "contains infinity"),
    "too large": (X[:1] * 1e200, "too large"),
    "too large in its own precision": (np.full((1, 4), 1e30, np.float32), "too large"),
    "wider": (np.zeros((1, 5)), "5 features"),
    "narrower": (np.zeros((1, 3)), "3 features"),
    "no row": (np.zeros((0, 4)), "0 sample"),
    "no dimension": (np.array(5.0), "Expected 2D array"),
    "one dimension": (X[0], "Expected 2D array"),
    "three dimensions": (X[:1, None], "dim 3"),
}


@pytest.mark.parametrize(("row", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
@pytest.mark.parametrize("regression", [False, True])
def test_bad_rows(row, message, regression):
    """A bad row is refused in a sentence, and nothing changes."""

    def made():
        if not regression:
            return classifier()
        return OnlineRegressor(sgd(Gaussian(0.5), lam=0.1)).partial_fit(X[:20], X[:20, 0])

    model, untouched = made(), made()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(row, np.zeros(np.shape(row)[:1], float if regression else int))
    with pytest.raises(ValueError, match=message):
        model.predict(row)
    assert same_state(model, untouched)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([np.nan], "contains NaN"),
        ([np.inf], "contains infinity"),
        ([0.0, 1.0], "inconsistent numbers of samples"),
        ([], "inconsistent numbers of samples"),
    ],
    ids=str,
)
def test_bad_targets(y, message):
    """A bad target is refused, and nothing changes."""
    model, untouched = (
        OnlineRegressor(sgd(Gaussian(0.5), lam=0.1)).partial_fit(X[:20], X[:20, 0]) for _ in range(2)
    )
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X[:1], np.array(y))
    assert same_state(model, untouched)


def test_names():
    """A row without names is reported to a model that knows its columns by name."""
    names = list("abcd")
    model = classifier(pd.DataFrame(X, columns=names))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.partial_fit(X[:1], LABELS[:1])
    with pytest.raises(ValueError, match="same order"):
        model.partial_fit(pd.DataFrame(X[:1], columns=names[::-1]), LABELS[:1])


def test_unknown_label():
    """A label outside the given classes is refused, and nothing changes."""
    model, untouched = (
        OnlineClassifier(rbp(Gaussian(0.5), budget=10), random_state=0).partial_fit(
            X, LABELS, classes=[0, 1]
        )
        for _ in range(2)
    )
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X[:1], np.array([2]))
    assert same_state(model, untouched)


def test_diverging_row():
    """A row whose score is not finite is named by the error, and nothing changes."""
    rows = np.full((2, 1), 1e50)
    model, untouched = (
        OnlineClassifier(rbp(Polynomial(gamma=1.0, degree=3, coef0=0.0), budget=5), random_state=0).start(
            rows, classes=[0, 1]
        )
        for _ in range(2)
    )
    with pytest.raises(DivergedError, match="not finite") as caught:
        model.partial_fit(rows[:1], np.array([1]))
    assert caught.value.rows_learned == 0
    assert same_state(model, untouched)


@pytest.mark.parametrize("learned", [0, 1])
def test_interrupt(monkeypatch, learned):
    """An interrupt says whether the row was learned."""
    model, untouched = classifier(), classifier()
    native = model.fitted_.model.engine

    class Interrupted:
        def __getattr__(self, name):
            return getattr(native, name)

        def learn_one(self, *row):
            if learned:
                native.learn_one(*row)
            raise KeyboardInterrupt

    monkeypatch.setattr(model.fitted_.model, "engine", Interrupted())
    with pytest.raises(KeyboardInterrupt) as caught:
        model.partial_fit(X[:1], LABELS[:1])
    monkeypatch.undo()
    assert caught.value.rows_learned == learned
    if learned:
        untouched.partial_fit(X[:1], LABELS[:1])
    assert same_state(model, untouched)


def calls(run, rows):
    profile = cProfile.Profile()
    profile.runcall(run)
    return pstats.Stats(profile).total_calls / rows


def test_the_short_way_is_short():
    """A plain row costs few Python calls. The way of batches takes 80."""
    model, target = classifier(), OnlineRegressor(sgd(Gaussian(0.5), lam=0.1)).partial_fit(X, X[:, 0])
    rows, labels = [X[i : i + 1] for i in range(60)], [LABELS[i : i + 1] for i in range(60)]

    def labelled():
        for row, label in zip(rows, labels, strict=True):
            model.partial_fit(row, label)

    def measured():
        for row in rows:
            target.partial_fit(row, row[:, 0])

    labelled()
    assert calls(labelled, 60) < 35
    assert calls(measured, 60) < 35
