"""Descriptions as JSON and back: ``Gaussian(0.5)`` is ``{"type": "Gaussian", "gamma": 0.5}``.

Types are looked up among the exports of ``budgetron``, and parameters among the fields of the type. A file
can name nothing else. Values are None, bool, int, float, str, lists, tuples and dicts of these, and
descriptions.

A part that a user wrote in Python is a name behind ``python:``. Nothing is imported for it: who reads the
file says which class has the name.
"""

import dataclasses
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from budgetron._util.exports import exported
from budgetron._util.spec import Spec
from budgetron.parts.in_python import PythonBudget, PythonRule

_DEEPEST = 32
_PYTHON = "python:"
_NONE: Mapping[str, type] = {}


def describe(value: Any, where: str) -> Any:
    """The value as JSON; TypeError, which names ``where``, for any other type."""
    if isinstance(value, Spec):
        name = type(value).__name__
        if isinstance(value, PythonBudget | PythonRule):
            name = _PYTHON + name
        elif _members().get(name) is not type(value):
            raise TypeError(f"{where} is a {name}, not a class of budgetron, so no model file can name it.")
        params = value.get_params(deep=False)
        return {"type": name} | {key: describe(part, f"{where}.{key}") for key, part in params.items()}
    if type(value) is tuple:
        return {"type": "tuple", "of": describe(list(value), where)}
    if type(value) is dict and all(type(key) is str for key in value):
        return {
            "type": "dict",
            "of": {key: describe(part, f"{where}[{key!r}]") for key, part in value.items()},
        }
    if type(value) is list:
        return [describe(part, f"{where}[{i}]") for i, part in enumerate(value)]
    return plain(value, where)


def plain(value: Any, where: str) -> Any:
    """None, a bool, an int, a finite float or a str; NumPy scalars are converted if that loses nothing."""
    if isinstance(value, np.generic) and value.item() == value:
        value = value.item()
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    raise TypeError(f"{where} is {value!r}, which no model file holds: it must be a number, text or None.")


def revive(data: Any, python_parts: Mapping[str, type] = _NONE, depth: int = 0) -> Any:
    """The value that the JSON describes; ValueError if it is invalid.

    ``python_parts`` has the classes of parts written in Python, by name.
    """
    if depth > _DEEPEST:
        raise ValueError("its description is nested too deeply")
    if isinstance(data, list):
        return [revive(part, python_parts, depth + 1) for part in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {"type", "of"} and data["type"] == "tuple" and isinstance(data["of"], list):
        return tuple(revive(data["of"], python_parts, depth))
    if data.keys() == {"type", "of"} and data["type"] == "dict" and isinstance(data["of"], dict):
        return {key: revive(part, python_parts, depth + 1) for key, part in data["of"].items()}
    name, values = data.get("type"), {key: part for key, part in data.items() if key != "type"}
    kind = _kind(name, python_parts)
    known = {field.name: field for field in dataclasses.fields(kind) if field.init}
    for key in values:
        if key not in known:
            raise ValueError(f"it gives {name} a parameter {key[:100]!r}, which this version does not have")
    for key, field in known.items():
        if key not in values and field.default is field.default_factory is dataclasses.MISSING:
            raise ValueError(f"it gives {name} no {key}")
    return kind(**{key: revive(part, python_parts, depth + 1) for key, part in values.items()})


def _kind(name: Any, python_parts: Mapping[str, type]) -> Any:
    """The class that a description names; ValueError if there is none."""
    text = name if isinstance(name, str) else ""
    if text.startswith(_PYTHON):
        own = text.removeprefix(_PYTHON)[:100]
        if own not in python_parts:
            raise ValueError(
                f"it has a part in Python, {own!r}: load(path, python_parts=[...]) takes its class"
            )
        return python_parts[own]
    if text not in _members():
        raise ValueError(f"it describes a {str(name)[:100]!r}, which this budgetron does not have")
    return _members()[text]


@cache
def _members() -> dict[str, Any]:
    kinds = exported(Spec, "parts", "learners", "records")
    return {name: kind for name, kind in kinds.items() if dataclasses.is_dataclass(kind)}
