"""Budget maintenance of stochastic gradient descent: append; over the budget, remove the smallest term.

The smallest is p = argmin abs(alpha_i)^2 k(s_i,s_i), the new one included, the oldest on ties (Le et al.
2016, Eq. 5). The budgets differ in how they make up for the removed term. In multi-class abs(alpha_i) is
the norm of the coefficients of s_i.
"""

from dataclasses import dataclass
from typing import ClassVar

from budgetron import _core
from budgetron._util import check
from budgetron.parts.budgets.budget import Budget, BuildContext


class Maintained(Budget):
    """Base of the budgets that :class:`Sometimes` can hold.

    Examples
    --------
    >>> from budgetron import Maintained, Merge, Sometimes
    >>> issubclass(Merge, Maintained)
    True
    >>> Sometimes(Merge(100), beta=500.0)
    Sometimes(inner=Merge(budget=100), beta=500.0)
    """

    def build(self, context: BuildContext) -> _core.Maintained:
        raise NotImplementedError


@dataclass
class RemoveSmallest(Maintained):
    """The smallest term is removed, and nothing makes up for it (Le et al. 2016, Sec. 6.1).

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, RemoveSmallest, SGD
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), SGD(lam=0.1), RemoveSmallest(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    budget: int

    def build(self, context: BuildContext) -> _core.Maintained:  # noqa: ARG002
        return _core.RemoveSmallest(self.size_limit())


@dataclass
class ProjectSmallest(Maintained):
    """The smallest is projected on the others (Le et al. 2016, Sec. 6.2), or on its nearest neighbours.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.
    neighbours : int, optional
        Project only on this many nearest neighbours in feature space (Sec. 6.2.2; 4 in the paper). None is
        the exact projection on all others, O(B^2) a step.

    Departs from the paper
    ----------------------
    Exact: a new point in the span of the support vectors, up to rounding (within 1e-6 k(x,x)), is
    projected on it and never appended. A factor of K^-1 is updated instead of K^-1 itself, because the
    paper's rank-two updates lose too many digits; the factor is recomputed when its residual grows.
    Neighbours: a neighbour in the span of nearer ones is skipped.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, ProjectSmallest, SGD
    >>> budget = ProjectSmallest(budget=2, neighbours=1)
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), SGD(lam=0.1), budget))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    needs_distances: ClassVar[bool] = True

    budget: int
    neighbours: int | None = None

    def build(self, context: BuildContext) -> _core.Maintained:  # noqa: ARG002
        if self.neighbours is None:
            return _core.ProjectSmallest(self.size_limit())
        neighbours = check.count(self, "neighbours", self.neighbours)
        return _core.ProjectNearest(self.size_limit(), neighbours)


@dataclass
class Merge(Maintained):
    """The smallest and a partner become one (Wang, Crammer & Vucetic 2012). Gaussian kernel only.

    z = h s_i + (1-h) s_j, with the h and the partner s_j that change f least. Only support vectors whose
    coefficient has the same sign can be partners. If there is none, the smallest is removed.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    h comes from a table, refined by Newton's method, instead of a golden section search. In multi-class
    "the same sign" is a positive product of the coefficients, and h is that of their norms.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, Merge, OnlineClassifier, SGD
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), SGD(lam=0.1), Merge(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.2], [0.8]], [0, 1, 0, 1]).n_support_
    2
    """

    budget: int

    def build(self, context: BuildContext) -> _core.Maintained:
        gamma = context.kernel.gaussian_gamma()
        if gamma is None:
            raise ValueError(f"Merge: is defined for the Gaussian kernel only, got {context.kernel!r}.")
        return _core.Merge(self.size_limit(), gamma)


@dataclass
class Sometimes(Budget):
    """The inner maintenance, with probability min(beta/t, 1) (NBSGD; Le et al. 2016, Algorithm 3).

    The number of support vectors grows beyond the inner budget. A larger beta makes it grow more slowly.

    Parameters
    ----------
    inner : RemoveSmallest, ProjectSmallest or Merge
        The maintenance that is done.
    beta : float
        0: maintenance is never done. At least the number of rounds: it is always done.

    Departs from the paper
    ----------------------
    With an exact :class:`ProjectSmallest`, a new point in the span of the support vectors (within 1e-6
    k(x,x)) is projected before the coin of line 9 is tossed: it never becomes a support vector, and the
    coin is not tossed.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, RemoveSmallest, SGD, Sometimes
    >>> budget = Sometimes(RemoveSmallest(budget=1), beta=0)
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), SGD(lam=0.1), budget))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    4
    """

    inner: Budget
    beta: float

    def build(self, context: BuildContext) -> _core.Budget:
        if not isinstance(self.inner, Maintained):
            raise TypeError(
                f"Sometimes: inner must be RemoveSmallest, ProjectSmallest or Merge, got {self.inner!r}."
            )
        beta = check.non_negative(self, "beta", self.beta)
        self.inner.check(context)
        return _core.Sometimes(self.inner.build(context), beta, context.seed)
