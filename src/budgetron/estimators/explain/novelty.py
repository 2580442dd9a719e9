"""How unlike the rows that were learned a row is, as a rank among recent rows."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from budgetron._util.rows import Matrix
from budgetron._util.text import shown
from budgetron.estimators.explain.background import kept_rows
from budgetron.learners.learner import Floats
from budgetron.model.fitted import Fitted
from budgetron.model.model import Model

_last: WeakKeyDictionary[Model, tuple[Any, int, Floats]] = WeakKeyDictionary()


def novelty(fitted: Fitted, X: Matrix, background: Matrix | None = None, threads: int = 1) -> Floats:
    """The rank of each row of X, from 0 to 1: the share of the recent rows that are less novel.

    Above all m recent rows, the rank goes on from m/(m+1) towards 1, so that the most novel rows differ.
    """
    model = fitted.model
    if not model.engine.has_novelty:
        raise ValueError(
            "novelty needs a learner that keeps rows, support vectors, cells, or the covariance of a "
            f"filter: auto() does, got {shown(model.learner)}."
        )
    usual = _usual(fitted) if background is None else np.sort(model.novelty(background, threads))
    if len(usual) < 2:
        raise ValueError(
            "novelty ranks a row among those that a model keeps, and this one keeps fewer than two: learn "
            "more rows, with a learner that keeps some, as auto() does, or give background=rows."
        )
    return ranks(model.novelty(X, threads), usual)


def ranks(values: Floats, usual: Floats) -> Floats:
    """The rank of each value among sorted ones."""
    m, most = len(usual), usual[-1]
    place: Floats = np.searchsorted(usual, values, side="left").astype(np.float64)
    beyond = ~(values <= most)  # NaN too
    with np.errstate(invalid="ignore", over="ignore"):
        place[beyond] = m + 1 - np.nan_to_num(most / values[beyond], nan=0.0)
    return place / (m + 1)


def _usual(fitted: Fitted) -> Floats:
    """The novelty of the kept rows, sorted; computed again after a row was learned."""
    model, engine = fitted.model, fitted.model.engine
    rows = engine.rows_done
    known = _last.get(model)
    if known is not None and known[0] is engine and known[1] == rows:
        return known[2]
    usual = engine.usual_novelty()
    if not len(usual) and len(kept := kept_rows(fitted)) > 1:
        usual = model.novelty(kept)
    usual = np.sort(usual)
    _last[model] = engine, rows, usual
    return usual
