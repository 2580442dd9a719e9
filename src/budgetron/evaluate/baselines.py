"""Models of other libraries as baselines: scikit-learn's with ``partial_fit``, and river's."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from time import thread_time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from budgetron.evaluate.metrics import Metrics
from budgetron.evaluate.progressive import Learned, ProgressiveMetrics
from budgetron.evaluate.record import Record
from budgetron.records.encoder import Encoder
from budgetron.records.table import Table
from budgetron.streams import Block

Steps = tuple[Callable[[int], Any], Callable[[int], None]]
"""Functions that predict and that learn a row, by its number."""


def is_baseline(model: Any) -> bool:
    """Whether a model has ``partial_fit``, or ``learn_one`` and ``predict_one``."""
    return _takes_rows(model) or callable(getattr(model, "partial_fit", None))


def _takes_rows(model: Any) -> bool:
    return all(callable(getattr(model, name, None)) for name in ("learn_one", "predict_one"))


def run(
    model: Any,
    rows: Block,
    encoder: Encoder | None = None,
    *,
    every: int,
    metrics: tuple[str, ...],
    window: int,
    targets: bool,
    delay: int = 0,
) -> Iterator[Record]:
    """Predict each row, then learn it, with a fresh copy of the model. Yields records as a session does."""
    steps = _row_by_row if _takes_rows(model) else _partial_fits
    if steps is _partial_fits and isinstance(rows.X, Table):
        encoding = (encoder or Encoder()).build()
        rows = replace(rows, X=np.nan_to_num(encoding.encode(rows.X)[0]))
    predict, learn = steps(_fresh(model), rows, targets)
    measured = ProgressiveMetrics(Metrics(metrics, targets=targets, window=window))
    seconds = 0.0
    for start in range(0, len(rows), every):
        stop = min(start + every, len(rows))
        began, predicted = thread_time(), []
        for i in range(start, stop):
            predicted.append(predict(i))
            if i >= delay:
                learn(i - delay)
        seconds += thread_time() - began
        measured.add(Learned(_like(rows.y, predicted), [], rows.y[start:stop]), None)
        yield measured.record(seconds)


def _row_by_row(model: Any, rows: Block, targets: bool) -> Steps:
    """For a model with ``learn_one`` and ``predict_one``."""
    X = list(rows.X.records()) if isinstance(rows.X, Table) else _dicts(rows.X)
    classes = [] if targets else np.unique(rows.y).tolist()
    binary = len(classes) == 2  # river's binary models know True and False only
    labels = (rows.y == classes[1] if binary else rows.y).tolist()
    names = {False: classes[0], True: classes[1], None: None} if binary else {}

    def predict(i: int) -> Any:
        label = model.predict_one(X[i])
        return names[label] if binary else label

    def learn(i: int) -> None:
        model.learn_one(X[i], labels[i], **({} if rows.weights is None else {"w": float(rows.weights[i])}))

    return predict, learn


def _partial_fits(model: Any, rows: Block, targets: bool) -> Steps:
    """For a model of scikit-learn."""
    X = rows.X
    more: dict[str, Any] = {} if targets else {"classes": np.unique(rows.y)}
    begun = False

    def predict(i: int) -> Any:
        return model.predict(X[i : i + 1])[0] if begun else None

    def learn(i: int) -> None:
        nonlocal begun
        weight = {} if rows.weights is None else {"sample_weight": rows.weights[i : i + 1]}
        model.partial_fit(X[i : i + 1], rows.y[i : i + 1], **more, **weight)
        begun = True

    return predict, learn


def _dicts(X: Any) -> list[dict[int, float]]:
    """Rows as dicts of column number to value; zeros of sparse rows are left out."""
    if sparse.issparse(X):
        ends = X.indptr.tolist()
        pairs = list(zip(X.indices.tolist(), X.data.tolist(), strict=True))
        return [dict(pairs[i:j]) for i, j in pairwise(ends)]
    return [dict(enumerate(row)) for row in np.asarray(X).tolist()]


def _like(y: Any, predicted: list[Any]) -> Any:
    """The predictions as an array; those that a model does not make are 0, or a label that never occurs."""
    if y.dtype.kind == "f":
        return np.array([0.0 if label is None else label for label in predicted], dtype=np.float64)
    missing, dtype = (-(2**62), None) if y.dtype.kind in "iub" else ("", object)
    return np.array([missing if label is None else label for label in predicted], dtype=dtype)


def _fresh(model: Any) -> Any:
    """An unfitted copy."""
    if isinstance(model, BaseEstimator):
        return clone(model)
    if callable(getattr(model, "clone", None)):
        return model.clone()
    return copy.deepcopy(model)
