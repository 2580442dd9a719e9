"""Printed results of the papers, on the data they were printed for."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from budgetron import Gaussian, OnlineClassifier, OnlineRegressor, fogd, projectron
from tests.helpers import data_sets as data

FOGD = tomllib.loads((Path(__file__).with_name("fogd.toml")).read_text())


def test_duplicates_never_break_a_projection():
    """Dna has duplicate rows, on which the authors' program makes up to 60 % mistakes."""
    X, y = data.load("dna.train")
    for i in range(20):
        order = np.random.default_rng(i).permutation(len(X))
        model = OnlineClassifier(projectron(Gaussian.of_width(8), budget=200))
        assert np.mean(model.progressive_predict(X[order], y[order]) != y[order]) <= 0.25


def unit(v):
    """Scaled to [0, 1], column by column."""
    return (v - v.min(axis=0)) / (v.max(axis=0) - v.min(axis=0))


@pytest.mark.parametrize("name", FOGD)
def test_fogd_is_that_of_tables_5_7_and_9(name):
    """Lu et al. 2016: within one printed standard deviation, over 20 permutations, width 8."""
    study = dict(FOGD[name])
    X, y = data.load(study.pop("file", name))
    mean, sd = study.pop("mean"), study.pop("sd")
    learner, results = fogd(Gaussian.of_width(8), **study), []
    for i in range(20):
        order = np.random.default_rng(i).permutation(len(X))
        if name == "housing":
            target = unit(y)[order]
            predictions = OnlineRegressor(learner, random_state=i).progressive_predict(
                unit(X)[order], target
            )
            results.append(np.mean((predictions - target) ** 2))
        else:
            predictions = OnlineClassifier(learner, random_state=i).progressive_predict(X[order], y[order])
            results.append(100 * np.mean(predictions != y[order]))
    assert abs(np.mean(results) - mean) <= sd
