"""Budgeted online kernel learning: nonlinear models from a stream, in bounded memory and time.

Names are loaded when they are first asked for: NumPy and scikit-learn take a second, and
``budgetron --help`` needs neither.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from budgetron._durable import SaveError
    from budgetron._tensors import ModelFileError
    from budgetron.algorithms import (
        bduol,
        bogd,
        bogd_pp,
        bpa_nn,
        bpa_p,
        bpa_s,
        bsgd,
        budget_perceptron,
        duol,
        fogd,
        forgetron,
        nbsgd,
        nogd,
        norma,
        ogd,
        pa,
        perceptron,
        projectron,
        projectron_pp,
        rbp,
        sgd,
        stoptron,
    )
    from budgetron.budgets import (
        Budget,
        Forget,
        ForgetLargerRoot,
        Maintained,
        Merge,
        Project,
        ProjectPlus,
        ProjectSmallest,
        RemoveOldest,
        RemoveRandom,
        RemoveRedundant,
        RemoveSmallest,
        SampleByWeight,
        SampleUniform,
        SampleUniformScaled,
        Sometimes,
        Stop,
        Swap,
        SwapNearest,
        SwapProject,
        Unbounded,
    )
    from budgetron.double_updating import (
        DoubleUpdating,
        DualMaintenance,
        DualNearest,
        DualProjection,
        DualProjectionClipped,
        DualRemoval,
        DualRemovalThenProjection,
    )
    from budgetron.errors import DivergedError
    from budgetron.estimators import OnlineClassifier, OnlineRegressor
    from budgetron.features import (
        FeatureMap,
        HadamardFourier,
        Identity,
        Law,
        Nystrom,
        OrthogonalFourier,
        RandomFourier,
        SobolFourier,
        Spectrum,
        Stack,
    )
    from budgetron.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid
    from budgetron.learners import Averaged, Kernelized, Learner
    from budgetron.losses import (
        Absolute,
        EpsilonInsensitive,
        Hinge,
        Logistic,
        Loss,
        Squared,
        SquaredHinge,
    )
    from budgetron.mapped import Mapped
    from budgetron.model_files import load
    from budgetron.one_by_one import OneByOne
    from budgetron.parallel import progressive_predict_many
    from budgetron.rules import NORMA, OGD, PA, SGD, MarginPerceptron, Perceptron, Rule
    from budgetron.vector_rules import AROW, AdaGrad, CoinBetting, OnlineNewton, VectorRule

    __version__: str

__all__ = [
    "AROW",
    "NORMA",
    "OGD",
    "PA",
    "SGD",
    "Absolute",
    "AdaGrad",
    "Averaged",
    "Budget",
    "CoinBetting",
    "DivergedError",
    "DoubleUpdating",
    "DualMaintenance",
    "DualNearest",
    "DualProjection",
    "DualProjectionClipped",
    "DualRemoval",
    "DualRemovalThenProjection",
    "EpsilonInsensitive",
    "FeatureMap",
    "Forget",
    "ForgetLargerRoot",
    "Gaussian",
    "HadamardFourier",
    "Hinge",
    "Identity",
    "Kernel",
    "Kernelized",
    "Laplacian",
    "Law",
    "Learner",
    "Linear",
    "Logistic",
    "Loss",
    "Maintained",
    "Mapped",
    "MarginPerceptron",
    "Merge",
    "ModelFileError",
    "Nystrom",
    "OneByOne",
    "OnlineClassifier",
    "OnlineNewton",
    "OnlineRegressor",
    "OrthogonalFourier",
    "Perceptron",
    "Polynomial",
    "Project",
    "ProjectPlus",
    "ProjectSmallest",
    "RandomFourier",
    "RemoveOldest",
    "RemoveRandom",
    "RemoveRedundant",
    "RemoveSmallest",
    "Rule",
    "SampleByWeight",
    "SampleUniform",
    "SampleUniformScaled",
    "SaveError",
    "Sigmoid",
    "SobolFourier",
    "Sometimes",
    "Spectrum",
    "Squared",
    "SquaredHinge",
    "Stack",
    "Stop",
    "Swap",
    "SwapNearest",
    "SwapProject",
    "Unbounded",
    "VectorRule",
    "__version__",
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
    "load",
    "nbsgd",
    "nogd",
    "norma",
    "ogd",
    "pa",
    "perceptron",
    "progressive_predict_many",
    "projectron",
    "projectron_pp",
    "rbp",
    "sgd",
    "stoptron",
]

_HOMES = (
    "_durable",
    "_tensors",
    "algorithms",
    "budgets",
    "double_updating",
    "errors",
    "estimators",
    "features",
    "kernels",
    "learners",
    "losses",
    "mapped",
    "model_files",
    "one_by_one",
    "parallel",
    "rules",
    "vector_rules",
)


if not TYPE_CHECKING:  # or else every misspelt name would have a type

    def __getattr__(name: str) -> Any:
        """A name of ``__all__`` from where it is at home, or else a module of the package."""
        value = _exported(name) if name in __all__ else _module(name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _exported(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("budgetron")
    homes = (import_module(f"budgetron.{home}") for home in _HOMES)
    return next(getattr(home, name) for home in homes if hasattr(home, name))


def _module(name: str) -> Any:
    path = f"budgetron.{name}"
    try:
        if not name.startswith("__"):  # __main__ would run
            return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
    raise AttributeError(f"module 'budgetron' has no attribute {name!r}")
