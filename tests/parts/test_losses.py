"""Losses: the slope is the derivative, and 0 at a kink."""

import numpy as np
import pytest

from budgetron import Absolute, EpsilonInsensitive, Hinge, Logistic, Squared, SquaredHinge
from tests.helpers.cases import each

OF_MARGIN = [Hinge(), SquaredHinge(), Logistic()]
OF_RESIDUAL = [Squared(), Absolute(), EpsilonInsensitive(0.3)]
KINKS = [
    (Hinge(), 1.0, 1.0),
    (Hinge(), -1.0, -1.0),
    (Absolute(), 0.5, 0.5),
    (EpsilonInsensitive(0.25), 1.25, 1.0),
    (EpsilonInsensitive(0.25), 0.75, 1.0),
]


@each("loss", OF_MARGIN + OF_RESIDUAL, ids=repr)
@each("y", [-1.0, 1.0])
def test_slope_is_the_numerical_derivative(loss, y):
    h = 1e-6
    for f in np.linspace(-3.17, 3.19, 23):
        numerical = (loss.value(f + h, y) - loss.value(f - h, y)) / (2 * h)
        assert loss.slope(f, y) == pytest.approx(numerical, abs=1e-8)


@each(("loss", "f", "y"), KINKS, ids=lambda v: repr(v))
def test_slope_is_0_at_a_kink(loss, f, y):
    assert loss.slope(f, y) == 0
    assert loss.slope(np.nextafter(f, -9), y) != loss.slope(np.nextafter(f, 9), y)


@pytest.mark.parametrize("loss", OF_MARGIN, ids=repr)
def test_losses_of_the_margin_see_only_the_margin(loss):
    assert loss.of_margin
    assert loss.value(0.3, 1) == loss.value(-0.3, -1)
    assert loss.slope(0.3, 1) == -loss.slope(-0.3, -1)


@each("loss", OF_MARGIN + OF_RESIDUAL, ids=repr)
def test_convex_and_not_negative(loss):
    f = np.linspace(-5, 5, 101)
    values = np.array([loss.value(v, 1.0) for v in f])
    assert (values >= 0).all()
    assert (np.diff([loss.slope(v, 1.0) for v in f]) >= 0).all()


@each("f", [800.0, -800.0, 1e300, -1e300])
def test_logistic_does_not_overflow(f):
    assert np.isfinite(Logistic().value(f, 1))
    assert Logistic().slope(f, 1) == (0.0 if f > 0 else -1.0)
