"""Models that do not fit together are refused in one sentence."""

from copy import deepcopy

import numpy as np
import pytest

from budgetron import (
    OGD,
    AdaGrad,
    Encoder,
    Gaussian,
    Kalman,
    Laplacian,
    Mapped,
    Nystrom,
    OneByOne,
    OnlineClassifier,
    OnlineRegressor,
    RandomBinning,
    RandomFourier,
    Stack,
    merge,
    rbp,
)
from budgetron.model.model import Model
from tests.helpers.cases import each

K = Gaussian(0.5)
X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
RBP = rbp(K, budget=10)
FOURIER = Mapped(RandomFourier(K, components=10), Kalman())


def fitted(learner=RBP, X=X, y=Y, seed=0, **more):
    return OnlineClassifier(learner, random_state=seed, **more).partial_fit(X, y)


def frame(*names):
    import pandas as pd

    return pd.DataFrame(X[:, : len(names)], columns=list(names))


CASES = {
    "empty": (lambda: [], r"^merge: models is empty: expected at least one fitted model\.$"),
    "learner": (
        lambda: [fitted(), fitted(rbp(K, budget=11))],
        r"^merge: models\[0\] and models\[1\] differ in the learner: .*10.* and .*11.*\.$",
    ),
    "seed": (
        lambda: [fitted(FOURIER), fitted(FOURIER, seed=1)],
        r"differ in the seed of the random features; give all models the same random_state: 0 and 1\.$",
    ),
    "dtype": (lambda: [fitted(), fitted(X=X.astype(np.float32))], "differ in the dtype of the rows"),
    "columns": (
        lambda: [fitted(), fitted(X=X[:, :2])],
        r"^merge: models\[0\] has 3 columns, and models\[1\] has 2\.$",
    ),
    "names": (
        lambda: [fitted(X=frame("a", "b")), fitted(X=frame("b", "a"))],
        "differ in the names of their columns",
    ),
    "some names": (
        lambda: [fitted(), fitted(X=frame("a", "b", "c"))],
        "differ in the names of their columns",
    ),
    "unfitted": (
        lambda: [fitted(), OnlineClassifier()],
        r"^merge: models\[1\] is not fitted: fit every model before merging\.$",
    ),
    "records": (
        lambda: [fitted(X=frame(*names), encoder=Encoder()) for names in (("a", "b"), ("b", "a"))],
        r"encode records differently: .*; start all models with the same rows, or use distributed.fit\.$",
    ),
    "stack": (
        lambda: [fitted(Mapped(Stack(RandomFourier(K, 9), Nystrom(K, 9)), OGD())) for _ in range(2)],
        "can only be stacked, and random features depend on the place in a stack: give the feature map a",
    ),
    "cells": (
        lambda: [fitted(Mapped(RandomBinning(Laplacian(1.0), 9), Kalman())) for _ in range(2)],
        r"the place in a stack: put cells into a Stacked learner, which keeps the best of them\.$",
    ),
    "task": (
        lambda: [OneByOne(RBP, n_features=3), OneByOne(RBP, n_features=3, n_classes=4)],
        "differ in the task",
    ),
}


@each("case", CASES)
def test_sentences(case):
    models, sentence = CASES[case]
    with pytest.raises(ValueError, match=sentence):
        merge(models())


@pytest.mark.parametrize(
    ("models", "sentence"),
    [
        (3, r"^merge: models must be a list of fitted models, got 3\.$"),
        (
            lambda: [3],
            r"^merge: models\[0\] must be an OnlineClassifier, an OnlineRegressor or a OneByOne, got 3\.$",
        ),
        (
            lambda: [fitted(), OnlineRegressor(RBP).fit(X, X[:, 0])],
            r"^merge: models\[1\] must be of the type of models\[0\], OnlineClassifier, got ",
        ),
    ],
    ids=["number", "numbers", "kinds"],
)
def test_types(models, sentence):
    with pytest.raises(TypeError, match=sentence):
        merge(models() if callable(models) else models)


def test_a_field_that_does_not_say_how_it_is_merged(monkeypatch):
    """A new part is refused by name until it says how."""
    models = [fitted(Mapped(RandomFourier(K, 9), AdaGrad())) for _ in range(2)]
    ways = models[0].fitted_.model.merged_fields()
    assert ways["adagrad.G.0"] == "sum"
    monkeypatch.setattr(Model, "merged_fields", lambda _: ways | {"adagrad.G.0": "unsaid"})
    with pytest.raises(ValueError, match=r"nothing says how to merge their field adagrad\.G\.0\.$"):
        merge(models)


def test_records_of_the_same_columns_merge():
    records = [{"a": float(x), "b": "yes" if x > 0 else "no"} for x in X[:, 0]]
    start = OnlineClassifier(random_state=0).start(records, classes=[0, 1])
    model = merge([deepcopy(start).partial_fit(records[i::2], Y[i::2]) for i in range(2)])
    assert (model.predict(records) == Y).mean() > 0.9


def test_models_of_single_rows_that_grew():
    """Columns that one model has not met were 0 in its rows; other first columns have other features."""
    a, b, c = (OneByOne(FOURIER, n_features=n) for n in (2, 2, 3))
    for i in range(20):
        a.learn_one(X[i, :2], 2 * Y[i] - 1)
        c.learn_one(X[i], 2 * Y[i] - 1)
    b.widen(3)
    for i in range(20, 40):
        b.learn_one(X[i], 2 * Y[i] - 1)
    assert merge([a, b]).n_features == 3
    with pytest.raises(ValueError, match="were built for 2 and 3 columns, so that their features differ"):
        merge([a, c])
