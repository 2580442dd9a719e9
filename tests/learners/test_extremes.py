"""Finite rows of every size: a model stays finite, or refuses the row and stays as it was."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from budgetron import (
    AROW,
    NORMA,
    OGD,
    PA,
    SGD,
    Averaged,
    CoinBetting,
    ForgetLargerRoot,
    Gaussian,
    Identity,
    Kernelized,
    Laplacian,
    Linear,
    Logistic,
    Mapped,
    MarginPerceptron,
    Merge,
    OneByOne,
    OnlineClassifier,
    OnlineNewton,
    OnlineRegressor,
    RandomFourier,
    SampleByWeight,
    Squared,
    Swap,
    SwapNearest,
    SwapProject,
    Unbounded,
    load,
)
from tests.helpers import forked, members
from tests.helpers.cases import each


def finite(model):
    """Whether every number of the model is one."""
    arrays = [np.asarray(a) for a in model.fitted_.model.state().values()]
    return all(np.isfinite(a).all() for a in arrays if a.dtype.kind == "f")


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_an_observation_of_no_weight(covariance):
    """The slope of the second row is so small that the reciprocal of its square overflows."""
    rule = OnlineNewton(loss=Logistic(), covariance=covariance)
    model = OnlineClassifier(Mapped(Identity(constant=False), rule))
    model.partial_fit([[1.0, 0.0], [1200.0, 0.0]], [1, 1], classes=[0, 1])
    assert finite(model)
    before = model.coef_.copy()
    model.partial_fit([[0.0, 1.0]], [1])
    assert finite(model)
    assert model.coef_[0, 0] == before[0, 0]
    assert model.coef_[0, 1] > 0


@each("covariance", ["full", "diagonal"])
@each("weight", [1e-320, 1e-200, 1e140])
def test_arow_with_a_weight_of_any_size(covariance, weight):
    X, y = members.data("binary", 30)
    model = OnlineClassifier(
        Mapped(Identity(), AROW(r=1e-3 if weight > 1 else 1e100, covariance=covariance))
    )
    model.partial_fit(X, y, classes=[0, 1], sample_weight=np.full(30, weight))
    assert finite(model)


def test_coin_betting_on_rows_too_small_to_be_fitted():
    """No weight within reach mends the loss, so the bets double with every row."""
    model = OnlineClassifier(Mapped(Identity(constant=False), CoinBetting(alpha=1.0)))
    for _ in range(4):
        model.partial_fit(np.full((1000, 1), 1e-310), np.ones(1000), classes=[0, 1])
    assert finite(model)


def test_a_refused_row_leaves_norma_as_it_was():
    """The width of the tube used to change before the step was refused."""
    X, y = members.data("regression", 40)
    model = OnlineRegressor(Kernelized(Linear(), NORMA(eta=1e90), Unbounded())).partial_fit(X[:5], y[:5])
    before = members.bits(model)
    with pytest.raises(ValueError, match="Row 0 gives a score that is not finite"):
        model.partial_fit(1e70 * np.ones((1, 3)), [1e300])
    assert members.bits(model) == before


def test_rows_farther_apart_than_a_logarithm_can_say():
    """Gamma |x - s|^2 overflows: such vectors have nothing in common, and merging one drops it."""
    X = 1e100 * np.random.default_rng(0).normal(size=(40, 2))
    model = OnlineClassifier(Kernelized(Gaussian(1e150), SGD(lam=0.1), Merge(3)))
    model.partial_fit(X, np.arange(40) % 2, classes=[0, 1])
    assert finite(model)
    assert model.n_support_ == 3


@each("kernel", [Gaussian(1.7e308), Laplacian(1.7e308)], ids=repr)
@each("dtype", [np.float32, np.float64])
def test_a_kernel_of_no_width(kernel, dtype):
    """The kernel is 1 at a support vector and 0 elsewhere."""
    X = np.array([[0.0], [1.0]], dtype)
    model = OnlineClassifier(Kernelized(kernel, OGD(eta=0.5), Unbounded())).fit(X, [0, 1])
    np.testing.assert_allclose(
        model.decision_function(np.array([[0.0], [1.0], [2.0]], dtype)), [-0.5, 0.5, 0]
    )


@each("size", [1e-160, 1e-150, 1e-140])
@each("budget", [Swap(3), SwapNearest(3), SwapProject(3), SampleByWeight(3)], ids=repr)
@each("rest", [1.0, None])
def test_tiny_rows_are_not_refused(size, budget, rest):
    """Alone or among ordinary ones; their k(x,x) has few digits or none."""
    X, y = members.data("binary", 60)
    X[::2] *= size
    X[1::2] *= size if rest is None else rest
    for rule in (PA(), OGD(loss=Logistic())):
        model = OnlineClassifier(Kernelized(Linear(), rule, budget), random_state=0)
        model.partial_fit(X, y, classes=[0, 1])
        assert finite(model)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_whose_distances_overflow_is_too_large(dtype):
    """Squares that are finite, but not their sum: the distance to a support vector was no number."""
    X = np.array([[1.0], [np.sqrt(np.finfo(dtype).max) * 0.9]], dtype)
    model = OnlineClassifier(Kernelized(Gaussian(1.0), PA(), Unbounded()))
    with pytest.raises(ValueError, match="Row 1 of X is too large"):
        model.fit(X, [0, 1])


def test_a_refused_row_leaves_the_columns_of_a_fourier_map():
    """Those of the refused row, and of the rows behind it, were counted as seen."""
    X = sparse.csr_array(np.diag([1.0, 2.0, 1e70, 3.0]))
    learner = Mapped(RandomFourier(Gaussian(0.5), 4), SGD(lam=0.1, loss=Squared()))
    model = OnlineRegressor(learner, random_state=0)
    twin = OnlineRegressor(learner, random_state=0).partial_fit(X[:2], [1.0, 2.0])
    with pytest.raises(ValueError, match="Row 2 gives a score that is not finite"):
        model.partial_fit(X, [1.0, 2.0, 1e300, 1.0])
    assert members.same_state(model, twin)
    with pytest.raises(ValueError, match="Row 0 gives a score that is not finite"):
        model.partial_fit(X[:1].toarray(), [1e300])  # a dense row, which would put all columns in order
    assert members.same_state(model, twin)
    model.partial_fit(X[3:], [1.0])
    assert members.same_state(model, twin.partial_fit(X[3:], [1.0]))


@pytest.mark.parametrize("learner", ["perceptron", "bpa_nn", "bduol"])
def test_a_model_of_wide_rows_loads(tmp_path, learner):
    """Its support vectors are an inverted index, whose fields a new model does not have yet."""
    X = sparse.random(30, 3000, 0.002, format="csr", random_state=0)
    model = members.start(
        members.estimator("binary", Averaged(members.make(learner))), "binary", X, np.arange(30) % 2
    )
    model.save(tmp_path / "model")
    assert members.same_state(load(tmp_path / "model"), model)


def test_fuzzing_finds_nothing():
    """A short campaign; ``python -m fuzz.extremes --minutes 10`` is a longer one."""
    run = forked.run(
        [sys.executable, "-m", "fuzz.extremes", "--count", "80"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "inputs 0 to 79" in run.stdout


def test_the_forgetron_of_the_larger_root_keeps_to_the_limits():
    """The root is 2.5e160: f would grow by as much, so the step is left out."""
    model = OneByOne(Kernelized(Linear(), MarginPerceptron(margin=0.0), ForgetLargerRoot(1)), 1)
    for x in (1e-80, -1e-81):
        model.learn_one(np.array([x]), 1)
    assert all(np.isfinite(values).all() for values in model.state().values())
    assert np.abs(model.dual_coef()).max() < 1e150
