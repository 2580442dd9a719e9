"""Sums in the order of the rows, so that blocks of other sizes give the same bits."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Rows = dict[str, Array]
"""What the metrics need of each row: named columns of equal length."""
Values = dict[str, float | None]


def plus(total: Array, values: Array) -> Array:
    """The total, an array of shape (1,), after adding the values one by one."""
    return np.add.accumulate(np.concatenate([total, values]))[-1:]


def ratio(a: float, b: float) -> float | None:
    """The quotient; None if that is undefined or not finite."""
    if b == 0:
        return None
    with np.errstate(all="ignore"):
        value = float(np.float64(a) / np.float64(b))
    return value if np.isfinite(value) else None


class Sums:
    """Base of the sums over rows; the attributes named in ``arrays`` are the whole state."""

    arrays: ClassVar[tuple[str, ...]] = ()

    def add(self, rows: Rows) -> None:
        """Add rows."""
        raise NotImplementedError

    def values(self) -> Values:
        """The metrics of the rows so far; None where a metric is undefined."""
        raise NotImplementedError

    def grow(self, places: Array, classes: int, /) -> None:
        """Classes were added: old class i is now class ``places[i]`` of ``classes``."""

    def state(self) -> dict[str, Array]:
        """Copies of the arrays."""
        return {name: getattr(self, name).copy() for name in self.arrays}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of sums over the same classes."""
        for name in self.arrays:
            now, given = getattr(self, name), state.get(name)
            if not isinstance(given, np.ndarray) or (given.shape, given.dtype) != (now.shape, now.dtype):
                raise ValueError(f"its metrics have no {name} of shape {now.shape}")
        for name in self.arrays:
            setattr(self, name, state[name].copy())
