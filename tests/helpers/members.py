"""All algorithms and public classes of the library, for tests that must hold for all of them."""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from budgetron import (
    AROW,
    OGD,
    AdaGrad,
    Auto,
    Averaged,
    Bins,
    Budget,
    CellMap,
    DoubleUpdating,
    DualMaintenance,
    FeatureMap,
    Gaussian,
    Identity,
    Kalman,
    Kernelized,
    Laplacian,
    Mapped,
    Neighbours,
    Nystrom,
    OnlineClassifier,
    OnlineRegressor,
    Perceptron,
    ProjectSmallest,
    RandomBinning,
    RandomFourier,
    RandomIterate,
    Ranged,
    Recruited,
    RemoveOldest,
    RemoveSmallest,
    Rule,
    SparseFourier,
    Spectrum,
    Stacked,
    Standardised,
    Tiles,
    Unbounded,
    VectorRule,
    algorithms,
)
from budgetron._util.exports import exported
from budgetron.learners.learner import Learner
from budgetron.parts.kernels import Kernel
from budgetron.parts.tasks import Labels

FILLED = {
    "beta": 60.0,
    "budget": 10,
    "error": 1e-4,
    "inner": RemoveSmallest(10),
    "learner": algorithms.perceptron(Gaussian(0.5)),
    "rank": 4,
    "size": 6,
}
OF_PARTS = FILLED | {
    "components": 6,
    "features": RandomFourier(Gaussian(0.5), 4),
    "gamma": 0.5,
    "landmarks": 8,
    "learners": (algorithms.perceptron(Gaussian(0.5)), Mapped(Identity(), Kalman())),
    "maps": (Identity(), RandomFourier(Gaussian(0.5), 4)),
    "random_state": None,
}
CELLS: tuple[CellMap | Recruited, ...] = (  # so small that their tables have room for every cell
    Tiles(9, 3, 0.5),
    Bins(8, 2, 3),
    RandomBinning(Laplacian(0.05), 3, 2**17),
    Recruited(Tiles(8, 3), every=10),
)
BY_TYPE = {int: 10, float: 0.5}  # for required parameters that are not named above
TASKS = ("binary", "multiclass", "regression")


@cache
def parameters(name: str) -> frozenset[str]:
    """The names of the parameters of an algorithm."""
    return frozenset(inspect.signature(getattr(algorithms, name)).parameters)


def described(name: str, kernel: Kernel | None = None, **kwargs: Any) -> Learner:
    """The algorithm of that name on the kernel, with a small budget and rank where it takes them."""
    settings = filled(getattr(algorithms, name)) | kwargs
    if "kernel" in parameters(name):
        settings["kernel"] = Gaussian(0.5) if kernel is None else kernel
    learner: Learner = getattr(algorithms, name)(**settings)
    return learner


def make(name: str, kernel: Kernel | None = None, **kwargs: Any) -> Learner:
    """As `described`; a test is skipped if the algorithm is not defined for its kernel."""
    learner = described(name, kernel, **kwargs)
    try:
        learner.build(Labels(2), 1, np.float64, 0)
    except (TypeError, ValueError) as refusal:  # tests of other refusals meet them again
        if kernel is not None and "needs a kernel that" in str(refusal):
            pytest.skip(str(refusal))
    return learner


def filled(member: Any, values: dict[str, Any] = FILLED) -> dict[str, Any]:
    """Small values for the parameters of a member: those named, and numbers that have no default."""
    taken = inspect.signature(member, eval_str=True).parameters.values()
    needed = [p for p in taken if p.default is p.empty and p.annotation in BY_TYPE]
    named = {p.name: values[p.name] for p in taken if p.name in values}
    return {p.name: BY_TYPE[p.annotation] for p in needed} | named


def of_size(budget: Any) -> list[Any]:
    """Every budget that takes a largest number of support vectors, with that number."""
    kinds = exported(Budget).values()
    return [_sized(kind, budget) for kind in kinds if "budget" in inspect.signature(kind).parameters]


