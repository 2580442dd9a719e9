"""A group of requests, learned on a copy of the model. A refused request leaves no trace in the copy."""

from collections.abc import Iterator, Sequence
from copy import copy
from sys import getrefcount
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from budgetron._util.errors import ROW, RefusedRow
from budgetron.estimators import OnlineRegressor
from budgetron.estimators.online import answers_of, progressive
from budgetron.evaluate.drift.experts import EVERY, Sample, parts
from budgetron.evaluate.progressive import Estimator, Learned
from budgetron.model.labels import Scored
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows, joined

REFUSALS = (ValueError, TypeError)  # what estimators raise for rows that they do not take


class Lesson(NamedTuple):
    """What a model learned: it before, the model that it became, and the rows."""

    before: Estimator
    after: Estimator
    requests: Sequence[Rows]


class Spare:
    """The model that was published before, which saves copies: it learns the same rows once more.

    A copy of the default takes as long as a hundred rows. The bits do not depend on which way is taken.
    """

    def __init__(self) -> None:
        self._last: Lesson | None = None
        self._copying = 0.0  # the processor seconds of the last copy

    def copied(self, model: Estimator) -> Estimator:
        """A copy of a model, or the model before it if nobody reads that any more."""
        last, self._last = self._last, None
        if last is not None and last.after is model:
            work, requests = last.before, last.requests
            del last
            if getrefcount(work) == 2:  # nobody else has it: this name, and the argument
                for run in _runs(requests):
                    _learn_rows(work, joined(run))
                return work
        began = thread_time()
        work = copy(model)
        self._copying = thread_time() - began
        return work

    def learned(self, lesson: Lesson, seconds: float) -> None:
        """Keep a model that took so many processor seconds to learn, if a copy takes longer."""
        before, after = lesson.before, lesson.after
        fitted = before.__sklearn_is_fitted__()
        if seconds < self._copying and fitted and before.fitted_.labels is after.fitted_.labels:
            self._last = lesson  # without new labels: metrics are computed where they change


def learn_group(
    base: Estimator, requests: Sequence[Rows], limits: Limits, seen: int, spare: Spare
) -> tuple[Estimator, list[Learned | Problem]]:
    """Learn the requests in order on a copy of ``base``; returns the copy, and what became of each.

    ``seen`` are the rows that detectors of drift have seen: the weights of experts are theirs at round
    numbers of rows.
    """
    if not requests:
        return base, []
    work, at = spare.copied(base), seen
    try:
        outcomes, began = list[Learned | Problem](), thread_time()
        for run in _runs(requests):
            outcomes += _learn_run(work, run, limits, at)
            at += sum(map(len, run))
        spare.learned(Lesson(base, work, requests), thread_time() - began)
        return work, outcomes
    except REFUSALS:
        pass  # one of the requests: find it
    work, at, outcomes = copy(base), seen, []
    for rows in requests:
        before = copy(work) if len(rows) > 1 else work  # one row is learned whole or not at all
        try:
            outcomes.extend(_learn_run(work, [rows], limits, at))
            at += len(rows)
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
    run = [requests[0]]
    for rows in requests[1:]:
        if not run[-1].joins(rows):
            yield run
            run = []
        run.append(rows)
    yield run


def _learn_run(work: Estimator, run: list[Rows], limits: Limits, seen: int) -> list[Learned]:
    """Predict and learn each row. The division into calls does not change the model by one bit."""
    rows = joined(run)
    assert rows.y is not None
    _refuse_classes(work, rows.y, limits)
    predicted, pieces, weights = _sampled(work, rows, seen)
    y = np.asarray(rows.y)
    outcomes, at = list[Learned](), 0
    for part, piece in zip(run, _divided(pieces, list(map(len, run))), strict=True):
        cut = slice(at, at + len(part))
        samples = [(row - at, each) for row, each in weights if at < row <= cut.stop]
        outcomes.append(Learned(predicted[cut], piece, y[cut], samples))
        at = cut.stop
    return outcomes


def _sampled(work: Estimator, rows: Rows, seen: int) -> tuple[Any, list[Scored], list[Sample]]:
    """Learn rows, and read the weights of the experts after round numbers of them."""
    assert rows.y is not None
    ends = parts(len(rows), seen)
    if len(ends) == 1 or not _may_have_experts(work):
        return *_learn_rows(work, rows), []
    begin, said, pieces, samples = 0, list[Any](), list[Scored](), list[Sample]()
    for end in ends:
        part = Rows(rows.X[begin:end], rows.y[begin:end])
        try:
            predicted, more = _learn_rows(work, part)
        except RefusedRow as error:
            raise error.after(begin) from None
        said.append(predicted)
        pieces += more
        if (seen + end) % EVERY == 0 and hasattr(work, "expert_weights_"):
            samples.append((end, work.expert_weights_.ravel().tolist()))
        begin = end
    return np.concatenate(said), pieces, samples


def _may_have_experts(work: Estimator) -> bool:
    return not work.__sklearn_is_fitted__() or hasattr(work, "expert_weights_")


def _learn_rows(work: Estimator, rows: Rows) -> tuple[Any, list[Scored]]:
    return _one_by_one(work, rows) or progressive(work, rows.X, rows.y)


def _one_by_one(work: Estimator, rows: Rows) -> tuple[Any, list[Scored]] | None:
    """As `progressive`, several times faster for a few dicts; None if nothing was learned.

    From the first row on that brings something new, or is refused, the others take the long way.
    """
    if not isinstance(rows.X, list) or len(rows) > 64 or not work.__sklearn_is_fitted__():
        return None
    assert rows.y is not None
    fitted = work.fitted_
    scores = np.empty((len(rows), fitted.outputs))
    pairs = enumerate(zip(rows.X, rows.y, strict=True))
    done = next((i for i, (x, y) in pairs if not fitted.learn_one(x, y, scores=scores[i])), len(rows))
    if not done:
        return None
    pieces = [Scored(scores[:done], fitted.n_labels)]
    if done < len(rows):
        try:
            pieces += progressive(work, rows.X[done:], rows.y[done:])[1]
        except RefusedRow as error:
            raise error.after(done) from None
    return answers_of(work, work.fitted_).predictions(pieces), pieces


def _divided(pieces: list[Scored], lengths: list[int]) -> Iterator[list[Scored]]:
    """The pieces, cut where the requests end."""
    rest = list(pieces)
    for length in lengths:
        part = list[Scored]()
        while length:
            scores, known = rest.pop(0)
            part.append(Scored(scores[:length], known))
            if len(scores) > length:
                rest.insert(0, Scored(scores[length:], known))
            length -= len(part[-1].scores)
        yield part


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
            f"Row {ROW} has a new label, and there may be {limits.classes} classes at most.", row
        )
    classes = len(known) + len(new)
    if len(y) > limits.group_rows and len(y) * classes > limits.probabilities:
        most = max(limits.group_rows, limits.probabilities // classes)
        raise ValueError(f"There are {classes} classes, so send at most {most} rows a request.")
