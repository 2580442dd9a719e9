"""Learning stops at the first row whose score or step is not finite; the rows before it stay learned."""

import copy

import numpy as np
import pytest

from budgetron import (
    NORMA,
    OGD,
    PA,
    Gaussian,
    Kernelized,
    LeastSquares,
    Linear,
    MarginPerceptron,
    Merge,
    MoveToFeatures,
    OnlineClassifier,
    OnlineRegressor,
    Polynomial,
    Squared,
    Unbounded,
    ogd,
)
from tests.helpers.cases import each
from tests.helpers.members import bits, data, estimator, of_size
from tests.helpers.refusals import everything, refused, untouched

K = Gaussian(0.5)


def test_divergence_row_by_row():
    """The row at which gradient descent diverges is refused, and the model is unchanged."""
    X, y = data("regression")
    model = estimator("regression", ogd(K, eta=1e30, loss=Squared())).partial_fit(X[:1], y[:1])
    with refused("Row 0", "not finite", "eta"):
        for i in range(1, len(y)):
            before = everything(model)
            model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert everything(model) == before
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("method", ["partial_fit", "progressive_predict"])
def test_divergence_in_a_batch(method):
    """A batch that diverges is learned up to the row that the error names."""
    X, y = data("regression")
    model = estimator("regression", ogd(K, eta=1e30, loss=Squared())).partial_fit(X[:1], y[:1])
    single = copy.deepcopy(model)
    with refused("not finite", "eta") as caught:
        getattr(model, method)(X, y)
    row = int(str(caught.value).split()[1])
    assert row > 0
    assert bits(model) == bits(single.partial_fit(X[:row], y[:row]))
    with refused("Row 0"):
        single.partial_fit(X[row : row + 1], y[row : row + 1])
    assert bits(model) == bits(single)


def test_divergence_in_fit():
    """A ``fit`` that diverges leaves the old model."""
    X, y = data("regression")
    model = estimator("regression", ogd(K, eta=1e30, loss=Squared())).partial_fit(X[:1], y[:1])
    before = everything(model)
    with refused("Row", "not finite", "eta"):
        model.fit(X, y)
    assert everything(model) == before


@each(
    "budget",
    [*(s for s in of_size(3) if not isinstance(s, Merge | MoveToFeatures | LeastSquares)), Unbounded()],
    ids=repr,
)
@each("kernel", [Linear(), Polynomial(1.0, 0.0, 2)], ids=repr)
def test_the_zero_row(budget, kernel):
    """A row of zeros, whose linear kernel is 0, harms no budget."""
    X, y = data("binary")
    X = X * (np.arange(len(y)) % 4 > 0)[:, None]
    for rule in (OGD(eta=0.01), PA(), MarginPerceptron(margin=0.5)):
        model = OnlineClassifier(Kernelized(kernel, rule, budget), random_state=0).fit(X, y)
        assert np.isfinite(model.dual_coef_).all()
        assert np.isfinite(model.decision_function(X)).all()


def test_a_weight_too_large_to_step():
    """A weight that makes the step infinite is refused, and changes no counter of the rule."""
    X, y = data("regression")
    model = OnlineRegressor(Kernelized(K, NORMA(eta=100.0), Unbounded())).fit(X, y)
    with untouched(model, "regression"), refused("Row 0", "not finite"):
        model.partial_fit(X[:1], y[:1] + 1e9, sample_weight=[1e307])
