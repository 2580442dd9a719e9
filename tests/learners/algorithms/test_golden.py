"""The counts of the authors' own programs, number for number, on every permutation."""

import inspect
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from budgetron import Gaussian, OnlineClassifier, OnlineRegressor, algorithms
from tests.helpers.cases import each

GOLDEN = tomllib.loads((Path(__file__).parent / "golden" / "authors.toml").read_text())


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(0)) / X.std(0), np.where(y == 1, 1, -1)


def gaussians():
    r = np.random.default_rng(0)
    n = 2000
    y = np.where(r.random(n) < 0.5, 1.0, -1.0)
    X = y[:, None] * np.ones(2) + r.standard_normal((n, 2)) * np.sqrt([0.2, 2.0])
    flip = r.random(n) < 0.1
    return X, np.where(flip, -y, y)


def digits():
    return load_digits(return_X_y=True)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return (X - X.min(0)) / (X.max(0) - X.min(0)), (y - y.min()) / (y.max() - y.min())


def learner(name, settings):
    """The algorithm with those of the settings that it takes; eta is that of the gradient algorithms."""
    function = getattr(algorithms, name)
    wanted = set(inspect.signature(function).parameters)
    if name not in ("ogd", "norma", "nogd"):
        wanted.discard("eta")
    return function(
        Gaussian.of_width(settings["sigma"]), **{k: v for k, v in settings.items() if k in wanted}
    )


def cases(kind, result):
    for data, golden in GOLDEN[kind].items():
        for name, values in golden[result].items():
            for i, value in enumerate(values):
                yield data, name, i, value


@each(("data", "name", "i", "mistakes"), [*cases("binary", "mistakes"), *cases("multiclass", "mistakes")])
def test_mistakes_are_those_of_the_authors(data, name, i, mistakes):
    X, y = globals()[data]()
    settings = GOLDEN["binary" if data in GOLDEN["binary"] else "multiclass"][data]
    order = np.random.default_rng(i).permutation(len(X))
    predictions = OnlineClassifier(learner(name, settings)).progressive_predict(X[order], y[order])
    assert np.sum(predictions != y[order]) == mistakes


@each(("data", "name", "i", "mistakes"), [*cases("binary", "as_programmed")])
def test_the_reading_of_the_program_has_its_counts(data, name, i, mistakes):
    X, y = globals()[data]()
    order = np.random.default_rng(i).permutation(len(X))
    model = OnlineClassifier(learner(name, GOLDEN["binary"][data] | {"reading": "program"}))
    assert np.sum(model.progressive_predict(X[order], y[order]) != y[order]) == mistakes


@each(("data", "name", "i", "loss"), [*cases("regression", "mean_squared_loss")])
def test_losses_are_those_of_the_authors(data, name, i, loss):
    X, y = globals()[data]()
    settings = GOLDEN["regression"][data]
    settings = settings | settings.get(name, {})
    order = np.random.default_rng(i).permutation(len(X))
    predictions = OnlineRegressor(learner(name, settings)).progressive_predict(X[order], y[order])
    tolerance = settings["tolerance"].get(name, 1e-9)
    assert np.mean((predictions - y[order]) ** 2) == pytest.approx(loss, rel=tolerance)
