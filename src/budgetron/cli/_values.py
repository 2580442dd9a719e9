"""Values from the texts of flags, by the types that signatures give them."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from budgetron._described import exported
from budgetron._spec import Spec
from budgetron.budgets import Budget, Maintained
from budgetron.cli._exits import Usage


def spelt(name: str) -> str:
    """A parameter as a flag."""
    return f"--{name.replace('_', '-')}"


def spelt_all(names: Iterable[str]) -> str:
    """Parameters as flags."""
    return ", ".join(map(spelt, names)) or "none"


def kebab(name: str) -> str:
    """The name of a class as flags have it: ``SquaredHinge`` is squared-hinge."""
    return re.sub("(?<!^)(?=[A-Z])", "-", name).lower()


@cache
def members(hint: Any) -> dict[str, type]:
    """The descriptions that a parameter of this type can be, by the names that flags have for them."""
    if get_origin(hint) is Callable:
        hint = Maintained  # Callable[[int], Budget], which makes one
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, Spec) and kind is not Budget:
            found = exported(kind).items()
            return {kebab(name): member for name, member in found if dataclasses.is_dataclass(member)}
    return {}


@cache
def fields(kind: type) -> dict[str, Any]:
    """The parameters of a description, and their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def read(name: str, hint: Any, text: str) -> Any:
    """The value of a flag; a class for what makes a description, a description for what is one."""
    if kinds := members(hint):
        kind = choice(name, text, kinds)
        return kind if get_origin(hint) is not None and _makes(hint) else kind()
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise Usage(f"{spelt(name)}: expected {' or '.join(get_args(hint))}, got {text!r}.")
        return text
    words = [word for part in get_args(hint) for word in get_args(part)]
    if text in words:
        return text
    whole = hint is int or int in get_args(hint)
    try:
        return int(text) if whole else float(text)
    except ValueError:
        expected = " or ".join(["a whole number" if whole else "a number", *words])
        raise Usage(f"{spelt(name)}: expected {expected}, got {text!r}.") from None


def choice(name: str, text: str, kinds: Mapping[str, type]) -> type:
    """The member of that name, as flags or as Python spells it."""
    key = kebab(text).replace("_", "-")
    if key not in kinds:
        near = difflib.get_close_matches(key, kinds, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(kinds)}."
        raise Usage(f"{spelt(name)}: there is no {text!r}; {hint}")
    return kinds[key]


def _makes(hint: Any) -> bool:
    return get_origin(hint) in (type, Callable)
