"""Double updating: a new row and the support vector that contradicts it most are updated together.

f = sum g_i y_i k(s_i,.) with weights g_i in [0, C], and every step maximises the dual objective of the
support vector machine, D = sum g_i - abs(f)^2 / 2, over the weights that it updates (Zhao, Hoi & Jin 2011).
With a full budget, one support vector j is removed before a step. Others may absorb its weight, g_i += b_i.
The removed j is the one with the largest change of D (Zhao & Hoi 2012),

    DA = -sum Dg_i + sum Dg_i m_i - abs(Df)^2 / 2,   Dg_j = g_j,  Dg_i = -b_i,  m_i = y_i f(s_i)     (Eq. 4)

the oldest on ties.

More than two classes are ours: the same steps on the dual of the support vector machine of Crammer and
Singer. The page on ``duol`` derives them.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Ranges, Spec
from budgetron.learners.learner import Learner
from budgetron.parts.kernels import Kernel
from budgetron.parts.tasks import Labels, Task


class DualMaintenance(Spec):
    """Base of the ways to keep double updating within a budget.

    Examples
    --------
    >>> from budgetron import DualMaintenance, DualNearest
    >>> issubclass(DualNearest, DualMaintenance)
    True
    """

    takes_classes: ClassVar[bool] = False
    """Whether it is defined for more than two classes."""

    def build(self) -> _core.DualMaintenance:
        """The native maintenance; checks the budget."""
        raise NotImplementedError


@dataclass
class _OfSize(DualMaintenance):
    native: ClassVar[Any]

    budget: int

    def build(self) -> _core.DualMaintenance:
        maintenance: _core.DualMaintenance = self.native(check.count(self, "budget", self.budget))
        return maintenance


@dataclass
class DualRemoval(_OfSize):
    """No other support vector absorbs the removed weight: b = 0 (BDUOL_remo; Zhao & Hoi 2012, Eq. 6 and 7).

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import DoubleUpdating, DualRemoval, Gaussian, OnlineClassifier
    >>> learner = DoubleUpdating(Gaussian(1.0), maintenance=DualRemoval(budget=2))
    >>> OnlineClassifier(learner).fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    takes_classes = True
    native = _core.DualRemoval


@dataclass
class DualProjection(_OfSize):
    """All others absorb the removed weight, within the box (BDUOL_proj; Zhao & Hoi 2012, Eq. 8).

    b minimises abs(g_j y_j k(s_j,.) - sum b_i y_i k(s_i,.)) over b_i in [-g_i, C - g_i]; it is computed
    for every j, each by an active-set method in at least O(B^3): the best choice and the slowest. It is for
    small budgets: a step takes about a millisecond at B = 100, five to ten at 200 and 0.1 seconds at 500.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.
    exact : bool, default False
        Whether every j is tried, however long it takes: with a few duplicates among the rows, 11 times an
        ordinary step at B = 100, and 27 times at 200. If not, it takes at most about 4 times as long.

    Departs from the paper
    ----------------------
    A support vector in the span of others, up to rounding (within 1e-10 k(s,s)), absorbs nothing if the
    others can.
    Unless ``exact``: if the Gram matrix has no inverse, as that of duplicates, or is ill-conditioned, as
    that of tight clusters or of a very wide kernel, and the active sets take too long, only some j are
    tried, beginning with those whose plain removal (Eq. 7) costs least.

    Examples
    --------
    >>> from budgetron import DoubleUpdating, DualProjection, Gaussian, OnlineClassifier
    >>> learner = DoubleUpdating(Gaussian(1.0), maintenance=DualProjection(budget=2))
    >>> OnlineClassifier(learner).fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    exact: bool = False

    def build(self) -> _core.DualMaintenance:
        """The native maintenance; checks the parameters."""
        check.instance(self, "exact", self.exact, bool)
        return _core.DualProjection(check.count(self, "budget", self.budget), self.exact)


@dataclass
class DualProjectionClipped(_OfSize):
    """All others absorb the weight as if there were no box, and are then clipped to it (BDUOL_appr).

    Zhao & Hoi 2012, Eq. 9 and 11. The inverse Gram matrix has rank-one updates, O(B^2) each.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    The inverse is that of a basis of the support vectors. One in the span of that basis, up to rounding
    (within 1e-6 k(s,s)), absorbs nothing.

    Examples
    --------
    >>> from budgetron import DoubleUpdating, DualProjectionClipped, Gaussian, OnlineClassifier
    >>> learner = DoubleUpdating(Gaussian(1.0), maintenance=DualProjectionClipped(budget=2))
    >>> OnlineClassifier(learner).fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    native = _core.DualProjectionClipped


