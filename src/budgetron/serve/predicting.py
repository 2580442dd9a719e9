"""Predictions of a published model, as plain data."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Raw
from msgspec.json import encode

from budgetron.estimators import OnlineRegressor
from budgetron.serve.learning import REFUSALS, refusal
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows
from budgetron.serve.writer import Published

FEW, FEW_VALUES = 512, 10_000
"""Scores and values of rows that are predicted in the event loop; more are predicted in another thread."""
PIECE_ROWS, PIECE_VALUES, PIECE_SCORES = 1000, 100_000, 50_000
"""A piece that is predicted and encoded at once has about so many rows, values and scores at most."""
_ROW = re.compile(r"\b([Rr]ow|[Rr]ecord) (\d+)")


def are_few(published: Published, rows: Rows) -> bool:
    """Whether predicting the rows takes no longer than other requests may wait."""
    if len(rows) * max(_classes(published), 2) > FEW:
        return False
    return not isinstance(rows.X, list) or sum(map(len, rows.X)) <= FEW_VALUES


def refuse_large(published: Published, rows: Rows, limits: Limits) -> None:
    """Refuse rows that need too many scores: rows times classes may be far more than the body."""
    classes = _classes(published)  # 0 for regression
    if len(rows) * classes > limits.probabilities:
        most = max(1, limits.probabilities // classes)
        raise Problem(
            "too-large", f"the model has {classes} classes, so send at most {most} rows a request."
        )


def predict(published: Published, rows: Rows) -> dict[str, Any]:
    """The version, the predictions and, if the model has them, the probabilities by class.

    The probabilities of many rows are in JSON already, so that they need not exist as Python numbers.
    """
    predictions, shares, found = list[Any](), list[bytes](), dict[str, Any]()
    try:
        if len(rows) == 1 and (one := _of_one(published, rows)) is not None:
            return {"version": published.version} | one
        for piece in _pieces(rows, _classes(published)):
            found = _of_many(published, piece)
            predictions += found["predictions"]
            if "probabilities" in found:
                shares.append(encode(found["probabilities"])[1:-1])
    except REFUSALS as error:
        raise _moved(refusal(error), len(predictions)) from None
    found |= {"predictions": predictions}
    if shares:
        found |= {"probabilities": Raw(b"[" + b",".join(shares) + b"]")}
    return {"version": published.version} | found


def _classes(published: Published) -> int:
    return published.estimator.fitted_.n_labels


def _pieces(rows: Rows, classes: int) -> Iterator[Rows]:
    """The rows in pieces of bounded memory."""
    X, most = rows.X, max(1, min(PIECE_ROWS, PIECE_SCORES // max(classes, 1)))
    start = values = 0
    for i in range(len(rows)):
        values += len(X[i]) if isinstance(X, list) else 0
        if i + 1 - start == most or values >= PIECE_VALUES or i + 1 == len(rows):
            yield rows if i + 1 - start == len(rows) else Rows(X[start : i + 1], None)
            start, values = i + 1, 0


def _moved(problem: Problem, rows: int) -> Problem:
    """A problem of a piece, with the number that the row has in the request."""
    row = problem.members.get("row")
    if row is None or not rows:
        return problem
    said = [each for each in _ROW.finditer(problem.detail) if each[2] == str(row)]
    text = problem.detail
    if said:  # the last one: names of columns come before it
        text = f"{text[: said[-1].start(2)]}{row + rows}{text[said[-1].end(2) :]}"
    return Problem(problem.name, text, row=row + rows)


def _of_one(published: Published, rows: Rows) -> dict[str, Any] | None:
    """One row whose names and texts are known, without the checks of many; else None."""
    estimator = published.estimator
    x = rows.X[0] if isinstance(rows.X, list | np.ndarray) else None
    fitted = estimator.fitted_
    row = None if x is None else fitted.row_of(x)
    if row is None:
        return None
    scored = fitted.model.scores_of_row(row)
    if scored is None:
        return None
    scores = scored[0].tolist()
    if isinstance(estimator, OnlineRegressor):
        return {"predictions": scores}
    assert fitted.labels is not None
    found: dict[str, Any] = {"predictions": [fitted.labels.prediction(scores)]}
    if fitted.model.learner.probabilistic:
        shares = fitted.labels.probabilities(scores)
        found |= {"classes": list(shares), "probabilities": [list(shares.values())]}
    return found


def _of_many(published: Published, rows: Rows) -> dict[str, Any]:
    estimator = published.estimator
    if isinstance(estimator, OnlineRegressor):
        return {"predictions": estimator.predict(rows.X).tolist()}
    pieces = estimator._scored(rows.X)
    found: dict[str, Any] = {"predictions": estimator._predicted(pieces).tolist()}
    fitted = estimator.fitted_
    assert fitted.labels is not None
    if fitted.model.learner.probabilistic:
        shares = np.exp(fitted.labels.log_probabilities(pieces))
        found |= {"classes": estimator.classes_.tolist(), "probabilities": shares.tolist()}
    return found
