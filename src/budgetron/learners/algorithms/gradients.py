"""Online gradient descent in the space of the kernel, and its budgeted forms."""

from typing import Literal

from budgetron._util import check
from budgetron.learners.kernelized import Kernelized
from budgetron.parts.budgets.approximation import Approximate
from budgetron.parts.budgets.maintenance import RemoveSmallest
from budgetron.parts.budgets.projection import Project
from budgetron.parts.budgets.removal import Unbounded
from budgetron.parts.budgets.sampling import SampleByWeight, SampleUniform, SampleUniformScaled
from budgetron.parts.kernels import Kernel
from budgetron.parts.losses import Loss, Squared
from budgetron.parts.rules import NORMA, OGD, ImplicitOGD


def ogd(
    kernel: Kernel,
    *,
    eta: float = 0.1,
    lam: float = 0.0,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Kernelized:
    """Kernel online gradient descent (Zhao et al. 2012, Eq. 2).

    :doc:`The mathematics beside the code </mathematics/ogd>`.

    Parameters
    ----------
    kernel, eta, lam, loss, epsilon
        The kernel, and the parameters of :class:`~budgetron.OGD`.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, ogd
    >>> model = OnlineClassifier(ogd(Gaussian(1.0), eta=0.2))
    >>> model.fit([[0.0], [1.0]], [0, 1]).dual_coef_
    array([[-0.2,  0.2]])
    """
    return Kernelized(kernel, OGD(eta, lam, loss, epsilon), Unbounded())


def klms(kernel: Kernel, *, eta: float = 0.1) -> Kernelized:
    """Kernel least mean squares (Liu, Pokharel & Principe 2008): every error becomes a term eta e k(x,.).

    :doc:`The mathematics beside the code </mathematics/klms>`.

    Parameters
    ----------
    kernel, eta
        The kernel, and the step size of :class:`~budgetron.OGD`.

    Departs from the paper
    ----------------------
    Nowhere. For labels, the target is -1 or +1.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineRegressor, klms
    >>> model = OnlineRegressor(klms(Gaussian(1.0), eta=0.5))
    >>> model.fit([[0.0], [1.0]], [0.5, 1.0]).dual_coef_.round(3)
    array([[0.25 , 0.454]])
    """
    return Kernelized(kernel, OGD(eta, 0.0, Squared(), 0.0), Unbounded())


def qklms(kernel: Kernel, *, delta: float, eta: float = 0.1) -> Kernelized:
    """Quantised kernel least mean squares (Chen, Zhao, Zhu & Principe 2012).

    :func:`klms` in which a row near a support vector adds its term to the nearest one.

    :doc:`The mathematics beside the code </mathematics/qklms>`.

    Parameters
    ----------
    kernel : Kernel
        The space: Gaussian or Laplacian.
    delta : float
        The size of a quantum, the paper's epsilon_U: the largest distance in input space from a support
        vector that takes the term; see :class:`~budgetron.Approximate`.
    eta : float
        The step size, see :class:`~budgetron.OGD`.

    Departs from the paper
    ----------------------
    delta must be above 0; 0 is nearly :func:`klms`. The Laplacian kernel, with its L1 distance, is ours.
    For labels, the target is -1 or +1.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineRegressor, qklms
    >>> model = OnlineRegressor(qklms(Gaussian(1.0), delta=0.3, eta=0.5))
    >>> model.fit([[0.0], [1.0], [0.2]], [0.5, 1.0, 0.6]).n_support_
    2
    """
    return Kernelized(kernel, OGD(eta, 0.0, Squared(), 0.0), Approximate(delta))


def norma(
    kernel: Kernel, *, eta: float = 0.1, nu: float = 0.5, lam: float = 0.0, epsilon: float = 0.1
) -> Kernelized:
    """NORMA for regression (Kivinen et al. 2004): gradient steps with a tube whose width adapts.

    :doc:`The mathematics beside the code </mathematics/norma>`.

    Parameters
    ----------
    kernel, eta, nu, lam, epsilon
        The kernel, and the parameters of :class:`~budgetron.NORMA`; epsilon is the value at the start.

    Departs from the paper
    ----------------------
    Regression only; no truncation of old terms.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineRegressor, norma
    >>> model = OnlineRegressor(norma(Gaussian(1.0), eta=0.1, nu=0.4, lam=0.03))
    >>> model.fit([[0.0], [1.0]], [0.5, 1.0]).n_support_
    2
    """
    return Kernelized(kernel, NORMA(eta, nu, lam, epsilon), Unbounded())


def bogd(
    kernel: Kernel,
    *,
    budget: int,
    eta: float = 0.1,
    lam: float = 0.0,
    cap: float = 10.0,
    loss: Loss | None = None,
    epsilon: float = 0.1,
    reading: Literal["definition", "program"] = "definition",
) -> Kernelized:
    """Bounded OGD with uniform sampling (Zhao et al. 2012, Algorithm 1).

    :doc:`The mathematics beside the code </mathematics/bogd>`.

    Parameters
    ----------
    kernel, budget
        The kernel, and the largest number of support vectors.
    eta, lam, loss, epsilon
        See :class:`~budgetron.OGD`.
    cap : float
        The paper's gamma, see :class:`~budgetron.SampleUniform`.
    reading : {"definition", "program"}
        What the cap does. "definition" is the paper's: it clips each coefficient by itself,
        :class:`~budgetron.SampleUniform`. "program" is that of the program of Lu et al. 2016, which
        computed their Table 5: it scales all of them down together,
        :class:`~budgetron.SampleUniformScaled`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.SampleUniform`; with ``reading="program"`` in the cap.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, bogd
    >>> model = OnlineClassifier(bogd(Gaussian(1.0), budget=2, eta=0.2), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    check.one_of("bogd", "reading", reading, ("definition", "program"))
    kind = SampleUniform if reading == "definition" else SampleUniformScaled
    return Kernelized(kernel, OGD(eta, lam, loss, epsilon), kind(budget, cap))


def bogd_pp(
    kernel: Kernel,
    *,
    budget: int,
    eta: float = 0.1,
    lam: float = 0.0,
    cap: float = 10.0,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Kernelized:
    """Bounded OGD with sampling by weight, BOGD++ (Zhao et al. 2012, Algorithm 1 with Eq. 16).

    :doc:`The mathematics beside the code </mathematics/bogd_pp>`.

    Parameters
    ----------
    kernel, budget, eta, lam, cap, loss, epsilon
        As for :func:`bogd`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.SampleByWeight`.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, bogd_pp
    >>> model = OnlineClassifier(bogd_pp(Gaussian(1.0), budget=2, eta=0.2), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    return Kernelized(kernel, OGD(eta, lam, loss, epsilon), SampleByWeight(budget, cap))


def nogd(
    kernel: Kernel,
    *,
    budget: int,
    rank: int | None = None,
    eta: float = 0.1,
    loss: Loss | None = None,
    epsilon: float = 0.1,
) -> Kernelized:
    """Nystrom online gradient descent (Lu et al. 2016, Algorithm 2).

    Kernel OGD until the budget is full; then the rank-r Nystrom map of those support vectors, here in
    the equivalent form of a projection on the leading eigenvectors of their Gram matrix.

    :doc:`The mathematics beside the code </mathematics/nogd>`.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    budget : int
        The number of support vectors that span the map, B.
    rank : int, optional
        The rank of the map, at most ``budget``; None is a fifth of it, as in the paper's experiments.
    eta, loss, epsilon
        See :class:`~budgetron.OGD`.

    Departs from the paper
    ----------------------
    The switch happens at the first update after the budget is full, and eigenvalues below 1e-10 of the
    largest are dropped; see :class:`~budgetron.Project`.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, nogd
    >>> model = OnlineClassifier(nogd(Gaussian(1.0), budget=2, rank=1, eta=0.2))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    if rank is None:
        rank = max(1, budget // 5) if isinstance(budget, int) else 1
    return Kernelized(kernel, OGD(eta, 0.0, loss, epsilon), Project(budget, rank=rank))


def silk(
    kernel: Kernel, *, budget: int, eta: float = 0.1, lam: float = 0.01, loss: Loss | None = None
) -> Kernelized:
    """Sparse implicit online learning with kernels, SILK (Cheng et al. 2006).

    Implicit gradient steps, after which the smallest coefficient is removed if there are too many.

    :doc:`The mathematics beside the code </mathematics/silk>`.

    Parameters
    ----------
    kernel, budget
        The kernel, and the largest number of support vectors.
    eta, lam, loss
        See :class:`~budgetron.ImplicitOGD`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.ImplicitOGD`: only the beginning of the paper could be read, and which
    coefficient is removed is that of two public programs. For kernels whose k(x,x) differs between rows,
    the smallest is that of alpha^2 k(s,s), as for :class:`~budgetron.RemoveSmallest`.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, silk
    >>> model = OnlineClassifier(silk(Gaussian(1.0), budget=2, eta=0.5))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    return Kernelized(kernel, ImplicitOGD(eta, lam, loss), RemoveSmallest(budget))
