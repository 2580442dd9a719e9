"""Public names: the ``__init__`` of a package lists them, and a module is imported when one is first used.

NumPy and scikit-learn take a second to import, and ``budgetron --help`` needs neither. For the same reason
this module imports little itself. ``.ci/stubs.py`` writes the lists into stubs, for type checkers.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

HOMES: dict[str, dict[str, str]] = {}
"""For each package its public names, each with the module that defines it."""
MODULES: dict[str, dict[str, str]] = {}
"""For each package the modules that it shows, by their names there."""


def lazy(
    package: str, names: Mapping[str, str] | None = None, modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    ``names`` has the names that each module defines, ``modules`` the modules that are shown under another
    name. Paths of modules begin below ``budgetron``. A package without a list of its own shows those names
    of ``budgetron`` that its modules define.
    """
    every = names.items() if names else ()
    homes = {name: f"budgetron.{module}" for module, listed in every for name in listed.split()}
    homes = homes or {n: home for n, home in HOMES["budgetron"].items() if home.startswith(f"{package}.")}
    shown = {name: f"budgetron.{module}" for name, module in (modules or {}).items()}
    HOMES[package], MODULES[package] = homes, shown

    def get(name: str) -> Any:
        if name in homes:
            value = getattr(import_module(homes[name]), name)
        elif name in shown:
            value = import_module(shown[name])
        else:  # Python adds "Did you mean"
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules.get(package))
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *homes, *shown}), sorted(homes)


def exported(kind: type, *rooms: str) -> dict[str, type]:
    """The classes of a kind that ``budgetron`` exports from these rooms, by name.

    Without rooms: those beside the kind, in its module, or in its folder inside a room (``parts/budgets``).
    """
    folder, _, _ = kind.__module__.rpartition(".")
    beside = folder if folder.count(".") > 1 else kind.__module__
    places = tuple(f"budgetron.{room}." for room in rooms) or f"{beside}."
    homes = {name: home for name, home in HOMES["budgetron"].items() if f"{home}.".startswith(places)}
    members = {name: getattr(import_module(home), name) for name, home in sorted(homes.items())}
    return {name: m for name, m in members.items() if isinstance(m, type) and issubclass(m, kind)}
