"""The base of the learners, which are descriptions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from budgetron import _core
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

    def resolved(self, X: Any) -> Self:
        """The learner with a number for every parameter; open ones are computed from the rows X."""
        raise NotImplementedError

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        raise NotImplementedError
