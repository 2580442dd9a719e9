"""The same part of several models: one description, and the fields of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron._util.text import shown
from budgetron.learners.learner import Floats, Learner
from budgetron.model.model import Model
from budgetron.parts.tasks import Task

State = dict[str, npt.NDArray[Any]]
T = TypeVar("T")

_FIRST = "widened.from"  # in the state of a model that was widened: its first columns and classes


@dataclass(frozen=True)
class Parts:
    """The same part of several models.

    ``ways`` says how each field is merged, by its native part. ``first`` is the number of columns and
    the task with which the models were built, before they were widened.
    """

    learner: Learner
    states: Sequence[State]
    ways: Mapping[str, str]
    task: Task
    n_features: int
    dtype: np.dtype[Any]
    seed: int
    first: tuple[int, Task]

    def inner(self, learner: Learner, prefix: str, seed: int) -> Parts:
        """A part of these parts, whose fields have this prefix."""
        states = [below(state, prefix) for state in self.states]
        return replace(self, learner=learner, states=states, ways=below(self.ways, prefix), seed=seed)

    def new(self) -> Any:
        """The native learner, before it has learned."""
        native: _core.Learner = self.learner.build(self.first[1], self.first[0], self.dtype, self.seed)
        if self.first != (self.n_features, self.task):
            native.widen(self.n_features, self.task.outputs)
        return native

    def restored(self, state: State) -> Any:
        """The native learner with these fields."""
        native = self.new()
        native.restore(dict(state))
        return native

    def get(self, name: str) -> list[npt.NDArray[Any]]:
        """A field of each."""
        return [state[name] for state in self.states]

    def names(self, prefix: str) -> list[str]:
        """The fields of outputs 0, 1 ..., which have this prefix."""
        return [f"{prefix}.{c}" for c in range(self.task.outputs)]

    def declared(self, prefix: str = "") -> State:
        """The merged fields with this prefix, if their part says how; not those with a formula."""
        there = {name: way for name, way in self.ways.items() if name in self.states[0]}
        return {
            name: self._merged(name, way)
            for name, way in there.items()
            if name.startswith(prefix) and way not in ("own", "unsaid")
        }

    def _merged(self, name: str, way: str) -> npt.NDArray[Any]:
        values = self.get(name)
        if way == "sum" and values[0].dtype.kind == "f":
            return np.asarray(np.minimum(np.sum(values, axis=0), np.finfo(float).max))
        if way == "mean":
            return np.asarray(self.shares @ np.array(values))
        return np.asarray(_WAYS[way](values))

    def complete(self, state: State) -> State:
        """The merged fields, if none is missing."""
        for name in self.states[0]:
            if name not in state:
                raise ValueError(
                    f"merge: models of {shown(self.learner)} cannot be merged: nothing says how to merge "
                    f"their field {name}."
                )
        return state

    @property
    def shares(self) -> Floats:
        """The share of the rounds that each has learned."""
        rounds = np.array([float(t[0]) for t in self.get("t")])
        return rounds / rounds.sum() if rounds.any() else np.full(len(rounds), 1 / len(rounds))


_WAYS: dict[str, Callable[[list[npt.NDArray[Any]]], Any]] = {
    "sum": lambda values: np.sum(values, axis=0, dtype=values[0].dtype),
    "most": lambda values: np.max(values, axis=0),
    "least": lambda values: np.min(values, axis=0),
    "joined": lambda values: np.unique(np.concatenate(values)),
    "restart": lambda values: np.zeros_like(values[0]),
}


def below(state: Mapping[str, T], prefix: str) -> dict[str, T]:
    """The fields with this prefix, without it."""
    return {name.removeprefix(prefix): values for name, values in state.items() if name.startswith(prefix)}


def under(state: State, prefix: str) -> State:
    """The fields with a prefix added."""
    return {prefix + name: values for name, values in state.items()}


def parts_of(models: Sequence[Model]) -> Parts:
    """Whole models of one description."""
    model = models[0]
    states = [without_first(each.state()) for each in models]
    ways = {name: way for each in models for name, way in each.merged_fields().items()}
    return Parts(
        model.learner, states, ways, model.task, model.n_features, model.dtype, model.seed, model.built_for
    )


def first_of(model: Model) -> State:
    """The field of a model that was widened."""
    return {name: values for name, values in model.state().items() if name == _FIRST}


def without_first(state: State) -> State:
    """The fields of the native learner."""
    return {name: values for name, values in state.items() if name != _FIRST}


Merger = Callable[[Parts], State]