def _sized(kind: Any, budget: Any) -> Any:
    """The budget with this number, and others that have no default."""
    taken = inspect.signature(kind).parameters
    others = {
        name: value for name, value in filled(kind).items() if taken[name].default is taken[name].empty
    }
    return kind(**(others | {"budget": budget}))


def unbounded(learner: Any) -> Any:
    """The learner without its budget."""
    if isinstance(learner, DoubleUpdating):
        return dataclasses.replace(learner, maintenance=None)
    return dataclasses.replace(learner, budget=Unbounded())


def budgeted() -> list[str]:
    """The algorithms that never exceed their budget (nbsgd may)."""
    return [name for name in algorithms.__all__ if "budget" in parameters(name) and name != "nbsgd"]


@cache
def classifiers() -> tuple[str, ...]:
    """The algorithms that are defined for classification, if only with two classes."""
    return tuple(name for name in algorithms.__all__ if _accepted(OnlineClassifier(make(name)), [0, 1, 1]))


@cache
def multiclass() -> tuple[str, ...]:
    """The algorithms that are defined for more than two classes."""
    return tuple(name for name in classifiers() if _accepted(OnlineClassifier(make(name)), [0, 1, 2]))


@cache
def regressors() -> tuple[str, ...]:
    """The algorithms that are defined for regression."""
    return tuple(name for name in algorithms.__all__ if _accepted(OnlineRegressor(make(name)), [0, 1, 1]))


def _accepted(model: OnlineClassifier | OnlineRegressor, y: list[int]) -> bool:
    try:
        model.fit([[0.0], [1.0], [2.0]], y)
    except ValueError as refusal:
        if "defined for" not in str(refusal):
            raise
        return False
    return True


def cases() -> list[tuple[str, str]]:
    """Every pair (task, algorithm)."""
    members = {"binary": classifiers(), "multiclass": multiclass(), "regression": regressors()}
    return [(task, name) for task in TASKS for name in members[task]]


def parts(kind: type) -> list[Any]:
    """A small object of every public class of that kind, and one for each allowed string parameter."""
    found = []
    for cls in exported(kind).values():
        if not dataclasses.is_dataclass(cls):
            continue
        hints = get_type_hints(cls)
        names = [field.name for field in dataclasses.fields(cls)]
        found.append(cls(**filled(cls, OF_PARTS)))
        for name in names:
            if get_origin(hints[name]) is Literal:
                part = found[-1]
                found += [_with(part, name, word) for word in get_args(hints[name])[1:]]
    return found


def _with(part: Any, name: str, value: Any) -> Any:
    return type(part)(**(part.get_params(deep=False) | {name: value}))


@cache
def combinations() -> list[tuple[str, Learner]]:
    """Every exported part in a learner, for every task that the learner is defined for."""
    kernel = Gaussian(0.5)
    fourier, nystrom = RandomFourier(kernel, 5), Nystrom(kernel, 8, 4)
    learners: list[Learner] = [Kernelized(kernel, OGD(), budget) for budget in parts(Budget)]
    learners += [Kernelized(kernel, rule, RemoveOldest(10)) for rule in parts(Rule)]
    learners += [Mapped(fourier, rule) for rule in parts(Rule)]
    learners += [Mapped(nystrom, rule) for rule in parts(VectorRule)]
    learners += [Mapped(features, AROW(covariance="diagonal")) for features in parts(FeatureMap)]
    learners += [Mapped(RandomFourier(Spectrum(), 5), OGD())]
    learners += [Mapped(cells, Kalman(3.0, 0.01)) for cells in CELLS]
    learners += [Mapped(Recruited(SparseFourier(6), every=5), Kalman(3.0, 0.01))]
    steps = [rule for rule in parts(Rule) if not isinstance(rule, Perceptron)]  # its ties depend on codes
    learners += [Mapped(CELLS[0], rule) for rule in (*steps, AROW(), AdaGrad())]
    learners += [Kernelized(kernel, OGD(), ProjectSmallest(10, neighbours=3))]
    learners += [Kernelized(own, OGD(), RemoveOldest(10)) for own in parts(Kernel)]
    learners += [DoubleUpdating(kernel, maintenance=dual) for dual in parts(DualMaintenance)]
    averaged = [
        Kernelized(kernel, OGD(), RemoveSmallest(10)),
        Mapped(fourier, OGD()),
        Mapped(nystrom, OGD()),
    ]
    learners += [Averaged(learner, suffix) for learner in averaged for suffix in (0.5, 1.0)]
    learners += [RandomIterate(learner, suffix) for learner in averaged[:2] for suffix in (0.5, 1.0)]
    learners += [
        Stacked(Kernelized(kernel, OGD(), RemoveSmallest(10)), Mapped(fourier, Kalman(drift=0.01)))
    ]
    learners += [Standardised(learners[-1]), Ranged(Mapped(fourier, Kalman(covariance="diagonal")))]
    learners += [Neighbours(30), Standardised(Neighbours(30, 2))]
    learners += [Stacked(Neighbours(30), Mapped(fourier, Kalman()))]
    learners += [Standardised(Stacked(Mapped(CELLS[0], Kalman(6.0)), Mapped(CELLS[1], Kalman(6.0))))]
    return [(task, learner) for learner in learners for task in TASKS if _defined(task, learner)]


