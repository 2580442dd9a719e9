"""f of a random round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron.learners.averaged import Averaged
from budgetron.learners.learner import Learner, Wrapping
from budgetron.parts.tasks import Task


@dataclass
class RandomIterate(Wrapping):
    """Predict with f of a random round (Le et al. 2016, Theorems 6 and 12).

    The inner learner learns as without it, and :meth:`~budgetron.OnlineClassifier.progressive_predict`
    gives its own predictions; ``predict`` and ``decision_function`` use f as it was before round r. Each
    round is r with the same probability. r is drawn while the rows pass: round t replaces the one kept with
    probability 1/t, so a copy of f is made at about ln T of T rounds. It is a whole copy: the model takes
    twice the memory, three times with a suffix, and f is exact for every learner and budget.

    One f of the past is what the theorems speak of, and it costs nothing per row. An early one errs much:
    take a suffix. Where nothing is simply removed, :class:`Averaged` is steadier. ``support_vectors_``,
    ``dual_coef_`` and exports are those of the f that predicts.

    Parameters
    ----------
    learner : Learner
        The learner whose f is kept; not an :class:`Averaged` one.
    suffix : float
        The share of the rounds that r is from, counted from the last; 1 is all.

    Departs from the paper
    ----------------------
    A stream does not know its length: for a suffix below 1, r is from the last share of that size or more,
    and of at most 1 - (1 - suffix)^2 of the rounds.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, RandomIterate, sgd
    >>> model = OnlineClassifier(RandomIterate(sgd(Gaussian(1.0), lam=0.1), suffix=0.5), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    """

    learner: Learner
    suffix: float = 1.0

    has_average = False

    def check_parts(self, task: Task, n_features: int) -> None:
        self._suffix()
        super().check_parts(task, n_features)

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        suffix = self._suffix()
        learner, older = (self.inner.build(task, n_features, dtype, seed) for _ in range(2))
        younger = self.inner.build(task, n_features, dtype, seed) if suffix < 1 else None
        return _core.RandomIterate(learner, older, younger, suffix, seed)

    def _suffix(self) -> float:
        """The share; checks the description."""
        if isinstance(self.inner, Averaged | RandomIterate):
            raise TypeError("RandomIterate: learner must not itself be Averaged or RandomIterate.")
        suffix = check.share(self, "suffix", self.suffix)
        if suffix == 0:
            raise ValueError("RandomIterate: suffix must be above 0, got 0.")
        return suffix
