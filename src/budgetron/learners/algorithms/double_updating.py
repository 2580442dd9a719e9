"""Double updating, without and with a budget."""

from budgetron.learners.double_updating import DoubleUpdating, DualMaintenance, DualNearest
from budgetron.parts.kernels import Kernel


def duol(kernel: Kernel, *, C: float = 1.0, rho: float = 0.0) -> DoubleUpdating:
    """Double updating online learning (Zhao, Hoi & Jin 2011).

    :doc:`The mathematics beside the code </mathematics/duol>`.

    Parameters
    ----------
    kernel, C, rho
        See :class:`~budgetron.DoubleUpdating`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.DoubleUpdating`.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, duol
    >>> OnlineClassifier(duol(Gaussian(1.0))).fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    3
    """
    return DoubleUpdating(kernel, C, rho)


def bduol(
    kernel: Kernel,
    *,
    budget: int,
    C: float = 1.0,
    rho: float = 0.0,
    maintenance: type[DualMaintenance] = DualNearest,
) -> DoubleUpdating:
    """Budgeted double updating (Zhao & Hoi 2012, Algorithm 1).

    :doc:`The mathematics beside the code </mathematics/bduol>`.

    Parameters
    ----------
    kernel, budget
        The kernel, and the largest number of support vectors.
    C, rho : float
        See :class:`~budgetron.DoubleUpdating`.
    maintenance : class
        Which support vector is removed, and which others absorb its weight:
        :class:`~budgetron.DualRemoval`, :class:`~budgetron.DualNearest`,
        :class:`~budgetron.DualRemovalThenNearest`, :class:`~budgetron.DualProjectionClipped`,
        :class:`~budgetron.DualRemovalThenProjection` or :class:`~budgetron.DualProjection`. The exact
        projection is the slowest by far. The projections take two classes only.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.DoubleUpdating` and the maintenance.

    Examples
    --------
    >>> from budgetron import DualRemoval, Gaussian, OnlineClassifier, bduol
    >>> model = OnlineClassifier(bduol(Gaussian(1.0), budget=2, maintenance=DualRemoval))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    return DoubleUpdating(kernel, C, rho, maintenance(budget=budget))  # type: ignore[call-arg]
