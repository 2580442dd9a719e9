"""The named algorithms: one function each, returning a learner. The module is the registry."""

from budgetron.algorithms.double_updating import bduol, duol
from budgetron.algorithms.features import fogd
from budgetron.algorithms.gradients import bogd, bogd_pp, nogd, norma, ogd
from budgetron.algorithms.passive_aggressive import bpa_nn, bpa_p, bpa_s, pa
from budgetron.algorithms.perceptrons import (
    budget_perceptron,
    forgetron,
    perceptron,
    projectron,
    projectron_pp,
    rbp,
    stoptron,
)
from budgetron.algorithms.stochastic import bsgd, nbsgd, sgd

__all__ = [
    "bduol",
    "bogd",
    "bogd_pp",
    "bpa_nn",
    "bpa_p",
    "bpa_s",
    "bsgd",
    "budget_perceptron",
    "duol",
    "fogd",
    "forgetron",
    "nbsgd",
    "nogd",
    "norma",
    "ogd",
    "pa",
    "perceptron",
    "projectron",
    "projectron_pp",
    "rbp",
    "sgd",
    "stoptron",
]
