"""The difference of two learners: the first row whose scores differ, and by how much."""

import numpy as np
import pytest

from budgetron import Gaussian, evaluate, ogd, rbp, stoptron
from tests.helpers.cases import each
from tests.helpers.trajectories import TASKS, native_scores, stream

K = Gaussian(0.2)


@each("task", TASKS)
def test_the_scores_are_those_before_each_update(task):
    X, y = stream(task, 120, seed=0)
    found = evaluate.difference(rbp(K, budget=10), stoptron(K, budget=10), (X, y), seed=7)
    expected, _ = native_scores(task, rbp(K, budget=10), X, y)
    others, _ = native_scores(task, stoptron(K, budget=10), X, y)
    np.testing.assert_array_equal(found.scores, expected)
    np.testing.assert_array_equal(found.others, others)
    gaps = np.abs(expected - others).max(axis=1)
    assert found.row == int(np.argmax(gaps > 0))
    assert found.row >= 11  # the budget was full before
    assert found
    assert not evaluate.difference(rbp(K, budget=10), rbp(K, budget=10), (X, y))


def test_weights_and_tolerance():
    rows = stream("binary", 60, seed=0)
    one, other = ogd(K, eta=0.2), ogd(K, eta=0.2 * (1 + 1e-7))
    assert evaluate.difference(one, other, rows).row == 1
    found = evaluate.difference(one, other, rows, tolerance=1e-5)
    assert found.row is None
    assert 1e-9 < found.largest < 1e-5
    twice = evaluate.difference(one, one, rows, sample_weight=np.full(60, 2.0))
    assert not np.array_equal(twice.scores, evaluate.difference(one, one, rows).scores)


def test_large_scores_are_compared_relatively():
    X, y = stream("regression", 60, seed=0)
    one, other = ogd(K, eta=0.2), ogd(K, eta=0.2 * (1 + 1e-12))
    assert not evaluate.difference(one, other, (X, 1e9 * y))


@each("learner", ["rbp", rbp])
def test_what_is_no_learner(learner):
    with pytest.raises(TypeError, match="difference: learner must be a Learner"):
        evaluate.difference(learner, rbp(K, budget=10), stream("binary", 20, seed=0))
