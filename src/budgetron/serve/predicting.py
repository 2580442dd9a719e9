"""Predictions of a published model, as plain data."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Raw
from msgspec.json import encode

from budgetron._util.errors import RefusedRow
from budgetron.estimators import OnlineRegressor
from budgetron.estimators.explain.columns import Columns
from budgetron.estimators.explain.explaining import ROWS
from budgetron.estimators.online import answers_of, scored
from budgetron.serve.jobs import Published
from budgetron.serve.learning import REFUSALS, refusal
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows

FEW, FEW_VALUES = 512, 10_000
"""Scores and values of rows that are predicted in the event loop; more are predicted in another thread."""
MOST_SCORED = 2**17
"""The rows that are scored to explain those of a request."""
COLUMNS = 20
"""The columns of an explanation, from the largest contribution."""
MOST_COLUMNS = 100
"""The columns of an answer with importances."""
PIECE_ROWS, PIECE_VALUES, PIECE_SCORES = 1000, 100_000, 50_000
"""A piece that is predicted and encoded at once has about so many rows, values and scores at most."""


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


def refuse_to_explain(published: Published, rows: Rows) -> None:
    """Refuse rows whose explanation takes too long: each is scored thousands of times."""
    columns = published.estimator.fitted_.model.n_features
    most = max(1, MOST_SCORED // max(ROWS, 8 * (columns + 1)))
    if len(rows) > most:
        raise Problem(
            "too-large", f"with {columns} columns, send at most {most} rows a request to be explained."
        )


def said_beside(published: Published, rows: Rows, explain: bool, novelty: bool) -> dict[str, Any]:
    """Explanations and novelty of rows, if asked for."""
    model, answer = published.estimator, dict[str, Any]()
    try:
        if novelty:
            answer |= {"novelty": model.novelty(rows.X).tolist()}
        if explain:
            answer |= {"explanations": [why.as_dict(COLUMNS) for why in model.explain(rows.X)]}
    except REFUSALS as error:
        raise refusal(error) from None
    return answer


def has_importances(published: Published) -> bool:
    """Whether the model keeps rows, which importances need."""
    return len(published.estimator.fitted_.model.kept_rows()) > 1


def importances(published: Published) -> dict[str, Any]:
    """The version, and the share of each column in what the model has learned, from the largest."""
    model = published.estimator
    try:
        shares = model.feature_importances_.tolist()
    except AttributeError as error:
        raise Problem("not-found", str(error)) from None
    names = Columns.of(model.fitted_).names
    pairs = sorted(zip(names, shares, strict=True), key=lambda pair: -pair[1])
    columns = [{"column": name, "share": share} for name, share in pairs[:MOST_COLUMNS]]
    rest = sum(share for _, share in pairs[MOST_COLUMNS:])
    return {"version": published.version, "columns": columns, "other_columns": rest}


def predict(published: Published, rows: Rows) -> dict[str, Any]:
    """The version, the predictions and, if the model has them, probabilities by class, sets or intervals.

    What many rows have beside predictions is in JSON already, so that it need not exist as Python numbers.
    """
    predictions, beside, found = list[Any](), dict[str, list[bytes]](), dict[str, Any]()
    try:
        if len(rows) == 1 and (one := _of_one(published, rows)) is not None:
            return {"version": published.version} | one
        for piece in _pieces(rows, _classes(published)):
            found = _of_many(published, piece)
            predictions += found["predictions"]
            for name in found.keys() & {"probabilities", "sets", "intervals"}:
                beside.setdefault(name, []).append(encode(found[name])[1:-1])
    except REFUSALS as error:
        moved = error.after(len(predictions)) if isinstance(error, RefusedRow) else error
        raise refusal(moved) from None
    found |= {"predictions": predictions}
    found |= {name: Raw(b"[" + b",".join(parts) + b"]") for name, parts in beside.items()}
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


def _of_one(published: Published, rows: Rows) -> dict[str, Any] | None:
    """One row whose names and texts are known, without the checks of many; else None."""
    if not isinstance(rows.X, list | np.ndarray):
        return None
    fitted = published.estimator.fitted_
    scores = None if fitted.conformal is not None else fitted.scores_one(rows.X[0])
    if scores is None:
        return None
    answer: dict[str, Any] = {"predictions": [answers_of(published.estimator, fitted).prediction(scores)]}
    if fitted.labels is not None and fitted.model.learner.probabilistic:
        shares = fitted.labels.probabilities(scores)
        answer |= {"classes": list(shares), "probabilities": [list(shares.values())]}
    return answer


def _of_many(published: Published, rows: Rows) -> dict[str, Any]:
    fitted, pieces = scored(published.estimator, rows.X)
    answer: dict[str, Any] = {
        "predictions": answers_of(published.estimator, fitted).predictions(pieces).tolist()
    }
    if fitted.labels is not None and fitted.model.learner.probabilistic:
        shares = np.exp(fitted.labels.log_probabilities(pieces))
        answer |= {"classes": fitted.labels.classes.tolist(), "probabilities": shares.tolist()}
    if fitted.conformal is None:
        return answer
    if isinstance(published.estimator, OnlineRegressor):
        return answer | {"intervals": published.estimator.predict_interval(rows.X).tolist()}
    return answer | {"sets": [labels.tolist() for labels in fitted.sets(pieces)]}
