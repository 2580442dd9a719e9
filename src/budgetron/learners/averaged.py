"""The average of f over the rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron.learners.learner import Learner, Wrapping
from budgetron.parts.tasks import Task


@dataclass
class Averaged(Wrapping):
    """Predict with the average of f over the rounds, or over the last share of them.

    The inner learner learns as without it, and :meth:`~budgetron.OnlineClassifier.progressive_predict`
    gives its own predictions; ``predict`` and ``decision_function`` use the average. Averaging all rounds
    is the classical online-to-batch conversion, which Orabona et al. 2008 recommend; averaging the last
    share is the output of Le et al. 2016, Algorithm 3.

    A round costs one addition per support vector; with ``nogd``, a step also costs O(rank * budget). The
    average is exact if no support vector is ever removed (unbounded learners, :class:`~budgetron.Project`,
    :class:`~budgetron.Stop`). If a budget removes one, its coefficient in the average is treated as the one
    in f: added to others, projected, merged or dropped. So the average stays within the budget as well.

    Parameters
    ----------
    learner : Learner
        The learner whose f is averaged.
    suffix : float
        The share of the rounds to average over, counted from the last; 1 is all.

    Departs from the paper
    ----------------------
    A stream does not know its length: for a suffix below 1 the average covers at least that share of the
    rounds and at most 1 - (1 - suffix)^2 of them. The paper averages f before each update, here it is f
    after it.

    Examples
    --------
    >>> from budgetron import Averaged, Gaussian, OnlineClassifier, sgd
    >>> model = OnlineClassifier(Averaged(sgd(Gaussian(1.0), lam=0.1), suffix=0.5))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    """

    learner: Learner
    suffix: float = 1.0

    def check_parts(self, task: Task, n_features: int) -> None:
        self._suffix()
        super().check_parts(task, n_features)

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        suffix = self._suffix()
        native: Any = self.learner.build(task, n_features, dtype, seed)
        native.keep_average(suffix)
        return native  # type: ignore[no-any-return]

    def _suffix(self) -> float:
        """The share; checks the description."""
        if isinstance(self.inner, Averaged):
            raise TypeError("Averaged: learner must not itself be Averaged.")
        if not self.learner.can_be_averaged:
            raise ValueError("Averaged: the weights of cells cannot be averaged; take the learner alone.")
        suffix = check.share(self, "suffix", self.suffix)
        if suffix == 0:
            raise ValueError("Averaged: suffix must be above 0, got 0.")
        return suffix
