"""Speed, as a ratio within one run; the benchmarks print more."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "step.py"


@pytest.mark.timing
def test_rbp_costs_at_most_a_tenth_of_a_numpy_loop():
    spec = importlib.util.spec_from_file_location("step", SCRIPT)
    step = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(step)
    X, y = step.stream(5000, 22)
    slow, _ = step.seconds(lambda: step.plain_rbp(X, y, 1 / 44, 100))
    fast, _ = step.seconds(lambda: step.native("rbp", X, y, 1 / 44, budget=100))
    assert slow / fast >= 10
