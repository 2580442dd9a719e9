"""Rules: how far to step, (shrink, beta) = rule(f(x), y, k(x,x)).

A rule has a form for labels and one for targets. The weight of an example multiplies its loss.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Ranges, Spec
from budgetron.parts.losses import Hinge, Loss, Squared


class Rule(Spec):
    """Base of the rules.

    Examples
    --------
    >>> from budgetron import PA, Rule
    >>> isinstance(PA(C=0.5), Rule)
    True
    """

    ranges_for_targets: ClassVar[Ranges] = {}
    """Further ``ranges`` in regression; those of a size are for targets of variance about 1."""
    step: ClassVar[str] = "eta"
    """The parameter that is the ``unit``: the size of a step."""

    @property
    def unit(self) -> float:
        """The size of a coefficient that an example of slope 1 gets; caps are counted in it."""
        return check.positive(self, self.step, getattr(self, self.step))

    @property
    def unit_for_targets(self) -> float:
        """The unit in regression."""
        return self.unit

    def for_labels(self) -> _core.Rule:
        """The native rule for classification; checks the parameters."""
        raise ValueError(f"{type(self).__name__} is defined for regression only.")

    def for_targets(self) -> _core.Rule:
        """The native rule for regression; checks the parameters."""
        raise ValueError(f"{type(self).__name__} is defined for classification only.")


@dataclass
class Perceptron(Rule):
    """Step when the prediction is wrong: beta = eta y (Orabona et al. 2008, Algorithm 1).

    For targets: beta = eta sign(r) while abs(r) > epsilon, r = y - f(x).

    Parameters
    ----------
    eta : float, optional
        The size of a step. None is 1 for labels, where it scales f and changes no prediction, and
        0.1 for targets.
    epsilon : float
        The dead zone for targets.

    Departs from the paper
    ----------------------
    The paper has labels and eta = 1 only; the form for targets is that of Lu et al. 2016.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, Perceptron, RemoveOldest
    >>> learner = Kernelized(Gaussian(1.0), Perceptron(), RemoveOldest(budget=2))
    >>> model = OnlineClassifier(learner)
    >>> model.progressive_predict([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1])
    array([1, 0, 1, 1])
    """

    eta: float | None = None
    epsilon: float = 0.1
    ranges_for_targets: ClassVar[Ranges] = {"eta": (0.003, 1.0), "epsilon": (0.001, 0.3)}

    @property
    def unit(self) -> float:
        return 1.0 if self.eta is None else super().unit

    @property
    def unit_for_targets(self) -> float:
        return 0.1 if self.eta is None else self.unit

    def for_labels(self) -> _core.Rule:
        return _core.Perceptron(self.unit)

    def for_targets(self) -> _core.Rule:
        epsilon = check.non_negative(self, "epsilon", self.epsilon)
        return _core.PerceptronRegression(self.unit_for_targets, epsilon)


@dataclass
class MarginPerceptron(Perceptron):
    """Step when the margin is small: beta = eta y where y f(x) <= margin.

    With margin 0 this is the Forgetron's rule (Dekel et al. 2008), which also steps at f(x) = 0; with
    margin 1 it is that of the Projectron++ (Orabona et al. 2008, Sec. 4.1), whose budget treats a right
    prediction in its own way. For targets it is :class:`Perceptron`.

    Parameters
    ----------
    eta, epsilon
        As for :class:`Perceptron`.
    margin : float
        The largest y f(x) that still makes a step.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, MarginPerceptron, OnlineClassifier, Unbounded
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), MarginPerceptron(margin=1), Unbounded()))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    4
    """

    margin: float = 0.0

    def for_labels(self) -> _core.Rule:
        margin = check.non_negative(self, "margin", self.margin)
        return _core.MarginPerceptron(self.unit, margin)


@dataclass
class AggressivePerceptron(Rule):
    """Step when the margin is small, and keep f in a ball (AVP; Liao et al. 2024). Labels only.

    beta = eta y where y f(x) < margin; then f is pulled into the ball abs(f) <= radius.

    Parameters
    ----------
    eta : float
        The size of a step, the paper's lambda.
    margin : float
        The smallest y f(x) that makes no step, 1 - varepsilon in the paper.
    radius : float
        The largest norm of f, the paper's U.

    Departs from the paper
    ----------------------
    It follows the authors' program. In multi-class the norm is over the scores of all classes.

    Examples
    --------
    >>> from budgetron import AggressivePerceptron, Gaussian, Kernelized, OnlineClassifier, RemoveHalf
    >>> learner = Kernelized(Gaussian(1.0), AggressivePerceptron(radius=2.0), RemoveHalf(budget=100))
    >>> model = OnlineClassifier(learner)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    4
    """

    eta: float = 0.25
    margin: float = 0.5
    radius: float = 5.0
    ranges: ClassVar[Ranges] = {"eta": (0.01, 1.0), "radius": (0.3, 100.0)}

    def for_labels(self) -> _core.Rule:
        margin = check.non_negative(self, "margin", self.margin)
        return _core.AggressivePerceptron(self.unit, margin, check.positive(self, "radius", self.radius))


@dataclass
class PA(Rule):
    """Passive-Aggressive PA-I: beta = y min(C, l / k(x,x)), l the hinge loss (Crammer et al. 2006).

    For targets: beta = sign(r) min(C, l / k(x,x)), l = max(0, abs(r) - epsilon).

    Parameters
    ----------
    C : float
        The largest coefficient.
    epsilon : float
        The dead zone for targets.

    Departs from the paper
    ----------------------
    If k(x,x) <= 0 no step is made, because none can lower the loss. A loss below 1e-12 of max(1,
    abs(f(x))), or of the target, is rounding and counts as 0. Otherwise a row seen twice would become a
    second support vector with a coefficient near 0.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineRegressor, PA, RemoveOldest
    >>> model = OnlineRegressor(Kernelized(Gaussian(1.0), PA(C=1.0), RemoveOldest(budget=3)))
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 0.5, 1.0]).dual_coef_.round(3)
    array([[0.4  , 0.753]])
    """

    C: float = 1.0
    epsilon: float = 0.1
    ranges: ClassVar[Ranges] = {"C": (0.01, 10.0)}
    ranges_for_targets: ClassVar[Ranges] = {"epsilon": (0.001, 0.3)}

    step = "C"

    def for_labels(self) -> _core.Rule:
        return _core.PassiveAggressive(self.unit)

    def for_targets(self) -> _core.Rule:
        epsilon = check.non_negative(self, "epsilon", self.epsilon)
        return _core.PassiveAggressiveRegression(self.unit, epsilon)


@dataclass
class OGD(Rule):
    """Online gradient descent: f <- (1 - eta lam) f - eta l'(f(x)) k(x,.) (Zhao et al. 2012, Eq. 2).

    Parameters
    ----------
    eta : float
        The step size.
    lam : float
        The weight of the regulariser; eta * lam must stay below 1.
    loss : Loss, optional
        None is :class:`Hinge` for labels and :class:`Squared` for targets.
    epsilon : float
        The dead zone for targets: no step while abs(y - f(x)) <= epsilon.

    Departs from the paper
    ----------------------
    The paper has labels only. Algorithms 5 and 6 of Lu et al. 2016 print a step for targets where the loss
    (f - y)^2 exceeds epsilon; here it is where abs(y - f(x)) does, as their printed errors require.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, Logistic, OGD, OnlineClassifier, RemoveOldest
    >>> rule = OGD(eta=0.5, loss=Logistic())
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), rule, RemoveOldest(budget=10)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict_proba([[0.0]]).round(2)
    array([[0.55, 0.45]])
    """

    eta: float = 0.1
    lam: float = 0.0
    loss: Loss | None = None
    epsilon: float = 0.1
    ranges: ClassVar[Ranges] = {"eta": (0.003, 3.0), "lam": (1e-7, 0.01)}
    ranges_for_targets: ClassVar[Ranges] = {"epsilon": (0.001, 0.3)}

    def for_labels(self) -> _core.Rule:
        return _core.OGD(loss_for_labels(self).build(), self.unit, _lam(self))

    def for_targets(self) -> _core.Rule:
        epsilon = check.non_negative(self, "epsilon", self.epsilon)
        return _core.OGDRegression(loss_for_targets(self).build(), self.unit, _lam(self), epsilon)


@dataclass
class ImplicitOGD(Rule):
    """An implicit gradient step (ILK; Cheng et al. 2006): f becomes the best trade-off near f.

    The new f minimises abs(h - f)^2 / 2 + eta (lam abs(h)^2 / 2 + l(h(x), y)) over h. So f shrinks by
    s = 1 / (1 + eta lam), and beta = -s eta l'(s f(x) + beta k(x,x)): the slope is that at the end of the
    step, which never overshoots. With the hinge loss and lam = 0 it is :class:`PA` with C = eta.

    Parameters
    ----------
    eta : float
        The step size; with the hinge loss the largest coefficient.
    lam : float
        The weight of the regulariser.
    loss : Loss, optional
        None is :class:`Hinge` for labels and :class:`Squared` for targets.

    Departs from the paper
    ----------------------
    Only the beginning of its text could be read. The step is that of its definition, above. Two public
    programs that name the paper take it for the hinge loss; one takes it for the squared and the logistic
    loss too. The paper's C is our eta, and its eta lambda is our eta lam. If k(x,x) <= 0 no step is made.

    Examples
    --------
    >>> from budgetron import Gaussian, ImplicitOGD, Kernelized, OnlineRegressor, RemoveSmallest, Squared
    >>> rule = ImplicitOGD(eta=1.0, loss=Squared())
    >>> model = OnlineRegressor(Kernelized(Gaussian(1.0), rule, RemoveSmallest(budget=2)))
    >>> model.fit([[0.0], [5.0]], [1.0, 2.0]).dual_coef_
    array([[0.5, 1. ]])
    """

    eta: float = 0.1
    lam: float = 0.0
    loss: Loss | None = None
    ranges: ClassVar[Ranges] = {"eta": (0.003, 3.0), "lam": (1e-7, 0.01)}

    def for_labels(self) -> _core.Rule:
        return self._build(loss_for_labels(self))

    def for_targets(self) -> _core.Rule:
        return self._build(loss_for_targets(self))

    def _build(self, loss: Loss) -> _core.Rule:
        return _core.ImplicitOGD(loss.build(), self.unit, check.non_negative(self, "lam", self.lam))


@dataclass
class SGD(Rule):
    """Stochastic gradient descent, f <- (t-1)/t f - l'(f(x))/(lam t) k(x,.) (Le et al. 2016, Algorithm 1).

    With the squared loss and lam <= 1, f is pulled back into the ball abs(f) <= y_max / sqrt(lam) after
    every update (Algorithm 3, lines 15-17).

    Parameters
    ----------
    lam : float
        The weight of the regulariser; the step at round t is 1 / (lam t).
    loss : Loss, optional
        None is :class:`Hinge` for labels and :class:`Squared` for targets.

    Departs from the paper
    ----------------------
    y_max is the largest abs(y) seen so far, because the largest of the stream is not known.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, SGD, Unbounded
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), SGD(lam=0.1), Unbounded()))
    >>> model.fit([[0.0], [1.0]], [0, 1]).dual_coef_
    array([[-5.,  5.]])
    """

    lam: float = 1e-3
    loss: Loss | None = None
    ranges: ClassVar[Ranges] = {"lam": (1e-6, 0.1)}

    @property
    def unit(self) -> float:
        """1 / lam, the coefficient of the first round."""
        return 1 / check.positive(self, "lam", self.lam)

    def for_labels(self) -> _core.Rule:
        return self._build(loss_for_labels(self))

    def for_targets(self) -> _core.Rule:
        return self._build(loss_for_targets(self))

    def _build(self, loss: Loss) -> _core.Rule:
        lam = check.positive(self, "lam", self.lam)
        if loss.in_ball and lam <= 1:
            return _core.SGDInBall(loss.build(), lam)
        return _core.SGD(loss.build(), lam)


class _WithLoss(Protocol):
    loss: Loss | None


def probabilistic(rule: object) -> bool:
    """Whether a score is a probability, by the rule itself or by its loss."""
    loss = getattr(rule, "loss", None)
    return getattr(rule, "probabilistic", False) or (isinstance(loss, Loss) and loss.probabilistic)


def loss_for_labels(rule: _WithLoss) -> Loss:
    return Hinge() if rule.loss is None else check.instance(rule, "loss", rule.loss, Loss)


def loss_for_targets(rule: _WithLoss) -> Loss:
    loss = Squared() if rule.loss is None else check.instance(rule, "loss", rule.loss, Loss)
    if loss.of_margin:
        raise ValueError(
            f"{type(rule).__name__}: {type(loss).__name__} is a loss for labels; for regression take "
            "Squared, Absolute or EpsilonInsensitive."
        )
    return loss


@dataclass
class NORMA(Rule):
    """NORMA for regression (Kivinen, Smola & Williamson 2004).

    f <- (1 - eta lam) f every round. Outside the tube, abs(r) > epsilon: beta = eta sign(r) and
    epsilon grows by (1 - nu) eta; inside it shrinks by nu eta, so that a share nu stays outside.

    Parameters
    ----------
    eta : float
        The step size.
    nu : float
        The share of rows that stays outside the tube.
    lam : float
        The weight of the regulariser; eta * lam must stay below 1.
    epsilon : float
        Half the width of the tube at the start.

    Departs from the paper
    ----------------------
    r uses f(x) before the shrink, as in the programs of Lu et al. 2016.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, NORMA, OnlineRegressor, Unbounded
    >>> model = OnlineRegressor(Kernelized(Gaussian(1.0), NORMA(eta=0.1, nu=0.5), Unbounded()))
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 0.5, 1.0]).n_support_
    2
    """

    eta: float = 0.1
    nu: float = 0.5
    lam: float = 0.0
    epsilon: float = 0.1
    ranges: ClassVar[Ranges] = {"eta": (0.003, 3.0), "nu": (0.1, 0.9), "lam": (1e-7, 0.01)}

    def for_targets(self) -> _core.Rule:
        nu = check.share(self, "nu", self.nu)
        epsilon = check.non_negative(self, "epsilon", self.epsilon)
        return _core.NORMA(self.unit, nu, _lam(self), epsilon)


def _lam(rule: OGD | NORMA) -> float:
    lam = check.non_negative(rule, "lam", rule.lam)
    if rule.unit * lam >= 1:
        name = type(rule).__name__
        raise ValueError(f"{name}: eta * lam must be below 1, got {rule.eta!r} * {rule.lam!r}.")
    return lam
