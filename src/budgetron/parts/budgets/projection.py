"""Budgets that project a new term on the span of the support vectors."""

import math
import sys
import warnings
from dataclasses import dataclass

from budgetron import _core
from budgetron._util import check
from budgetron.parts.budgets.budget import Budget, BuildContext

_IDLE = 0.75
"""While f = 0, the threshold of Eq. 13 is 0.75 / U. Up to this U it is at least 1, the norm of k(x,.)."""
_LARGEST_EIGENPROBLEM = 30_000  # LAPACK counts its workspace, 2 n^2 numbers, in 32 bits


@dataclass
class Project(Budget):
    """Project the new term on the span of the support vectors, alpha += beta K^-1 k, or append it.

    Projectron (Orabona et al. 2008, Algorithm 2): with d = K^-1 k and abs(delta)^2 = k(x,x) - k'd the
    squared distance to the span, project when full, or when abs(delta) <= eta; append otherwise.

    Parameters
    ----------
    budget : int, optional
        The largest number of support vectors, B. None: only the threshold bounds their number.
    rank : int, optional
        NOGD (Lu et al. 2016): append until the budget is full, then cut the span once to the ``rank``
        leading eigenvectors of K and project on those.
    eta : float, optional
        The threshold. 0 is the Perceptron, except that points in the span are projected.
    U : float, optional
        A bound on the competitor's norm, which sets the threshold of every round by Eq. 13:
        (2 l - k'd - 0.5) / (2 U), l the hinge loss. Classification only. Where k(x,x) = 1, nothing is ever
        learned with U <= 0.75; U = sqrt((B+1) / log(B+1)) / 4 is that small for B <= 29.

    Departs from the paper
    ----------------------
    A point with abs(delta)^2 <= 1e-10 k(x,x) counts as in the span and is always projected; the authors'
    program divides by abs(delta)^2 and fails on duplicates. K^-1 k is solved by
    a growing Cholesky factor, not by the explicit inverse of Eq. 11. Multi-class uses k(x,x) and k'd
    of one class, as the published experiments do. With ``rank``, eigenvalues below 1e-10 of the
    largest are dropped.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, Perceptron, Project
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), Perceptron(), Project(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).support_vectors_.ravel()
    array([0., 1.])
    """

    needs_distances = keeps_first = True

    budget: int | None = None
    rank: int | None = None
    eta: float | None = None
    U: float | None = None

    def build(self, context: BuildContext) -> _core.Budget:
        if self.rank is None:
            return _core.Project(_limit(self), _threshold(self, context))
        if self.budget is None or self.eta is not None or self.U is not None:
            raise ValueError("Project: rank needs budget, and excludes eta and U.")
        rank, budget = check.count(self, "rank", self.rank), self.size_limit()
        if rank > budget:
            raise ValueError(f"Project: rank ({rank}) exceeds budget ({budget}).")
        if budget > _LARGEST_EIGENPROBLEM:
            raise ValueError(
                f"Project: with a rank, budget must be at most {_LARGEST_EIGENPROBLEM}, got {budget}."
            )
        return _core.ProjectLowRank(budget, rank)


@dataclass
class ProjectPlus(Budget):
    """:class:`Project`, and margin errors are projected too (Orabona et al. 2008, Sec. 4.1).

    On 0 < y f(x) < 1, with l the hinge loss and P = k'd: tau = min(l / P, 1), and alpha += tau y d if
    tau (2 l - tau P - 2 U abs(delta)) >= 0, that is, if it is progress. To be used with
    :class:`~budgetron.MarginPerceptron` of margin 1. Classification only.

    Parameters
    ----------
    budget, eta
        As for :class:`Project`.
    U : float, optional
        As for :class:`Project`, and in the test of progress. Left out, the threshold is ``eta`` (or none)
        and the test takes U = sqrt((B+1) / log(B+1)) / 4 of a budget B, else 1 / (2 eta).

    Departs from the paper
    ----------------------
    As :class:`Project`. The paper sets U only; the U of a budget is the paper's own translation
    (Sec. 5), the U of a fixed eta is the largest for which Theorem 2 holds with k(x,x) = 1.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, MarginPerceptron, OnlineClassifier, ProjectPlus
    >>> learner = Kernelized(Gaussian(1.0), MarginPerceptron(margin=1), ProjectPlus(budget=2))
    >>> model = OnlineClassifier(learner)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    needs_distances = keeps_first = True
    appends_until_full = False  # margin errors are projected

    budget: int | None = None
    eta: float | None = None
    U: float | None = None

    def build(self, context: BuildContext) -> _core.Budget:
        self.needs_labels(context, "a target has no margin error")
        return _core.ProjectPlus(_limit(self), _threshold(self, context), self._progress())

    def _progress(self) -> float:
        """U in the test of progress."""
        if self.U is not None:
            return check.positive(self, "U", self.U)
        if self.budget is not None:
            return math.sqrt((self.budget + 1) / math.log(self.budget + 1)) / 4
        return 1 / (2 * self.eta) if self.eta else math.inf


def _limit(spec: Project | ProjectPlus) -> int:
    """The native budget; without a budget, the largest integer."""
    if spec.budget is None and spec.eta is None and spec.U is None:
        raise ValueError(f"{type(spec).__name__}: give a budget, or a threshold by eta or U.")
    return sys.maxsize if spec.budget is None else spec.size_limit()


def _threshold(spec: Project | ProjectPlus, context: BuildContext) -> _core.Threshold:
    name = type(spec).__name__
    if spec.U is None:
        eta = 0.0 if spec.eta is None else check.non_negative(spec, "eta", spec.eta)
        return _core.FixedThreshold(eta)
    if spec.eta is not None:
        raise ValueError(f"{name}: eta and U both set the threshold; give one of them.")
    spec.needs_labels(context, "the threshold of U (Eq. 13) needs labels, so give eta or budget")
    U = check.positive(spec, "U", spec.U)
    if U <= _IDLE and context.kernel.at_distance(0.0) == 1:
        warnings.warn(
            f"{name}: with U={U:g} nothing is ever learned, because Eq. 13 projects a first mistake on no "
            f"support vectors while k(x,x) = 1 and U is at most {_IDLE}: give a larger U.",
            stacklevel=2,
        )
    return _core.ProgressThreshold(U)
