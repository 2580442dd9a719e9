"""Every algorithm of the library, found by looking: what tests that hold for all of them run over."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np

from budgetron import Gaussian, Mapped, OnlineClassifier, OnlineRegressor, RemoveSmallest, algorithms
from budgetron.kernels import Kernel
from budgetron.learners import Learner

FILLED = {
    "beta": 60.0,
    "budget": 10,
    "inner": RemoveSmallest(10),
    "learner": algorithms.perceptron(Gaussian(0.5)),
    "rank": 4,
}
TASKS = ("binary", "multiclass", "regression")


def parameters(name: str) -> set[str]:
    """The names of what an algorithm can be told."""
    return set(inspect.signature(getattr(algorithms, name)).parameters)


def make(name: str, kernel: Kernel | None = None, **kwargs: Any) -> Learner:
    """The algorithm of that name on the kernel, with a small budget and rank where it takes them."""
    filled = {key: value for key, value in FILLED.items() if key in parameters(name)}
    return getattr(algorithms, name)(Gaussian(0.5) if kernel is None else kernel, **(filled | kwargs))


def budgeted() -> list[str]:
    """The algorithms that keep to a budget; that of nbsgd only begins there."""
    return [name for name in algorithms.__all__ if "budget" in parameters(name) and name != "nbsgd"]


@cache
def classifiers() -> tuple[str, ...]:
    """The algorithms that are defined for classification, if only with two classes."""
    return tuple(name for name in algorithms.__all__ if _accepted(OnlineClassifier(make(name)), [0, 1, 1]))


@cache
def multiclass() -> tuple[str, ...]:
    """The algorithms that are defined for more than two classes."""
    return tuple(name for name in classifiers() if _accepted(OnlineClassifier(make(name)), [0, 1, 2]))


@cache
def regressors() -> tuple[str, ...]:
    """The algorithms that are defined for regression."""
    return tuple(name for name in algorithms.__all__ if _accepted(OnlineRegressor(make(name)), [0, 1, 1]))


def _accepted(model: OnlineClassifier | OnlineRegressor, y: list[int]) -> bool:
    try:
        model.fit([[0.0], [1.0], [2.0]], y)
    except ValueError as refusal:
        if "defined for" not in str(refusal):
            raise
        return False
    return True


def cases() -> list[tuple[str, str]]:
    """Every (task, algorithm) that there is."""
    members = {"binary": classifiers(), "multiclass": multiclass(), "regression": regressors()}
    return [(task, name) for task in TASKS for name in members[task]]


def expansions() -> list[tuple[str, str]]:
    """Those of the cases whose model is made of support vectors, not of explicit features."""
    return [(task, name) for task, name in cases() if not isinstance(make(name), Mapped)]


def estimator(task: str, learner: str | Learner, **kwargs: Any) -> Any:
    """The estimator of a task, by an algorithm's name or with a learner, on a fixed seed."""
    learner = make(learner) if isinstance(learner, str) else learner
    kwargs.setdefault("random_state", 0)
    return (OnlineRegressor if task == "regression" else OnlineClassifier)(learner, **kwargs)


def data(task: str, n: int = 80, *, seed: int = 0, features: int = 3) -> tuple[Any, Any]:
    """Rows with some zeros in them, and labels or targets that are not linear in them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)) * (rng.random((n, features)) < 0.7)
    r = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n)
    if task == "regression":
        return X, r
    return X, np.digitize(r, [0] if task == "binary" else [-0.5, 0.5])


def start(model: Any, task: str, X: Any, y: Any, **kwargs: Any) -> Any:
    """The first ``partial_fit``, which tells a classifier what labels there are."""
    classes = {} if task == "regression" else {"classes": [0, 1] if task == "binary" else [0, 1, 2]}
    return model.partial_fit(X, y, **classes, **kwargs)


def fitted(task: str = "binary", learner: str | Learner = "rbp", n: int = 40) -> Any:
    """A small model in mid-stream."""
    X, y = data(task, n)
    return start(estimator(task, learner), task, X, y)


def scores(model: Any, X: Any) -> Any:
    """f(x), of either estimator."""
    return getattr(model, "decision_function", model.predict)(X)


def same_state(one: Any, other: Any) -> bool:
    """Whether two fitted estimators hold the same model, bit for bit."""
    return bits(one) == bits(other)


def bits(model: Any) -> dict[str, tuple[str, bytes]]:
    """A fitted estimator's model, as something that can be compared later."""
    return {name: (a.dtype.str, a.tobytes()) for name, a in model._model.state().items()}
