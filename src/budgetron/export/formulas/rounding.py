"""Thresholds in another type of numbers.

A row of double that is rounded to single precision meets thresholds that are rounded alike: where they were
equal, they are equal still. A model of single precision has thresholds between two numbers of its type, and
rounding could move one across a row. `not_above` and `not_below` never do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.export.formulas.tree import Floats


def finite(thresholds: Floats, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The nearest finite numbers of the type."""
    largest = np.finfo(dtype).max
    return np.clip(thresholds, -largest, largest).astype(dtype)


def not_above(thresholds: Floats, dtype: npt.DTypeLike) -> Floats:
    """The largest numbers of the type that are not above: x > t is the same for every x of the type."""
    near = finite(thresholds, dtype)
    return np.where(near > thresholds, np.nextafter(near, -np.finfo(dtype).max), near).astype(np.float64)


def not_below(thresholds: Floats, dtype: npt.DTypeLike) -> Floats:
    """The smallest numbers of the type that are not below: x >= t is the same for every x of the type."""
    return -not_above(-thresholds, dtype)
