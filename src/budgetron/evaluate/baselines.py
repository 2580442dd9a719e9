"""Models of other libraries as baselines: scikit-learn's with ``partial_fit``, and river's."""

import copy
from collections.abc import Callable, Iterator
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


def is_baseline(model: Any) -> bool:
    """Whether a model has ``partial_fit``, or ``learn_one`` and ``predict_one``."""
    return _takes_rows(model) or callable(getattr(model, "partial_fit", None))


def _takes_rows(model: Any) -> bool:
    return all(callable(getattr(model, name, None)) for name in ("learn_one", "predict_one"))


def run(
    model: Any,
    rows: Block,
    *,
    every: int,
    metrics: tuple[str, ...],
    window: int,
    targets: bool,
    delay: int = 0,
) -> Iterator[Record]:
    """Predict each row, then learn it, with a fresh copy of the model. Yields records as a session does."""
    step = _step(_fresh(model), rows.X, rows.y, targets, rows.weights)
    measured = ProgressiveMetrics(Metrics(metrics, targets=targets, window=window))
    seconds = 0.0
    for start in range(0, len(rows), every):
        stop = min(start + every, len(rows))
        began, predicted = thread_time(), []
        for i in range(start, stop):
            predicted.append(step.predict(i))
            if i >= delay:
                step.learn(i - delay)
        seconds += thread_time() - began
        measured.add(Learned(_like(rows.y, predicted), [], rows.y[start:stop]), None)
        yield measured.record(seconds)


class _Step:
    """Predict and learn one row by its number."""

    def __init__(self, predict: Callable[[int], Any], learn: Callable[[int], object]) -> None:
        self.predict, self.learn = predict, learn


def _step(model: Any, X: Any, y: Any, targets: bool, weights: Any) -> _Step:
    if _takes_rows(model):
        rows = list(X.records()) if isinstance(X, Table) else _dicts(X)
        classes = [] if targets else np.unique(y).tolist()
        if len(classes) == 2:  # river's binary models know True and False only
            labels, names = (y == classes[1]).tolist(), {False: classes[0], True: classes[1], None: None}
            named = names.__getitem__
        else:
            labels, named = y.tolist(), _same

        def learn_one(i: int) -> None:
            model.learn_one(rows[i], labels[i], **({} if weights is None else {"w": float(weights[i])}))

        return _Step(lambda i: named(model.predict_one(rows[i])), learn_one)
    X = np.nan_to_num(Encoder().build().encode(X)[0]) if isinstance(X, Table) else X
    more: dict[str, Any] = {} if targets else {"classes": np.unique(y)}
    begun = False

    def predict(i: int) -> Any:
        return model.predict(X[i : i + 1])[0] if begun else None

    def learn(i: int) -> None:
        nonlocal begun
        own = more if weights is None else more | {"sample_weight": weights[i : i + 1]}
        model.partial_fit(X[i : i + 1], y[i : i + 1], **own)
        begun = True

    return _Step(predict, learn)


def _same(label: Any) -> Any:
    return label


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
        return np.array([0.0 if p is None else p for p in predicted], dtype=np.float64)
    if y.dtype.kind in "iub":
        return np.array([-(2**62) if p is None else p for p in predicted])
    return np.array(["" if p is None else p for p in predicted], dtype=object)


def _fresh(model: Any) -> Any:
    """An unfitted copy."""
    if isinstance(model, BaseEstimator):
        return clone(model)
    if callable(getattr(model, "clone", None)):
        return model.clone()
    return copy.deepcopy(model)
