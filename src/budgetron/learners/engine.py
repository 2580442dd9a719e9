"""What learns: the object that a description builds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Engine(Protocol):
    """A model that learns rows in order. The C++ core has one for each learner; others may come.

    ``rows`` are native views of a block. Labels are -1 and +1 for one output, and codes for several.
    ``run`` and ``learn_one`` write the scores of each row from before its update. ``threads`` is how many
    threads a call may use; results do not depend on it. A single row ``x`` and its scores are vectors, or
    matrices of one row.
    """

    @property
    def outputs(self) -> int:
        """The number of scores of a row."""

    @property
    def rows_done(self) -> int:
        """The number of rows learned, or scored at weight 0."""

    @property
    def size(self) -> int:
        """The number of support vectors."""

    @property
    def memory_bytes(self) -> int:
        """The memory that it holds."""

    @property
    def has_deviations(self) -> bool:
        """Whether `deviations` are known."""

    def begin(self) -> None:
        """Prepare to learn the first row."""

    def run(self, rows: Any, y: Floats, weights: Floats | None, scores: Floats, threads: int = 1) -> int:
        """Learn the rows; the number learned is smaller if one is refused."""

    def scores(self, rows: Any, threads: int = 1) -> Floats:
        """The scores of the rows."""

    def deviations(self, rows: Any, threads: int = 1) -> Floats:
        """The standard deviation of each prediction."""

    @property
    def has_novelty(self) -> bool:
        """Whether `novelty` is known."""

    def novelty(self, rows: Any, threads: int = 1) -> Floats:
        """How unlike the learned rows each row is: larger numbers are more so."""

    def usual_novelty(self) -> Floats:
        """The same of the newest kept rows, each compared with the others; empty if none are kept."""

    def kept_rows(self) -> Floats:
        """The newest rows kept, or support vectors, from the newest; maybe of the first columns only."""

    def nearest(self, rows: Any, most: int) -> list[tuple[float, Any, float | None, list[float]]]:
        """The kept rows nearest to one row: distance, row, label if known, and share in each score."""

    def shares(self, rows: Any) -> Floats:
        """The share of each expert in the scores: rows x experts x outputs."""

    def learn_one(self, x: npt.NDArray[Any], y: float, scores: Floats | None, weight: float = 1.0) -> bool:
        """Learn one row; False, with nothing changed, if it is refused."""

    def score_one(self, x: npt.NDArray[Any], scores: Floats) -> bool:
        """Score one row; False if a score is not finite."""

    def learn_record(
        self, reader: Any, record: Any, y: float, scores: Floats | None, weight: float = 1.0
    ) -> bool:
        """Learn a dict; False, with nothing changed, if the reader cannot read it or it is refused."""

    def score_record(self, reader: Any, record: Any) -> list[float] | None:
        """The scores of a dict; None if the reader cannot read it or a score is not finite."""

    def widen(self, features: int, outputs: int) -> None:
        """Take more columns or outputs from now on."""

    def set_aside(self, columns: Sequence[int]) -> bool:
        """These columns, which the next `widen` brings, are parts of dates. Whether that matters to it."""

    def state_and_rows(self) -> tuple[dict[str, Any], int]:
        """Everything that learning changed, as named arrays, and ``rows_done`` at that moment."""

    def reordered_state(self, places: list[int]) -> dict[str, Any]:
        """The state if output c becomes output ``places[c]``; a single output changes sign."""

    def merged_fields(self) -> dict[str, str]:
        """How each named array is merged with those of other models."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take up such a state."""

    def hold(self) -> None:
        """Wait for the row being learned, and let nobody learn or read: a fork follows."""

    def release(self) -> None:
        """Go on in the process that forked."""

    def renew(self) -> None:
        """Go on in the forked process, where no other thread exists."""
