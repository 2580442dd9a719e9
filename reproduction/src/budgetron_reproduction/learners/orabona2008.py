"""The learners of Orabona, Keshet & Caputo, The Projectron, ICML 2008.

B is the budget of the Forgetron, RBP and the Stoptron. The Projectrons have no budget but a threshold: it
follows from U, the largest norm of a competitor for which the Forgetron's guarantee with budget B holds.
Their size is a result.
"""

from __future__ import annotations

from math import log, sqrt

from budgetron.learners.algorithms import (
    forgetron,
    pa,
    perceptron,
    projectron,
    projectron_pp,
    rbp,
    stoptron,
)
from budgetron.parts.kernels import Gaussian
from budgetron_reproduction.cases import Case, MakeLearner


def _kernel(c: Case) -> Gaussian:
    return Gaussian.of_width(sqrt(c["sigma2"]))


def _U(c: Case) -> float:
    return sqrt((c.B + 1) / log(c.B + 1)) / 4


LEARNERS: dict[str, MakeLearner] = {
    "perceptron": lambda c: perceptron(_kernel(c)),
    "pa-1": lambda c: pa(_kernel(c), C=1),
    "projectron": lambda c: projectron(_kernel(c), U=_U(c)),
    "projectron++": lambda c: projectron_pp(_kernel(c), U=_U(c)),
    "forgetron": lambda c: forgetron(_kernel(c), budget=c.B),
    "rbp": lambda c: rbp(_kernel(c), budget=c.B),
    "stoptron": lambda c: stoptron(_kernel(c), budget=c.B),
}

TABLES = {1: LEARNERS, 2: LEARNERS, 3: LEARNERS}
