"""The Perceptron and the ways to keep it within a budget."""

from typing import Literal

from budgetron._util import check
from budgetron.learners.kernelized import Kernelized
from budgetron.parts.budgets.projection import Project, ProjectPlus
from budgetron.parts.budgets.removal import (
    Forget,
    ForgetLargerRoot,
    RemoveRandom,
    RemoveRedundant,
    Stop,
    Unbounded,
)
from budgetron.parts.kernels import Kernel
from budgetron.parts.rules import MarginPerceptron, Perceptron


def perceptron(kernel: Kernel, *, eta: float | None = None, epsilon: float = 0.1) -> Kernelized:
    """The kernel Perceptron (Orabona et al. 2008, Algorithm 1): every mistake becomes a support vector.

    :doc:`The mathematics beside the code </mathematics/perceptron>`.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    eta, epsilon : float
        Step size and dead zone, see :class:`~budgetron.Perceptron`; they matter for targets only.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, perceptron
    >>> perceptron(Gaussian(0.5))
    Kernelized(kernel=Gaussian(gamma=0.5), rule=Perceptron(eta=None, epsilon=0.1), budget=Unbounded())
    """
    return Kernelized(kernel, Perceptron(eta, epsilon), Unbounded())


def stoptron(kernel: Kernel, *, budget: int, eta: float | None = None, epsilon: float = 0.1) -> Kernelized:
    """The Perceptron that stops learning when the budget is full (Orabona et al. 2008, Sec. 5).

    :doc:`The mathematics beside the code </mathematics/stoptron>`.

    Parameters
    ----------
    kernel, budget
        The kernel, and the largest number of support vectors.
    eta, epsilon : float
        As for :func:`perceptron`.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, stoptron
    >>> model = OnlineClassifier(stoptron(Gaussian(1.0), budget=1))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).support_vectors_
    array([[0.]])
    """
    return Kernelized(kernel, Perceptron(eta, epsilon), Stop(budget))


def rbp(kernel: Kernel, *, budget: int, eta: float | None = None, epsilon: float = 0.1) -> Kernelized:
    """The Randomized Budget Perceptron: a random support vector is removed (Cesa-Bianchi et al. 2006).

    :doc:`The mathematics beside the code </mathematics/rbp>`.

    Parameters
    ----------
    kernel, budget, eta, epsilon
        As for :func:`stoptron`.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, rbp
    >>> model = OnlineClassifier(rbp(Gaussian(1.0), budget=2), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    return Kernelized(kernel, Perceptron(eta, epsilon), RemoveRandom(budget))


def forgetron(
    kernel: Kernel,
    *,
    budget: int,
    eta: float | None = None,
    epsilon: float = 0.1,
    reading: Literal["definition", "program"] = "definition",
) -> Kernelized:
    """The self-tuned Forgetron: shrink, and remove the oldest (Dekel et al. 2008).

    Updates when y f(x) <= 0, so also at f(x) = 0; see :class:`~budgetron.Forget`.

    :doc:`The mathematics beside the code </mathematics/forgetron>`.

    Parameters
    ----------
    kernel, budget
        The kernel, and the largest number of support vectors.
    eta, epsilon : float
        Step size and dead zone, see :class:`~budgetron.Perceptron`. The paper has eta = 1; another eta
        changes how far f shrinks.
    reading : {"definition", "program"}
        How phi is computed. "definition" is the paper's, with phi in (0, 1]: :class:`~budgetron.Forget`.
        "program" is that of the program of Lu et al. 2016, which computed their tables; phi can
        exceed 1: :class:`~budgetron.ForgetLargerRoot`.

    Departs from the paper
    ----------------------
    With ``reading="program"`` in phi. See :class:`~budgetron.Forget` for kernels with k(x,x) other than 1.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, forgetron
    >>> model = OnlineClassifier(forgetron(Gaussian(1.0), budget=2))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).support_vectors_.ravel()
    array([1. , 0.6])
    """
    check.one_of("forgetron", "reading", reading, ("definition", "program"))
    forget = Forget(budget) if reading == "definition" else ForgetLargerRoot(budget)
    return Kernelized(kernel, MarginPerceptron(eta, epsilon, margin=0.0), forget)


def budget_perceptron(kernel: Kernel, *, budget: int, eta: float | None = None) -> Kernelized:
    """The Budget Perceptron: the most redundant one is removed (Crammer et al. 2003). Classification only.

    :doc:`The mathematics beside the code </mathematics/budget_perceptron>`.

    Parameters
    ----------
    kernel, budget
        The kernel, and the largest number of support vectors.
    eta : float
        As for :func:`perceptron`.

    Departs from the paper
    ----------------------
    The update is the Perceptron's, without the paper's margin.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, budget_perceptron
    >>> model = OnlineClassifier(budget_perceptron(Gaussian(1.0), budget=2))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    return Kernelized(kernel, Perceptron(eta), RemoveRedundant(budget))


def projectron(
    kernel: Kernel,
    *,
    budget: int | None = None,
    eta: float | None = None,
    U: float | None = None,
    step: float | None = None,
    epsilon: float = 0.1,
) -> Kernelized:
    """The Projectron (Orabona et al. 2008); ``eta`` is the projection threshold, ``step`` the step size.

    Algorithm 2 of the paper. A wrongly predicted row whose distance to the span of the support vectors is
    at most eta is projected on the span. Give ``budget`` to append until the budget is full and project
    from then on, ``eta`` for a fixed threshold, or ``U`` for the threshold of Eq. 13.

    :doc:`The mathematics beside the code </mathematics/projectron>`.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    budget, eta, U
        See :class:`~budgetron.Project`; eta is the threshold, as in the paper.
    step, epsilon : float
        Step size and dead zone: ``eta`` and ``epsilon`` of :class:`~budgetron.Perceptron`.

    Departs from the paper
    ----------------------
    Points in the span, up to rounding, are always projected; see :class:`~budgetron.Project`.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, projectron
    >>> model = OnlineClassifier(projectron(Gaussian(1.0), eta=0.5))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).support_vectors_.ravel()
    array([0., 1.])
    """
    return Kernelized(kernel, Perceptron(step, epsilon), Project(budget, eta=eta, U=U))


def projectron_pp(
    kernel: Kernel,
    *,
    budget: int | None = None,
    eta: float | None = None,
    U: float | None = None,
) -> Kernelized:
    """The Projectron++ (Orabona et al. 2008, Sec. 4.1); ``eta`` is the projection threshold.

    Margin errors are projected as well. Classification only. The arguments are those of :func:`projectron`.

    :doc:`The mathematics beside the code </mathematics/projectron_pp>`.

    Parameters
    ----------
    kernel, budget, eta, U
        The kernel, and the parameters of :class:`~budgetron.ProjectPlus`.

    Departs from the paper
    ----------------------
    See :class:`~budgetron.ProjectPlus`: if U is not given, it is computed from the budget or from eta.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineClassifier, projectron_pp
    >>> model = OnlineClassifier(projectron_pp(Gaussian(1.0), budget=2))
    >>> model.fit([[0.0], [1.0], [0.6]], [0, 1, 0]).n_support_
    2
    """
    return Kernelized(kernel, MarginPerceptron(margin=1.0), ProjectPlus(budget, eta=eta, U=U))
