"""The pieces of the native core that have an oracle of their own."""

import numpy as np
import pytest

from budgetron import _core
from tests.helpers.cases import each

# Where a long double is a double (Windows, macOS on ARM), the expected number is itself rounded.
ALLOWED = 2 if np.finfo(np.longdouble).nmant > 60 else 3


def ulps(actual, expected, precision=np.float64):
    """The distance in units of the last place of a precision."""
    return np.abs(actual - expected) / np.spacing(np.abs(expected).astype(precision))


def test_exponential_is_within_2_ulp():
    x = np.concatenate([np.linspace(-708, 709, 200_003), -np.logspace(-18, 2, 10_001), [0.0, -0.0]])
    assert ulps(_core.exponentials(x), np.exp(x.astype(np.longdouble))).max() < ALLOWED


def test_exponential_underflows_gradually_to_0():
    x = np.linspace(-746, -708, 5001)
    smallest = np.nextafter(0, 1)
    assert np.abs(_core.exponentials(x) - np.exp(x)).max() <= 2 * smallest
    np.testing.assert_array_equal(_core.exponentials(np.array([-746.0, -1e4, -1e300, -np.inf])), 0)


def test_exponential_of_0_is_1():
    np.testing.assert_array_equal(_core.exponentials(np.zeros(37)), 1)


def test_exponential_keeps_nan():
    assert np.isnan(_core.exponentials(np.array([np.nan, 0.0]))[0])


def test_exponential_in_single_precision():
    x = np.concatenate([np.linspace(-87, 88, 200_003), -np.logspace(-20, 1.9, 10_001), [0.0, -0.0]])
    x = x.astype(np.float32)
    assert ulps(_core.exponentials_single(x), np.exp(x.astype(float)), np.float32).max() < 2
    low = np.linspace(-106, -87, 5001).astype(np.float32)
    smallest = float(np.nextafter(np.float32(0), np.float32(1)))
    assert np.abs(_core.exponentials_single(low) - np.exp(low.astype(float))).max() <= 2 * smallest
    np.testing.assert_array_equal(_core.exponentials_single(np.float32([-105, -1e30, -np.inf])), 0)
    assert np.isnan(_core.exponentials_single(np.float32([np.nan]))[0])


ANGLES = {  # everywhere, where sin or cos is nearly 0, and where another reduction takes over
    "small": np.concatenate([np.logspace(-300, 0, 3001), [0.0, -0.0]]),
    "few": np.random.default_rng(0).uniform(-6e3, 6e3, 100_003),
    "many": np.random.default_rng(0).uniform(-1.5e6, 1.5e6, 100_003),
    "large": np.random.default_rng(1).uniform(-3e6, 3e6, 50_001),
}


@each("kind", ANGLES)
def test_sine_and_cosine_are_within_2_ulp(kind):
    x = ANGLES[kind]
    sine, cosine = _core.sines_cosines(x)
    assert ulps(sine, np.sin(x.astype(np.longdouble))).max() < ALLOWED
    assert ulps(cosine, np.cos(x.astype(np.longdouble))).max() < ALLOWED


@each("scale", [3**-0.5, 48**-0.5, 111**-0.5, 0.05])
def test_scaled_sine_and_cosine(scale):
    """Near odd multiples of pi/16 the table of AVX-512 is used at the ends of its intervals."""
    r = np.random.default_rng(0)
    x = np.pi / 16 * (2 * r.integers(-50, 50, 100_000) + 1) + 0.03 * r.standard_normal(100_000)
    sine, cosine = _core.sines_cosines(x, scale)
    assert ulps(sine, scale * np.sin(x.astype(np.longdouble))).max() < 3.5
    assert ulps(cosine, scale * np.cos(x.astype(np.longdouble))).max() < 3.5


@pytest.mark.parametrize("function", ["sin", "cos"])
def test_sine_and_cosine_near_their_zeros(function):
    mpmath = pytest.importorskip("mpmath")
    x = np.concatenate([np.arange(1, 3000), np.arange(950_000, 951_000)]) * np.pi / 2
    row = _core.sines_cosines(x)[0 if function == "sin" else 1]
    with mpmath.workprec(250):
        exact = [getattr(mpmath, function)(mpmath.mpf(float(v))) for v in x]
        worst = max(
            abs(mpmath.mpf(float(a)) - e) / float(np.spacing(abs(float(e))))
            for a, e in zip(row, exact, strict=True)
        )
    assert worst < 2


def test_sine_and_cosine_of_angles_of_any_size():
    """Among them the double that is nearest to a multiple of pi/2 for its size."""
    mpmath = pytest.importorskip("mpmath")
    r = np.random.default_rng(0)
    x = r.choice([-1, 1], 4000) * np.exp2(r.uniform(20, 1023.9, 4000))
    x = np.concatenate([x, [6381956970095103 * 2.0**797, np.finfo(float).max, 2.0**20, 2.0**1000, 1.0]])
    rows = _core.sines_cosines(x)
    with mpmath.workprec(1300):
        for row, function in zip(rows, (mpmath.sin, mpmath.cos), strict=True):
            exact = [function(mpmath.mpf(float(v))) for v in x]
            errors = [
                abs(mpmath.mpf(float(a)) - e) / float(np.spacing(abs(float(e))))
                for a, e in zip(row, exact, strict=True)
            ]
            assert max(errors) < 2


@each("kind", [*ANGLES, "zeros"])
def test_sine_and_cosine_in_single_precision(kind):
    x = (ANGLES | {"zeros": np.arange(-3900, 3900) * np.pi / 2})[kind].astype(np.float32)
    sine, cosine = _core.sines_cosines_single(x)
    assert ulps(sine, np.sin(x.astype(float)), np.float32).max() < 2
    assert ulps(cosine, np.cos(x.astype(float)), np.float32).max() < 2


def test_sine_and_cosine_of_no_number_are_none():
    for functions in (
        _core.sines_cosines(np.array([np.inf, np.nan])),
        _core.sines_cosines_single(np.float32([np.inf, np.nan])),
    ):
        assert np.isnan(functions).all()


@each("seed", [0, 1, 12345, 2**63])
def test_generator_is_philox_as_numpy_has_it(seed):
    expected = np.random.Generator(np.random.Philox(key=seed)).random(1000)
    np.testing.assert_array_equal(_core.uniforms(seed, 1000), expected)
