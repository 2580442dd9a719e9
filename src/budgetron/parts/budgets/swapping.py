"""Budgets in which the new vector replaces the support vector whose removal changes f least.

When full, the new vector t replaces one support vector r. The term alpha_r k(s_r,.) is projected on the
span of a set V that contains t. The r is the one that minimises abs(f_new - f)^2 / 2 + C hinge(f_new at
x) (Wang & Vucetic 2010). Because t is in V, f_new(x) is the same for every r, and the best r has the
least abs(alpha_r)^2 times its squared distance to the span of V.
"""

from dataclasses import dataclass

from budgetron import _core
from budgetron.parts.budgets.budget import OfSize


@dataclass
class Swap(OfSize):
    """V = {t}: the coefficient of t grows by alpha_r k(s_r,x) / k(x,x) (BPA-S; Wang & Vucetic 2010).

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    Nowhere; multi-class measures alpha_r by the norm of its coefficients.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, PA, Swap
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), PA(C=1.0), Swap(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    needs_distances = True
    native = _core.Swap


@dataclass
class SwapNearest(OfSize):
    """V = {t, the support vector nearest to r in feature space} (BPA-NN; Wang & Vucetic 2010).

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    If t and the neighbour coincide up to rounding, V = {t}. A squared distance is a difference; if it is
    below the rounding error of its terms, it is replaced by that error. Otherwise, with a budget above the
    rank of the data, rounding would choose r.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, PA, SwapNearest
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), PA(C=1.0), SwapNearest(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    needs_distances = True
    native = _core.SwapNearest


@dataclass
class SwapProject(OfSize):
    """V = all support vectors but r, and t: the exact projection (BPA-P; Wang & Vucetic 2010).

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.

    Departs from the paper
    ----------------------
    A t in the span of the support vectors, up to rounding (within 1e-6 k(x,x)), is projected and replaces
    none. A factor of the inverse Gram matrix is updated at every swap, and recomputed when its residual
    grows.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, PA, SwapProject
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), PA(C=1.0), SwapProject(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    needs_distances = True
    native = _core.SwapProject