def exportable() -> list[tuple[str, str | Learner]]:
    """Every algorithm and every exported part."""
    return [*cases(), *combinations()]


_ANSWERS: dict[tuple[str, str], bool] = {}


def _defined(task: str, learner: Learner) -> bool:
    key = task, repr(learner)
    if key not in _ANSWERS:
        labels = [0, 1, 2] if task == "multiclass" else [0, 1, 1]
        _ANSWERS[key] = _accepted(estimator(task, learner), labels)
    return _ANSWERS[key]


@cache
def scaling() -> list[str]:
    """The algorithms that scale rows: dense ones are centred, and huge ones are not refused."""
    kinds = (Auto, Ranged, Standardised)
    return [name for name in algorithms.__all__ if isinstance(described(name), kinds)]


def expansions() -> list[tuple[str, str]]:
    """The cases whose model has support vectors, and no explicit features."""
    return [(task, name) for task, name in cases() if _is_expansion(make(name))]


def _is_expansion(learner: Learner) -> bool:
    if isinstance(learner, Kernelized):
        return learner.budget.is_expansion
    return isinstance(learner, DoubleUpdating)


def estimator(task: str, learner: str | Learner, **kwargs: Any) -> Any:
    """The estimator of a task with a fixed seed, from the name of an algorithm or a learner."""
    learner = make(learner) if isinstance(learner, str) else learner
    kwargs.setdefault("random_state", 0)
    return (OnlineRegressor if task == "regression" else OnlineClassifier)(learner, **kwargs)


def data(task: str, n: int = 80, *, seed: int = 0, features: int = 3) -> tuple[Any, Any]:
    """Rows with some zeros, and labels or targets that are not linear in them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)) * (rng.random((n, features)) < 0.7)
    r = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n)
    if task == "regression":
        return X, r
    return X, np.digitize(r, [0] if task == "binary" else [-0.5, 0.5])


def start(model: Any, task: str, X: Any, y: Any, **kwargs: Any) -> Any:
    """Call ``partial_fit``, with ``classes`` for a classifier."""
    classes = {} if task == "regression" else {"classes": [0, 1] if task == "binary" else [0, 1, 2]}
    return model.partial_fit(X, y, **classes, **kwargs)


def fitted(task: str = "binary", learner: str | Learner = "rbp", n: int = 40) -> Any:
    """A small fitted model."""
    X, y = data(task, n)
    return start(estimator(task, learner), task, X, y)


def scores(model: Any, X: Any) -> Any:
    """The scores of a classifier or a regressor."""
    return getattr(model, "decision_function", model.predict)(X)


def same_state(one: Any, other: Any) -> bool:
    """Whether two fitted estimators have the same model, bit for bit."""
    return bits(one) == bits(other)


def bits(model: Any) -> dict[str, tuple[str, bytes]]:
    """The state of a fitted estimator's model as bytes, to compare later."""
    return {name: (a.dtype.str, a.tobytes()) for name, a in model.fitted_.model.state().items()}
