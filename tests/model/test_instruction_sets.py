"""Every instruction set that this processor has, each in a process of its own."""

import json
import os
import platform
import sys
from pathlib import Path

import numpy as np
import pytest

from budgetron import Gaussian, Laplacian, _core
from tests.helpers import forked

PROGRAM = """
import json
import numpy as np
from scipy import sparse
from budgetron.estimators.online import progressive
from budgetron import Gaussian, Laplacian, OnlineClassifier, bpa_nn, stoptron, _core

r = np.random.default_rng(0)
X = r.standard_normal((300, 13)) * (r.random((300, 13)) < 0.6)
y = r.integers(0, 3, 300)
single = X.astype(np.float32)
def scores(X):
    model = OnlineClassifier(bpa_nn(Gaussian(0.1), budget=37))
    _, [scored] = progressive(model, X, y, classes=range(3))
    return scored.scores

row, csr = scores(X), scores(sparse.csr_matrix(X))

def ahead(X, length):
    model = OnlineClassifier(bpa_nn(Gaussian(0.1), budget=67)).partial_fit(X[:9], y[:9], range(3))
    model.fitted_.model.engine.look_ahead = length
    return model.partial_fit(X[9:], y[9:]).decision_function(X).tolist()

def itself(X):
    # one support vector, of coefficient -1: its score at itself is -k(x,x)
    model = OnlineClassifier(stoptron(Gaussian(0.3), budget=1))
    return [abs(float(model.fit(X[[i, i]], [0, 1]).decision_function(X[[i]])[0])) for i in range(99)]

print(json.dumps({
    "name": _core.instruction_set(),
    "gaussian": Gaussian(0.3)(X[:9], X).tolist(),
    "laplacian": Laplacian(0.3)(sparse.csr_matrix(X[:9]), X).tolist(),
    "exponentials": _core.exponentials(np.linspace(-700, 0, 1001)).tolist(),
    "itself": np.diag(Gaussian(0.3)(1e3 * X)).tolist(),
    "ahead": [ahead(rows, 1) == ahead(rows, 64) for rows in (X, single)],
    "itself single": itself(np.tile(1e3 * single, 24)),
    "csr": float(np.abs(row - csr).max()),
    "scores": row.tolist(),
    "single": scores(single).tolist(),
}))
"""


def run(isa):
    environment = os.environ | {"BUDGETRON_ISA": isa}
    words = [sys.executable, "-c", PROGRAM]
    return forked.run(words, env=environment, capture_output=True, text=True, libraries=True)


@pytest.mark.parametrize("isa", _core.instruction_sets())
def test_gives_the_same_numbers(isa):
    done = run(isa)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    r = np.random.default_rng(0)
    X = r.standard_normal((300, 13)) * (r.random((300, 13)) < 0.6)
    assert result["name"] == isa
    np.testing.assert_allclose(result["gaussian"], Gaussian(0.3)(X[:9], X), rtol=1e-13)
    np.testing.assert_allclose(result["laplacian"], Laplacian(0.3)(X[:9], X), rtol=1e-12)
    np.testing.assert_allclose(result["exponentials"], np.exp(np.linspace(-700, 0, 1001)), rtol=1e-15)
    np.testing.assert_array_equal(result["itself"], 1)
    np.testing.assert_array_equal(result["itself single"], 1)
    assert result["ahead"] == [True, True]
    assert result["csr"] <= 1e-12
    np.testing.assert_allclose(result["single"], result["scores"], atol=1e-5)


CPUINFO = Path("/proc/cpuinfo")
NEEDS = {"avx512": {"avx512f", "avx512dq", "avx512vl", "fma"}, "avx2": {"avx2", "fma"}, "baseline": set()}


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not CPUINFO.exists(), reason="reads the flags of an x86-64 Linux"
)
def test_they_are_those_that_the_processor_has():
    flags = set(CPUINFO.read_text().split("flags", 1)[1].splitlines()[0].split())
    assert _core.instruction_sets() == [name for name, needed in NEEDS.items() if needed <= flags]


def test_one_that_is_not_there_is_one_sentence():
    done = run("abacus")
    assert done.returncode != 0
    assert (
        done.stderr.strip().splitlines()[-1].startswith("ImportError: BUDGETRON_ISA: abacus does not run")
    )
