"""One run of a cell of a table: what its learner depends on, how it is run, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from time import thread_time
from typing import Any

import numpy as np
from sklearn.base import clone

from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.learners.learner import Learner
from budgetron_reproduction.preparation import Rows
from budgetron_reproduction.printed import Cell, Table


@dataclass(frozen=True)
class Case:
    """What the learner of a cell depends on: the cell, the training rows n, the budget, the settings.

    ``case["eta"]`` is the setting ``eta``.
    """

    cell: Cell
    n: int
    budget: int | None
    setting: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.setting[name]

    @property
    def B(self) -> int:
        """The budget, for cells that have one."""
        assert self.budget is not None
        return self.budget


MakeLearner = Callable[[Case], Any]
"""Makes the learner of a case: one of budgetron's, or a scikit-learn estimator for the batch methods."""


@dataclass(frozen=True)
class Outcome:
    """The result of one run: the table's measure, seconds of training and testing, support vectors.

    Seconds are processor time of the run's thread, so that other programs do not count.
    """

    value: float
    seconds: float
    support: float | None = None
    test_seconds: float | None = None

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Outcome:
        """The inverse of `as_dict`; ValueError or TypeError if the values are not those of an outcome."""
        return cls(**{name: float(value) for name, value in kept.items()})

    def as_dict(self) -> dict[str, Any]:
        """The outcome for JSON; fields that are None are omitted."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def online(table: Table, model: Any, rows: Rows, seed: int) -> Outcome:
    """One pass: predict each row, then learn it. Measures mistakes in percent, or mean squared error."""
    X, y = rows
    estimator = _estimator(table, model, seed)
    start = thread_time()
    predictions = estimator.progressive_predict(X, y)
    seconds = thread_time() - start
    value = (
        _squared(predictions, y) if table.task == "regression" else 100 * float(np.mean(predictions != y))
    )
    return Outcome(value, seconds, _support(estimator))


def batch(table: Table, model: Any, training: Rows, testing: Rows, seed: int) -> Outcome:
    """One pass over the training rows, then predict the test rows.

    Measures accuracy in percent, or the root of the mean squared error.
    """
    estimator = _estimator(table, model, seed)
    start = thread_time()
    estimator.fit(*training)
    learnt = thread_time()
    predictions = estimator.predict(testing[0])
    tested = thread_time()
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
    """The number of support vectors, for budgetron's estimators and SVC; else None."""
    count = getattr(estimator, "n_support_", None)
    return float(np.sum(count)) if count is not None else None
