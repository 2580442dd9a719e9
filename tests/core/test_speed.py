"""Speed, as a ratio within one run; the benchmarks print more."""

import numpy as np
import pytest

from benchmarks import numpy_loop as step


@pytest.mark.timing
def test_maintenance_costs_a_few_times_removal():
    for _ in range(4):  # a busy machine may need several looks
        ratios = step.maintenance(*step.stream(4000, 22), 1 / 44, repeat=15)
        if ratios["nearest"] <= 4 and ratios["merging"] <= 4:
            return
    raise AssertionError(ratios)


@pytest.mark.timing
def test_rbp_costs_at_most_a_tenth_of_a_numpy_loop():
    X, y = step.stream(5000, 22)
    slow = fast = np.inf
    for look in range(1, 21):  # they take turns, and a busy machine may need several looks
        slow = min(slow, step.seconds(lambda: step.plain_rbp(X, y, 1 / 44, 100), 1)[0])
        fast = min(fast, step.seconds(lambda: step.native("rbp", X, y, 1 / 44, budget=100), 1)[0])
        if look >= 7 and slow / fast >= 10:  # one look at the NumPy loop alone may have been disturbed
            return
    raise AssertionError(slow / fast)
