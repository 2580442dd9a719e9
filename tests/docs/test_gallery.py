"""The gallery: every example is short, has a title and a lesson, runs, and its lesson is true.

A lesson is checked with the variables that the script leaves behind: those that its picture was drawn from.
"""

import ast
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "gallery"
SCRIPTS = {path.stem[len("plot_NN_") :]: path for path in sorted(FOLDER.glob("plot_*.py"))}
ALLOWED = {"numpy", "sklearn", "matplotlib", "budgetron"}
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="needs a checkout")


def test_there_are_thirteen_in_order():
    numbers = [path.stem.split("_")[1] for path in SCRIPTS.values()]
    assert numbers == [f"{i:02}" for i in range(1, 14)]
    assert set(SCRIPTS) == set(LESSONS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_form(name):
    """At most 60 lines, a title, a lesson of one sentence at the end, and imports that everybody has."""
    text = SCRIPTS[name].read_text()
    assert len(text.splitlines()) <= 60
    tree = ast.parse(text)
    title, line, *_ = (ast.get_docstring(tree) or "").splitlines()
    assert line == "=" * len(title)
    last = text.split("# %%\n")[-1]
    [lesson] = re.findall(r"\*\*Lesson:\*\* (.*)", last.replace("\n# ", " "))
    assert last.rstrip().endswith(".")
    assert re.fullmatch(r"[^.]+(\.\d[^.]*)*\.", lesson.strip()), "one sentence"
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module.split(".")[0] for module in imported} <= ALLOWED | sys.stdlib_module_names


# ---- the lessons
