"""Merge the statistics of columns and targets: those of all values, each as its own model counted it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.merging.fields import Parts, State

Array = npt.NDArray[Any]


def statistics(parts: Parts) -> State:
    """The merged fields of `Standardised` or `Ranged`, without those of the learner inside."""
    begun = [state for state in parts.states if state["scaled.kind"][0] != 0] or parts.states
    if len({int(state["scaled.kind"][0]) for state in begun}) > 1:
        raise ValueError("merge: some models began with dense rows and others with sparse ones.")
    parts = replace(parts, states=begun)
    state = parts.declared("scaled.") | {"scaled.kind": begun[0]["scaled.kind"]}
    for prefix in ("scaled.", "scaled.target."):
        names = [prefix + name for name in ("count", "mean", "squares")]
        if names[0] in begun[0]:
            state |= zip(names, moments(*(np.array(parts.get(name)) for name in names)), strict=True)
    if "scaled.later.before" in begun[0]:
        state["scaled.later.before"] = np.ones_like(state["scaled.squares"])  # the start is over
    return state


def moments(rows: Array, means: Array, squares: Array) -> tuple[Array, Array, Array]:
    """Count, mean and sum of squares about the mean of all rows, from those of each model (axis 0)."""
    total = rows.sum(axis=0)
    shares = rows / np.maximum(total, 1)
    mean = (shares * means).sum(axis=0)
    with np.errstate(over="ignore"):
        about = (squares + rows * np.square(means - mean)).sum(axis=0)
    return total, mean, np.minimum(about, np.finfo(float).max)
