"""The learners of Le, Nguyen, Nguyen & Phung, Nonparametric Budgeted SGD, AISTATS 2016.

beta is 0.6 n everywhere, and maintenance may start at n/10 support vectors. The paper took the baselines of
Table 3 from the library of Lu et al. 2016; there both readings of the Forgetron and of BOGD give the same
accuracies, so they have the default.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from budgetron.learners.algorithms import bogd, bpa_s, bsgd, forgetron, nbsgd, projectron_pp, rbp, sgd
from budgetron.parts.budgets import Budget, ProjectSmallest, RemoveSmallest
from budgetron.parts.kernels import Gaussian
from budgetron.parts.losses import Absolute, EpsilonInsensitive, Hinge, Logistic, Loss, Squared
from budgetron_reproduction.cases import Case, MakeLearner

LOSSES: dict[str | None, Loss] = {
    None: Hinge(),
    "hinge": Hinge(),
    "logistic": Logistic(),
    "l2": Squared(),
    "l1": Absolute(),
    "eps-insensitive": EpsilonInsensitive(0.1),
}
MAINTENANCE: dict[str | None, Callable[[int], Budget]] = {
    None: RemoveSmallest,
    "removal": RemoveSmallest,
    "projection": partial(ProjectSmallest, neighbours=4),
}


def _kernel(c: Case) -> Gaussian:
    return Gaussian(c["gamma"])


def _loss(c: Case) -> Loss:
    return LOSSES[c.setting.get("loss", c.cell.loss)]


SGDS: dict[str, MakeLearner] = {
    "sgd": lambda c: sgd(_kernel(c), lam=c["lam"], loss=_loss(c)),
    "bsgd": lambda c: bsgd(
        _kernel(c), budget=c.B, lam=c["lam"], loss=_loss(c), maintenance=MAINTENANCE[c.cell.maintenance]
    ),
    "nbsgd": lambda c: nbsgd(
        _kernel(c),
        budget=max(c.n // 10, 1),
        beta=0.6 * c.n,
        lam=c["lam"],
        loss=_loss(c),
        maintenance=MAINTENANCE[c.cell.maintenance],
    ),
}
BASELINES: dict[str, MakeLearner] = {
    "rbp": lambda c: rbp(_kernel(c), budget=c.B),
    "forgetron": lambda c: forgetron(_kernel(c), budget=c.B),
    "projectron++": lambda c: projectron_pp(_kernel(c), budget=c.B),
    "bpa-s": lambda c: bpa_s(_kernel(c), budget=c.B, C=1),
    "bogd": lambda c: bogd(_kernel(c), budget=c.B, eta=c["eta"], lam=1 / c.n**2, cap=10),
}

TABLES = {1: SGDS, 2: SGDS, 3: SGDS | BASELINES}
