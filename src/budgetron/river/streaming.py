"""What the classifier and the regressor share: from a dict to the native model and back.

An estimator of scikit-learn's kind is inside. It grows with new columns and labels and checks everything.
A row without anything new goes past it, straight to the native model.
"""

from __future__ import annotations

import sys
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np

from budgetron._util import check
from budgetron._util.text import shown
from budgetron._util.threads import learning_lock
from budgetron.estimators.online import Online
from budgetron.learners.automatic import Auto
from budgetron.learners.learner import Floats, Learner
from budgetron.model.batch import not_empty
from budgetron.model.labels import KnownLabels
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


class Now(NamedTuple):
    """The parts of a model that belong together; replaced as one when the model grows."""

    encoding: Encoding
    native: Any
    n_features: int
    outputs: int
    labels: KnownLabels | None
    core_numbers: dict[Any, float]
    scratch: Floats  # for scores before a step, which nobody reads

    @classmethod
    def of(cls, online: Online) -> Self:
        """The parts of a fitted estimator."""
        fitted = online.fitted_
        model, labels = fitted.model, fitted.labels
        assert fitted.encoding is not None
        numbers = {} if labels is None else labels.core_numbers
        outputs = model.task.outputs
        return cls(
            fitted.encoding, model._native, model.n_features, outputs, labels, numbers, np.empty(outputs)
        )

    def known_row(self, x: Any) -> Floats | None:
        """The row of x if it has nothing new, else None."""
        row = self.encoding.like_the_last(x)
        if row is None:
            refuse_missing(x, self.encoding)
            row = self.encoding.known_one(x)
        return row if row is not None and len(row) == self.n_features else None

    def scores(self, x: Any) -> list[float]:
        """The scores of x. Columns and values that were not learned yet are ignored."""
        scores, last = np.empty(self.outputs), self.encoding.last
        if last is not None and last.width == self.n_features and self.native.score_record(last, x, scores):
            return scores.tolist()
        row = self.known_row(x)
        if row is None:
            missing = bool(np.isnan(self.encoding.absent))
            rows = self.encoding.encode_one(in_order(x), grow=False).reshape(1, -1)
            row = not_empty(rows, missing)[0, : self.n_features].copy()
        if not self.native.score_one(row, scores):
            self._refuse(x, row)
        return scores.tolist()

    def _refuse(self, x: Any, row: Floats) -> None:
        refuse_missing(x, self.encoding)
        if np.isinf(row).any():
            name = self.encoding.columns[int(np.argmax(np.isinf(row)))]
            raise ValueError(f"The feature {name!r} of x is not finite.")
        raise ValueError("x gives a score that is not finite: scale the features.")


class Kept:
    """What a model learned: the estimator, and its parts. Copies and pickles make the parts anew."""

    def __init__(self, online: Any = None) -> None:
        self.online = online
        self.now: Now | None = None

    def renew(self) -> None:
        """Take the parts of the estimator as it is now."""
        if self.online is not None and self.online.__sklearn_is_fitted__():
            self.now = Now.of(self.online)

    def __getstate__(self) -> dict[str, Any]:
        return {"online": self.online}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.online, self.now = state["online"], None
        self.renew()


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
        self._kept = Kept()

    def _estimator(self, learner: Learner, encoder: Encoder) -> Online:
        raise NotImplementedError

    def _begun(self) -> Any:
        """The estimator inside; made when the first row comes."""
        if self._kept.online is None:
            learner = self._checked_learner()
            learner.resolved(np.empty((0, 1)))  # raises for gamma="scale", which needs a batch
            encoder = Encoder() if self.encoder is None else self.encoder
            check.instance(self, "encoder", encoder, Encoder)
            if not learner.accepts_missing:
                encoder = AbsentIsZero(**encoder.get_params(deep=False))
            self._kept.online = self._estimator(learner, encoder)
        return self._kept.online

    def _checked_learner(self) -> Learner:
        return Auto() if self.learner is None else check.instance(self, "learner", self.learner, Learner)

    def _weight(self, w: Any) -> float:
        if type(w) is float and 0 <= w < inf:
            return w
        return check.non_negative(self, "w", w)

    def _learn_known(self, x: Any, number: float | None, w: float) -> bool:
        """Learn a row without anything new in it. Returns False, with nothing changed, for any other."""
        now = self._kept.now
        if now is None or number is None:
            return False
        last = now.encoding.last
        if (
            last is not None
            and last.width == now.n_features
            and now.native.learn_record(last, x, number, now.scratch, w)
        ):
            return True
        row = now.known_row(x)
        return row is not None and now.native.learn_one(row, number, now.scratch, w)

    def _learn_new(self, x: Any, y: Any, w: float) -> None:
        """Learn a row that may bring columns or a label, or that is refused."""
        record, online = in_order(x), self._begun()
        refuse_missing(record, online.encoding_ or online.encoder.build())
        self._learn_batch([record], [y], None if w == 1.0 else [w])

    def _learn_batch(self, X: Any, y: list[Any], weights: Any) -> None:
        online = self._begun()
        try:
            online.partial_fit(X, labels_of(y), sample_weight=weights)
        finally:
            self._kept.renew()

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
                self._learn_batch(table, labels, weights)

    def _weights(self, w: Any, rows: int) -> list[Any] | None:
        """The weights of the rows of a frame; None if all are 1."""
        if np.ndim(w) == 0 and not hasattr(w, "to_pylist"):
            return None if (weight := self._weight(w)) == 1.0 else [weight] * rows
        weights = values_of(w)
        if len(weights) != rows:
            raise ValueError(f"X has {rows} rows, but w has {len(weights)} values.")
        return weights

    def _table(self, X: Any) -> Table:
        table, online = table_in_order(X), self._begun()
        refuse_missing_cells(X, table, online.encoding_ or online.encoder.build())
        return table

    def _fitted(self, X: Any) -> tuple[Any, Table | None]:
        """The estimator as it is now and the rows of a frame; None for what there is not yet."""
        now, online = self._kept.now, self._kept.online
        checked_frame(X)
        if now is None:
            return None, None
        table = table_in_order(X)
        refuse_missing_cells(X, table, now.encoding)
        return online._snapshot(), table if len(table) else None

    @property
    def _raw_memory_usage(self) -> int:
        """The bytes of the native model and of the names of columns."""
        own, now = sys.getsizeof(self) + sys.getsizeof(vars(self)), self._kept.now
        return own if now is None else own + self._kept.online.memory_bytes_ + now.encoding.memory_bytes


def labels_of(y: list[Any]) -> Any:
    """The labels as a column, also if they are tuples, which NumPy would take for rows."""
    if not (y and isinstance(y[0], tuple)):
        return y
    column = np.empty(len(y), dtype=object)
    for i, label in enumerate(y):
        column[i] = label
    return column


def unknown_label(y: Any) -> TypeError:
    """The refusal of a label that no dict can hold."""
    return TypeError(f"y must be a label, such as a text, a number or a bool, got {shown(y)}.")
