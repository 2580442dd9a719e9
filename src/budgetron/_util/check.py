"""Checks of parameters. An error is one sentence: owner, parameter, what is expected, what was given."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from budgetron._util.errors import ROW, RefusedRow
from budgetron._util.label_rules import EXACT
from budgetron._util.names import classes, unknown
from budgetron._util.text import shown

T = TypeVar("T")
Check = Callable[[object, str, Any], T]
"""Takes the owner, the name and the value of a parameter, and returns the value as a plain number."""


def _must(owner: object, name: str, what: str, value: Any) -> str:
    who = owner if isinstance(owner, str) else type(owner).__name__
    return f"{who}: {name} must {what}, got {shown(value)}."


def finite(value: Any) -> bool:
    """Whether the value is a number that is finite as a double; 10**400 is not."""
    try:
        return math.isfinite(value)
    except (OverflowError, TypeError):
        return False


def number(owner: object, name: str, value: Any) -> float:
    """A finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not finite(value):
        raise ValueError(_must(owner, name, "be a finite number", value))
    return float(value)


def _also(first: Check[T], what: str, holds: Callable[[T], bool]) -> Check[T]:
    """A check after another one."""

    def checked(owner: object, name: str, value: Any) -> T:
        passed = first(owner, name, value)
        if not holds(passed):
            raise ValueError(_must(owner, name, what, value))
        return passed

    return checked


positive = _also(number, "be above 0", lambda x: x > 0)
moderate = _also(positive, "lie between 1e-100 and 1e100", lambda x: 1e-100 <= x <= 1e100)
"""A number above 0 whose square and reciprocal are far from overflow."""
non_negative = _also(number, "be at least 0", lambda x: x >= 0)
share = _also(number, "lie between 0 and 1", lambda x: 0 <= x <= 1)
below_one = _also(number, "be at least 0 and below 1", lambda x: 0 <= x < 1)


def _whole(what: str, least: int, end: float = math.inf) -> Check[int]:
    """A check of a whole number from ``least`` to below ``end``."""

    def checked(owner: object, name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) < end:
            raise ValueError(_must(owner, name, f"be a whole number {what}", value))
        return int(value)

    return checked


whole = _whole("of at least 0", 0)
natural = _whole("from 0 to 2^64 - 1", 0, 2**64)
"""A whole number that can be a seed of the generator."""
count = _also(_whole("above 0", 1), "be below 2^31", lambda n: n < 2**31)


def instance(owner: object, name: str, value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        sentence = _must(owner, name, f"be {article} {kind.__name__}", value)
        if isinstance(value, str) and getattr(kind, "by_name", False):
            sentence = f"{sentence.removesuffix('.')}; {unknown(value, classes(kind), python=True)}"
        raise TypeError(sentence)
    return value


def one_of(owner: object, name: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(_must(owner, name, f"be {' or '.join(map(repr, choices))}", value))
    return str(value)


def threads(owner: object, n_jobs: int | None) -> int:
    """The number of threads for ``n_jobs``: None is one, -1 is one for each processor."""
    if n_jobs is None:
        return 1
    return (os.cpu_count() or 1) if n_jobs == -1 else count(owner, "n_jobs", n_jobs)


def one_kind(name: str, labels: Any) -> None:
    """Labels that are all texts or all numbers. NumPy would turn ``["a", 1]`` into two texts."""
    if not may_be_of_many_kinds(labels):
        return
    kinds = set(map(type, labels))
    texts = {kind for kind in kinds if issubclass(kind, str)}
    if type(None) in kinds or (texts and texts != kinds):
        for row, label in enumerate(labels):
            if is_missing(label):
                raise no_label(name, label, row)
        got = ", ".join(sorted({kind.__name__ for kind in kinds}))
        raise ValueError(f"{name} must hold labels that are all texts or all numbers, got {got}.")


def may_be_of_many_kinds(labels: Any) -> bool:
    """Whether labels are a sequence of Python objects. What is no sequence, later checks refuse."""
    is_sequence = hasattr(labels, "__len__") and hasattr(labels, "__iter__")
    return is_sequence and getattr(getattr(labels, "dtype", None), "kind", "O") == "O"


def label_column(name: str, labels: Any) -> Any:
    """Labels as they were given, also those that NumPy would change.

    A list of numbers of several kinds becomes an array of objects: NumPy would make [True, 1] two integers.
    Scalars of NumPy in a list count as Python's numbers, so that their widths do not matter. A text that
    ends with a NUL is refused: NumPy would drop the NUL, and merge the label with another.
    """
    if not may_be_of_many_kinds(labels):
        return labels
    kinds = set(map(type, labels))
    if any(issubclass(kind, str) for kind in kinds):
        for row, label in enumerate(labels):
            if isinstance(label, str) and label.endswith("\0"):
                raise RefusedRow(
                    f"{name} must hold no label that ends with a NUL, got one in row {ROW}.", row
                )
    if not isinstance(labels, list | tuple) or kinds in ({int}, {float}, {bool}):
        return labels
    if not all(issubclass(kind, (bool, int, float, np.number, np.bool_)) for kind in kinds):
        return labels
    column = np.empty(len(labels), dtype=object)
    column[:] = [label.item() if isinstance(label, np.generic) else label for label in labels]
    return column


def no_label(name: str, label: Any, row: int) -> RefusedRow:
    """The refusal of a row without a label."""
    return RefusedRow(f"{name} must hold a label for every row, got {label} in row {ROW}.", row)


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or the like."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is neither equal to itself nor not
        return True
    except ValueError:  # an array
        return False


def told_apart(name: str, labels: Any) -> None:
    """Refuse float labels of 2^53 or more: rounding may have made different labels equal."""
    if labels.dtype.kind == "f" and (large := abs(labels) >= EXACT).any():
        raise ValueError(
            f"{name} must hold labels below 2^53 in size if they are floats, got {labels[large][0]!s}."
        )


@contextmanager
def in_range(name: str) -> Iterator[None]:
    """Turn the OverflowError of a number such as 10**400 into a ValueError of one sentence."""
    try:
        yield
    except OverflowError:
        raise ValueError(f"{name} must hold numbers that a double can hold, got a larger one.") from None
