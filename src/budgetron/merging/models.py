"""merge: one model from several that learned different rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from budgetron._util.spec import Spec
from budgetron._util.text import shown
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.estimators.online import unfitted
from budgetron.learners.learner import Learner
from budgetron.merging import label_order, promises, stacks
from budgetron.merging.fields import first_of, parts_of
from budgetron.model.class_weights import ClassCounts
from budgetron.model.fitted import Fitted
from budgetron.model.labels import KnownLabels
from budgetron.model.model import Model
from budgetron.parts.features.cells import CellMap

T = TypeVar("T")


def merge(models: Iterable[T]) -> T:
    """One model from several that learned different rows, as near as possible to a single pass over all.

    The models must have the same learner, columns and seed: give all of them the same ``random_state``, so
    that random features agree. They do not change. The merged model goes on learning, and may be merged
    again; rows that two models have both learned count twice. What is promised depends on the learner, and
    :func:`merge_promise` says it:

    * **exact** for Kalman filters and AROW on targets, with a full covariance and without drift: precisions
      add up. So do the statistics of :class:`~budgetron.Standardised` and :class:`~budgetron.Ranged`.
    * **precision-weighted** for the same on labels, and for :class:`~budgetron.OnlineNewton`. Filters that
      forget, and the filter of a :class:`~budgetron.Stacked` learner, are averaged in this way.
    * **average** of the weights, by rows, for other rules on explicit features.
    * **union** of the support vectors, which pass through the budget as new rows do.
    * **best** for experts of a stack that have a budget of support vectors, cells
      (:class:`~budgetron.CellMap`) or :class:`~budgetron.Neighbours`: that with the lowest loss is taken.
    * **stacked** where nothing else is right (:class:`~budgetron.DoubleUpdating`,
      :class:`~budgetron.Nystrom`, :class:`~budgetron.Averaged` on a kernel, Neighbours alone): all models
      side by side. Cells alone are refused.

    Parameters
    ----------
    models : iterable of OnlineClassifier, OnlineRegressor or OneByOne
        Fitted models of one kind. Labels may differ: the merged classifier knows all of them.

    Returns
    -------
    object of the same type
        A new model, with the parameters of the first.

    Raises
    ------
    ValueError
        If the models do not fit together; the message says in what they differ.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from budgetron import OnlineClassifier, merge
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> parts = [OnlineClassifier(random_state=0).fit(X[i:400:4], y[i:400:4]) for i in range(4)]
    >>> model = merge(parts)
    >>> [int((each.predict(X[400:]) != y[400:]).sum()) for each in [*parts, model]]
    [3, 23, 6, 2, 2]
    """
    given = list(models) if isinstance(models, Iterable) else models
    if not isinstance(given, list):
        raise TypeError(f"merge: models must be a list of fitted models, got {shown(models)}.")
    if not given:
        raise ValueError("merge: models is empty: expected at least one fitted model.")
    if isinstance(given[0], OnlineClassifier | OnlineRegressor):
        return cast(T, _estimators(given))
    return cast(T, _models(_of_one_kind(given, Model)))


def _of_one_kind(models: list[Any], kind: type) -> list[Any]:
    for i, model in enumerate(models):
        if not isinstance(model, kind):
            expected = "an OnlineClassifier, an OnlineRegressor or a OneByOne"
            if i:
                expected = f"of the type of models[0], {type(models[0]).__name__}"
            raise TypeError(f"merge: models[{i}] must be {expected}, got {shown(model)}.")
    return models


def _models(models: Sequence[Model]) -> Model:
    """The merged model."""
    if any(model.aside for model in models):
        raise ValueError(
            "merge: the models met dates in their records as they learned, and cannot be merged: "
            "distributed.fit knows the columns before it learns."
        )
    wide = max(model.n_features for model in models)
    parts = [part for model in models for part in stacks.unstacked(_widened(model, wide))]
    if not _only_stacks(parts[0].learner):
        parts = [_widened(model, wide) for model in models]
    _refuse_different(parts)
    if len(parts) == 1:
        return copy(parts[0])
    if _only_stacks(parts[0].learner):
        if parts[0].learner.is_drawn:
            todo = "give the feature map a random_state of its own"
            if _has_cells(parts[0].learner):
                todo = "put cells into a Stacked learner, which keeps the best of them"
            raise ValueError(
                f"merge: models of {shown(parts[0].learner)} can only be stacked, and random features "
                f"depend on the place in a stack: {todo}."
            )
        return stacks.stacked(parts)
    model = copy(parts[0])
    model.restore(promises.merged(parts_of(parts)) | first_of(parts[0]))
    return model


def _widened(model: Model, n_features: int) -> Model:
    if model.n_features == n_features:
        return model
    model = copy(model)
    model.widen(n_features)
    return model


def _refuse_different(models: Sequence[Model]) -> None:
    """One sentence about what the models do not have in common."""
    first = models[0]
    for i, model in enumerate(models[1:], 1):
        for what, how in {
            "learner": "the learner",
            "task": "the task",
            "dtype": "the dtype of the rows",
            "seed": "the seed of the random features; give all models the same random_state",
        }.items():
            one, other = getattr(first, what), getattr(model, what)
            if one != other and (what != "seed" or first.learner.is_drawn):
                raise ValueError(
                    f"merge: models[0] and models[{i}] differ in {how}: {shown(one)} and {shown(other)}."
                )
        one, other = first.built_for[0], model.built_for[0]
        if one != other:
            raise ValueError(
                f"merge: models[0] and models[{i}] were built for {one} and {other} "
                "columns, so that their features differ: start them with the same columns."
            )


def _only_stacks(learner: Learner) -> bool:
    return promises.STACK in promises.merge_promise(learner).values()


def _has_cells(learner: Spec) -> bool:
    return any(isinstance(part, CellMap) or _has_cells(part) for part in learner.parts().values())


def _estimators(models: list[Any]) -> Any:
    _of_one_kind(models, type(models[0]))
    for i, model in enumerate(models):
        if not model.__sklearn_is_fitted__():
            raise ValueError(f"merge: models[{i}] is not fitted: fit every model before merging.")
    parts, known = [model.fitted_.still() for model in models], None
    _refuse_other_columns(parts)
    fresh = unfitted(models[0])
    natives = [part.model for part in parts]
    if isinstance(fresh, OnlineClassifier):
        known = label_order.union([part.labels for part in parts])
        natives = [label_order.in_order(part.model, part.labels, known) for part in parts]
    counts = None if known is None else _counted(known, parts)
    fresh.fitted_ = replace(parts[0], model=_models(natives), labels=known, counts=counts)
    return fresh


def _refuse_other_columns(models: Sequence[Fitted]) -> None:
    """Columns must have the same names in the same order, since frequencies belong to places."""
    first = models[0]
    for i, model in enumerate(models[1:], 1):
        if _names(first) != _names(model):
            raise ValueError(f"merge: models[0] and models[{i}] differ in the names of their columns.")
        if first.encoding is None and model.encoding is None:
            if first.model.n_features != model.model.n_features:
                raise ValueError(
                    f"merge: models[0] has {first.model.n_features} columns, and models[{i}] has "
                    f"{model.model.n_features}."
                )
        elif not _same_encoding(first.encoding, model.encoding):
            raise ValueError(
                f"merge: models[0] and models[{i}] encode records differently: values get their columns in "
                "the order of appearance; start all models with the same rows, or use distributed.fit."
            )


def _names(model: Fitted) -> list[str] | None:
    return None if model.names is None else list(model.names)


def _same_encoding(one: Any, other: Any) -> bool:
    if one is None or other is None or one is other:
        return one is other
    read_as = ({name: kind.kind for name, kind in each.kinds.items()} for each in (one, other))
    return bool(one.columns == other.columns and next(read_as) == next(read_as))


def _counted(known: KnownLabels, parts: Sequence[Fitted]) -> ClassCounts | None:
    """The rows of each class so far, if the models count them."""
    if all(part.counts is None for part in parts):
        return None
    counts = np.zeros(len(known))
    for part in parts:
        seen = part.state()[1]
        if seen is not None and part.labels is not None:
            np.add.at(counts, [known.codes[label] for label in part.labels.codes], seen)
    return ClassCounts(counts)
