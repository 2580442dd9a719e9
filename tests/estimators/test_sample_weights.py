"""Sample weights: weight 0 is no row, weight 1 is no weight."""

import numpy as np
import pytest

from tests.helpers.cases import each
from tests.helpers.members import TASKS, bits, cases, data, estimator, same_state, start

each_case = each(("task", "name"), cases())
each_task = pytest.mark.parametrize("task", TASKS)


@each_case
def test_weight_zero_is_no_row(task, name):
    """A row of weight 0 does not change the model, bit for bit."""
    X, y = data(task)
    weights = np.random.default_rng(1).choice([0, 0.5, 1, 2.0], len(y))
    kept = weights > 0
    weighted = start(estimator(task, name), task, X, y, sample_weight=weights)
    removed = start(estimator(task, name), task, X[kept], y[kept], sample_weight=weights[kept])
    assert same_state(weighted, removed)


@each_case
def test_batch_of_weight_zero(task, name):
    """A batch of weight 0 does not change the model, but is predicted."""
    X, y = data(task)
    model = start(estimator(task, name), task, X, y)
    before, expected = bits(model), model.predict(X[:5])
    predicted = model.progressive_predict(X[:5], y[:5], sample_weight=np.zeros(5))
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-12)
    assert bits(model) == before


@each_case
def test_weight_one_is_no_weight(task, name):
    """Weights of 1 equal no weights."""
    X, y = data(task)
    weighted = start(estimator(task, name), task, X, y, sample_weight=np.ones(len(y)))
    assert same_state(weighted, start(estimator(task, name), task, X, y))


@each_task
def test_all_weights_zero(task):
    """``fit`` refuses weights that are all 0."""
    X, y = data(task)
    with pytest.raises(ValueError, match="zero"):
        estimator(task, "rbp").fit(X, y, sample_weight=np.zeros(len(y)))
