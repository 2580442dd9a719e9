"""Decisions that follow costs: of all labels, the one whose expected cost is the lowest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util import check
from budgetron._util.text import shown
from budgetron.learners.learner import Floats
from budgetron.model.labels import KnownLabels, Scored


@dataclass(frozen=True)
class CostedLabels:
    """Known labels, of which the cheapest is predicted. Probabilities stay as they are.

    ``costs`` has, for a label, the cost of a mistake in a row of that label, or for a pair (label,
    prediction) that of this mistake. Others cost 1, and a right prediction nothing.
    """

    labels: KnownLabels
    costs: Mapping[Any, float]

    def prediction(self, scores: list[float]) -> Any:
        """The predicted label of one row."""
        return self.predictions([Scored(np.array([scores]), len(self.labels))])[0].item()

    def predictions(self, pieces: list[Scored]) -> npt.NDArray[Any]:
        """The predicted label of every row; one that was not known at its row is not predicted."""
        logarithms = self.labels.log_probabilities(pieces)
        shares = np.exp(logarithms)
        expected = np.zeros_like(shares)
        for place, of_label in enumerate(self._table):  # in one order, so that batches do not matter
            expected += shares[:, place : place + 1] * of_label
        expected[np.isneginf(logarithms) & ~np.isneginf(logarithms).all(axis=1, keepdims=True)] = np.inf
        chosen: npt.NDArray[Any] = self.labels.classes[expected.argmin(axis=1)]
        return chosen

    @cached_property
    def _table(self) -> Floats:
        """The cost of each prediction (column) for each label (row), both sorted."""
        names = self.labels.classes.tolist()
        if self.labels.fixed:
            self._refuse_unknown(names)
        place = {name: i for i, name in enumerate(names)}
        table = 1.0 - np.eye(len(names))
        pairs = {key: cost for key, cost in self.costs.items() if isinstance(key, tuple)}
        for label, cost in self.costs.items():
            if label in place and label not in pairs:
                table[place[label]] *= cost
        for (label, predicted), cost in pairs.items():
            if label in place and predicted in place:
                table[place[label], place[predicted]] = cost
        return table

    def _refuse_unknown(self, names: list[Any]) -> None:
        for key in self.costs:
            for label in key if isinstance(key, tuple) else (key,):
                if label not in names:
                    raise ValueError(f"costs has {label!r}, which is not among the classes {names}.")


def checked_costs(costs: Any) -> Mapping[Any, float]:
    """The costs, checked."""
    if not isinstance(costs, Mapping):
        raise ValueError(f"costs must be None or a dict from labels to costs, got {shown(costs)}.")
    for key, cost in costs.items():
        if isinstance(key, tuple) and len(key) != 2:
            raise ValueError(
                f"costs must have labels or pairs (label, prediction) as keys, got {shown(key)}."
            )
        check.non_negative("costs", repr(key), cost)
    return costs
