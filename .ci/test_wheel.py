"""Test the installed package on every instruction set: native pieces, readers, a path through all layers.

    python .ci/test_wheel.py

It needs pytest and hypothesis, and the tests beside it; `make wheels` and cibuildwheel call it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ONCE = ["tests/core/test_instruction_sets.py", "tests/streams/test_svmlight.py"]
EACH = ["tests/core/test_native.py", "tests/parts/test_kernels.py"]
PATH = """
import sys
import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from budgetron import OnlineClassifier, OnlineRegressor, load

X, y = load_digits(return_X_y=True)
model = OnlineClassifier(random_state=0)
mistakes = (model.progressive_predict(X, y) != y).mean()
assert mistakes < 0.1, mistakes
model.save(sys.argv[1])
np.testing.assert_array_equal(load(sys.argv[1]).predict_proba(X), model.predict_proba(X))
X, y = load_diabetes(return_X_y=True)
assert OnlineRegressor(random_state=0).fit(X, y).score(X, y) > 0.4
"""


def run(isa, *command):
    subprocess.run(
        [sys.executable, *command], check=True, cwd=ROOT, env={**os.environ, "BUDGETRON_ISA": isa}
    )


def main():
    import budgetron
    from budgetron import _core

    if ROOT / "src" in Path(budgetron.__file__).parents:
        sys.exit(f"{sys.executable} sees the sources, not an installed package.")
    os.environ.setdefault("HYPOTHESIS_PROFILE", "few")
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    for isa in _core.instruction_sets():
        print(f"{Path(_core.__file__).name} on {isa}", flush=True)
        run(isa, *pytest, *EACH)
        with tempfile.TemporaryDirectory() as folder:
            run(isa, "-c", PATH, str(Path(folder, "model.safetensors")))
    run("", *pytest, *ONCE)
    run("", "-m", "budgetron", "run", "auto", "synthetic")


if __name__ == "__main__":
    main()
