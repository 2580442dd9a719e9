"""Merge stacks of experts; and stack models that cannot be merged otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from budgetron._util.spec import seed_of_part
from budgetron.learners.learner import Floats, Learner, Wrapping
from budgetron.learners.mapped import Mapped
from budgetron.learners.neighbours import Neighbours
from budgetron.learners.stacked import Stacked
from budgetron.merging import gaussian
from budgetron.merging.fields import Merger, Parts, State, below, first_of, parts_of, under, without_first
from budgetron.model.model import Model
from budgetron.parts.features.recruited import Recruited
from budgetron.parts.tasks import Labels


def merged(parts: Parts, expert: Merger) -> State:
    """The merged fields of `Stacked`: every expert in its own way, then the filter on top.

    Of some experts (`keeps_best`) that with the lowest loss stays as it is: the filter has learned to trust
    it.
    """
    learner = parts.learner
    assert isinstance(learner, Stacked)
    state = filter_of(parts, learner)
    losses = [_mean_losses(each) for each in parts.states]
    for i, each in enumerate(learner.learners):
        inner = parts.inner(each, f"expert.{i}.", seed_of_part(parts.seed, i))
        best = int(np.argmin([loss[i] for loss in losses]))
        state |= under(inner.states[best] if keeps_best(each) else expert(inner), f"expert.{i}.")
    return parts.complete(state)


def keeps_best(expert: Learner) -> bool:
    """Whether of an expert the best is kept, for a union or an average would be worse, or none.

    These are experts with a budget of support vectors, neighbours, cells and recruited features. Thresholds
    are drawn from the rows of the model itself, and so are the features that stay.
    """
    inside = expert
    while isinstance(inside, Wrapping):
        inside = inside.learner
    recruited = isinstance(inside, Mapped) and isinstance(inside.features, Recruited)
    return expert.has_budget or isinstance(inside, Neighbours) or is_on_cells(inside) or recruited


def is_on_cells(learner: Learner) -> bool:
    """Whether it is a rule on cells."""
    return isinstance(learner, Mapped) and learner.cells is not None


def _mean_losses(state: State) -> Floats:
    """The mean loss of every expert of a stack; infinite before its first row."""
    learned = float(state["stacked.learned"][0])
    losses = state["stacked.losses"]
    return losses / learned if learned > 0 else np.full(len(losses), np.inf)


def filter_of(parts: Parts, learner: Stacked) -> State:
    """The filter and the calibration: averaged, for each was learned on experts that are merged now."""
    learned = np.concatenate(parts.get("stacked.learned"))
    shares = learned / learned.sum() if learned.any() else np.full(len(learned), 1 / len(learned))

    def averaged(weights: str, posterior: str) -> State:
        covariances = [gaussian.covariance(state, posterior) for state in parts.states]
        variances, m = parts.get(f"{posterior}.variance"), len(covariances[0])
        means = [w[None, :] for w in parts.get(weights)]
        P, w = gaussian.combined(covariances, [w[:, :m] for w in means], learner.prior, shares)
        v, rest = gaussian.combined_diagonal(variances, [w[:, m:] for w in means], learner.prior, shares)
        state = gaussian.fields(P, posterior) | {f"{posterior}.variance": v}
        return state | {weights: np.hstack([w[0], rest[0]])}

    state = parts.declared("stacked.") | averaged("stacked.weights", "stacked.posterior")
    if "stacked.noise.w" in parts.states[0]:
        state |= under(_noise([below(each, "stacked.noise.") for each in parts.states]), "stacked.noise.")
    else:
        state |= averaged("stacked.calibration.slopes", "stacked.calibration.posterior")
    return state


def _noise(states: Sequence[State]) -> State:
    """What `Noise` has learned: averaged, each number as far as a model knows it.

    The moments of targets, rows and w'z are those of all rows.
    """
    weights, levels = (np.concatenate([state[name] for state in states]) for name in ("weight", "level"))
    shares = weights / weights.sum() if weights.any() else np.full(len(states), 1 / len(states))
    variances, means, logs, near = (
        [state[name] for state in states] for name in ("variance", "w", "calibration", "near")
    )
    variance, w = gaussian.combined_diagonal(variances, means, float(np.max(variances)), shares)
    known = np.where(np.any(near, axis=0), near, 1.0)
    merged = {"w": w, "variance": variance, "level": np.array([shares @ levels])}
    merged["calibration"] = np.average(logs, axis=0, weights=known)
    for name in ("targets.", "reach.", "order."):
        merged |= under(_moments([below(state, name) for state in states]), name)
    return merged


def _moments(states: Sequence[State]) -> State:
    """The mean, and the sum of squares about it, of the values of all models."""
    weights, means, squares = (
        np.concatenate([state[name] for state in states]) for name in ("weight", "mean", "squares")
    )
    mean = weights @ means / weights.sum() if weights.any() else 0.0
    total = squares.sum() + weights @ np.square(means - mean)
    return {"mean": np.array([mean]), "squares": np.array([min(total, np.finfo(float).max)])}


def stacked(models: Sequence[Model]) -> Model:
    """All models as the experts of one stack, which averages their scores until it has learned."""
    first = models[0]
    learner = Stacked(*(model.learner for model in models))
    model = copy(first)
    model.learner = learner
    parts = replace(parts_of([first]), learner=learner)
    native = parts.new()
    native.begin()
    state: State = dict(native.state())
    if isinstance(first.task, Labels):  # scores count as they are until their mean square is known
        state |= {"stacked.squares": np.ones(len(models)), "stacked.rows": np.ones(1)}
    for i, each in enumerate(models):
        prefix = f"expert.{i}."
        state = {name: values for name, values in state.items() if not name.startswith(prefix)}
        state |= under(without_first(each.state()), prefix)
    model.restore(state | first_of(first))
    return model


def unstacked(model: Model) -> list[Model]:
    """The models that `stacked` has put side by side; the model itself if it is no such stack."""
    learner = model.learner
    if not isinstance(learner, Stacked) or len(learner.learners) < 2 or not _alike(learner.learners):
        return [model]
    models = []
    for i, each in enumerate(learner.learners):
        expert = copy(model)
        expert.learner, expert.seed = each, seed_of_part(model.seed, i)
        expert.restore(below(model.state(), f"expert.{i}.") | first_of(model))
        models.append(expert)
    return models


def _alike(learners: Sequence[Learner]) -> bool:
    return all(each == learners[0] for each in learners)
