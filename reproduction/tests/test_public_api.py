"""The reproduction is built on what budgetron makes public, and budgetron ships none of it."""

import ast
from importlib.metadata import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [path for folder in ("src", "studies") for path in sorted((ROOT / folder).rglob("*.py"))]


def private(text):
    """The underscore names and modules of budgetron that a program imports, or reaches through a module."""
    tree, found, modules = ast.parse(text), [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "budgetron":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "budgetron"]
            modules |= {
                alias.asname or "budgetron"
                for alias in node.names
                if alias.name.split(".")[0] == "budgetron"
            }
        else:
            continue
        found += [name for name in names if any(_hidden(part) for part in name.split("."))]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _hidden(node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in modules:
                found.append(f"{root.id}...{node.attr}")
    return found


def _hidden(name):
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_private_of_budgetron_is_used(path):
    assert private(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "from budgetron import _check",
        "from budgetron._util.rows import whole",
        "from budgetron.estimators import _online",
        "import budgetron._core",
        "import budgetron as b; b._core",
        "from budgetron import streams; streams._stream.Stream",
    ],
)
def test_what_is_private_is_found(line):
    assert private(line)


def test_the_library_ships_none_of_it():
    shipped = [str(file) for file in files("budgetron")]
    assert any(name.endswith("budgetron/parts/kernels.py") for name in shipped)
    assert not [name for name in shipped if "papers" in name or "reproduc" in name or "lu2016" in name]
