"""What the classifier and the regressor share.

An estimator of scikit-learn's kind is inside. It grows with new columns and labels and checks everything.
A row without anything new goes past it, to what it has learned.
"""

from __future__ import annotations

import sys
from math import inf
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron._util.threads import learning_lock
from budgetron.estimators.online import Online
from budgetron.learners.automatic import Auto
from budgetron.learners.learner import Learner
from budgetron.model.batch import not_empty
from budgetron.model.fitted import Fitted
from budgetron.records.encoder import Encoder
from budgetron.records.encoding import Encoding
from budgetron.records.table import Table
from budgetron.river.frames import checked_frame, values_of
from budgetron.river.records import (
    AbsentIsZero,
    in_order,
    refuse_missing,
    refuse_missing_cells,
    table_in_order,
)


class Streaming:
    """Base of the classifier and the regressor."""

    learner: Learner | None
    encoder: Encoder | None
    seed: int | None

    def __init__(
        self, learner: Learner | None = None, encoder: Encoder | None = None, seed: int | None = None
    ) -> None:
        self.learner = learner
        self.encoder = encoder
        self.seed = seed
        self._online: Online | None = None  # made when the first row comes

    @property
    def _fitted(self) -> Fitted | None:
        """What has been learned; None before the first row."""
        return getattr(self._online, "fitted_", None)

    def _estimator(self, learner: Learner, encoder: Encoder) -> Online:
        raise NotImplementedError

    def _begun(self) -> Online:
        """The estimator inside."""
        if self._online is None:
            learner = self._checked_learner()
            learner.resolved(np.empty((0, 1)))  # raises for gamma="scale", which needs a batch
            encoder = Encoder() if self.encoder is None else self.encoder
            check.instance(self, "encoder", encoder, Encoder)
            if not learner.accepts_missing:
                encoder = AbsentIsZero(**encoder.get_params(deep=False))
            self._online = self._estimator(learner, encoder)
        return self._online

    def _encoding(self) -> Encoding:
        """The columns that are known, or that none is."""
        online = self._begun()
        assert online.encoder is not None
        return online.encoding_ or online.encoder.build()

    def _checked_learner(self) -> Learner:
        return Auto() if self.learner is None else check.instance(self, "learner", self.learner, Learner)

    def _weight(self, w: Any) -> float:
        if type(w) is float and 0 <= w < inf:
            return w
        return check.non_negative(self, "w", w)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row; the weight ``w`` multiplies its loss."""
        if w != 1.0 and (w := self._weight(w)) == 0:
            return
        with learning_lock(self):
            fitted = getattr(self._online, "fitted_", None)
            if fitted is None or not fitted.learn_one(x, y, w):
                self._learn_new(x, y, w)

    def _learn_new(self, x: Any, y: Any, w: float) -> None:
        """Learn a row that may bring columns or a label, or that is refused."""
        record = in_order(x)
        refuse_missing(record, self._encoding())
        self._begun().partial_fit([record], labels_of([y]), sample_weight=None if w == 1.0 else [w])

    def _scores(self, fitted: Fitted, x: Any) -> list[float]:
        """The scores of x. Columns and values that were not learned yet are ignored."""
        scores = fitted.scores_one(x)
        if scores is not None:
            return scores
        encoding = fitted.encoding
        assert encoding is not None
        refuse_missing(x, encoding)
        missing = bool(np.isnan(encoding.absent))
        row = not_empty(encoding.encode_one(in_order(x), grow=False).reshape(1, -1), missing)
        if np.isinf(row).any():
            name = encoding.columns[int(np.argmax(np.isinf(row)))]
            raise ValueError(f"The feature {name!r} of x is not finite.")
        array = np.empty(fitted.model.task.outputs)
        if not fitted.model.score_row(row[0], array):
            raise ValueError("x gives a score that is not finite: scale the features.")
        return list(array.tolist())

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame in order; the model is that of ``learn_one`` row by row.

        Parameters
        ----------
        X : frame of pandas, polars or pyarrow
            One row per example.
        y : series or list
            The labels or targets.
        w : float, series or list
            The weight of all rows, or one for each.
        """
        with learning_lock(self):
            table, labels = self._table(X), values_of(y)
            if len(labels) != len(table):
                raise ValueError(f"X has {len(table)} rows, but y has {len(labels)} values.")
            if not len(table):
                return
            weights = self._weights(w, len(table))
            if weights is None or any(weight != 0 for weight in weights):
                self._begun().partial_fit(table, labels_of(labels), sample_weight=weights)

    def _weights(self, w: Any, rows: int) -> list[Any] | None:
        """The weights of the rows of a frame; None if all are 1."""
        if np.ndim(w) == 0 and not hasattr(w, "to_pylist"):
            return None if (weight := self._weight(w)) == 1.0 else [weight] * rows
        weights = values_of(w)
        if len(weights) != rows:
            raise ValueError(f"X has {rows} rows, but w has {len(weights)} values.")
        return weights

    def _table(self, X: Any) -> Table:
        table = table_in_order(X)
        refuse_missing_cells(X, table, self._encoding())
        return table

    def _rows(self, X: Any) -> Table | None:
        """The rows of a frame to be predicted; None if there are none, or nothing was learned yet."""
        checked_frame(X)
        table = None if self._fitted is None else self._table(X)
        return table if table is not None and len(table) else None

    @property
    def _raw_memory_usage(self) -> int:
        """The bytes of the native model and of the names of columns."""
        own, fitted = sys.getsizeof(self) + sys.getsizeof(vars(self)), self._fitted
        if fitted is None or fitted.encoding is None:
            return own
        return own + fitted.model.memory_bytes + fitted.encoding.memory_bytes


def labels_of(y: list[Any]) -> Any:
    """The labels as a column, also if they are tuples, which NumPy would take for rows."""
    if not (y and isinstance(y[0], tuple)):
        return y
    column = np.empty(len(y), dtype=object)
    for i, label in enumerate(y):
        column[i] = label
    return column
