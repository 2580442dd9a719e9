"""Sizes of the code: `python .ci/count_code.py [ROOT]`. Blanks, comments and docstrings do not count."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from reaches import reaches

AREAS = ("src", "cpp", "tests", "reproduction", "benchmarks", "fuzz", ".ci", "docs", "examples")
BUILT = ("__pycache__", ".pyi", ".so", ".pyd")


def documented(tree: ast.Module) -> set[int]:
    """The lines of all docstrings, also of those behind constants."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for part in body if isinstance(body, list) else []:
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
                text = isinstance(part.value.value, str)
                lines |= set(range(part.lineno, (part.end_lineno or 0) + 1)) if text else set()
    return lines


def python_lines(path: Path) -> int:
    """The lines of a Python file that have code."""
    text = path.read_text(encoding="utf-8")
    without = documented(ast.parse(text))
    lines = [line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in without]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def cpp_lines(path: Path) -> int:
    """The lines of a C++ file that have code."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    return sum(bool(line.strip()) and not line.strip().startswith("//") for line in text.splitlines())


def functions(folder: Path) -> Iterator[tuple[int, str]]:
    """The length of every function without its docstring, and where it is."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                doc = ast.get_docstring(node, clean=False)
                size = (node.end_lineno or 0) - node.lineno + 1 - (doc.count("\n") + 1 if doc else 0)
                yield size, f"{path}:{node.lineno} {node.name}"


def rooms(package: Path) -> Iterator[str]:
    """A line for each folder and file of the package: lines of code, and uses of isinstance."""
    for room in sorted(package.iterdir()):
        files = sorted(room.rglob("*.py")) if room.is_dir() else [room] * (room.suffix == ".py")
        checks = sum(path.read_text(encoding="utf-8").count("isinstance(") for path in files)
        if files:
            yield f"  {room.name:12} {sum(map(python_lines, files)):7,} Python {checks:7,} isinstance"


def main(root: Path) -> None:
    """Print all sizes."""
    package = root / "src" / "budgetron"
    for area in AREAS:
        python = sum(map(python_lines, (root / area).rglob("*.py")))
        print(
            f"{area:14} {python:7,} Python {sum(map(cpp_lines, (root / area).rglob('*.[chm]pp'))):7,} C++"
        )
    print("src/budgetron", *rooms(package), sep="\n")
    lengths = sorted(functions(root / "src"))
    sizes = [size for size, _ in lengths]
    p90 = sizes[int(len(sizes) * 0.9)]
    print(f"functions      {len(sizes):7,} median {median(sizes):g}, p90 {p90}, longest {lengths[-1]}")
    ignored = sum(path.read_text(encoding="utf-8").count("type: ignore") for path in package.rglob("*.py"))
    print(f"type: ignore   {ignored:7,}")
    print(f"reaches        {len(reaches(package)):7,} uses of private names of another module")
    print(f"entries        {sum(not p.name.endswith(BUILT) for p in package.iterdir()):7,} at the root")
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    print(f"layers         {len(contracts[0]['layers']):7,}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
