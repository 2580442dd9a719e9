"""Algorithms that came after the five papers and build on theirs."""

from math import sqrt

from budgetron._util import check
from budgetron.learners.kernelized import Kernelized
from budgetron.learners.learner import Learner
from budgetron.parts.budgets.dual_space import MoveToFeatures
from budgetron.parts.budgets.least_squares import LeastSquares
from budgetron.parts.budgets.pruning import Prune, RemoveHalf
from budgetron.parts.kernels import Gaussian, Kernel
from budgetron.parts.losses import Loss
from budgetron.parts.rules import OGD, SGD, AggressivePerceptron


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
    """Kernel recursive least squares (Engel, Mannor & Meir 2004): exact in a growing span. Regression only.

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
    >>> model = model.fit([[0.0], [1.0], [2.0], [1.0]], [0.0, 0.5, 1.0, 0.7])
    >>> model.predict([[0.0], [1.0], [2.0]]).round(3)
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


def dualsgd(
    kernel: Kernel,
    *,
    budget: int,
    lam: float = 1e-3,
    loss: Loss | None = None,
    components: int = 100,
    at_once: int = 10,
) -> Kernelized:
    """Dual space gradient descent: what is removed goes on in random features (Le et al. 2016b).

    :doc:`The mathematics beside the code </mathematics/dualsgd>`.

    Parameters
    ----------
    kernel : Kernel
        The kernel: Gaussian or Laplacian.
    budget : int
        The largest number of support vectors.
    lam, loss
        See :class:`~budgetron.SGD`.
    components, at_once
        See :class:`~budgetron.MoveToFeatures`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.MoveToFeatures`.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, dualsgd
    >>> model = OnlineClassifier(dualsgd(Gaussian(1.0), budget=2, lam=0.1), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.2], [0.8]], [0, 1, 0, 1]).n_support_
    2
    """
    return Kernelized(kernel, SGD(lam, loss), MoveToFeatures(budget, components, at_once))


def rrf(
    kernel: Gaussian,
    *,
    components: int = 100,
    eta: float = 0.1,
    rate: float = 1e-3,
    lam: float = 0.0,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Learner:
    """Reparameterised random features: the widths of the kernel are learned too (Nguyen et al. 2017).

    :doc:`The mathematics beside the code </mathematics/rrf>`.

    Parameters
    ----------
    kernel : Gaussian
        The kernel at the start.
    components : int
        The number of frequencies, D; there are 2 D features.
    eta, lam, loss, epsilon
        See :class:`~budgetron.OGD`.
    rate : float
        The step size of the logarithm of the width of each column, in units of eta; 0 is :func:`fogd`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.LearnedWidths`. The paper's eta is ours divided by D; its step
    size of the widths is rate eta.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, rrf
    >>> model = OnlineClassifier(rrf(Gaussian(1.0), components=50, eta=0.5), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    """
    from budgetron.learners.mapped import Mapped
    from budgetron.parts.features.widths import LearnedWidths  # not above: maps import scikit-learn

    return Mapped(LearnedWidths(kernel, components, rate), OGD(eta, lam, loss, epsilon))
