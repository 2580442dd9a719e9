"""The columns of a model as its user knows them, each with its slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.model.fitted import Fitted


@dataclass(frozen=True)
class Columns:
    """Names, and the slots of each; for arrays every slot is a column."""

    names: list[str]
    slots: list[list[int]] | None  # None: one each, in order
    fitted: Fitted

    @classmethod
    def of(cls, fitted: Fitted) -> Columns:
        """The columns that a model knows."""
        if fitted.encoding is not None:
            slots = fitted.encoding.slots
            return cls(list(slots), list(slots.values()), fitted)
        names = [] if fitted.names is None else [str(name) for name in fitted.names]
        return cls(names or [f"x{j}" for j in range(fitted.model.n_features)], None, fitted)

    def __len__(self) -> int:
        return len(self.names)

    def players(self, numbers: npt.NDArray[Any], differs: npt.NDArray[np.bool_]) -> list[list[int]]:
        """For each column the places of its slots that differ; ``numbers`` are the slots of the places."""
        if self.slots is not None:
            return [[slot for slot in slots if differs[slot]] for slots in self.slots]
        players: list[list[int]] = [[] for _ in self.names]
        for place in np.flatnonzero(differs).tolist():
            players[int(numbers[place])].append(place)
        return players

    def of_slot(self, j: int) -> list[int]:
        """The slots of column j."""
        return [j] if self.slots is None else self.slots[j]

    def values(self, row: npt.NDArray[Any]) -> list[Any]:
        """What a row has in each column: a number, a text, or None."""
        encoding = self.fitted.encoding
        if encoding is not None:
            return [encoding.value(row, name) for name in self.names]
        return [None if value != value else value for value in row.tolist()]
