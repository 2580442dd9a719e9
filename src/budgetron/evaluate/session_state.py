"""The rows of a session as arrays for a model file, and the checks of a state that is read back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from budgetron.records.table import Table
from budgetron.streams import Block
from budgetron.streams.stream import as_arrays, from_arrays, joined

COUNTS = ("entered", "drained", "rows", "unlabelled", "delay")


def saved(blocks: Sequence[Block]) -> dict[str, Any]:
    """The rows of all blocks."""
    return coded(as_arrays(joined(blocks))) if blocks else {}


def restored(rows: dict[str, Any], columns: int | None) -> list[Block]:
    """The rows that `saved` gave, as one block, or none."""
    block = from_arrays(decoded(rows))
    if block is None:
        return []
    wrong = not isinstance(block.X, Table) and block.X.shape[1] != (columns or block.X.shape[1])
    if wrong or np.shape(block.y) != (len(block),):
        raise ValueError("its rows have an unexpected number of columns or labels")
    return [block]


def coded(rows: dict[str, Any]) -> dict[str, Any]:
    """Replace string labels by their places in a list, since model files have no arrays of strings."""
    if "y" not in rows or rows["y"].dtype.kind not in "OU":
        return rows
    labels, codes = np.unique(rows["y"].astype(object), return_inverse=True)
    others = {name: array for name, array in rows.items() if name != "y"}
    others |= {"codes": codes.reshape(-1), "labels": labels.tolist()}
    return others | ({} if rows["y"].dtype == object else {"one_width": True})


def decoded(rows: dict[str, Any]) -> dict[str, Any]:
    """The rows that `coded` was given."""
    if "codes" not in rows:
        return rows
    kind = str if rows.get("one_width") is True else object
    y = np.array(rows["labels"], dtype=kind)[rows["codes"]]
    coding = ("codes", "labels", "one_width")
    return {name: array for name, array in rows.items() if name not in coding} | {"y": y}


def check_state(state: Any) -> None:
    """Check the keys and counts of a state. `Session.restore` checks its arrays."""
    if not isinstance(state, dict) or not isinstance(state.get("steps"), list):
        raise ValueError("it has no list of steps")
    if not isinstance(state.get("metrics"), dict):
        raise ValueError("it has no metrics")
    for name in COUNTS:
        value = state.get(name)
        if type(value) is not int or value < 0:
            raise ValueError(f"it has {name} {value!r}, expected a count")
    if not isinstance(state.get("time", 0.0), float | int):
        raise ValueError(f"it has the time {state['time']!r}, expected seconds")
    for part in state["steps"]:
        if not isinstance(part, dict) or not {"what", "state"} <= set(part):
            raise ValueError("it has a step without a description or a state")
