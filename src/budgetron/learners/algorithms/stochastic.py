"""Stochastic gradient descent with the step 1/(lam t), and its budgeted forms."""

from collections.abc import Callable

from budgetron.learners.kernelized import Kernelized
from budgetron.parts.budgets.approximation import Approximate
from budgetron.parts.budgets.budget import Budget
from budgetron.parts.budgets.maintenance import RemoveSmallest, Sometimes
from budgetron.parts.budgets.removal import Unbounded
from budgetron.parts.kernels import Kernel
from budgetron.parts.losses import Loss
from budgetron.parts.rules import SGD


def sgd(kernel: Kernel, *, lam: float = 1e-3, loss: Loss | None = None) -> Kernelized:
    """Kernel stochastic gradient descent, Pegasos for the hinge loss (Le et al. 2016, Algorithm 1).

    :doc:`The mathematics beside the code </mathematics/sgd>`.

    Parameters
    ----------
    kernel, lam, loss
        The kernel, and the parameters of :class:`~budgetron.SGD`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.SGD` for the ball of the squared loss.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, sgd
    >>> model = OnlineClassifier(sgd(Gaussian(1.0), lam=0.1))
    >>> model.fit([[0.0], [1.0]], [0, 1]).dual_coef_
    array([[-5.,  5.]])
    """
    return Kernelized(kernel, SGD(lam, loss), Unbounded())


def avm(kernel: Kernel, *, delta: float, lam: float = 1e-3, loss: Loss | None = None) -> Kernelized:
    """The approximation vector machine: SGD with support vectors farther apart than delta (Le et al. 2017).

    :doc:`The mathematics beside the code </mathematics/avm>`.

    Parameters
    ----------
    kernel : Kernel
        The space: Gaussian or Laplacian.
    delta : float
        A step at a row within this distance of a support vector changes the coefficient of the nearest one;
        see :class:`~budgetron.Approximate`. A larger delta leaves fewer support vectors.
    lam, loss
        See :class:`~budgetron.SGD`.

    Departs from the paper
    ----------------------
    The prediction is that of the last f; for the paper's average write ``Averaged(avm(...))``. See also
    :class:`~budgetron.Approximate` and :class:`~budgetron.SGD`.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, avm
    >>> model = OnlineClassifier(avm(Gaussian(1.0), delta=0.5, lam=0.1))
    >>> model.fit([[0.0], [1.0], [0.2], [0.7]], [0, 1, 0, 1]).n_support_
    2
    """
    return Kernelized(kernel, SGD(lam, loss), Approximate(delta))


def bsgd(
    kernel: Kernel,
    *,
    budget: int,
    lam: float = 1e-3,
    loss: Loss | None = None,
    maintenance: Callable[[int], Budget] = RemoveSmallest,
) -> Kernelized:
    """Budgeted SGD (Wang, Crammer & Vucetic 2012; Le et al. 2016, Algorithm 2).

    :doc:`The mathematics beside the code </mathematics/bsgd>`.

    Parameters
    ----------
    kernel, budget
        The kernel, and the largest number of support vectors.
    lam, loss
        See :class:`~budgetron.SGD`.
    maintenance : class of budget
        :class:`~budgetron.RemoveSmallest`, :class:`~budgetron.ProjectSmallest` or
        :class:`~budgetron.Merge`, or any function from a number to a budget, as
        ``partial(ProjectSmallest, neighbours=4)``.

    Departs from the paper
    ----------------------
    See the maintenance.

    Examples
    --------
    >>> from budgetron import Gaussian, Merge, OnlineClassifier, bsgd
    >>> model = OnlineClassifier(bsgd(Gaussian(1.0), budget=2, lam=0.1, maintenance=Merge))
    >>> model.fit([[0.0], [1.0], [0.2], [0.8]], [0, 1, 0, 1]).n_support_
    2
    """
    return Kernelized(kernel, SGD(lam, loss), maintenance(budget))


def nbsgd(
    kernel: Kernel,
    *,
    budget: int,
    beta: float,
    lam: float = 1e-3,
    loss: Loss | None = None,
    maintenance: Callable[[int], Budget] = RemoveSmallest,
) -> Kernelized:
    """Nonparametric budgeted SGD (Le et al. 2016, Algorithm 3): the number of support vectors may grow.

    :doc:`The mathematics beside the code </mathematics/nbsgd>`.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    budget : int
        The number of support vectors from which on maintenance may happen, B.
    beta : float
        Maintenance happens with probability min(beta/t, 1) at round t.
    lam, loss, maintenance
        As for :func:`bsgd`.

    Departs from the paper
    ----------------------
    See the maintenance.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, nbsgd
    >>> model = OnlineClassifier(nbsgd(Gaussian(1.0), budget=2, beta=2.0, lam=0.1), random_state=0)
    >>> 2 <= model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_ <= 4
    True
    """
    return Kernelized(kernel, SGD(lam, loss), Sometimes(maintenance(budget), beta))
