"""The labels of several classifiers: their union, and models that know them in the same order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from budgetron.merging import gaussian
from budgetron.merging.parts import State
from budgetron.model.labels import KnownLabels
from budgetron.model.model import Model
from budgetron.parts.tasks import Labels

_OF_OUTPUT = re.compile(
    r"(.*(?:weights|older|younger|alpha|covariance(?:\.[UD])?|adagrad\.G|coin\.\w+))\.(\d+)$"
)
_SIGNED = re.compile(
    r"((weights|older|younger|alpha|theta|start)\.\d+|redundant\.without|low_rank\.weights)$"
)


def union(labels: Sequence[KnownLabels]) -> KnownLabels:
    """All labels, in the order of the first model, then of the second, and so on."""
    known = labels[0]
    for each in labels[1:]:
        if known.fixed and not set(each.codes) <= set(known.codes):
            known = KnownLabels(known.labels, fixed=False)
        if len(each):
            known = known.extended(each.labels)[0] if len(known) else each
    return KnownLabels(known.labels, all(each.fixed for each in labels))


def in_order(model: Model, own: KnownLabels, known: KnownLabels) -> Model:
    """The model with an output for every known label, in the order of these."""
    places = [known.codes[label] for label in own.codes]
    if places == list(range(len(places))) and max(2, len(known)) == max(2, len(own)):
        return model
    model = copy(model)
    assert isinstance(model.task, Labels)
    if len(known) > model.task.n_classes:
        model.widen(model.n_features, len(known))
    if places == list(range(len(places))):
        return model
    state = model.state()
    if any("dual." in name for name in state):
        raise ValueError(
            "merge: the models know their labels in different orders, which this learner cannot change: "
            "give all of them the same classes."
        )
    outputs = model.task.outputs
    model.restore(_flipped(state) if outputs == 1 else _moved(state, places, outputs))
    return model


def _flipped(state: State) -> State:
    """Two labels change places: every score changes its sign."""
    state = {name: -v if _SIGNED.search(name) else v for name, v in state.items()}
    for name in [name for name in state if name.endswith("stacked.weights")]:
        w, at = state[name].copy(), name.removesuffix("weights") + "posterior"
        P, sign = gaussian.covariance(state, at), np.ones(len(w))
        w[-1], sign[-1] = -w[-1], -1
        state |= {name: w} | gaussian.fields(P * sign[:, None] * sign, at)
    return state


def _moved(state: State, places: list[int], outputs: int) -> State:
    """Output i moves to places[i]; outputs of labels that the model does not know fill the rest."""
    rest = [place for place in range(outputs) if place not in places]
    to = np.array([*places, *rest])
    moved: dict[str, Any] = dict(state)
    for name, values in state.items():
        if found := _OF_OUTPUT.match(name):
            moved[f"{found[1]}.{to[int(found[2])]}"] = values
        elif name.endswith(("redundant.without", "low_rank.weights")) and values.size:
            moved[name] = values.reshape(outputs, -1)[np.argsort(to)].ravel()
    for name in [name for name in state if name.endswith("stacked.weights")]:
        w, at = state[name], name.removesuffix("weights") + "posterior"
        experts = len(w) - outputs
        source = np.concatenate([np.arange(experts), experts + np.argsort(to)])
        P = gaussian.covariance(state, at)
        moved |= {name: w[source]} | gaussian.fields(P[np.ix_(source, source)], at)
    return moved
