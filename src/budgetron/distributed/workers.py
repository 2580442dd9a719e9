"""What the workers do with their parts: look at them, learn them, and merge models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron._util.text import shown
from budgetron.estimators import OnlineClassifier
from budgetron.merging.models import merge
from budgetron.model.labels import KnownLabels, checked_labels, given_classes, unique
from budgetron.records.encoder import Encoder
from budgetron.records.encoding import LONGEST, Encoding
from budgetron.records.reading import is_frame, to_table

HEAD = 1000
"""Parameters such as gamma="scale" are computed from this many rows of the first part."""

TOO_LONG = "x" * (LONGEST + 1)
"""A name or value that is always hashed."""


@dataclass
class Survey:
    """What all models must agree on before they learn: the labels, and the columns of records.

    ``first`` is the number of the first part that has rows.
    """

    first: int | None = None
    labels: Any = None
    encoding: Encoding | None = None


def survey(estimator: Any, X: Any, y: Any, number: int) -> Survey:
    """The labels and the columns of one part."""
    rows, labels = _rows(X, y, number)
    found = Survey()
    if len(labels) == 0:
        return found
    found.first = number
    if isinstance(estimator, OnlineClassifier):
        with _named(number):
            found.labels = unique(checked_labels(np.asarray(labels)))
    if estimator._takes_records(rows, True):
        found.encoding = (estimator.encoder or Encoder()).build()
        found.encoding.encode(to_table(rows))
    return found


def survey_all(surveys: Sequence[Survey]) -> Survey:
    """The labels and columns of several parts."""
    first = min((each.first for each in surveys if each.first is not None), default=None)
    labels = [each.labels for each in surveys if each.labels is not None]
    check.one_kind("distributed.fit: y", [label for each in labels for label in each[:1].tolist()])
    known = unique(np.concatenate(labels)) if labels else None
    encodings = [each.encoding for each in surveys if each.encoding is not None]
    if not encodings:
        return Survey(first, known)
    encoding = encodings[0].copy()
    for other in encodings[1:]:
        if records := list(_examples(other)):
            encoding.encode(to_table(records))
    return Survey(first, known, encoding)


def _examples(encoding: Encoding) -> Iterable[dict[str, Any]]:
    """Records with every column and value that has a place in an encoding, then some that are hashed."""
    for name, known in encoding._known.items():
        if known.times is not None:
            yield {name: datetime(2000, 1, 1, tzinfo=UTC)}
        if known.number is not None:
            yield {name: 0.0}
        for text in known.values:
            yield {name: text}
    for name, known in encoding._known.items():
        if known.hashed:
            yield {name: TOO_LONG}
    if encoding._others_hashed:
        yield {TOO_LONG: 0.0}


def started(estimator: Any, seed: int, found: Survey, classes: Any, X: Any, y: Any, number: int) -> Any:
    """The model with which every part begins: it has learned nothing, and knows all labels and columns.

    The seed is drawn by the client: if a worker is lost, Dask runs this task again.
    """
    rows, _ = _rows(X, y, number)
    head = rows.iloc[:HEAD] if hasattr(rows, "iloc") else rows[:HEAD]
    labels = None
    if isinstance(estimator, OnlineClassifier):
        labels = given_classes(classes) if classes is not None else KnownLabels(found.labels, fixed=False)
    fresh = estimator._unfitted_copy()
    fresh.random_state = seed
    if found.encoding is not None:
        sample, _ = found.encoding.encode(to_table(head), grow=False)
        learner = fresh._default_learner() if fresh.learner is None else fresh.learner
        fresh.learner = learner.resolved(sample)
        head = list(_examples(found.encoding))
    fresh._start(head, *([] if labels is None else [labels]))
    fresh.learner, fresh.random_state = estimator.learner, estimator.random_state
    return fresh


def learned(begun: Any, X: Any, y: Any, number: int) -> Any:
    """The model of one part; None if that has no rows."""
    rows, labels = _rows(X, y, number)
    if len(labels) == 0:
        return None
    model = deepcopy(begun)
    with _named(number):
        return model.partial_fit(rows, labels)


def merged(models: Sequence[Any]) -> Any:
    """The merged model; None if no part had rows."""
    there = [model for model in models if model is not None]
    return merge(there) if there else None


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Errors name the part."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"distributed.fit, part {number}: {error}") from error


def _rows(X: Any, y: Any, number: int) -> tuple[Any, Any]:
    """The rows and labels of a part."""
    if isinstance(y, str) and is_frame(X):
        return X.drop(columns=y), X[y].to_numpy()
    if y is None or isinstance(y, str):
        pairs = [_pair(record, y, number) for record in X]
        given = [label for _, label in pairs]
        with _named(number):
            check.one_kind("y", given)
        return [record for record, _ in pairs], np.array(given)
    labels = np.asarray(y)
    rows = X if hasattr(X, "shape") else np.asarray(X)
    if rows.shape[0] != len(labels):
        raise ValueError(f"distributed.fit, part {number}: {rows.shape[0]} rows and {len(labels)} labels.")
    return rows, labels


def _pair(record: Any, target: str | None, number: int) -> tuple[Any, Any]:
    if target is None:
        if isinstance(record, tuple | list) and len(record) == 2:
            return record[0], record[1]
        raise ValueError(
            f"distributed.fit, part {number}: the bag must hold pairs (record, label), or y be the name of "
            "the label in its records."
        )
    if not isinstance(record, Mapping):
        raise ValueError(f"distributed.fit, part {number}: a record must be a dict, got {shown(record)}.")
    if target not in record:
        raise ValueError(f"distributed.fit, part {number}: a record has no {target!r}.")
    return {name: value for name, value in record.items() if name != target}, record[target]
