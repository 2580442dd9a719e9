"""The learners of Zhao & Hoi, BDUOL: Double Updating Online Learning on a Fixed Budget, 2012.

The printed numbers are lost. The text says that RBP and the Forgetron are very similar. On mushrooms they
are up to 19 points apart with the Forgetron as defined, and up to 4 points in the reading of the program
that some of the authors published later (Lu et al. 2016): that reading is run.
"""

from __future__ import annotations

from budgetron.learners.algorithms import bduol, duol, forgetron, perceptron, projectron, projectron_pp, rbp
from budgetron.learners.double_updating import (
    DoubleUpdating,
    DualNearest,
    DualProjection,
    DualProjectionClipped,
    DualRemoval,
)
from budgetron.parts.kernels import Gaussian
from budgetron_reproduction.cases import MakeLearner

K = Gaussian.of_width(8)

LEARNERS: dict[str, MakeLearner] = {
    "perceptron": lambda _: perceptron(K),
    "duol": lambda c: duol(K, C=c["C"]),
    "rbp": lambda c: rbp(K, budget=c.B),
    "forgetron": lambda c: forgetron(K, budget=c.B, reading="program"),
    "projectron": lambda c: projectron(K, budget=c.B),
    "projectron++": lambda c: projectron_pp(K, budget=c.B),
    "bduol-removal": lambda c: bduol(K, budget=c.B, C=c["C"], maintenance=DualRemoval),
    "bduol-projection": lambda c: DoubleUpdating(K, c["C"], maintenance=DualProjection(c.B, exact=True)),
    "bduol-approximate": lambda c: bduol(K, budget=c.B, C=c["C"], maintenance=DualProjectionClipped),
    "bduol-nearest": lambda c: bduol(K, budget=c.B, C=c["C"], maintenance=DualNearest),
}

TABLES = {2: LEARNERS, 3: LEARNERS}
