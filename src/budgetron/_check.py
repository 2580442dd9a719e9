"""Checks of parameters. Each failure is one sentence: what, which, expected, got."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from typing import Any, TypeVar

T = TypeVar("T")


def _name(owner: object) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__


def number(owner: object, name: str, value: Any) -> float:
    """A finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{_name(owner)}: {name} must be a finite number, got {value!r}.")
    return float(value)


def positive(owner: object, name: str, value: Any) -> float:
    """A number above 0."""
    if number(owner, name, value) <= 0:
        raise ValueError(f"{_name(owner)}: {name} must be above 0, got {value!r}.")
    return float(value)


def moderate(owner: object, name: str, value: Any) -> float:
    """A number above 0 whose square and reciprocal are far from overflow."""
    if not 1e-100 <= positive(owner, name, value) <= 1e100:
        raise ValueError(f"{_name(owner)}: {name} must lie between 1e-100 and 1e100, got {value!r}.")
    return float(value)


def non_negative(owner: object, name: str, value: Any) -> float:
    """A number of at least 0."""
    if number(owner, name, value) < 0:
        raise ValueError(f"{_name(owner)}: {name} must be at least 0, got {value!r}.")
    return float(value)


def share(owner: object, name: str, value: Any) -> float:
    """A number between 0 and 1, both included."""
    if not 0 <= number(owner, name, value) <= 1:
        raise ValueError(f"{_name(owner)}: {name} must lie between 0 and 1, got {value!r}.")
    return float(value)


def below_one(owner: object, name: str, value: Any) -> float:
    """A number of at least 0 and below 1."""
    if not 0 <= number(owner, name, value) < 1:
        raise ValueError(f"{_name(owner)}: {name} must be at least 0 and below 1, got {value!r}.")
    return float(value)


def count(owner: object, name: str, value: Any) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise ValueError(f"{_name(owner)}: {name} must be a whole number above 0, got {value!r}.")
    if int(value) > 2**31 - 1:
        raise ValueError(f"{_name(owner)}: {name} must be below 2^31, got {value!r}.")
    return int(value)


def natural(owner: object, name: str, value: Any) -> int:
    """A whole number that the generator takes as a seed."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**64:
        raise ValueError(
            f"{_name(owner)}: {name} must be a whole number from 0 to 2^64 - 1, got {value!r}."
        )
    return int(value)


def instance(owner: object, name: str, value: Any, kind: type[T]) -> T:
    """A description of the right noun."""
    if not isinstance(value, kind):
        raise TypeError(f"{_name(owner)}: {name} must be a {kind.__name__}, got {value!r}.")
    return value


def one_of(owner: object, name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in choices:
        words = " or ".join(map(repr, choices))
        raise ValueError(f"{_name(owner)}: {name} must be {words}, got {value!r}.")
    return str(value)


def threads(owner: object, n_jobs: int) -> int:
    """How many threads ``n_jobs`` asks for: -1 is one for each processor."""
    return (os.cpu_count() or 1) if n_jobs == -1 else count(owner, "n_jobs", n_jobs)
