"""Merge the statistics of columns and targets: those of all values, each as its own model counted it."""

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
    if "scaled.target.count" in parts.states[0]:
        state |= _spreads([*parts.states], "scaled.target.")
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
    if "scaled.count" in states[0]:
        state |= _spreads(states, "scaled.")
    elif "scaled.missing" in states[0]:
        state |= {f"scaled.{name}": _sum(states, f"scaled.{name}") for name in ("missing", "squares")}
        state |= _unsuspected(states, "scaled.", ("later.squares", "evidence", "last", "until"))
        state["scaled.later.before"] = np.ones_like(state["scaled.squares"])  # the start is over
    return state


def _spreads(states: list[State], prefix: str) -> State:
    names = ("count", "mean", "squares")
    parts = (np.array([state[prefix + name] for state in states]) for name in names)
    state: State = {prefix + name: v for name, v in zip(names, moments(*parts), strict=True)}
    later = ("later.count", "later.mean", "later.squares", "evidence", "last", "until")
    return state | _unsuspected(states, prefix, later)


def _unsuspected(states: list[State], prefix: str, zero: tuple[str, ...]) -> State:
    """No evidence of a new unit: the last values of one model are not the last ones of all."""
    state: State = {prefix + name: np.zeros_like(states[0][prefix + name]) for name in zero}
    return state | {prefix + "reach": np.max([each[prefix + "reach"] for each in states], axis=0)}


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
