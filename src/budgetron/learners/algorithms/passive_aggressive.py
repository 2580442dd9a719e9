"""The Passive-Aggressive algorithm and its budgeted forms."""

from budgetron.learners.kernelized import Kernelized
from budgetron.parts.budgets.removal import Unbounded
from budgetron.parts.budgets.swapping import Swap, SwapNearest, SwapProject
from budgetron.parts.kernels import Kernel
from budgetron.parts.rules import PA


def pa(kernel: Kernel, *, C: float = 1.0, epsilon: float = 0.1) -> Kernelized:
    """Passive-Aggressive PA-I (Crammer et al. 2006): the smallest step that makes the loss 0, at most C.

    :doc:`The mathematics beside the code </mathematics/pa>`.

    Parameters
    ----------
    kernel, C, epsilon
        The kernel, and the parameters of :class:`~budgetron.PA`.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, pa
    >>> model = OnlineClassifier(pa(Gaussian(1.0), C=1.0))
    >>> model.fit([[0.0], [1.0]], [0, 1]).decision_function([[1.0]])
    array([0.63212056])
    """
    return Kernelized(kernel, PA(C, epsilon), Unbounded())


def bpa_s(kernel: Kernel, *, budget: int, C: float = 1.0, epsilon: float = 0.1) -> Kernelized:
    """Budgeted PA, simple (Wang & Vucetic 2010): only the new vector absorbs the removed one.

    :doc:`The mathematics beside the code </mathematics/bpa_s>`.

    Parameters
    ----------
    kernel, budget
        The kernel, and the largest number of support vectors.
    C, epsilon : float
        See :class:`~budgetron.PA`.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, bpa_s
    >>> model = OnlineClassifier(bpa_s(Gaussian(1.0), budget=2))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    return Kernelized(kernel, PA(C, epsilon), Swap(budget))


def bpa_nn(kernel: Kernel, *, budget: int, C: float = 1.0, epsilon: float = 0.1) -> Kernelized:
    """Budgeted PA, nearest neighbour: the new vector and one neighbour absorb the removed one.

    Wang & Vucetic 2010. The neighbour is the one nearest to the removed support vector.

    :doc:`The mathematics beside the code </mathematics/bpa_nn>`.

    Parameters
    ----------
    kernel, budget, C, epsilon
        As for :func:`bpa_s`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.SwapNearest` for coinciding points.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, bpa_nn
    >>> model = OnlineClassifier(bpa_nn(Gaussian(1.0), budget=2))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    return Kernelized(kernel, PA(C, epsilon), SwapNearest(budget))


def bpa_p(kernel: Kernel, *, budget: int, C: float = 1.0, epsilon: float = 0.1) -> Kernelized:
    """Budgeted PA, projection (Wang & Vucetic 2010): all others absorb the removed one.

    :doc:`The mathematics beside the code </mathematics/bpa_p>`.

    Parameters
    ----------
    kernel, budget, C, epsilon
        As for :func:`bpa_s`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.SwapProject` for points already in the span.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, bpa_p
    >>> model = OnlineClassifier(bpa_p(Gaussian(1.0), budget=2))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    return Kernelized(kernel, PA(C, epsilon), SwapProject(budget))
