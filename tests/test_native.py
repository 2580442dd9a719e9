"""The pieces of the native core that have an oracle of their own."""

import numpy as np
import pytest

from budgetron import _core


def ulps(actual, expected):
    return np.abs(actual - expected) / np.spacing(np.abs(expected).astype(np.float64))


def test_exponential_is_within_2_ulp():
    x = np.concatenate([np.linspace(-708, 709, 200_003), -np.logspace(-18, 2, 10_001), [0.0, -0.0]])
    expected = np.exp(x.astype(np.longdouble))
    assert np.finfo(np.longdouble).nmant > 60
    assert ulps(_core.exponentials(x), expected).max() < 2


def test_exponential_underflows_gradually_to_0():
    x = np.linspace(-746, -708, 5001)
    smallest = np.nextafter(0, 1)
    assert np.abs(_core.exponentials(x) - np.exp(x)).max() <= 2 * smallest
    np.testing.assert_array_equal(_core.exponentials(np.array([-746.0, -1e4, -1e300, -np.inf])), 0)


def test_exponential_of_0_is_1():
    np.testing.assert_array_equal(_core.exponentials(np.zeros(37)), 1)


def test_exponential_keeps_nan():
    assert np.isnan(_core.exponentials(np.array([np.nan, 0.0]))[0])


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**63])
def test_generator_is_philox_as_numpy_has_it(seed):
    expected = np.random.Generator(np.random.Philox(key=seed)).random(1000)
    np.testing.assert_array_equal(_core.uniforms(seed, 1000), expected)
