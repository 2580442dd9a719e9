"""Predictions of a published model, as plain data."""

from typing import Any

import numpy as np

from budgetron.estimators import OnlineRegressor
from budgetron.serve.learning import REFUSALS, refusal
from budgetron.serve.rows import Rows
from budgetron.serve.writer import Published


def predict(published: Published, rows: Rows) -> dict[str, Any]:
    """The version, the predictions and, if the model has them, the probabilities by class."""
    try:
        found = _of_one(published, rows) if len(rows) == 1 else None
        return {"version": published.version} | (_of_many(published, rows) if found is None else found)
    except REFUSALS as error:
        raise refusal(error) from None


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
