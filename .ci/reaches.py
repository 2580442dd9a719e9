"""Private names that are used outside of their module: `python .ci/reaches.py [FOLDER]` prints each place.

A leading underscore means: of this module alone. Counted are ``thing._name``, unless the thing is ``self``
or the module defines that name; the same by ``getattr`` and the like; and ``from module import _name``.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SHARED = {"_core", "_util"}  # of the package, not of a module
DOCUMENTED = {"_asdict", "_exit", "_fields", "_make", "_replace"}  # os._exit, and methods of named tuples
FOREIGN = {"executor._client", "frame._mgr"}  # Dask's and pandas', which have no public name
BY_TEXT = ("getattr", "hasattr", "setattr", "delattr")
OURS = ("self", "cls", "type(self)", "super()", "KafkaError")  # Kafka's codes are public


def private(name: object) -> bool:
    """Whether a name begins with one underscore, and is neither shared nor documented."""
    hidden = isinstance(name, str) and name.startswith("_") and not name.endswith("_")
    return hidden and name not in SHARED | DOCUMENTED


def defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module defines: functions, classes, variables, and attributes of ``self``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from [node.attr] if ast.unparse(node.value) in OURS else []
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__":
            yield from (part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant))


def taken(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that a node takes, each after the thing that it is taken from."""
    if isinstance(node, ast.Attribute):
        yield ast.unparse(node.value), node.attr
    elif isinstance(node, ast.ImportFrom):
        yield from ((f"from {node.module}", alias.name) for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in BY_TEXT:
        yield from (
            (ast.unparse(node.args[0]), n.value) for n in node.args[1:2] if isinstance(n, ast.Constant)
        )


def reaches(folder: Path) -> list[str]:
    """Every place in a folder that uses a private name of another module: file, line and name."""
    places = []
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known = set(defined(tree))
        uses = [(node, thing, name) for node in ast.walk(tree) for thing, name in taken(node)]
        for node, thing, name in uses:
            outside = thing not in OURS and name not in known and f"{thing}.{name}" not in FOREIGN
            if private(name) and outside:
                places.append(f"{path.relative_to(folder)}:{node.lineno}: {thing}.{name}")
    return places


if __name__ == "__main__":
    places = reaches(Path(sys.argv[1] if len(sys.argv) > 1 else "src/budgetron"))
    print(*places, f"{len(places)} uses of private names of another module.", sep="\n")
