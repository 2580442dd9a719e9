"""A budget whose coefficients are those of least squares over all rows so far."""

from dataclasses import dataclass
from typing import ClassVar

from budgetron import _core
from budgetron._util import check
from budgetron.parts.budgets.budget import Budget, BuildContext
from budgetron.parts.losses import Squared
from budgetron.parts.rules import OGD


@dataclass
class LeastSquares(Budget):
    """Least squares over all rows, in the span of the support vectors (KRLS; Engel, Mannor & Meir 2004).

    With a = K^-1 k and abs(delta)^2 = k(x,x) - k'd the squared distance of x from the span, x becomes a
    support vector if abs(delta)^2 > nu: it is not approximately linearly dependent on the others. Every
    row changes all coefficients, so that f minimises the sum of (y - f(x))^2 over all rows so far, plus
    lam abs(f)^2, where f(x) is that of the row's projection on the span. To be used with
    ``OGD(eta=1.0, epsilon=0.0)``, whose step is the residual. Regression only.

    Parameters
    ----------
    nu : float
        A row whose squared distance from the span is at most this does not become a support vector.
        0: every row that is not in the span does, and f is kernel ridge regression.
    lam : float
        The weight of abs(f)^2.
    budget : int, optional
        The largest number of support vectors, B: once full, the span stays as it is. None: nu alone
        limits their number.

    Departs from the paper
    ----------------------
    ``lam`` and ``budget`` are ours; the paper is lam = 0 without a budget. Points within 1e-10 k(x,x) of
    the span are in it. A Cholesky factor of K is kept, not K^-1. The weight of a row multiplies its square.

    Examples
    --------
    >>> from budgetron import Gaussian, Kernelized, LeastSquares, OGD, OnlineRegressor
    >>> learner = Kernelized(Gaussian(1.0), OGD(eta=1.0, epsilon=0.0), LeastSquares(nu=0.01))
    >>> model = OnlineRegressor(learner).fit([[0.0], [1.0], [2.0], [1.0]], [0.0, 0.5, 1.0, 0.7])
    >>> model.predict([[0.0], [1.0], [2.0]]).round(3)
    array([0. , 0.6, 1. ])
    """

    needs_distances: ClassVar[bool] = True
    appends_until_full: ClassVar[bool] = False
    keeps_first: ClassVar[bool] = True
    takes_terms: ClassVar[bool] = False

    nu: float = 0.001
    lam: float = 0.0
    budget: int | None = None

    def build(self, context: BuildContext) -> _core.Budget:
        budget = 0 if self.budget is None else self.size_limit()
        self.needs_targets(context, "its step is the residual of a target")
        rule = context.rule
        if not isinstance(rule, OGD) or rule not in (
            OGD(1.0, 0.0, loss, 0.0) for loss in (None, Squared())
        ):
            raise ValueError(
                "LeastSquares: is defined for OGD(eta=1.0, epsilon=0.0) only, whose step is the residual, "
                f"got {rule!r}."
            )
        nu, lam = (check.non_negative(self, name, getattr(self, name)) for name in ("nu", "lam"))
        return _core.LeastSquares(budget, nu, lam)
