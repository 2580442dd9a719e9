"""Memory stays flat, however long the stream, and little of it is spare room."""

import sys

import numpy as np
import pytest

from budgetron import OnlineClassifier
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.members import make

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
for _ in range(int(sys.argv[2])):
    model.partial_fit(X, y)
assert model.n_support_ == 100
assert model.memory_bytes_ == held
assert resident() - before <= 1024, f"grew by {resident() - before} KiB"
"""


@pytest.mark.timing
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("name", ["rbp", "forgetron", "projectron", "bogd", "bpa_nn", "bsgd"])
@pytest.mark.parametrize("rounds", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_many_rows_through_a_budget_of_100(name, rounds):
    """150,000 rows; a million if there is time."""
    done = forked.run(
        [sys.executable, "-c", PROGRAM, name, str(rounds)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


TOO_LITTLE = """
import resource
import numpy as np
from pathlib import Path
from budgetron import AROW, Identity, Mapped, OnlineClassifier

X = np.zeros((2, 3000))
X[:, :9] = np.random.default_rng(0).standard_normal((2, 9))
model = OnlineClassifier(Mapped(Identity(), AROW()), random_state=0)
model.partial_fit(X, np.array([0, 1]), classes=[0, 1, 2, 3])
scores, kept = model.decision_function(X), resource.getrlimit(resource.RLIMIT_AS)
size = 4096 * int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (size + (20 << 20), kept[1]))  # of the 36 MB of another class
for _ in range(2):
    try:
        model.partial_fit(X, np.array([3, 3]))
    except MemoryError:
        assert np.array_equal(model.decision_function(X), scores)
    else:
        raise AssertionError("there was enough memory")
resource.setrlimit(resource.RLIMIT_AS, kept)
model.partial_fit(X, np.array([3, 3]))
assert not np.array_equal(model.decision_function(X), scores)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_covariance_that_finds_no_memory_is_made_when_there_is_some():
    done = forked.run([sys.executable, "-c", TOO_LITTLE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


B, D = 200, 100

# The numbers beside the B x D of the support vectors: B x B matrices, and vectors of B numbers.
BESIDE = {
    "rbp": (0, 6),
    "stoptron": (0, 6),
    "forgetron": (0, 7),
    "bogd": (0, 6),
    "bogd_pp": (0, 7),
    "bpa_s": (0, 7),
    "bsgd": (0, 7),
    "budget_perceptron": (0, 10),
    "bpa_nn": (
        1,
        25,
    ),  # of every support vector, the nearest in each of four groups
    "bpa_p": (2, 16),
    "projectron": (0.5, 9),
    "projectron_pp": (0.5, 9),
}


@each("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@each("name", BESIDE)
def test_a_full_budget_has_little_spare_room(name, dtype):
    r = np.random.default_rng(0)
    X = r.standard_normal((1500, D)).astype(dtype)
    y = r.integers(0, 2, len(X))
    model = OnlineClassifier(make(name, budget=B), random_state=0).fit(X, y)
    assert model.n_support_ == B
    matrices, vectors = BESIDE[name]
    stored = model.fitted_.model.state()["support.values"].itemsize
    needed = stored * B * D + 8 * B * (matrices * B + vectors)
    assert model.memory_bytes_ <= 1.15 * needed
