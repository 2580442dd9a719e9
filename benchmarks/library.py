"""The runs of this library in the benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from budgetron import Gaussian, OneByOne, OnlineClassifier, algorithms
from budgetron.learners.learner import Learner

GAMMA = 1 / 128  # sigma = 8
D = 400  # Fourier frequencies


def learner(name: str, **settings: Any) -> Learner:
    """The algorithm of that name with a Gaussian kernel of width 8."""
    return getattr(algorithms, name)(Gaussian(GAMMA), **settings)


def mistakes(what: Learner, X: Any, y: np.ndarray) -> float:
    """The rate of mistakes of one ``progressive_predict`` call of an estimator."""
    predictions = OnlineClassifier(what, random_state=0).progressive_predict(X, y)
    return float(np.mean(predictions != y))


def row_by_row(what: Learner, X: np.ndarray, y: np.ndarray) -> float:
    """The same in one native call, but without look-ahead."""
    model = OneByOne(what, X.shape[1], dtype=X.dtype)
    model.engine.look_ahead = 1
    return float(np.mean(np.where(model.learn(X, y).ravel() >= 0, 1, -1) != y))


def by_handle(what: Learner, X: np.ndarray, y: np.ndarray) -> float:
    """The same with one ``learn_one`` call per row."""
    model = OneByOne(what, X.shape[1], dtype=X.dtype)
    return sum((model.learn_one(x, t) >= 0) != (t > 0) for x, t in zip(X, y, strict=True)) / len(X)


def by_estimator(what: Learner, X: np.ndarray, y: np.ndarray) -> float:
    """The same with one ``progressive_predict`` call per row."""
    model = OnlineClassifier(what, random_state=0)
    model.partial_fit(X[:1], y[:1], classes=[-1.0, 1.0])
    wrong = [model.progressive_predict(X[i : i + 1], y[i : i + 1])[0] != y[i] for i in range(1, len(X))]
    return float(np.mean(wrong))


def contestants(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[int, Callable[[], float]]]:
    """Name, number of rows and run of each of our entries in the table."""
    single = X.astype(np.float32)
    budgeted = ("rbp", "forgetron", "projectron", "bpa_s", "bpa_nn", "bogd", "bogd_pp")
    table = {f"{name}, B=100": learner(name, budget=100) for name in budgeted}
    table["nogd, B=100"] = learner("nogd", budget=100, rank=20, eta=0.2)
    table["rbp, B=1000"] = learner("rbp", budget=1000)
    table[f"fogd, D={D}"] = learner("fogd", components=D, eta=0.5)
    runs = {name: (len(X), partial(mistakes, what, X, y)) for name, what in table.items()}
    for name in ("rbp, B=1000", f"fogd, D={D}"):
        runs[f"{name}, float32"] = (len(X), partial(mistakes, table[name], single, y))
    few, rbp = 5000, table["rbp, B=100"]
    runs["rbp, B=100, OneByOne"] = (few, partial(by_handle, rbp, X[:few], y[:few]))
    runs["rbp, B=100, estimator by rows"] = (few, partial(by_estimator, rbp, X[:few], y[:few]))
    return runs
