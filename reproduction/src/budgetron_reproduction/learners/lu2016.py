"""The learners of Lu, Hoi, Wang, Zhao & Liu, Large Scale Online Kernel Learning, JMLR 2016.

The paper omits the factor 1/sqrt(D) of its Fourier features: a step eta there is eta D here.

The tables were printed with the authors' program, which differs from the definitions. The Forgetron and the
two-class BOGD are run in its reading. With several classes or targets its BOGD drops the oldest support
vector and rescales nothing; here that is OGD with `RemoveOldest`. In Table 9 both readings of the Forgetron
make the same predictions, so it has the default.
"""

from __future__ import annotations

from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from budgetron.learners.algorithms import (
    bogd,
    bpa_s,
    bsgd,
    fogd,
    forgetron,
    nogd,
    norma,
    ogd,
    perceptron,
    projectron,
    projectron_pp,
    rbp,
)
from budgetron.learners.kernelized import Kernelized
from budgetron.parts.budgets import Merge, RemoveOldest, RemoveRandom
from budgetron.parts.kernels import Gaussian
from budgetron.parts.losses import Squared
from budgetron.parts.rules import OGD, SGD
from budgetron_reproduction.cases import MakeLearner

K = Gaussian.of_width(8)

PERCEPTRONS: dict[str, MakeLearner] = {
    "perceptron": lambda _: perceptron(K),
    "rbp": lambda c: rbp(K, budget=c.B),
    "forgetron": lambda c: forgetron(K, budget=c.B, reading="program"),
    "projectron": lambda c: projectron(K, budget=c.B),
    "projectron++": lambda c: projectron_pp(K, budget=c.B),
    "bpa-s": lambda c: bpa_s(K, budget=c.B, C=1),
}
GRADIENTS: dict[str, MakeLearner] = {
    "ogd": lambda c: ogd(K, eta=c["eta"]),
    "fogd": lambda c: fogd(K, components=4 * c.B, eta=4 * c.B * c["eta"]),
    "nogd": lambda c: nogd(K, budget=c.B, rank=c.B // 5, eta=c["eta"]),
}

BINARY: dict[str, MakeLearner] = (
    PERCEPTRONS
    | GRADIENTS
    | {
        "bogd": lambda c: bogd(K, budget=c.B, eta=c["eta"], lam=1 / c.n**2, cap=10, reading="program"),
    }
)
MULTICLASS: dict[str, MakeLearner] = (
    PERCEPTRONS
    | GRADIENTS
    | {
        "bogd": lambda c: Kernelized(K, OGD(eta=c["eta"], lam=1 / c.n**2), RemoveOldest(c.B)),
    }
)
REGRESSION: dict[str, MakeLearner] = {
    "perceptron": lambda _: perceptron(K, eta=0.1, epsilon=0.1),
    "norma": lambda c: norma(K, eta=c["eta"], nu=c["nu"], lam=c["lam"], epsilon=0.1),
    "rbp": lambda c: rbp(K, budget=c.B, eta=0.1, epsilon=0.1),
    "forgetron": lambda c: forgetron(K, budget=c.B, eta=0.1, epsilon=0.1),
    "projectron": lambda c: projectron(K, budget=c.B, epsilon=0.1),
    "ogd": lambda c: ogd(K, eta=c["eta"], loss=Squared(), epsilon=0.1),
    "bogd": lambda c: Kernelized(
        K, OGD(eta=c["eta"], lam=c["lam"], loss=Squared(), epsilon=0.1), RemoveOldest(c.B)
    ),
    "fogd": lambda c: fogd(K, components=15 * c.B, eta=15 * c.B * c["eta"], loss=Squared(), epsilon=0.1),
    "nogd": lambda c: nogd(K, budget=c.B, rank=c.B // 5, eta=c["eta"], loss=Squared(), epsilon=0.1),
}
BATCH: dict[str, MakeLearner] = {
    "libsvm": lambda c: SVC(C=c["C"], gamma=_gamma(c["sigma"]), cache_size=1000),
    "llsvm": lambda c: make_pipeline(
        Nystroem(gamma=_gamma(c["sigma"]), n_components=c.B, random_state=0),
        LinearSVC(C=c["C"], dual=False),
    ),
    "bsgd-m": lambda c: bsgd(_width(c["sigma"]), budget=c.B, lam=c["lam"], maintenance=Merge),
    "bsgd-r": lambda c: Kernelized(_width(c["sigma"]), SGD(c["lam"]), RemoveRandom(c.B)),
    "fogd": lambda c: fogd(_width(c["sigma"]), components=c["D"], eta=c["D"] * c["eta"]),
    "nogd": lambda c: nogd(_width(c["sigma"]), budget=c.B, rank=c.B // 5, eta=c["eta"]),
}

TABLES = {3: BATCH, 5: BINARY, 7: MULTICLASS, 9: REGRESSION}


def _width(sigma: float) -> Gaussian:
    return Gaussian.of_width(sigma)


def _gamma(sigma: float) -> float:
    return 1 / (2 * sigma**2)
