"""Losses: l(f, y) and its derivative in f, called the slope. At a kink the slope is 0.

A loss of the margin y f is for labels. A loss of the residual f - y is for targets, and also for the labels
-1 and +1.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Spec

Floats = npt.NDArray[np.float64]


class Loss(Spec):
    """Base of the losses.

    Examples
    --------
    >>> from budgetron import Gaussian, Logistic, Loss, ogd
    >>> isinstance(Logistic(), Loss)
    True
    >>> ogd(Gaussian(0.5), loss=Logistic()).rule.loss
    Logistic()
    """

    by_name: ClassVar[bool] = True

    of_margin: ClassVar[bool] = False
    """Whether the loss is a function of the margin y f, so for labels only."""
    probabilistic: ClassVar[bool] = False
    """Whether 1 / (1 + exp(-f)) estimates the probability of the label +1."""
    in_ball: ClassVar[bool] = False
    """Whether :class:`SGD` keeps f in a ball for this loss (Le et al. 2016, Algorithm 3, lines 15-17)."""

    native: ClassVar[Any]
    """The native class of a loss without parameters."""

    def build(self) -> _core.Loss:
        """The native loss; checks the parameters."""
        loss: _core.Loss = self.native()
        return loss

    def value(self, f: float, y: float) -> float:
        """l(f, y)."""
        return self.build().value(f, y)

    def slope(self, f: float, y: float) -> float:
        """The derivative of l in f; 0 at a kink."""
        return self.build().slope(f, y)

    def lines(self, y: Floats) -> tuple[Floats, Floats] | None:  # noqa: ARG002
        """Slopes and intercepts of lines whose largest is the loss, a row for each y; None if curved."""
        return None


@dataclass
class Hinge(Loss):
    """max(0, 1 - y f); slope 0 at the kink y f = 1.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Hinge
    >>> Hinge().value(0.25, 1), Hinge().slope(0.25, 1), Hinge().slope(1.0, 1)
    (0.75, -1.0, 0.0)
    """

    of_margin: ClassVar[bool] = True
    native = _core.Hinge

    def lines(self, y: Floats) -> tuple[Floats, Floats]:
        return np.outer(y, [0.0, -1.0]), np.tile([0.0, 1.0], (len(y), 1))


@dataclass
class SquaredHinge(Loss):
    """max(0, 1 - y f)^2 / 2.

    Departs from the paper
    ----------------------
    Some texts leave out the half; the slope here is -y max(0, 1 - y f).

    Examples
    --------
    >>> from budgetron import SquaredHinge
    >>> SquaredHinge().value(0.0, 1), SquaredHinge().slope(0.0, 1)
    (0.5, -1.0)
    """

    of_margin: ClassVar[bool] = True
    native = _core.SquaredHinge


@dataclass
class Logistic(Loss):
    """log(1 + exp(-y f)). A classifier that uses it has ``predict_proba``.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Logistic
    >>> round(Logistic().value(0.0, 1), 4), Logistic().slope(0.0, 1)
    (0.6931, -0.5)
    """

    of_margin: ClassVar[bool] = True
    probabilistic: ClassVar[bool] = True
    also: ClassVar[tuple[str, ...]] = ("log", "log-loss", "cross-entropy")
    native = _core.Logistic


@dataclass
class Squared(Loss):
    """(f - y)^2 / 2.

    Departs from the paper
    ----------------------
    Some texts leave out the half; the slope here is f - y.

    Examples
    --------
    >>> from budgetron import Squared
    >>> Squared().value(1.0, 3.0), Squared().slope(1.0, 3.0)
    (2.0, -2.0)
    """

    in_ball: ClassVar[bool] = True
    also: ClassVar[tuple[str, ...]] = ("mse", "squared-error")
    native = _core.Squared


@dataclass
class Absolute(Loss):
    """``|f - y|``; slope 0 at the kink f = y.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Absolute
    >>> Absolute().value(1.0, 3.0), Absolute().slope(1.0, 3.0), Absolute().slope(3.0, 3.0)
    (2.0, -1.0, 0.0)
    """

    also: ClassVar[tuple[str, ...]] = ("mae", "absolute-error")
    native = _core.Absolute

    def lines(self, y: Floats) -> tuple[Floats, Floats]:
        return _tube(y, 0.0)


@dataclass
class EpsilonInsensitive(Loss):
    """``max(0, |f - y| - epsilon)``; slope 0 at the kinks ``|f - y| = epsilon``.

    Parameters
    ----------
    epsilon : float
        Half the width of the tube inside which the loss is 0.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import EpsilonInsensitive
    >>> loss = EpsilonInsensitive(epsilon=0.5)
    >>> loss.value(1.0, 3.0), loss.slope(1.0, 3.0), loss.slope(2.5, 3.0)
    (1.5, -1.0, 0.0)
    """

    epsilon: float = 0.1

    def build(self) -> _core.Loss:
        return _core.EpsilonInsensitive(check.non_negative(self, "epsilon", self.epsilon))

    def lines(self, y: Floats) -> tuple[Floats, Floats]:
        return _tube(y, self.epsilon)


def _tube(y: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """The lines 0, f - y - epsilon and y - f - epsilon."""
    slopes = np.tile([0.0, 1.0, -1.0], (len(y), 1))
    return slopes, np.outer(y, [0.0, -1.0, 1.0]) - np.array([0.0, epsilon, epsilon])
