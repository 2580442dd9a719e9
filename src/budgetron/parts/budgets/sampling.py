"""Budgets that remove a random support vector and rescale the others: the expectation of f is unchanged."""

from dataclasses import dataclass
from typing import ClassVar

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Ranges
from budgetron.parts.budgets.budget import BuildContext, OfSize


@dataclass
class _Sampling(OfSize):
    cap: float = 10.0
    ranges: ClassVar[Ranges] = {"cap": (1.0, 100.0)}

    def build(self, context: BuildContext) -> _core.Budget:
        cap = check.positive(self, "cap", self.cap) * context.task.unit(context.rule)
        native: _core.Budget = self.native(self.size_limit(), cap, context.seed)
        return native


@dataclass
class SampleUniform(_Sampling):
    """When full, remove one drawn uniformly, scale the others by 1 / (1 - 1/B) (BOGD; Zhao et al. 2012).

    Then every coefficient is clipped to at most cap * eta in size (Eq. 10), and the new term is appended.

    Parameters
    ----------
    budget : int
        The largest number of support vectors, B.
    cap : float
        The paper's gamma: the largest coefficient, in units of the rule's step size eta (C for
        :class:`~budgetron.PA`).

    Departs from the paper
    ----------------------
    The paper clips each coefficient, and so does this; the program of Lu et al. 2016 scales the whole
    vector, see :class:`SampleUniformScaled`. Eq. 7 would also clip the new term; here it is not clipped.
    With the hinge or logistic loss and a cap of at least 1 this makes no difference.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OGD, OnlineClassifier, SampleUniform
    >>> learner = Kernelized(Gaussian(1.0), OGD(eta=0.5), SampleUniform(budget=2))
    >>> model = OnlineClassifier(learner, random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    native = _core.SampleUniform


@dataclass
class SampleUniformScaled(_Sampling):
    """As :class:`SampleUniform`, but the cap scales all coefficients down together.

    This is how the program of Lu et al. 2016 keeps the cap, and how the BOGD of their Table 5 was run. If
    the largest coefficient exceeds cap * eta in size after an update, the whole vector of coefficients is
    multiplied by cap * eta over that size.

    Parameters
    ----------
    budget, cap
        As for :class:`SampleUniform`.

    Departs from the paper
    ----------------------
    The paper (Zhao et al. 2012, Eq. 10) clips each coefficient by itself, before the new term is appended.
    Here the cap applies to the new term as well.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OGD, OnlineClassifier, SampleUniformScaled
    >>> learner = Kernelized(Gaussian(1.0), OGD(eta=0.5), SampleUniformScaled(budget=2, cap=1.0))
    >>> model = OnlineClassifier(learner, random_state=0)
    >>> float(abs(model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).dual_coef_).max())
    0.5
    """

    native = _core.SampleUniformScaled


@dataclass
class SampleByWeight(_Sampling):
    """As :class:`SampleUniform`, but small terms are removed more often (BOGD++; Zhao et al. 2012, Eq. 16).

    p_i = 1 - s abs(alpha_i) sqrt(k(s_i,s_i)), s = (B-1) / sum_j abs(alpha_j) sqrt(k(s_j,s_j)).

    Parameters
    ----------
    budget, cap
        As for :class:`SampleUniform`.

    Departs from the paper
    ----------------------
    As :class:`SampleUniform`. A p_i below 0 is set to 0 and p is normalised again; in multi-class
    abs(alpha_i) is the norm of the coefficients of s_i.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OGD, OnlineClassifier, SampleByWeight
    >>> learner = Kernelized(Gaussian(1.0), OGD(eta=0.5), SampleByWeight(budget=2))
    >>> model = OnlineClassifier(learner, random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    needs_distances = True
    native = _core.SampleByWeight
