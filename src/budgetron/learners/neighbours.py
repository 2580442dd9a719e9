"""Nearest neighbours among the last rows."""

from dataclasses import dataclass

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron.learners.learner import Learner
from budgetron.parts.tasks import Labels, Task


@dataclass
class Neighbours(Learner):
    """The labels or targets of the nearest among the last rows, weighted by distance.

    The last ``window`` rows are stored. What is local and recent counts: a drift is followed at once, and
    older rows are forgotten. With d_1 <= ... <= d_k the squared distances of the k nearest, the later row
    first on ties, h = d_k (if h is 0, so is d_i / h), y_i their labels and a = 0.5 / (number of classes)::

        labels:   n_c = a + sum of 1 / (d_i / h + 0.1) / 2 over those of class c;  p_c = n_c / sum n
        targets:  v_i = 1 / (d_i / h + 0.05);  f = sum v_i y_i / sum v_i

    The score is log p_1 / p_0 for two classes, log p_c plus a constant for more. It is 0 before the first
    row. A sample weight multiplies the votes of its row.

    Distances are Euclidean, so columns need a common scale: put it into :class:`~budgetron.Standardised`.
    Alone it takes NaN for a missing value: a column in which either row has NaN adds nothing to their
    distance. Rows are stored in single precision, clipped at 1e17, and only their first 1024 columns. A row
    costs a pass over window * columns numbers, or less if near rows are found early. Memory is
    4 * window * columns bytes, and ``n_support_`` is the number of stored rows.

    Parameters
    ----------
    window : int
        The number of rows that are stored.
    k : int
        The number of neighbours.
    raw : bool
        Whether distances are those of rows as you give them, also inside
        :class:`~budgetron.Standardised`. Then columns of one unit, such as pixels or counts, keep their
        proportions: a column that is rarely anything else than 0 is not blown up.
    shortens : bool
        Whether only the newest half or quarter of the window is looked at while that has the least squared
        error: in mean over about the last ``window`` rows, for labels that of the right one's probability.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> from budgetron import Neighbours, OnlineClassifier
    >>> model = OnlineClassifier(Neighbours(window=100, k=1))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.1], [1.0]])
    array([0, 1])
    """

    window: int = 1000
    k: int = 3
    raw: bool = False
    shortens: bool = False
    probabilistic = True  # scores are logits
    accepts_missing = True
    has_average = False
    has_budget = True  # the window

    def check_parts(self, task: Task, n_features: int) -> None:  # noqa: ARG002
        self._numbers()
        self._switches()

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:  # noqa: ARG002
        """The native learner; checks the description."""
        window, k = self._numbers()
        classes = task.n_classes if isinstance(task, Labels) else 0
        return _core.Neighbours(window, k, n_features, classes, *self._switches())

    def _switches(self) -> tuple[bool, bool]:
        """Whether rows are taken as given, and whether the window shortens, checked."""
        return check.instance(self, "raw", self.raw, bool), check.instance(
            self, "shortens", self.shortens, bool
        )

    def _numbers(self) -> tuple[int, int]:
        """The parameters, checked."""
        window, k = check.count(self, "window", self.window), check.count(self, "k", self.k)
        if k > window:
            raise ValueError(f"Neighbours: k must be at most window, which is {window}, got {k}.")
        return window, k
