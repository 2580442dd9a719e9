"""Memory stays flat, however long the stream."""

import resource

import numpy as np
import pytest

from budgetron import Gaussian, OnlineClassifier, bogd, bpa_s, forgetron, projectron, rbp


@pytest.mark.timing
@pytest.mark.parametrize("algorithm", [rbp, forgetron, projectron, bogd, bpa_s], ids=lambda a: a.__name__)
def test_a_million_rows_through_a_budget_of_100(algorithm):
    r = np.random.default_rng(0)
    X = r.standard_normal((50_000, 5))
    y = (X[:, 0] * X[:, 1] + 0.5 * r.standard_normal(len(X)) > 0).astype(int)
    model = OnlineClassifier(algorithm(Gaussian(0.5), budget=100), random_state=0)
    model.partial_fit(X, y, classes=[0, 1])
    held, peak = model.memory_bytes_, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        model.partial_fit(X, y)
    assert model.n_support_ == 100
    assert model.memory_bytes_ == held
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak <= 1024  # KiB
