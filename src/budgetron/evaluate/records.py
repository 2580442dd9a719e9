"""What is known of a run after some rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Record:
    """A run after some rows; ``Record(**record.as_dict())`` is the same record.

    Attributes
    ----------
    rows : int
        How many rows have been predicted.
    mistakes : int or None
        How many of them wrongly; None in regression.
    loss : float or None
        The sum of their squared errors; None for labels.
    support_vectors : int
        How many the model has now.
    seconds : float
        The processor time spent learning so far, the checks of the rows included.
    memory_bytes : int
        The native memory of the model.

    Examples
    --------
    >>> from budgetron.evaluate import Record
    >>> record = Record(200, 31, None, 30, 0.01, 4096)
    >>> record.rate, record.as_dict()["mistakes"]
    (0.155, 31)
    """

    rows: int
    mistakes: int | None
    loss: float | None
    support_vectors: int
    seconds: float
    memory_bytes: int

    @property
    def error(self) -> float:
        """The mistakes, or in regression the sum of the squared errors."""
        return float(self.loss if self.mistakes is None else self.mistakes)  # type: ignore[arg-type]

    @property
    def rate(self) -> float:
        """Mistakes per row, or in regression the mean squared error."""
        return self.error / self.rows

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as JSON takes them."""
        return asdict(self)
