"""Which learners of a comparison have the same feature map, so that one computation serves them all."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from budgetron.learners.averaged import Averaged
from budgetron.learners.mapped import Mapped
from budgetron.learners.scaled import Ranged, Standardised
from budgetron.parts.features import FeatureMap, Identity


def groups(learners: Mapping[str, Any], X: Any) -> list[dict[str, Any]]:
    """The learners by name, in groups whose features of dense rows are equal.

    Other rows are not shared: records bring new columns, and features of sparse rows cost less.
    """
    found: list[tuple[Any, dict[str, Any]]] = []
    for name, learner in learners.items():
        own = _space(learner) if isinstance(X, np.ndarray) else None
        group = next((group for space, group in found if _are_equal(space, own)), None)
        if group is None:
            found.append((own, {name: learner}))
        else:
            group[name] = learner
    return [group for _, group in found]


def _are_equal(a: Any, b: Any) -> bool:
    try:
        return a is not None and bool(a == b)
    except ValueError:  # descriptions with arrays have no one answer
        return False


def _space(learner: Any) -> tuple[Any, ...] | None:
    """What the features of a learner depend on: its map, and how rows are scaled. None to share none."""
    if isinstance(learner, Mapped):
        return (learner.features,) if _is_worthwhile(learner.features) else None
    if isinstance(learner, Averaged):
        return _space(learner.learner)
    if isinstance(learner, Standardised | Ranged):
        inner = _space(learner.learner)
        return None if inner is None else (type(learner), getattr(learner, "clip", None), *inner)
    return None


def _is_worthwhile(features: Any) -> bool:
    """Whether features take longer to compute than to copy, and are the same every time."""
    if not isinstance(features, FeatureMap) or isinstance(features, Identity):
        return False
    return not any(isinstance(value, np.random.RandomState) for value in features.get_params().values())
