"""difference: whether two learners make the same scores along a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron.estimators.online import progressive
from budgetron.evaluate.comparison import ESTIMATORS, task_of
from budgetron.learners.learner import Floats, Learner
from budgetron.streams import from_arrays


@dataclass(frozen=True)
class Difference:
    """How far the scores of two learners are apart.

    Attributes
    ----------
    largest : float
        The largest difference of two scores, relative to the larger one if that is above 1.
    row : int or None
        The first row at which a difference is above the tolerance; the first row of a stream is 0.
    scores, others : array
        All scores, a row for each row of the stream, each from before the row was learned.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, rbp, stoptron
    >>> rows, k = datasets.synthetic(200, seed=0), Gaussian(1.0)
    >>> evaluate.difference(rbp(k, budget=20), stoptron(k, budget=20), rows).row
    99
    """

    largest: float
    row: int | None
    scores: Floats
    others: Floats

    def __bool__(self) -> bool:
        """Whether there is a difference above the tolerance."""
        return self.row is not None


def difference(
    learner: Learner,
    other: Learner,
    data: tuple[Any, Any],
    *,
    task: str | None = None,
    sample_weight: Any = None,
    seed: int = 0,
    tolerance: float = 1e-9,
) -> Difference:
    """The difference of the scores of two learners, each from before its row is learned.

    A part in Python is checked against its native translation with it, or an exercise against its solution.

    Parameters
    ----------
    learner, other : Learner
        The learners.
    data : pair (X, y)
        The rows and their labels or targets, in the order in which they are learned.
    task : "classification" or "regression", optional
        As in `compare`.
    sample_weight : array, optional
        The weight of each row.
    seed : int
        The seed of both models.
    tolerance : float
        The difference that counts as none.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, Perceptron, RemoveRandom, datasets, evaluate, rbp
    >>> k, rows = Gaussian(1.0), datasets.synthetic(500, seed=0)
    >>> found = evaluate.difference(rbp(k, budget=9), Kernelized(k, Perceptron(), RemoveRandom(9)), rows)
    >>> found.largest, found.row
    (0.0, None)
    """
    rows = from_arrays(*data)
    task = task_of(rows.y, task, "difference")
    classes = None if task == "regression" else np.unique(rows.y)

    def scores(one: Learner) -> Floats:
        estimator = ESTIMATORS[task](
            check.instance("difference", "learner", one, Learner), random_state=seed
        )
        return np.concatenate(
            [piece.scores for piece in progressive(estimator, rows.X, rows.y, sample_weight, classes)[1]]
        )

    a, b = scores(learner), scores(other)
    gaps = (np.abs(a - b) / np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))).max(axis=1)
    far = np.flatnonzero(gaps > tolerance)
    return Difference(float(gaps.max()), int(far[0]) if len(far) else None, a, b)
