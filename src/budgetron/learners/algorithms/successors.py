"""Algorithms that came after the five papers and build on theirs."""

from math import sqrt

from budgetron._util import check
from budgetron.learners.kernelized import Kernelized
from budgetron.parts.budgets.least_squares import LeastSquares
from budgetron.parts.budgets.pruning import Prune, RemoveHalf
from budgetron.parts.kernels import Kernel
from budgetron.parts.losses import Loss
from budgetron.parts.rules import OGD, AggressivePerceptron


def polk(
    kernel: Kernel,
    *,
    error: float,
    eta: float = 0.1,
    lam: float = 1e-6,
    loss: Loss | None = None,
    budget: int | None = None,
) -> Kernelized:
    """POLK: gradient descent, and removals as long as f stays within an error (Koppel et al. 2019).

    The error decides how many support vectors there are, and each step is followed to that error.

    :doc:`The mathematics beside the code </mathematics/polk>`.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    error : float
        The largest change of f by the removals of one round; see :class:`~budgetron.Prune`.
    eta, lam, loss
        See :class:`~budgetron.OGD`.
    budget : int, optional
        The largest number of support vectors; None leaves it to the error.

    Departs from the paper
    ----------------------
    In multi-class only two classes step, as everywhere here; the paper's multi-class losses step in all.
    See also :class:`~budgetron.Prune`.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, polk
    >>> model = OnlineClassifier(polk(Gaussian(1.0), error=0.3, eta=1.0))
    >>> model.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """
    return Kernelized(kernel, OGD(eta, lam, loss, epsilon=0.0), Prune(error, budget))


def krls(kernel: Kernel, *, nu: float = 0.001, lam: float = 0.0, budget: int | None = None) -> Kernelized:
    """Kernel recursive least squares with approximate linear dependence (Engel et al. 2004). Regression only.

    :doc:`The mathematics beside the code </mathematics/krls>`.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    nu, lam, budget
        See :class:`~budgetron.LeastSquares`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.LeastSquares`.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineRegressor, krls
    >>> model = OnlineRegressor(krls(Gaussian(1.0), nu=0.01))
    >>> model.fit([[0.0], [1.0], [2.0], [1.0]], [0.0, 0.5, 1.0, 0.7]).predict([[0.0], [1.0], [2.0]]).round(3)
    array([0. , 0.6, 1. ])
    """
    return Kernelized(kernel, OGD(eta=1.0, epsilon=0.0), LeastSquares(nu, lam, budget))


def ahpatron(
    kernel: Kernel,
    *,
    budget: int,
    margin: float = 0.5,
    U: float | None = None,
    eta: float | None = None,
) -> Kernelized:
    """Ahpatron: an aggressive Perceptron that removes half of a full set (Liao et al. 2024). Labels only.

    :doc:`The mathematics beside the code </mathematics/ahpatron>`.

    Parameters
    ----------
    kernel, budget
        The kernel, and the largest number of support vectors.
    margin : float
        The smallest y f(x) that makes no step.
    U : float, optional
        The largest norm of f; None is sqrt(B) / 2.
    eta : float, optional
        The size of a step; None is U / (2 sqrt(B)).

    Departs from the paper
    ----------------------
    See :class:`~budgetron.AggressivePerceptron` and :class:`~budgetron.RemoveHalf`. The defaults are those
    of the authors' program.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, ahpatron
    >>> model = OnlineClassifier(ahpatron(Gaussian(1.0), budget=2))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """
    root = sqrt(check.count("ahpatron", "budget", budget))
    radius = root / 2 if U is None else U
    step = radius / (2 * root) if eta is None else eta
    return Kernelized(kernel, AggressivePerceptron(step, margin, radius), RemoveHalf(budget))
