"""The public names. A module lists its own in ``__all__``, and there is no other list.

``budgetron`` exports the names of all its modules. A package such as ``budgetron.parts.budgets`` exports
those of its own modules. The ``__all__`` of a package does not count. The lists are read from the source
text: importing the modules would import NumPy, SciPy and scikit-learn, which takes a second. For the same
reason this module imports little itself.

Run as a script, this file writes a stub ``__init__.pyi`` for each package that exports names in this way.
The build runs it, so type checkers see the names too.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the folder of budgetron
_LAZY = "\n__getattr__, __dir__ = lazy(__name__)\n"
_ELSEWHERE = {  # packages that are also known by a shorter name
    "budgetron.algorithms": "budgetron.learners.algorithms",
    "budgetron.budgets": "budgetron.parts.budgets",
    "budgetron.executors": "budgetron._util.executors",
}
_BEGIN, _END = "\n__all__ = [", "]"

_known: dict[str, dict[str, str]] = {}
_bases: dict[str, list[str]] = {}


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that imports a module when one of its names is used."""

    def get(name: str) -> Any:
        value = _find(package, name)
        setattr(import_module(package), name, value)
        return value

    return get, lambda: sorted({*vars(import_module(package)), *_names(package)})


def exported(kind: type) -> dict[str, type]:
    """The classes of that kind that ``budgetron`` exports, by name. Only their modules are imported."""
    members = {name: _find("budgetron", name) for name in sorted(_derived(kind.__name__))}
    return {
        name: member
        for name, member in members.items()
        if isinstance(member, type) and issubclass(member, kind)
    }


def _derived(kind: str) -> set[str]:
    """The exported names of a class and of the classes that derive from it, as the source texts say."""
    if not _bases:
        _bases.update(_scan_bases())  # in one step: another thread sees none of it or all
    derived, found = {kind}, set[str]()
    while derived != found:
        found = set(derived)
        derived |= {name for name, bases in _bases.items() if not found.isdisjoint(bases)}
    return derived & set(_homes("budgetron"))


def _scan_bases() -> dict[str, list[str]]:
    bases = {}
    for _, text in _sources("budgetron"):
        for line in text.split("\nclass ")[1:]:
            name, _, rest = line.partition(":")[0].partition("(")
            parts = rest.rstrip(")").split(",")
            bases[name] = [base.partition("[")[0].rpartition(".")[2].strip() for base in parts]
    return bases


def _find(package: str, name: str) -> Any:
    if name == "__all__":
        return _names(package)
    if name == "__version__" and package == "budgetron":
        return import_module("importlib.metadata").version(package)
    if not name.startswith("_") and name in _homes(package):
        return getattr(import_module(_homes(package)[name]), name)
    path = _ELSEWHERE.get(f"{package}.{name}", f"{package}.{name}")
    try:
        if not name.startswith("__"):  # importing __main__ would run the command line
            return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
    message = f"module {package!r} has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=sys.modules.get(package))  # Python adds "Did you mean"


def _names(package: str) -> list[str]:
    return sorted({*_homes(package), "__version__"} if package == "budgetron" else _homes(package))


def _homes(package: str) -> dict[str, str]:
    """The module of each name that the package exports."""
    if package not in _known:
        _known[package] = _scan(package)
    return _known[package]


def _scan(package: str) -> dict[str, str]:
    return {
        name: path.removesuffix(".py").replace(os.sep, ".")
        for path, text in _sources(package)
        if not path.endswith("__init__.py") and _BEGIN in text
        for name in _listed(text)
    }


def _listed(text: str) -> list[str]:
    inside = text.partition(_BEGIN)[2].partition(_END)[0]
    return [name.strip().strip('"') for name in inside.split(",") if name.strip()]


def _sources(package: str) -> Iterator[tuple[str, str]]:
    """The Python files of a package: each path, which begins with ``budgetron``, and its text."""
    top = os.path.dirname(_HERE)
    for folder, _, files in os.walk(os.path.join(top, *package.split("."))):
        for name in sorted(files):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    yield os.path.relpath(path, top), file.read()


def _write_stubs(out: str) -> None:
    """Write the stubs of all lazy packages to a folder that stands for that of ``budgetron``."""
    for path, text in _sources("budgetron"):
        if not (path.endswith("__init__.py") and _LAZY in text):
            continue
        package = os.path.dirname(path).replace(os.sep, ".")
        homes = sorted(_homes(package).items(), key=lambda item: (item[1], item[0]))
        lines = [f"from {module} import {name} as {name}" for name, module in homes]
        if package == "budgetron":
            places = [place.rpartition(".") for place in _ELSEWHERE.values()]
            lines += [f"from {folder} import {name} as {name}" for folder, _, name in places]
            lines += ["__version__: str"]
        stub = os.path.join(out, os.path.relpath(path, "budgetron") + "i")
        os.makedirs(os.path.dirname(stub), exist_ok=True)
        with open(stub, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, f"__all__ = {_names(package)!r}", ""]))


if __name__ == "__main__":
    _write_stubs(sys.argv[1])
