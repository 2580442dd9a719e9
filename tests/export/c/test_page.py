"""The program on the page compiles, and prints what the page says."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from budgetron import Gaussian, OnlineClassifier, rbp
from budgetron.export.c import to_c
from tests.helpers.compiled import COMPILER, STRICT, needs_compiler

PAGE = Path(__file__).parents[3] / "docs" / "c.md"


@needs_compiler
@pytest.mark.skipif(not PAGE.exists(), reason="needs a checkout")
def test_the_page(tmp_path):
    [program] = re.findall(r"^```c\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    [console] = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    command, _, shown = console.partition("\n")
    X = np.random.default_rng(0).normal(size=(500, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "open", "shut")
    model = OnlineClassifier(rbp(Gaussian(1.0), budget=20), random_state=0).fit(X, y)
    (tmp_path / "door.h").write_text(to_c(model, name="door", learn=True))
    (tmp_path / "main.c").write_text(program)
    assert command == f"$ cc {' '.join(STRICT)} main.c -o main -lm && ./main"
    subprocess.run([COMPILER, *STRICT, "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run("./main", cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == shown
