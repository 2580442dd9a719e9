"""Merge the statistics of columns and targets. All of it is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.merging.parts import Parts, State

Array = npt.NDArray[Any]


def statistics(parts: Parts) -> State:
    """The merged fields of `Standardised` or `Ranged`, without those of the learner inside."""
    begun = [state for state in parts.states if state["scaled.kind"][0] != 0]
    state: State = _columns(begun) if begun else {"scaled.kind": parts.states[0]["scaled.kind"]}
    if "scaled.target.rows" in parts.states[0]:
        names = ("rows", "mean", "squares")
        rows, mean, squares = (np.array(parts.get(f"scaled.target.{name}")) for name in names)
        merged = moments(rows, mean, squares)
        state |= {f"scaled.target.{name}": value for name, value in zip(names, merged, strict=True)}
    return state


def _columns(states: list[State]) -> State:
    kinds = {int(state["scaled.kind"][0]) for state in states}
    if len(kinds) > 1:
        raise ValueError("merge: some models began with dense rows and others with sparse ones.")
    state: State = {"scaled.kind": states[0]["scaled.kind"], "scaled.rows": _sum(states, "scaled.rows")}
    if "scaled.least" in states[0]:
        state["scaled.least"] = np.min([each["scaled.least"] for each in states], axis=0)
    if "scaled.largest" in states[0]:
        state["scaled.largest"] = np.max([each["scaled.largest"] for each in states], axis=0)
    if "scaled.missing" in states[0]:
        state["scaled.missing"] = _sum(states, "scaled.missing")
    if "scaled.mean" in states[0]:
        counted = np.array([each["scaled.rows"] - each["scaled.missing"] for each in states])
        means, squares = (np.array([each[f"scaled.{n}"] for each in states]) for n in ("mean", "squares"))
        _, state["scaled.mean"], state["scaled.squares"] = moments(counted, means, squares)
    elif "scaled.squares" in states[0]:
        state["scaled.squares"] = _sum(states, "scaled.squares")
    return state


def _sum(states: list[State], name: str) -> Array:
    return np.asarray(np.minimum(np.sum([state[name] for state in states], axis=0), np.finfo(float).max))


def moments(rows: Array, means: Array, squares: Array) -> tuple[Array, Array, Array]:
    """Count, mean and sum of squares about the mean of all rows, from those of each model (axis 0)."""
    total = rows.sum(axis=0)
    shares = rows / np.maximum(total, 1)
    mean = (shares * means).sum(axis=0)
    with np.errstate(over="ignore"):
        about = (squares + rows * np.square(means - mean)).sum(axis=0)
    return total, mean, np.minimum(about, np.finfo(float).max)
