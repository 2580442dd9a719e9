"""Classes by name: "squared-hinge", "squared_hinge" and "SquaredHinge" are the same loss."""

import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from budgetron._util.exports import exported
from budgetron._util.text import nearest


def kebab(name: str) -> str:
    """The name of a class as a flag value: ``SquaredHinge`` becomes squared-hinge."""
    return re.sub("(?<!^)(?=[A-Z])", "-", name).lower()


def classes(kind: Any) -> dict[str, type]:
    """The classes of a kind that ``budgetron`` exports, by their names as flag values."""
    return {kebab(name): member for name, member in exported(kind).items() if is_dataclass(member)}


def find(text: str, known: Mapping[str, type]) -> type | None:
    """The class of that name, spelled as a flag value or as in Python."""
    return known.get(_key(text))


def unknown(text: str, known: Mapping[str, type], *, python: bool = False) -> str:
    """The end of the sentence about a name that is not known; ``rbf`` means the Gaussian kernel."""
    shown = {key: f"{kind.__name__}()" if python else key for key, kind in known.items()}
    other = {word: shown[key] for key, kind in known.items() for word in getattr(kind, "also", ())}
    if _key(text) in other:
        return f"did you mean {other[_key(text)]}?"
    return nearest(_key(text), shown)


def _key(text: str) -> str:
    return kebab(text).replace("_", "-")
