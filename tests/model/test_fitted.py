"""`Fitted`: a row in which nothing is new, and copies that learn separately."""

from copy import copy
from pickle import dumps, loads

import numpy as np
import pytest

from budgetron import (
    DualProjection,
    Encoder,
    Gaussian,
    OnlineClassifier,
    OnlineRegressor,
    RefusedRow,
    bduol,
)
from tests.helpers.members import bits, data, estimator

RECORDS = [{"a": i % 9 / 2, "b": (-1.0) ** i, "t": "xyz"[i % 3]} for i in range(30)]
LABELS = ["no", "yes"] * 15


def of_records(kind=OnlineClassifier, y=LABELS, **parameters):
    """A model that knows what the columns are."""
    return kind(random_state=0, encoder=Encoder(decide_after=20), **parameters).partial_fit(RECORDS, y)


@pytest.mark.parametrize(("kind", "y"), [(OnlineClassifier, "yes"), (OnlineRegressor, 2.5)])
def test_a_known_row_is_the_batch_of_one(kind, y):
    targets = LABELS if y == "yes" else [i / 2 for i in range(30)]
    short, long = of_records(kind, targets), of_records(kind, targets)
    scores, record = np.empty(short.fitted_.outputs), {"t": "y", "a": 3}
    expected = long.decision_function([record]) if y == "yes" else long.predict([record])
    assert short.fitted_.scores_one(record) == np.ravel(expected).tolist()
    assert short.fitted_.learn_one(record, y, 0.5, scores)
    assert scores.tolist() == np.ravel(expected).tolist()
    assert short.fitted_.learn_one(record, y)  # without the scores
    long.partial_fit([record, record], [y, y], sample_weight=[0.5, 1.0])
    assert bits(short) == bits(long)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ({"a": 1.0, "c": 1.0}, "no"),
        ({"t": "new"}, "no"),
        ({"a": 1.0}, "perhaps"),
        ({"a": 1.0}, ["no"]),
        ({"a": float("inf")}, "no"),
        ([1.0, 2.0], "no"),
        (None, "no"),
    ],
)
def test_what_is_new_or_refused_changes_nothing(x, y):
    model = of_records()
    before = bits(model)
    assert not model.fitted_.learn_one(x, y)
    assert bits(model) == before


def test_rows_weighted_by_class_take_the_batch():
    model = of_records(class_weight="balanced")
    assert not model.fitted_.learn_one(RECORDS[0], "no")


def test_rows_of_numbers():
    X, y = data("binary")
    model, other = (estimator("binary", "rbp").partial_fit(X, y) for _ in range(2))
    assert model.fitted_.learn_one(X[0].tolist(), int(y[0]))
    assert not model.fitted_.learn_one(X[0, :2], int(y[0]))
    assert not model.fitted_.learn_one(X[0] * 1j, int(y[0]))
    assert bits(model) == bits(other.partial_fit(X[:1], y[:1]))
    assert (
        not OnlineClassifier(encoder=Encoder()).partial_fit(RECORDS, LABELS).fitted_.learn_one(X[0], "no")
    )


def test_copies_learn_separately():
    X, y = data("binary")
    model = estimator("binary", "rbp").partial_fit(X, y)
    before, other = bits(model), copy(model)
    other.partial_fit(X, 1 - y)
    assert bits(model) == before != bits(other)
    assert not copy(estimator("binary", "rbp")).__sklearn_is_fitted__()


def test_a_label_that_the_learner_cannot_take_is_a_refused_row():
    X, y = data("binary", 60)
    learner = bduol(Gaussian(0.5), budget=10, maintenance=DualProjection)
    model = estimator("binary", learner).partial_fit(X[:40], y[:40])
    with pytest.raises(RefusedRow, match="two classes") as caught:
        model.partial_fit(X[40:], [*y[40:50], 2, *y[51:]])
    assert (caught.value.row, caught.value.rows_learned) == (10, 10)
    assert sum(len(piece.scores) for piece in caught.value.scored) == 10


def test_a_refusal_in_a_later_call_has_a_later_number():
    model = of_records(learner=estimator("binary", "rbp").learner)
    with pytest.raises(RefusedRow) as caught:
        model.predict([RECORDS[0], {"a": 1e200, "b": 0.0, "t": "x"}])
    later = caught.value.after(100)
    assert (caught.value.row, later.row) == (1, 101)
    assert str(later) == str(caught.value).replace("Row 1 ", "Row 101 ")
    assert str(loads(dumps(later))) == str(later)
