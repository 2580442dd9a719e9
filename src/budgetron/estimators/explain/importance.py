"""Which columns matter to a model now: how much more it errs if a column is shuffled."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from budgetron._util.rows import Matrix
from budgetron.estimators.explain.background import kept_rows
from budgetron.estimators.explain.columns import Columns
from budgetron.learners.learner import Floats
from budgetron.model.fitted import Fitted

CELLS = 1 << 16
"""About so many rows are scored at most, if there are many columns."""
FEWEST, MOST_REPEATS = 32, 4
WIDE = 4096
"""From so many columns on, rows are scored as sparse ones."""


def importances(fitted: Fitted) -> Floats | None:
    """The share of each column in what the loss grows by, if one column after the other is shuffled.

    None if the model keeps too few rows. The loss is that of the labels or targets, where the model keeps
    them. Where it does not, it is the loss to be expected if the answers on the rows as they are were
    right: the divergence of the probabilities, or the squared difference of the predictions or scores.
    """
    rows, columns = kept_rows(fitted), Columns.of(fitted)
    each = CELLS // max(len(columns), 1)  # rows that may be scored for a column
    rows = rows[: max(FEWEST, each // MOST_REPEATS)]
    if len(rows) < 2:
        return None
    repeats = min(max(each // len(rows), 1), MOST_REPEATS)
    random = np.random.default_rng([fitted.model.seed, len(rows)])
    orders = [random.permutation(len(rows)) for _ in range(repeats)]
    before, known = _answers(fitted, rows), _known(fitted, rows)
    raw = np.zeros(len(columns))
    for j in range(len(columns)):
        slots = columns.of_slot(j)
        if (rows[:, slots] == rows[:1, slots]).all():
            continue
        for order in orders:
            shuffled = rows.copy()
            shuffled[:, slots] = rows[order][:, slots]
            raw[j] += _growth(fitted, before, _answers(fitted, shuffled), known)
    raw = np.maximum(raw, 0)
    total = raw.sum()
    return raw / total if total > 0 else raw


def _answers(fitted: Fitted, rows: Floats) -> Floats:
    """Logarithms of probabilities by code where there are some, else scores."""
    [piece] = fitted.scores(_as_model_reads(rows))
    if not _has_probabilities(fitted):
        return piece.scores
    shares = np.hstack([-piece.scores, piece.scores]) / 2 if piece.known <= 2 else piece.scores
    return np.asarray(shares - logsumexp(shares, axis=1, keepdims=True))


def _known(fitted: Fitted, rows: Floats) -> Floats | None:
    """The codes or targets of kept rows: of each, that of the nearest stored row, which is itself."""
    if fitted.labels is not None and not _has_probabilities(fitted):
        return None
    numbers = list[float]()
    for row in rows:
        near = fitted.model.nearest(_as_model_reads(row[None]), 1)
        if not near or near[0][2] is None:
            return None
        numbers.append(near[0][2])
    return np.array(numbers)


def _growth(fitted: Fitted, before: Floats, after: Floats, known: Floats | None) -> float:
    """By how much the mean loss grows."""
    if not _has_probabilities(fitted):
        if known is None:
            return float(((after - before) ** 2).sum(axis=1).mean())
        return float(((after[:, 0] - known) ** 2 - (before[:, 0] - known) ** 2).mean())
    if known is None:
        return float((np.exp(before) * (before - after)).sum(axis=1).mean())
    of_label = np.arange(len(before)), known.astype(int)
    return float((before[of_label] - after[of_label]).mean())


def _has_probabilities(fitted: Fitted) -> bool:
    return fitted.labels is not None and fitted.model.learner.probabilistic


def _as_model_reads(rows: Floats) -> Matrix:
    return sparse.csr_matrix(rows) if rows.shape[1] >= WIDE else np.ascontiguousarray(rows)
