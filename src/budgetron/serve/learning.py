"""A group of requests, learned on a copy of the model. A refused request leaves no trace in the copy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetron._util.errors import RefusedRow
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.model.labels import Scored
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows, joined

Estimator = OnlineClassifier | OnlineRegressor
REFUSALS = (ValueError, TypeError)  # what estimators raise for rows that they do not take


@dataclass(frozen=True)
class Learned:
    """The predictions of rows before they were learned, the scores behind them, and the labels."""

    predicted: Any
    pieces: list[Scored]
    y: Any


def copied(estimator: Estimator) -> Estimator:
    """A copy that learns by itself."""
    made = estimator._snapshot()
    if made.__sklearn_is_fitted__():
        made.fitted_ = made.fitted_.copy()
    return made


def learn_group(
    base: Estimator, requests: Sequence[Rows], limits: Limits
) -> tuple[Estimator, list[Learned | Problem]]:
    """Learn the requests in order on a copy of ``base``; returns the copy, and what became of each."""
    work = copied(base)
    try:
        return work, [each for run in _runs(requests) for each in _learn_run(work, run, limits)]
    except REFUSALS:
        pass  # one of the requests: find it
    work, outcomes = copied(base), list[Learned | Problem]()
    for rows in requests:
        before = copied(work) if len(rows) > 1 else work  # one row is learned whole or not at all
        try:
            outcomes.extend(_learn_run(work, [rows], limits))
        except REFUSALS as error:
            outcomes.append(refusal(error))
            work = before
    return work, outcomes


def refusal(error: Exception) -> Problem:
    """The problem of a request that an estimator refuses."""
    members: dict[str, Any] = {"row": error.row} if isinstance(error, RefusedRow) else {}
    return Problem("bad-row", " ".join(str(error).split())[:500], **members)


def _runs(requests: Sequence[Rows]) -> Iterator[list[Rows]]:
    """Neighbouring requests that can be learned in one call."""
    run: list[Rows] = []
    for rows in requests:
        if run and not run[-1].joins(rows):
            yield run
            run = []
        run.append(rows)
    if run:
        yield run


def _learn_run(work: Estimator, run: list[Rows], limits: Limits) -> list[Learned]:
    """Predict and learn each row. The division into calls does not change the model by one bit."""
    rows = joined(run)
    assert rows.y is not None
    _refuse_classes(work, rows.y, limits)
    predicted, pieces = _known(work, rows) or work._progressive(rows.X, rows.y)
    y = np.asarray(rows.y)
    if len(run) == 1:
        return [Learned(predicted, pieces, y)]
    found, at = list[Learned](), 0
    for part, own in zip(run, _divided(pieces, list(map(len, run))), strict=True):
        cut = slice(at, at + len(part))
        found.append(Learned(predicted[cut], own, y[cut]))
        at = cut.stop
    return found


def _known(work: Estimator, rows: Rows) -> tuple[Any, list[Scored]] | None:
    """As ``_progressive``, several times faster for a few dicts; None if a name, text or label is new."""
    if not isinstance(rows.X, list) or len(rows) > 64 or not work.__sklearn_is_fitted__():
        return None
    made, fitted = list[Any](), work.fitted_
    for record in rows.X:
        made.append(fitted.row_of(record))
        if made[-1] is None:
            return None
    codes = _known_codes(work, rows.y)
    if codes is None:
        return None
    X = np.stack(made)
    if work._first_too_large(X, reset=False) < len(X):
        return None
    pieces = [Scored(fitted.learn_rows(X, codes).checked(), fitted.n_labels)]
    return work._predicted(pieces), pieces


def _known_codes(work: Estimator, y: Any) -> Any:
    """The targets, or the codes of labels that are all known; else None. NumPy takes ["a", 1] for texts."""
    labels = work.fitted_.labels
    if labels is None:
        return work._labels_without_checks(np.asarray(y, dtype=np.float64), len(y))
    try:
        codes = [labels.codes[label] for label in y]
    except (KeyError, TypeError):
        return None
    return np.array(codes, dtype=np.intp)


def _divided(pieces: list[Scored], lengths: list[int]) -> Iterator[list[Scored]]:
    """The pieces, cut where the requests end."""
    rest = list(pieces)
    for length in lengths:
        own = list[Scored]()
        while length:
            scores, known = rest.pop(0)
            own.append(Scored(scores[:length], known))
            if len(scores) > length:
                rest.insert(0, Scored(scores[length:], known))
            length -= len(own[-1].scores)
        yield own


def _refuse_classes(work: Estimator, y: Sequence[Any], limits: Limits) -> None:
    """A label that is an id by mistake would widen the model without end."""
    if isinstance(work, OnlineRegressor):
        return
    labels = work.fitted_.labels if work.__sklearn_is_fitted__() else None
    known = {} if labels is None else labels.codes
    new = {label for label in y if label not in known}
    if len(known) + len(new) > limits.classes:
        row = next(i for i, label in enumerate(y) if label in new)
        raise RefusedRow(
            f"Row {row} has a new label, and there may be {limits.classes} classes at most.", row
        )
    classes = len(known) + len(new)
    if len(y) > limits.group_rows and len(y) * classes > limits.probabilities:
        most = max(limits.group_rows, limits.probabilities // classes)
        raise ValueError(f"There are {classes} classes, so send at most {most} rows a request.")
