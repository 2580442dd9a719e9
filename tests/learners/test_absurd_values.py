"""One absurd value, one absurd target, sentinels and new units: what they cost the default."""

from functools import cache

import numpy as np
import pytest

from budgetron import OnlineClassifier, OnlineRegressor
from tests.helpers.cases import each

N, SEEDS = 12_000, range(12)  # of four, two mistakes more or less were the limit


def rows_and_signal(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    signal = X[:, 0] + 0.8 * X[:, 1] + 0.5 * X[:, 2] * X[:, 3] + 0.5 * np.sin(2 * X[:, 4])
    return X * [1, 3, 10, 0.5, 1] + [0, 5, -3, 2, 0], signal, rng


def mistakes(spoil=None):
    """For each row, in how many of the streams it was mistaken."""
    wrong = np.zeros(N)
    for seed in SEEDS:
        X, signal, _ = rows_and_signal(seed)
        if spoil is not None:
            spoil(X)
        y = signal > 0
        wrong += OnlineClassifier(random_state=0).progressive_predict(X, y, classes=[False, True]) != y
    return wrong


@cache
def unspoiled():
    return mistakes()


def ratio(wrong, first, last):
    return wrong[first:last].sum() / unspoiled()[first:last].sum()


@each(("at", "value"), [(20, -9999.0), (50, 1e6), (500, -9999.0), (5000, 1e6), (10_000, -9999.0)])
def test_one_absurd_value(at, value):
    wrong = mistakes(lambda X: X.__setitem__((at, 1), value))
    assert ratio(wrong, at + 1, at + 1001) <= 1.1
    assert ratio(wrong, at + 1001, N) <= 1.01


def test_an_absurd_value_among_the_first_is_forgotten():
    """They are not known to be absurd: the column says nothing until the 32nd row."""
    wrong = mistakes(lambda X: X.__setitem__((7, 1), 1e6))
    assert ratio(wrong, 8, 1008) <= 1.15
    assert ratio(wrong, 1008, N) <= 1.02


@pytest.mark.parametrize("column", [0, 1])
def test_a_new_unit_is_followed(column):
    def new_unit(X):
        X[8000:, column] *= 100

    wrong = mistakes(new_unit)
    assert ratio(wrong, 9000, 12_000) <= 1.1


def test_sentinels():
    def sentinels(X):
        X[np.random.default_rng(5).random(N) < 0.001, 1] = -9999.0

    assert ratio(mistakes(sentinels), 0, N) <= 1.1


def regression(spoil):
    """Squared errors, and deviations of the last rows."""
    errors, deviations = np.zeros(N), 0.0
    for seed in SEEDS:
        X, signal, rng = rows_and_signal(seed)
        y = signal + 0.1 * rng.normal(size=N)
        spoiled = y.copy()
        spoil(spoiled)
        model = OnlineRegressor(random_state=0)
        errors += (model.progressive_predict(X, spoiled) - y) ** 2
        deviations += model.predict(X[-200:], return_std=True)[1].mean()
    return errors, deviations


@cache
def unspoiled_regression():
    return regression(lambda _: None)


@each("at", [20, 50, 500, 5000, 10_000])
def test_one_absurd_target(at):
    plain, deviations = unspoiled_regression()
    errors, others = regression(lambda y: y.__setitem__(at, 1e4))
    assert errors[at + 1 : at + 1001].sum() <= 1.1 * plain[at + 1 : at + 1001].sum()
    assert errors[at + 1001 :].sum() <= 1.01 * plain[at + 1001 :].sum()
    assert others <= 1.01 * deviations


def test_an_absurd_target_that_comes_again():
    plain, deviations = unspoiled_regression()
    errors, others = regression(lambda y: y.__setitem__([3000, 3300, 3900], -9999.0))
    kept = np.delete(np.arange(N), [3000, 3300, 3900])
    assert errors[kept].sum() <= 1.01 * plain[kept].sum()
    assert others <= 1.01 * deviations


def test_a_new_unit_of_the_targets_is_followed():
    X, signal, rng = rows_and_signal(0)
    y, unit = signal + 0.1 * rng.normal(size=N), np.where(np.arange(N) < 8000, 1.0, 100.0)
    errors = (OnlineRegressor(random_state=0).progressive_predict(X, y * unit) / unit - y) ** 2
    wanted = (OnlineRegressor(random_state=0).progressive_predict(X, y) - y) ** 2
    assert errors[9000:].sum() <= 1.1 * wanted[9000:].sum()
