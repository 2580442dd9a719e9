"""The default learners predict well on standardised data."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_friedman1
from sklearn.preprocessing import scale

from budgetron import OnlineClassifier, OnlineRegressor


def shuffled(X, y):
    """Standardised features in a random order."""
    order = np.random.default_rng(0).permutation(len(y))
    return scale(X)[order], y[order]


@pytest.mark.parametrize(
    ("load", "most"), [(load_breast_cancer, 0.09), (load_wine, 0.16), (load_digits, 0.15)]
)
def test_default_classifier(load, most):
    """One pass with the default learner makes few mistakes, in bounded memory."""
    X, y = shuffled(*load(return_X_y=True))
    model = OnlineClassifier()
    assert np.mean(model.progressive_predict(X, y) != y) < most
    assert model.n_support_ <= 2100  # 100 support vectors, and 1,000 rows of each kind of neighbours


@pytest.mark.parametrize(
    ("load", "most"),
    [
        (lambda: load_diabetes(return_X_y=True), 0.8),
        (lambda: make_friedman1(1000, random_state=0), 0.5),
    ],
    ids=["diabetes", "friedman1"],
)
def test_default_regressor(load, most):
    """One pass with the default learner beats the mean, in bounded memory."""
    X, y = shuffled(*load())
    y = scale(y)
    model = OnlineRegressor()
    assert np.mean((model.progressive_predict(X, y) - y) ** 2) < most
    assert model.n_support_ <= 2100  # 100 support vectors, and 1,000 rows of each kind of neighbours
