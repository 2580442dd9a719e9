"""The base of the learners, which are descriptions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Spec
from budgetron.parts.tasks import Task

Floats = npt.NDArray[np.float64]


class Learner(Spec):
    """Base of the learners.

    Examples
    --------
    >>> from budgetron import Gaussian, Learner, rbp
    >>> learner = rbp(Gaussian("auto"), budget=50)
    >>> isinstance(learner, Learner), learner.kernel
    (True, Gaussian(gamma='auto'))
    """

    @property
    def probabilistic(self) -> bool:
        """Whether a score can be read as a probability."""
        return False

    @property
    def accepts_missing(self) -> bool:
        """Whether rows may have NaN for a missing value."""
        return False

    @property
    def multiclass(self) -> bool:
        """Whether there may be more than two classes."""
        return all(part.multiclass for part in self.parts().values() if isinstance(part, Learner))

    @property
    def has_average(self) -> bool:
        """Whether it has an f whose average can be kept."""
        return all(part.has_average for part in self.parts().values() if isinstance(part, Learner))

    @property
    def has_budget(self) -> bool:
        """Whether the number of its support vectors is limited."""
        return False

    def check(self, task: Task, n_features: int = 1) -> None:
        """Refuse a description of which no model can be built, without building one.

        Examples
        --------
        >>> from budgetron import Gaussian, norma
        >>> from budgetron.parts.tasks import Labels
        >>> norma(Gaussian()).check(Labels(3))
        Traceback (most recent call last):
        ...
        ValueError: NORMA is defined for regression only.
        """
        self.resolved(np.broadcast_to(0.0, (1, n_features))).check_parts(task, n_features)

    def check_parts(self, task: Task, n_features: int) -> None:
        """As `check`, if every parameter is a number. Builds kernels, rules and maps, which are small."""
        raise NotImplementedError

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        raise NotImplementedError


class Wrapping(Learner):
    """Base of the learners around another, whose scores are those of the inner one."""

    learner: Learner

    @property
    def inner(self) -> Learner:
        """The inner learner, checked."""
        return check.instance(self, "learner", self.learner, Learner)

    @property
    def kernel(self) -> Any:
        """The kernel of the inner learner, where it has one."""
        return getattr(self.learner, "kernel", None)

    @property
    def probabilistic(self) -> bool:
        return self.learner.probabilistic

    @property
    def accepts_missing(self) -> bool:
        return self.learner.accepts_missing

    def check_parts(self, task: Task, n_features: int) -> None:
        self.inner.check_parts(task, n_features)
