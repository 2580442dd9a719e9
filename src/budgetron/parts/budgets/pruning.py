"""Budgets that remove several support vectors at once, projected on those that are left."""

from dataclasses import dataclass
from typing import ClassVar

from budgetron import _core
from budgetron._util import check
from budgetron.parts.budgets.budget import Budget, BuildContext


@dataclass
class Prune(Budget):
    """Remove support vectors as long as f stays within an error (POLK; Koppel et al. 2019, Algorithm 2).

    The new term is appended, which makes g of f. Then the support vector whose removal changes f least is
    removed, and f becomes the projection of g on the others, as long as abs(g - f) <= error in the norm of
    the kernel. So the error decides how many support vectors there are, and every step is followed to that
    error. This is the paper's destructive kernel orthogonal matching pursuit, KOMP. It is also done after
    rows without a step.

    Parameters
    ----------
    error : float
        The largest change of f in one round. The paper takes a multiple of eta^1.5, eta the step size.
    budget : int, optional
        The largest number of support vectors, B: more are removed whatever that costs. None: the error
        alone limits their number.

    Departs from the paper
    ----------------------
    ``budget`` is ours. A new point in the span of the support vectors, up to rounding (within 1e-6 k(x,x)),
    is projected on it and never appended; what that changes counts. A factor of K^-1 is updated.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OGD, OnlineClassifier, Prune
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), OGD(eta=1.0), Prune(error=0.3)))
    >>> model.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    needs_distances: ClassVar[bool] = True
    appends_until_full: ClassVar[bool] = False
    is_limited: ClassVar[bool] = False

    error: float
    budget: int | None = None

    def build(self, context: BuildContext) -> _core.Budget:  # noqa: ARG002
        budget = 0 if self.budget is None else self.size_limit()
        return _core.Prune(check.non_negative(self, "error", self.error), budget)


@dataclass
class RemoveHalf(Budget):
    """When full, half of the support vectors are removed at once (Ahpatron; Liao et al. 2024).

    Those with the larger coefficients stay, of equal ones the older. The others are projected on them,
    theta = (K + ridge I)^-1 K_12 alpha_2, and f is scaled to the norm that it had. It costs O(B^3), but
    only once in B/2 steps.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.
    ridge : float
        What is added to the diagonal of K, in units of k(x,x).

    Departs from the paper
    ----------------------
    It follows the authors' program. That takes the first B/2 whose coefficient is at least the median,
    which differs when many are equal to it, and has a Gaussian kernel only, where the ridge has no unit.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, Perceptron, RemoveHalf
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), Perceptron(), RemoveHalf(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    needs_distances: ClassVar[bool] = True

    budget: int
    ridge: float = 0.0005

    def build(self, context: BuildContext) -> _core.Budget:  # noqa: ARG002
        return _core.RemoveHalf(self.size_limit(), check.positive(self, "ridge", self.ridge))
