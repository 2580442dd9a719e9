"""What the workers do with their parts: look at them, learn them, and merge models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron._util.text import shown
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.estimators.input import Input, learner_of
from budgetron.estimators.online import start, unfitted
from budgetron.merging.models import merge
from budgetron.model.labels import KnownLabels, checked_labels, given_classes, unique
from budgetron.records.encoder import Encoder
from budgetron.records.encoding import Encoding
from budgetron.records.reading import is_frame, to_table

Estimator = OnlineClassifier | OnlineRegressor

HEAD = 1000
"""Parameters such as gamma="scale" are computed from this many rows of the first part."""


@dataclass
class Survey:
    """What all models must agree on before they learn: the labels, and the columns of records.

    ``first`` is the number of the first part that has rows.
    """

    first: int | None = None
    labels: Any = None
    encoding: Encoding | None = None


def survey(estimator: Estimator, X: Any, y: Any, number: int) -> Survey:
    """The labels and the columns of one part."""
    with _named(number):
        rows, labels = _rows(X, y)
        if len(labels) == 0:
            return Survey()
        survey = Survey(number)
        if isinstance(estimator, OnlineClassifier):
            survey.labels = unique(checked_labels(np.asarray(labels)))
    if Input(estimator, None).takes_records(rows):
        table = to_table(rows)
        survey.encoding = (estimator.encoder or Encoder()).build().decided(table)
        survey.encoding.encode(table)
    return survey


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
        encoding.join(other)
    return Survey(first, known, encoding)


def started(
    estimator: Estimator, seed: int, survey: Survey, classes: Any, X: Any, y: Any, number: int
) -> Estimator:
    """The model with which every part begins: it has learned nothing, and knows all labels and columns.

    The seed is drawn by the client: if a worker is lost, Dask runs this task again.
    """
    with _named(number):
        rows, _ = _rows(X, y)
    head = rows.iloc[:HEAD] if hasattr(rows, "iloc") else rows[:HEAD]
    labels = None
    if isinstance(estimator, OnlineClassifier):
        labels = given_classes(classes) if classes is not None else KnownLabels(survey.labels, fixed=False)
    model: Estimator = unfitted(estimator)
    model.random_state = seed
    if survey.encoding is not None:
        survey.encoding.fixed = True  # as long as the parts are learned
        head, _ = survey.encoding.encode(to_table(head), grow=False)
        model.learner = learner_of(model).resolved(head)
    start(model, head, labels, survey.encoding)
    model.learner, model.random_state = estimator.learner, estimator.random_state
    return model


def learned(started: Estimator, X: Any, y: Any, number: int) -> Estimator | None:
    """The model of one part; None if that has no rows."""
    with _named(number):
        rows, labels = _rows(X, y)
        return deepcopy(started).partial_fit(rows, labels) if len(labels) else None


def merged(models: Sequence[Estimator | None]) -> Estimator | None:
    """The merged model; None if no part had rows."""
    there = [model for model in models if model is not None]
    return _free_again(merge(there)) if there else None


def _free_again(model: Estimator) -> Estimator:
    """The model, whose columns were fixed while its parts were learned."""
    if (encoding := model.encoding_) is not None:
        encoding = encoding.copy()
        encoding.fixed = False
        model.fitted_ = replace(model.fitted_, encoding=encoding)
    return model


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Errors name the part."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"distributed.fit, part {number}: {error}") from error


def _rows(X: Any, y: Any) -> tuple[Any, Any]:
    """The rows and labels of a part."""
    if isinstance(y, str) and is_frame(X):
        return X.drop(columns=y), X[y].to_numpy()
    if y is None or isinstance(y, str):
        pairs = [_pair(record, y) for record in X]
        given = [label for _, label in pairs]
        check.one_kind("y", given)
        return [record for record, _ in pairs], np.array(given)
    labels = np.asarray(y)
    rows = X if hasattr(X, "shape") else np.asarray(X)
    if rows.shape[0] != len(labels):
        raise ValueError(f"{rows.shape[0]} rows and {len(labels)} labels.")
    return rows, labels


def _pair(record: Any, target: str | None) -> tuple[Any, Any]:
    if target is None:
        if isinstance(record, tuple | list) and len(record) == 2:
            return record[0], record[1]
        raise ValueError(
            "the bag must hold pairs (record, label), or y be the name of the label in its records."
        )
    if not isinstance(record, Mapping):
        raise ValueError(f"a record must be a dict, got {shown(record)}.")
    if target not in record:
        raise ValueError(f"a record has no {target!r}.")
    return {name: value for name, value in record.items() if name != target}, record[target]
