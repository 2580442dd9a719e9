"""Budgets that remove a support vector, or ignore the new term."""

from dataclasses import dataclass

from budgetron import _core
from budgetron.parts.budgets.budget import Budget, BuildContext, OfSize


@dataclass
class Unbounded(Budget):
    """Every term becomes a support vector: no budget.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, Perceptron, Unbounded
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), Perceptron(), Unbounded()))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    4
    """

    is_limited = False

    def build(self, context: BuildContext) -> _core.Budget:  # noqa: ARG002
        return _core.Unbounded()


@dataclass
class Stop(OfSize):
    """When full, the new term is ignored (Stoptron; Orabona et al. 2008, Sec. 5).

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, Perceptron, Stop
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), Perceptron(), Stop(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).support_vectors_.ravel()
    array([0., 1.])
    """

    keeps_first = True
    native = _core.Stop


@dataclass
class RemoveRandom(OfSize):
    """When full, the new term replaces a support vector drawn uniformly (Cesa-Bianchi et al. 2006).

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, Perceptron, RemoveRandom
    >>> learner = Kernelized(Gaussian(1.0), Perceptron(), RemoveRandom(budget=2))
    >>> model = OnlineClassifier(learner, random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    def build(self, context: BuildContext) -> _core.Budget:
        return _core.RemoveRandom(self.size_limit(), context.seed)


@dataclass
class RemoveOldest(OfSize):
    """When full, the new term replaces the oldest support vector.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    In no paper by itself. With :class:`~budgetron.OGD` it is the BOGD of the published multi-class and
    regression experiments of Lu et al. 2016.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, Perceptron, RemoveOldest
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), Perceptron(), RemoveOldest(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).support_vectors_.ravel()
    array([1. , 0.6])
    """

    native = _core.RemoveOldest


@dataclass
class RemoveRedundant(OfSize):
    """When over the budget, the support vector that is best classified without itself is removed.

    That is argmax_i y_i (f(s_i) - alpha_i k(s_i,s_i)), the new one included, the oldest on ties
    (Budget Perceptron; Crammer, Kandola & Singer 2003). Classification only.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    In multi-class y_i is the sign of each coefficient of s_i.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, Perceptron, RemoveRedundant
    >>> learner = Kernelized(Gaussian(1.0), Perceptron(), RemoveRedundant(budget=2))
    >>> model = OnlineClassifier(learner)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).support_vectors_.ravel()
    array([1. , 0.6])
    """

    def build(self, context: BuildContext) -> _core.Budget:
        self.needs_labels(context, "a target has no margin")
        return _core.RemoveRedundant(self.size_limit())


@dataclass
class Forget(OfSize):
    """When over the budget, f shrinks by phi and the oldest support vector is removed.

    The self-tuned Forgetron (Dekel, Shalev-Shwartz & Singer 2008). With sigma = abs(alpha_1) and mu = y_1
    f(s_1) of the oldest, psi(phi) = (sigma phi)^2 + 2 sigma phi (1 - phi mu) bounds the cost of the
    removal, and phi is the largest value in (0, 1] with psi(phi) <= 15/32 M - Q, M the number of mistakes
    and Q the sum of psi so far.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    The paper assumes k(x,x) <= 1 and labels: here the first term of psi carries the squared norm of
    the oldest term's direction, k(s_1,s_1) (twice that in multi-class), and y_1 is the sign of its
    coefficient. M counts mistakes, so an update at f(x) = 0 with a right prediction does not add to
    it; if no phi exists then, the new term is ignored.

    Examples
    --------
    >>> from budgetron import Forget, Gaussian, Kernelized, MarginPerceptron, OnlineClassifier
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), MarginPerceptron(), Forget(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).support_vectors_.ravel()
    array([1. , 0.6])
    """

    native = _core.Forget


@dataclass
class ForgetLargerRoot(OfSize):
    """As :class:`Forget`, but phi is the larger root if psi(phi) = 15/32 M - Q has two.

    This is how the program of Lu et al. 2016 computes phi, and how the Forgetron of their tables was run.
    If psi(1) is within the bound, phi = 1. Otherwise, and if mu is large, there are two positive roots. The
    definition takes the smaller one, and f shrinks; the program takes the larger one, which is above 1, and
    f grows. The guarantee of :class:`Forget` does not hold here: prefer that one.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    In the choice of the root. With more than two classes, mu = f_c(s_1), where c is the class of the oldest
    support vector, and the first term of psi has the factor k(s_1,s_1). Otherwise as :class:`Forget`.

    Examples
    --------
    >>> from budgetron import ForgetLargerRoot, Gaussian, Kernelized, MarginPerceptron, OnlineClassifier
    >>> learner = Kernelized(Gaussian(1.0), MarginPerceptron(), ForgetLargerRoot(budget=2))
    >>> model = OnlineClassifier(learner)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).support_vectors_.ravel()
    array([1. , 0.6])
    """

    native = _core.ForgetLargerRoot
