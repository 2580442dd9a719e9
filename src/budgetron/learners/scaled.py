"""Learners on rows that are scaled along the stream, inside the model."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.label_rules import LARGEST
from budgetron.learners.learner import Learner, Wrapping
from budgetron.parts.tasks import Targets, Task


class Scaled(Wrapping):
    """Base of the learners that scale rows."""

    unit: ClassVar[tuple[tuple[float], tuple[float]]]
    """A column of two rows, of the variance of scaled rows."""

    needs_rows = False  # the scale of the rows is known

    def around(self, native: _core.Learner, task: Task, n_features: int) -> _core.Learner:
        """The native learner around another one."""
        raise NotImplementedError

    def resolved(self, X: Any) -> Self:
        """The learner with a number for every parameter, for scaled rows."""
        return super().resolved(np.broadcast_to(self.unit, (2, X.shape[1])))


@dataclass
class Standardised(Scaled):
    """A learner on rows that are scaled along the stream, to mean 0 and variance 1 of every column.

    A row is scaled with the mean and deviation of the rows learned before it, and clipped. NaN is a missing
    value and becomes 0, the mean; so does a column that was constant so far. If the first row is sparse,
    columns are divided by their root mean square and not centred, so that 0 stays 0. In regression the
    targets are scaled as well: predictions come back in the unit of the targets, whatever it is.

    One absurd value changes the statistics little, and a unit that grows is followed within tens of rows:
    the page on learners says what is counted. A target beyond 10 deviations is not learned if it is the
    first such in a thousand rows.

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

    accepts_missing = True
    unit = ((-1.0,), (1.0,))  # of variance 1

    def check_parts(self, task: Task, n_features: int) -> None:
        check.moderate(self, "clip", self.clip)
        super().check_parts(task, n_features)

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        check.moderate(self, "clip", self.clip)
        return self.around(self.inner.build(task, n_features, dtype, seed), task, n_features)

    def around(self, native: _core.Learner, task: Task, n_features: int) -> _core.Learner:
        return _core.Standardised(native, n_features, self.clip, isinstance(task, Targets))


@dataclass
class Ranged(Scaled):
    """A learner on rows that are scaled along the stream, every column to 0 .. 1.

    A row is scaled with the smallest and largest value of each column in the rows learned before it; a new
    extreme is outside 0 .. 1. If the first row is sparse, columns are divided by their largest absolute
    value, so that 0 stays 0. The ranges are part of the model, as for :class:`Standardised`. Targets are
    not scaled. One absurd value makes the range of its column huge for ever, and the column nearly
    constant: take :class:`Standardised` where this can happen.

    Parameters
    ----------
    learner : Learner
        The learner of the scaled rows. Its gamma="scale" is 12 / n_features, as for uniform columns.

    Departs from the paper
    ----------------------
    Not in the five papers, which scale the whole data set in advance.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, Ranged, rbp
    >>> model = OnlineClassifier(Ranged(rbp(Gaussian(), budget=10)), random_state=0)
    >>> model.fit([[0.0], [1e6], [6e5], [9e5]], [0, 1, 0, 1]).predict([[0.0], [1e6]])
    array([0, 1])
    """

    learner: Learner

    accepts_missing = False
    unit = ((0.0,), (12**-0.5 * 2,))  # of variance 1/12

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        return self.around(self.inner.build(task, n_features, dtype, seed), task, n_features)

    def around(self, native: _core.Learner, task: Task, n_features: int) -> _core.Learner:  # noqa: ARG002
        return _core.Ranged(native, n_features, LARGEST, False)
