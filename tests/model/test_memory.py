"""Memory stays flat, however long the stream."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from pathlib import Path
from budgetron import Gaussian, OnlineClassifier, algorithms

def resident():
    return 4 * int(Path("/proc/self/statm").read_text().split()[1])  # KiB

r = np.random.default_rng(0)
X = r.standard_normal((50_000, 5))
y = (X[:, 0] * X[:, 1] + 0.5 * r.standard_normal(len(X)) > 0).astype(int)
model = OnlineClassifier(getattr(algorithms, sys.argv[1])(Gaussian(0.5), budget=100), random_state=0)
model.partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
held, before = model.memory_bytes_, resident()
for _ in range(20):
    model.partial_fit(X, y)
assert model.n_support_ == 100
assert model.memory_bytes_ == held
assert resident() - before <= 1024, f"grew by {resident() - before} KiB"
"""


@pytest.mark.timing
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("name", ["rbp", "forgetron", "projectron", "bogd", "bpa_nn", "bsgd"])
def test_a_million_rows_through_a_budget_of_100(name):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
