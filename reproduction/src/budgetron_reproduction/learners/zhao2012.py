"""The learners of Zhao, Wang, Wu, Jin & Hoi, Fast Bounded Online Gradient Descent, ICML 2012.

lam in the grid is in units of 1/T^2, where T is the number of rows.
"""

from __future__ import annotations

from budgetron.learners.algorithms import (
    bogd,
    bogd_pp,
    forgetron,
    ogd,
    perceptron,
    projectron,
    projectron_pp,
    rbp,
)
from budgetron.parts.kernels import Gaussian
from budgetron_reproduction.cases import MakeLearner

K = Gaussian.of_width(8)

LEARNERS: dict[str, MakeLearner] = {
    "perceptron": lambda _: perceptron(K),
    "ogd": lambda c: ogd(K, eta=c["eta"], lam=c["lam"] / c.n**2),
    "rbp": lambda c: rbp(K, budget=c.B),
    "forgetron": lambda c: forgetron(K, budget=c.B),
    "projectron": lambda c: projectron(K, budget=c.B),
    "projectron++": lambda c: projectron_pp(K, budget=c.B),
    "bogd": lambda c: bogd(K, budget=c.B, eta=c["eta"], lam=c["lam"] / c.n**2, cap=c["cap"]),
    "bogd++": lambda c: bogd_pp(K, budget=c.B, eta=c["eta"], lam=c["lam"] / c.n**2, cap=c["cap"]),
}

TABLES = {2: LEARNERS, 3: LEARNERS}
