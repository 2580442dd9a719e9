"""Rules that step in a direction of their own: second-order and adaptive ones, for explicit features only.

They are not in the five papers. Multi-class is as for the other rules: a step is added to the weights of
the right class, and subtracted from those of the wrong class with the largest score.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Literal

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Ranges, Spec
from budgetron._util.text import shown
from budgetron.parts.losses import Loss
from budgetron.parts.rules import loss_for_labels, loss_for_targets


class VectorRule(Spec):
    """Base of the rules for explicit features.

    Examples
    --------
    >>> from budgetron import AROW, Identity, Mapped, OnlineClassifier, VectorRule
    >>> isinstance(AROW(), VectorRule)
    True
    >>> OnlineClassifier(Mapped(Identity(), AROW())).fit([[0.0], [1.0]], [0, 1]).predict([[1.0]])
    array([1])
    """

    def for_labels(self) -> _core.VectorRule:
        """The native rule for classification; checks the parameters."""
        raise NotImplementedError

    def for_targets(self) -> _core.VectorRule:
        """The native rule for regression; checks the parameters."""
        raise NotImplementedError

    def on_cells(self, *, targets: bool) -> _core.CellRule:  # noqa: ARG002
        """The native rule for maps of cells; checks the parameters."""
        name = type(self).__name__
        raise ValueError(f"{name} is not defined for cells; take Kalman, AROW, AdaGrad or a scalar rule.")


class _OfGradient(VectorRule):
    loss: Loss | None
    epsilon: float

    def for_labels(self) -> _core.VectorRule:
        """The native rule for classification; checks the parameters."""
        return self._build(self._loss(targets=False))

    def for_targets(self) -> _core.VectorRule:
        """The native rule for regression; checks the parameters."""
        return self._build(self._loss(targets=True))

    def _loss(self, *, targets: bool) -> _core.Loss:
        if not targets:
            return loss_for_labels(self).build()
        epsilon = check.non_negative(self, "epsilon", self.epsilon)
        return _core.OutsideTube(loss_for_targets(self).build(), epsilon)

    def _build(self, loss: _core.Loss) -> _core.VectorRule:
        raise NotImplementedError


@dataclass
class AdaGrad(_OfGradient):
    """A step size per coordinate: w_i -= eta g_i / (sqrt(sum of g_i^2) + delta) (Duchi et al. 2011).

    Parameters
    ----------
    eta : float
        The step size.
    loss : Loss, optional
        None is :class:`Hinge` for labels and :class:`Squared` for targets.
    epsilon : float
        The dead zone for targets: no step while abs(y - f(x)) <= epsilon.
    delta : float
        A larger delta makes the first steps smaller; the paper has 0.

    Departs from the paper
    ----------------------
    Not in the five papers. From its own paper (the diagonal form), nowhere.

    Examples
    --------
    >>> from budgetron import AdaGrad, Gaussian, Mapped, OnlineClassifier, RandomFourier
    >>> model = OnlineClassifier(Mapped(RandomFourier(Gaussian(1.0)), AdaGrad(eta=0.05)), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    """

    eta: float = 0.05
    loss: Loss | None = None
    epsilon: float = 0.0
    delta: float = 0.0
    ranges: ClassVar[Ranges] = {"eta": (0.003, 3.0)}

    def _build(self, loss: _core.Loss) -> _core.VectorRule:
        return _core.AdaGrad(loss, *self._numbers())

    def on_cells(self, *, targets: bool) -> _core.CellRule:
        """The native rule for maps of cells; checks the parameters."""
        return _core.CellsAdaGrad(self._loss(targets=targets), *self._numbers())

    def _numbers(self) -> tuple[float, float]:
        return check.moderate(self, "eta", self.eta), check.non_negative(self, "delta", self.delta)


@dataclass
class AROW(VectorRule):
    """Adaptive regularisation of weights (Crammer, Kulesza & Dredze 2009).

    With l = max(0, 1 - y f(x)) > 0, conf = z'Sigma z and beta = 1 / (conf + r): w += beta l y Sigma z and
    Sigma -= beta Sigma z z'Sigma. For targets (Vaits & Crammer 2011): w += beta (y - f(x)) Sigma z, which
    with epsilon = 0 is recursive least squares.

    Parameters
    ----------
    r : float
        Regularisation: a larger r makes smaller updates.
    covariance : "full" or "diagonal"
        All of Sigma, O(m^2) a step for m features, or its diagonal, O(m).
    epsilon : float
        The dead zone for targets.

    Departs from the paper
    ----------------------
    Not in the five papers. In multi-class every class has a Sigma of its own; conf is the sum of those of
    the two classes, and each Sigma is updated as if it were the only one. A sample weight divides r.

    Examples
    --------
    >>> from budgetron import AROW, Gaussian, Mapped, OnlineRegressor, RandomFourier
    >>> model = OnlineRegressor(Mapped(RandomFourier(Gaussian(0.1)), AROW(r=0.01)), random_state=0)
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 0.5, 1.0]).predict([[1.5]]).round(2)
    array([0.76])
    """

    r: float = 1.0
    covariance: Literal["full", "diagonal"] = "full"
    epsilon: float = 0.0
    ranges: ClassVar[Ranges] = {"r": (0.01, 100.0)}

    def for_labels(self) -> _core.VectorRule:
        """The native rule for classification; checks the parameters."""
        return _core.AROW(check.moderate(self, "r", self.r), _covariance(self, self.covariance, 1.0))

    def for_targets(self) -> _core.VectorRule:
        """The native rule for regression; checks the parameters."""
        r = check.moderate(self, "r", self.r)
        epsilon = check.non_negative(self, "epsilon", self.epsilon)
        return _core.AROWRegression(r, epsilon, _covariance(self, self.covariance, 1.0))

    def on_cells(self, *, targets: bool) -> _core.CellRule:
        """The native rule for maps of cells, where the covariance is diagonal; checks the parameters."""
        epsilon = check.non_negative(self, "epsilon", self.epsilon) if targets else -1.0
        return _core.CellsAROW(check.moderate(self, "r", self.r), epsilon)


@dataclass
class OnlineNewton(_OfGradient):
    """The online Newton step: A += g g', w -= eta A^-1 g (Hazan, Agarwal & Kale 2007).

    Parameters
    ----------
    eta : float
        The step size, the paper's 1 / gamma.
    loss : Loss, optional
        None is :class:`Hinge` for labels and :class:`Squared` for targets; the theory needs a curved one,
        such as :class:`Logistic`.
    delta : float
        A starts as delta times the identity, the paper's epsilon. Steps are about as long as 1 / gradient:
        scale targets that are far from 1, or raise eta.
    covariance : "full" or "diagonal"
        All of A, O(m^2) a step for m features, or its diagonal, O(m).
    epsilon : float
        The dead zone for targets.

    Departs from the paper
    ----------------------
    Not in the five papers; without the projection back into a given set, and in multi-class every class
    has an A of its own.

    Examples
    --------
    >>> from budgetron import Gaussian, Logistic, Mapped, OnlineClassifier, OnlineNewton, RandomFourier
    >>> rule = OnlineNewton(loss=Logistic())
    >>> model = OnlineClassifier(Mapped(RandomFourier(Gaussian(1.0)), rule), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    """

    eta: float = 1.0
    loss: Loss | None = None
    delta: float = 1.0
    covariance: Literal["full", "diagonal"] = "full"
    epsilon: float = 0.0
    ranges: ClassVar[Ranges] = {"eta": (0.01, 10.0), "delta": (0.01, 100.0)}

    def _build(self, loss: _core.Loss) -> _core.VectorRule:
        eta, delta = check.moderate(self, "eta", self.eta), check.moderate(self, "delta", self.delta)
        return _core.OnlineNewton(loss, eta, _covariance(self, self.covariance, 1 / delta))


@dataclass
class CoinBetting(_OfGradient):
    """Coin betting, which needs no step size (Orabona & Tommasi 2017, Algorithm 2).

    Every coordinate bets a share of what it has won so far on the sign of the next gradient.

    Parameters
    ----------
    loss : Loss, optional
        None is :class:`Hinge` for labels and :class:`Squared` for targets.
    alpha : float
        A larger alpha makes the first bets smaller: none moves a weight by more than 1/alpha.
    epsilon : float
        The dead zone for targets.

    Departs from the paper
    ----------------------
    Not in the five papers. From its own paper, nowhere. When a Nystrom map replaces its coordinates,
    betting starts again from the projected weights.

    Examples
    --------
    >>> from budgetron import CoinBetting, Gaussian, Mapped, OnlineClassifier, RandomFourier
    >>> model = OnlineClassifier(Mapped(RandomFourier(Gaussian(1.0)), CoinBetting()), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    """

    loss: Loss | None = None
    alpha: float = 100.0
    epsilon: float = 0.0

    def _build(self, loss: _core.Loss) -> _core.VectorRule:
        return _core.CoinBetting(loss, check.moderate(self, "alpha", self.alpha))


@dataclass
class Kalman(VectorRule):
    """A Kalman filter on the weights; for labels an extended one, whose scores are calibrated logits.

    The weights are Gaussian with mean w and covariance P, which starts as ``prior`` times the identity, and
    they follow a random walk. With g = P z, S = z'g and p = softmax(W z)::

        labels:   w_c += g ([c = y] - p_c) / (1 + h S);  P -= h g g' / (1 + h S);  h = p_max (1 - p_max)
        targets:  w += g (y - w'z) / (1 + S);  P -= g g' / (1 + S)
        always:   P_ii = min(P_ii + drift, prior)

    Two classes have one weight vector, w_1 - w_0. A score is w'z / sqrt(1 + pi S / 8): the less is known
    about a row, the nearer its probabilities are to each other. For targets the noise v is the running mean
    of (y - w'z)^2 / (1 + S), and the variance of a prediction v (1 + S).

    Parameters
    ----------
    prior : float
        The variance of the weights before the first row; it is also the largest later on.
    drift : float
        The variance that a weight gains with every row. 0 learns ever more slowly; 0.01 follows a changing
        world.
    covariance : "auto", "full", "diagonal" or int
        All of P, O(m^2) a step for m features, or its diagonal, O(m). "auto" is full, but if more than
        1000 inputs are at the end of the features (:class:`~budgetron.Identity`), these have a diagonal
        and the others a full block. A number is "auto" with this limit instead of 1000.

    Departs from the paper
    ----------------------
    Not in the five papers. All classes share P, and the curvature h is a single number. Of two classes
    this is the filter for several, so w moves twice as far as that of a filter for the margin alone.

    Examples
    --------
    >>> from budgetron import Gaussian, Kalman, Mapped, OnlineClassifier, RandomFourier
    >>> model = OnlineClassifier(Mapped(RandomFourier(Gaussian(1.0)), Kalman()), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict_proba([[0.0], [1.0]]).round(2)
    array([[0.94, 0.06],
           [0.14, 0.86]])
    """

    prior: float = 10.0
    drift: float = 0.0
    covariance: Literal["auto", "full", "diagonal"] | int = "auto"
    ranges: ClassVar[Ranges] = {"prior": (0.1, 100.0), "drift": (1e-6, 0.1)}

    probabilistic: ClassVar[bool] = True

    def full(self, native: _core.FeatureMap) -> int:
        """The number of features with a full block of P."""
        kind = self.covariance
        if kind == "diagonal":
            return 0
        most = native.inputs if kind == "full" else 1000 if kind == "auto" else kind
        if isinstance(most, bool) or not isinstance(most, Integral) or most < 0:
            raise ValueError(
                'Kalman: covariance must be "auto", "full", "diagonal" or a whole number of at least 0, '
                f"got {shown(kind)}."
            )
        if native.inputs > most:
            return native.size - native.inputs
        return native.size if not native.learns else 2**31

    def for_labels(self, full: int = 2**31) -> _core.VectorRule:
        """The native rule for classification; checks the parameters."""
        return _core.KalmanLabels(*self._numbers(), full)

    def for_targets(self, full: int = 2**31) -> _core.VectorRule:
        """The native rule for regression; checks the parameters."""
        return _core.KalmanTargets(*self._numbers(), full)

    def on_cells(self, *, targets: bool) -> _core.CellRule:
        """The native rule for maps of cells, where the covariance is diagonal; checks the parameters."""
        prior, drift = self._numbers()
        if prior > 1e30:
            raise ValueError(f"Kalman: prior must be at most 1e30 on cells, got {prior}.")
        return (_core.CellsKalmanTargets if targets else _core.CellsKalmanLabels)(prior, drift)

    def _numbers(self) -> tuple[float, float]:
        return check.moderate(self, "prior", self.prior), check.non_negative(self, "drift", self.drift)


def _covariance(rule: VectorRule, kind: str, start: float) -> _core.Covariance:
    if kind == "full":
        return _core.FullCovariance(start)
    if kind == "diagonal":
        return _core.DiagonalCovariance(start)
    raise ValueError(f'{type(rule).__name__}: covariance must be "full" or "diagonal", got {kind!r}.')
