"""The extra data of a model file as JSON and arrays: an array is written as ``{"$array": name}``."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.model.files.described import plain
from budgetron.model.files.tensors import Arrays, storable


def describe_extra(value: Any, where: str, arrays: dict[str, npt.NDArray[Any]]) -> Any:
    """The value as JSON; its arrays are added to ``arrays``, under names that begin with ``where``."""
    if isinstance(value, Mapping):
        for key in value:
            if type(key) is not str or key.startswith("$"):
                raise TypeError(f"{where} has the key {key!r}; keys must be texts without a leading $.")
        return {key: describe_extra(part, f"{where}/{key}", arrays) for key, part in value.items()}
    if isinstance(value, list):
        return [describe_extra(part, f"{where}/{i}", arrays) for i, part in enumerate(value)]
    if isinstance(value, np.ndarray):
        if not storable(value):
            raise TypeError(f"{where} is an array of dtype {value.dtype}, which no model file can hold.")
        if where in arrays:
            raise TypeError(f"{where} is the name of two arrays; take keys without a slash.")
        arrays[where] = value
        return {"$array": where}
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        return {"$float": str(float(value))}
    return plain(value, where)


def revive_extra(data: Any, arrays: Arrays) -> Any:
    """The value that was described."""
    if isinstance(data, list):
        return [revive_extra(part, arrays) for part in data]
    if not isinstance(data, dict):
        return data
    if "$array" in data:
        return arrays[data["$array"]].copy()
    if "$float" in data:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[data["$float"]]
    return {key: revive_extra(part, arrays) for key, part in data.items()}
