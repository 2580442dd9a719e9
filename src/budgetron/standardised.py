"""Rows scaled along the stream, inside the model."""

__all__ = ["Standardised"]

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from budgetron import _check, _core
from budgetron._tasks import Targets, Task
from budgetron.learners import Learner


@dataclass
class Standardised(Learner):
    """A learner on rows that are scaled along the stream, to mean 0 and variance 1 of every column.

    A row is scaled with the mean and deviation of the rows learned before it, and clipped. NaN is a missing
    value and becomes 0, the mean; so does a column that was constant so far. If the first row is sparse,
    columns are divided by their root mean square and not centred, so that 0 stays 0. In regression the
    targets are scaled as well: predictions come back in the unit of the targets, whatever it is.

    The statistics are part of the model: they are saved with it, and ``predict`` uses them.

    Parameters
    ----------
    learner : Learner
        The learner of the scaled rows. Its gamma="scale" is 1 / n_features, since the variance is 1.
    clip : float
        The largest scaled value.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import Gaussian, OnlineClassifier, Standardised, rbp
    >>> model = OnlineClassifier(Standardised(rbp(Gaussian(), budget=10)), random_state=0)
    >>> model.fit([[0.0], [1e6], [np.nan], [9e5]], [0, 1, 0, 1]).predict([[0.0], [1e6]])
    array([0, 1])
    """

    learner: Learner
    clip: float = 10.0

    @property
    def probabilistic(self) -> bool:
        """As the inner learner."""
        return self.learner.probabilistic

    @property
    def accepts_missing(self) -> bool:
        """NaN is a missing value."""
        return True

    @property
    def kernel(self) -> Any:
        """The kernel of the inner learner, where it has one."""
        return getattr(self.learner, "kernel", None)

    def resolved(self, X: Any) -> Self:
        """The learner with a number for every parameter, for columns of variance 1."""
        learner = _check.instance(self, "learner", self.learner, Learner)
        unit = np.broadcast_to(np.array([[-1.0], [1.0]]), (2, X.shape[1]))
        return replace(self, learner=learner.resolved(unit))

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        learner = _check.instance(self, "learner", self.learner, Learner)
        clip = _check.moderate(self, "clip", self.clip)
        native = learner.build(task, n_features, dtype, seed)
        return _core.Standardised(native, n_features, clip, isinstance(task, Targets))
