"""Which columns matter to a model now: how much its answers change if a column is shuffled."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from budgetron._util.rows import Matrix
from budgetron.explain.background import kept_rows
from budgetron.explain.columns import Columns
from budgetron.learners.learner import Floats
from budgetron.model.fitted import Fitted
from budgetron.model.labels import Scored

CELLS = 1 << 15
"""About so many rows are scored at most, if there are many columns."""
FEWEST, REPEATS = 32, 2
WIDE = 4096
"""From so many columns on, rows are scored as sparse ones."""


def importances(fitted: Fitted) -> Floats | None:
    """The share of each column in what the answers change by, if one column after the other is shuffled.

    None if the model keeps too few rows. The change is the loss that is expected if the probabilities or
    predictions on the rows as they are were right: the divergence of the probabilities, or the squared
    difference of the predictions, or of the scores of a learner without probabilities.
    """
    rows, columns = kept_rows(fitted), Columns.of(fitted)
    rows = rows[: max(FEWEST, CELLS // (REPEATS * max(len(columns), 1)))]
    if len(rows) < 2:
        return None
    random = np.random.default_rng([fitted.model.seed, len(rows)])
    orders = [random.permutation(len(rows)) for _ in range(REPEATS)]
    before = _answers(fitted, rows)
    raw = np.zeros(len(columns))
    for j in range(len(columns)):
        slots = columns.of_slot(j)
        if (rows[:, slots] == rows[:1, slots]).all():
            continue
        for order in orders:
            shuffled = rows.copy()
            shuffled[:, slots] = rows[np.ix_(order, slots)]
            raw[j] += _change(fitted, before, _answers(fitted, shuffled))
    total = raw.sum()
    return raw / total if total > 0 else raw


def _answers(fitted: Fitted, rows: Floats) -> Floats:
    """Logarithms of probabilities where there are some, else scores."""
    [piece] = fitted.scores(_as_model_reads(rows))
    labels = fitted.labels
    if labels is None or not fitted.model.learner.probabilistic:
        return piece.scores
    return labels.log_probabilities([Scored(piece.scores, piece.known)])


def _change(fitted: Fitted, before: Floats, after: Floats) -> float:
    if fitted.labels is None or not fitted.model.learner.probabilistic:
        return float(((after - before) ** 2).sum(axis=1).mean())
    return float((np.exp(before) * (before - after)).sum(axis=1).mean())


def _as_model_reads(rows: Floats) -> Matrix:
    return sparse.csr_matrix(rows) if rows.shape[1] >= WIDE else np.ascontiguousarray(rows)
