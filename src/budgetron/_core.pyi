from collections.abc import Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def instruction_set() -> str:
    """The one in use."""

def instruction_sets() -> list[str]:
    """Those that run here, the widest first."""

class Precision(enum.Enum):
    Single = 0

    Double = 1

class Rows:
    pass

def first_too_large(rows: Rows, precision: Precision) -> int: ...

@overload
def dense(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Rows: ...

@overload
def dense(X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Rows: ...

@overload
def sparse(data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: int) -> Rows: ...

@overload
def sparse(data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: int) -> Rows: ...

class Kernel:
    def matrix(self, X: Rows, Z: Rows, features: int) -> NDArray[numpy.float64]: ...

class Gaussian(Kernel):
    def __init__(self, gamma: float) -> None: ...

class Laplacian(Kernel):
    def __init__(self, gamma: float) -> None: ...

class Polynomial(Kernel):
    def __init__(self, gamma: float, coef0: float, degree: int) -> None: ...

class Linear(Kernel):
    def __init__(self) -> None: ...

class Sigmoid(Kernel):
    def __init__(self, gamma: float, coef0: float) -> None: ...

class Loss:
    def value(self, f: float, y: float) -> float: ...

    def slope(self, f: float, y: float) -> float: ...

class Hinge(Loss):
    def __init__(self) -> None: ...

class SquaredHinge(Loss):
    def __init__(self) -> None: ...

class Logistic(Loss):
    def __init__(self) -> None: ...

class Squared(Loss):
    def __init__(self) -> None: ...

class OutsideTube(Loss):
    def __init__(self, loss: Loss, epsilon: float) -> None: ...

class Absolute(Loss):
    def __init__(self) -> None: ...

class EpsilonInsensitive(Loss):
    def __init__(self, epsilon: float) -> None: ...

class Task:
    pass

class Binary(Task):
    def __init__(self) -> None: ...

class Multiclass(Task):
    def __init__(self, classes: int) -> None: ...

class Regression(Task):
    def __init__(self) -> None: ...

class Rule:
    pass

class Perceptron(Rule):
    def __init__(self, eta: float) -> None: ...

class MarginPerceptron(Rule):
    def __init__(self, eta: float, margin: float) -> None: ...

class PerceptronRegression(Rule):
    def __init__(self, eta: float, epsilon: float) -> None: ...

class PassiveAggressive(Rule):
    def __init__(self, C: float) -> None: ...

class PassiveAggressiveRegression(Rule):
    def __init__(self, C: float, epsilon: float) -> None: ...

class OGD(Rule):
    def __init__(self, loss: Loss, eta: float, lam: float) -> None: ...

class OGDRegression(Rule):
    def __init__(self, loss: Loss, eta: float, lam: float, epsilon: float) -> None: ...

class SGD(Rule):
    def __init__(self, loss: Loss, lam: float) -> None: ...

class SGDInBall(Rule):
    def __init__(self, loss: Loss, lam: float) -> None: ...

class NORMA(Rule):
    def __init__(self, eta: float, nu: float, lam: float, epsilon: float) -> None: ...

class Budget:
    pass

class Unbounded(Budget):
    def __init__(self) -> None: ...

class Stop(Budget):
    def __init__(self, budget: int) -> None: ...

class RemoveRandom(Budget):
    def __init__(self, budget: int, seed: int) -> None: ...

class RemoveOldest(Budget):
    def __init__(self, budget: int) -> None: ...

class RemoveRedundant(Budget):
    def __init__(self, budget: int) -> None: ...

class Forget(Budget):
    def __init__(self, budget: int) -> None: ...

class ForgetLargerRoot(Budget):
    def __init__(self, budget: int) -> None: ...

class SampleUniform(Budget):
    def __init__(self, budget: int, cap: float, seed: int) -> None: ...

class SampleUniformScaled(Budget):
    def __init__(self, budget: int, cap: float, seed: int) -> None: ...

class SampleByWeight(Budget):
    def __init__(self, budget: int, cap: float, seed: int) -> None: ...

class Threshold:
    pass

class FixedThreshold(Threshold):
    def __init__(self, eta: float) -> None: ...

class ProgressThreshold(Threshold):
    def __init__(self, U: float) -> None: ...

class Project(Budget):
    def __init__(self, budget: int, threshold: Threshold) -> None: ...

class ProjectPlus(Budget):
    def __init__(self, budget: int, threshold: Threshold, U: float) -> None: ...

class ProjectLowRank(Budget):
    def __init__(self, budget: int, rank: int) -> None: ...

class Maintained(Budget):
    pass

class RemoveSmallest(Maintained):
    def __init__(self, budget: int) -> None: ...

class ProjectSmallest(Maintained):
    def __init__(self, budget: int) -> None: ...

class ProjectNearest(Maintained):
    def __init__(self, budget: int, neighbours: int) -> None: ...

class Merge(Maintained):
    def __init__(self, budget: int, gamma: float) -> None: ...

class Sometimes(Budget):
    def __init__(self, inner: Maintained, beta: float, seed: int) -> None: ...

def best_merge(m: float, L: float) -> float:
    """The best h for m and L = log kap."""

class Swap(Budget):
    def __init__(self, budget: int) -> None: ...

class SwapNearest(Budget):
    def __init__(self, budget: int) -> None: ...

class SwapProject(Budget):
    def __init__(self, budget: int) -> None: ...

class Learner:
    def begin(self) -> None: ...

    def run(self, rows: Rows, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> int: ...

    def scores(self, rows: Rows) -> NDArray[numpy.float64]: ...

    @overload
    def learn_one(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y: float, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> bool: ...

    @overload
    def learn_one(self, x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], y: float, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> bool: ...

    @overload
    def score_one(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> bool: ...

    @overload
    def score_one(self, x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> bool: ...

    def state(self) -> dict[str, object]: ...

    def restore(self, state: dict[str, object]) -> None: ...

    def keep_average(self, suffix: float) -> None: ...

    @property
    def outputs(self) -> int: ...

    @property
    def size(self) -> int: ...

    def hold(self) -> None: ...

    def release(self) -> None: ...

    def renew(self) -> None: ...

    @property
    def rows_done(self) -> int: ...

    @property
    def memory_bytes(self) -> int: ...

    def __sizeof__(self) -> int: ...

class ExpansionLearner(Learner):
    @property
    def look_ahead(self) -> int: ...

    @look_ahead.setter
    def look_ahead(self, arg: int, /) -> None: ...

    def support_vectors(self, features: int) -> NDArray[numpy.float64]: ...

    def dual_coef(self) -> NDArray[numpy.float64]: ...

class Kernelized(ExpansionLearner):
    def __init__(self, kernel: Kernel, rule: Rule, budget: Budget, task: Task, features: int, precision: Precision) -> None: ...

class DualMaintenance:
    pass

class DualUnbounded(DualMaintenance):
    def __init__(self) -> None: ...

class DualRemoval(DualMaintenance):
    def __init__(self, budget: int) -> None: ...

class DualProjection(DualMaintenance):
    def __init__(self, budget: int) -> None: ...

class DualProjectionClipped(DualMaintenance):
    def __init__(self, budget: int) -> None: ...

class DualNearest(DualMaintenance):
    def __init__(self, budget: int) -> None: ...

class DualRemovalThenProjection(DualMaintenance):
    def __init__(self, budget: int) -> None: ...

class DoubleUpdating(ExpansionLearner):
    def __init__(self, kernel: Kernel, C: float, rho: float, maintenance: DualMaintenance, features: int) -> None: ...

class Frequencies:
    def matrix(self, columns: int) -> NDArray[numpy.float64]: ...

class NormalFrequencies(Frequencies):
    def __init__(self, components: int, scale: float, seed: int) -> None: ...

class CauchyFrequencies(Frequencies):
    def __init__(self, components: int, scale: float, seed: int) -> None: ...

def given_frequencies(columns: int, components: int, make: object) -> Frequencies: ...

class FeatureMap:
    @property
    def size(self) -> int: ...

    def fit(self, rows: Rows) -> None: ...

    def transform(self, rows: Rows) -> NDArray[numpy.float64]: ...

    def state(self) -> dict[str, object]: ...

    def restore(self, state: dict[str, object]) -> None: ...

def fourier(features: int, frequencies: Frequencies, precision: Precision) -> FeatureMap: ...

class HadamardFourier(FeatureMap):
    def __init__(self, components: int, width: int, make: object) -> None: ...

class Identity(FeatureMap):
    def __init__(self, features: int, scale: float, constant: bool) -> None: ...

class Stack(FeatureMap):
    def __init__(self, maps: Sequence[FeatureMap]) -> None: ...

class LandmarkSelection:
    pass

class FirstRows(LandmarkSelection):
    def __init__(self, landmarks: int) -> None: ...

class FirstSteps(LandmarkSelection):
    def __init__(self, landmarks: int) -> None: ...

class Reservoir(LandmarkSelection):
    def __init__(self, landmarks: int, window: int, seed: int) -> None: ...

class ByLeverage(LandmarkSelection):
    def __init__(self, landmarks: int, rank: int, window: int, seed: int) -> None: ...

class Nystrom(FeatureMap):
    def __init__(self, kernel: Kernel, landmarks: int, rank: int, selection: LandmarkSelection, features: int) -> None: ...

class Covariance:
    pass

class FullCovariance(Covariance):
    def __init__(self, start: float) -> None: ...

class DiagonalCovariance(Covariance):
    def __init__(self, start: float) -> None: ...

class VectorRule:
    pass

class Along(VectorRule):
    def __init__(self, rule: Rule) -> None: ...

class AdaGrad(VectorRule):
    def __init__(self, loss: Loss, eta: float, delta: float) -> None: ...

class OnlineNewton(VectorRule):
    def __init__(self, loss: Loss, eta: float, inverse: Covariance) -> None: ...

class CoinBetting(VectorRule):
    def __init__(self, loss: Loss, alpha: float) -> None: ...

class AROW(VectorRule):
    def __init__(self, r: float, sigma: Covariance) -> None: ...

class AROWRegression(VectorRule):
    def __init__(self, r: float, epsilon: float, sigma: Covariance) -> None: ...

class Mapped(Learner):
    def __init__(self, map: FeatureMap, rule: VectorRule, task: Task) -> None: ...

    def support_vectors(self, features: int) -> NDArray[numpy.float64]: ...

    def dual_coef(self) -> NDArray[numpy.float64]: ...

    def coef(self) -> NDArray[numpy.float64]: ...

class Fault(enum.Enum):
    Label = 0

    SeveralLabels = 1

    Query = 2

    Pair = 3

    Range = 4

    Order = 5

    Value = 6

class Problem:
    @property
    def fault(self) -> Fault: ...

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...

    @property
    def found(self) -> bytes: ...

class SvmlightParser:
    def __init__(self, first: int, last: int) -> None: ...

    def feed(self, piece: bytes) -> None: ...

    def finish(self) -> None: ...

    def take(self, rows: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.float64]]:
        """data, indices, indptr and labels of the next rows, at most so many."""

    def drop(self, rows: int) -> None: ...

    @property
    def ready(self) -> int: ...

    @property
    def columns(self) -> int: ...

    @property
    def problem(self) -> Problem | None: ...

class Moments:
    def __init__(self, columns: int) -> None: ...

    def is_consistent(self, columns: int) -> bool: ...

    def state(self) -> dict[str, object]: ...

    def restore(self, state: dict[str, object]) -> None: ...

    def scale(self, X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64] | NDArray[numpy.float32]: ...

    def scale_and_count(self, X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64] | NDArray[numpy.float32]: ...

class Range:
    def __init__(self, columns: int) -> None: ...

    def is_consistent(self, columns: int) -> bool: ...

    def state(self) -> dict[str, object]: ...

    def restore(self, state: dict[str, object]) -> None: ...

    def scale(self, X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64] | NDArray[numpy.float32]: ...

    def scale_and_count(self, X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64] | NDArray[numpy.float32]: ...

class Squares:
    def __init__(self, columns: int) -> None: ...

    def is_consistent(self, columns: int) -> bool: ...

    def state(self) -> dict[str, object]: ...

    def restore(self, state: dict[str, object]) -> None: ...

    def scale(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64] | NDArray[numpy.float32]: ...

    def scale_and_count(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64] | NDArray[numpy.float32]: ...

class Largest:
    def __init__(self, columns: int) -> None: ...

    def is_consistent(self, columns: int) -> bool: ...

    def state(self) -> dict[str, object]: ...

    def restore(self, state: dict[str, object]) -> None: ...

    def scale(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64] | NDArray[numpy.float32]: ...

    def scale_and_count(self, data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64] | NDArray[numpy.float32]: ...

def box_qp(Q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lo: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], hi: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    The minimiser of x'Qx/2 - q'x over lo <= x <= hi, as the exact projection computes it.
    """

def box_qp_by_descent(Q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lo: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], hi: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The same by the method that it falls back on."""

def exponentials(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """exp of every number, as merging computes it."""

def exponentials_single(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
    """The same in single precision."""

def sines_cosines(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """Two rows, sin and cos of every number, as the maps compute them."""

def sines_cosines_single(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The same in single precision."""

def products(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], S: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """X' S as the kernels compute it, for features x rows in X and in S."""

def products_single(X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], S: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
    """The same in single precision."""

def uniforms(seed: int, n: int, stream: int = 0) -> NDArray[numpy.float64]:
    """The first n numbers of the generator on a seed."""
