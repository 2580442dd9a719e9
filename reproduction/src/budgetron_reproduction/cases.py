"""A cell of a table about to be run, and one run of it in the table's protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.learners import Learner
from budgetron_reproduction.preparation import Rows
from budgetron_reproduction.printed import Cell, Table


@dataclass(frozen=True)
class Case:
    """What the learner of a cell may depend on: the cell, the rows it learns from, and its settings.

    ``case["eta"]`` is a setting.
    """

    cell: Cell
    n: int
    budget: int | None
    setting: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.setting[name]

    @property
    def B(self) -> int:
        """The budget of a cell that has one."""
        assert self.budget is not None
        return self.budget


Makes = Callable[[Case], Any]
"""From a case to its learner, or to a scikit-learn estimator for what is not ours."""


@dataclass(frozen=True)
class Outcome:
    """What one run gave: the measure of its table, seconds of learning and testing, support vectors."""

    value: float
    seconds: float
    support: float | None = None
    test_seconds: float | None = None

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Outcome:
        """The outcome that `as_dict` was taken of; ValueError or TypeError for what is none."""
        return cls(**{name: float(value) for name, value in kept.items()})

    def as_dict(self) -> dict[str, Any]:
        """As JSON takes it; what is None is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def online(table: Table, model: Any, rows: Rows, seed: int) -> Outcome:
    """One pass: every row is predicted, then learnt; mistakes in percent, or the mean squared error."""
    X, y = rows
    estimator = _estimator(table, model, seed)
    start = perf_counter()
    predictions = estimator.progressive_predict(X, y)
    seconds = perf_counter() - start
    value = (
        _squared(predictions, y) if table.task == "regression" else 100 * float(np.mean(predictions != y))
    )
    return Outcome(value, seconds, _support(estimator))


def batch(table: Table, model: Any, training: Rows, testing: Rows, seed: int) -> Outcome:
    """One pass over the training rows, then the test rows; accuracy in percent, or the root of the mean
    squared error.
    """
    estimator = _estimator(table, model, seed)
    start = perf_counter()
    estimator.fit(*training)
    learnt = perf_counter()
    predictions = estimator.predict(testing[0])
    tested = perf_counter()
    y = testing[1]
    value = (
        float(np.sqrt(_squared(predictions, y)))
        if table.task == "regression"
        else 100 * float(np.mean(predictions == y))
    )
    return Outcome(value, learnt - start, _support(estimator), tested - learnt)


def _estimator(table: Table, model: Any, seed: int) -> Any:
    if not isinstance(model, Learner):
        return clone(model)
    kind = OnlineRegressor if table.task == "regression" else OnlineClassifier
    return kind(model, random_state=seed)


def _squared(predictions: Any, y: Any) -> float:
    return float(np.mean((predictions - y) ** 2))


def _support(estimator: Any) -> float | None:
    """Support vectors, of ours and of SVC; None where there are none."""
    count = getattr(estimator, "n_support_", None)
    return float(np.sum(count)) if count is not None else None