@dataclass
class DualNearest(_OfSize):
    """The nearest neighbour of s_j in feature space absorbs its weight, within the box (BDUOL_near).

    Zhao & Hoi 2012, Eq. 13 and 14. Neighbours are stored: mostly O(B) time, and O(B^2) memory for the Gram
    matrix.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import DoubleUpdating, DualNearest, Gaussian, OnlineClassifier
    >>> learner = DoubleUpdating(Gaussian(1.0), maintenance=DualNearest(budget=2))
    >>> OnlineClassifier(learner).fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    takes_classes = True
    native = _core.DualNearest


@dataclass
class DualRemovalThenNearest(_OfSize):
    """The support vector of :class:`DualRemoval` is removed; its nearest neighbour absorbs the weight.

    A remark in Section 3 of Zhao & Hoi 2012 proposes this faster form. It stores no matrix: O(B) memory,
    and O(B d) time for d features.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import DoubleUpdating, DualRemovalThenNearest, Gaussian, OnlineClassifier
    >>> learner = DoubleUpdating(Gaussian(1.0), maintenance=DualRemovalThenNearest(budget=2))
    >>> OnlineClassifier(learner).fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    takes_classes = True
    native = _core.DualRemovalThenNearest


@dataclass
class DualRemovalThenProjection(_OfSize):
    """The support vector of :class:`DualRemoval` is removed and projected as by :class:`DualProjection`.

    A remark in Section 3 of Zhao & Hoi 2012 proposes this faster form: one projection instead of B.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    As :class:`DualProjection`.

    Examples
    --------
    >>> from budgetron import DoubleUpdating, DualRemovalThenProjection, Gaussian, OnlineClassifier
    >>> learner = DoubleUpdating(Gaussian(1.0), maintenance=DualRemovalThenProjection(budget=2))
    >>> OnlineClassifier(learner).fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    native = _core.DualRemovalThenProjection


@dataclass
class DoubleUpdating(Learner):
    """A new row and the support vector that contradicts it most are updated together.

    Double updating online learning, DUOL (Zhao, Hoi & Jin 2011), and with a maintenance its budgeted form,
    BDUOL (Zhao & Hoi 2012, Algorithm 1). With l = 1 - y f(x) > 0: let b be the support vector of margin
    m_b <= 1 with the smallest w = y y_b k(x, s_b), the newest on ties. If w <= -rho, the new weight g in
    [0, C] and the change d of g_b, within [-g_b, C - g_b], maximise the rise of the dual objective

        g l + d (1 - m_b) - k(x,x) g^2 / 2 - k(s_b,s_b) d^2 / 2 - w g d     (Eq. 1)

    else the step is that of :class:`~budgetron.PA`, g = min(C, l / k(x,x)).

    Parameters
    ----------
    kernel : Kernel
        The space; positive semidefinite.
    C : float
        The largest weight. A sample weight multiplies it.
    rho : float
        How strongly a support vector must contradict to be updated too, 0 <= rho < 1.
    maintenance : DualMaintenance or None
        What is done when the budget is full; None has no budget.

    Departs from the paper
    ----------------------
    The problem of two variables is solved exactly, also where Eq. 1 has no case. w = 0 is not a
    contradiction. Eq. 2 prints l / k(x,x)^2 for a single update; it is l / k(x,x), as in Algorithm 1. A
    loss, or a margin minus 1, below 1e-12 is rounding and counts as 0.
    The paper has two classes and leaves more to future work, so their equations are ours: a row stands for
    its best wrong class, and so does a support vector. Only :class:`DualNearest`,
    :class:`DualRemovalThenNearest` and :class:`DualRemoval` take more than two classes.

    Examples
    --------
    >>> from budgetron import DoubleUpdating, Gaussian, OnlineClassifier
    >>> model = OnlineClassifier(DoubleUpdating(Gaussian(1.0), C=2.0))
    >>> model.fit([[0.0], [1.0], [0.4], [0.6]], [0, 1, 0, 1]).predict([[0.1], [0.9]])
    array([0, 1])
    """

    kernel: Kernel
    C: float = 1.0
    rho: float = 0.0
    maintenance: DualMaintenance | None = None
    ranges: ClassVar[Ranges] = {"C": (0.01, 10.0), "rho": (0.01, 0.9)}

    @property
    def multiclass(self) -> bool:
        return self.maintenance is None or getattr(self.maintenance, "takes_classes", False)

    def check_parts(self, task: Task, n_features: int) -> None:  # noqa: ARG002
        self._native_parts(task)

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:  # noqa: ARG002
        return _core.DoubleUpdating(**self._native_parts(task), features=n_features, outputs=task.outputs)

    def _native_parts(self, task: Task) -> dict[str, Any]:
        kernel = check.instance(self, "kernel", self.kernel, Kernel)
        if not isinstance(task, Labels):
            raise ValueError("DoubleUpdating is defined for classification only.")
        if task.outputs > 1 and not self.multiclass:
            raise ValueError(
                f"{type(self.maintenance).__name__} is defined for two classes; for more take DualNearest, "
                "DualRemovalThenNearest or DualRemoval."
            )
        if not kernel.positive_semidefinite:
            raise ValueError(f"DoubleUpdating: needs a positive semidefinite kernel, got {kernel!r}.")
        return {
            "kernel": kernel.build(),
            "C": check.positive(self, "C", self.C),
            "rho": check.below_one(self, "rho", self.rho),
            "maintenance": self._maintenance(),
        }

    def _maintenance(self) -> _core.DualMaintenance:
        if self.maintenance is None:
            return _core.DualUnbounded()
        return check.instance(self, "maintenance", self.maintenance, DualMaintenance).build()
