"""Record: the counts of a run after a number of rows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Record:
    """The counts of a run after a number of rows. ``Record(**record.as_dict())`` is an equal record.

    Attributes
    ----------
    rows : int
        The number of rows predicted so far.
    mistakes : int or None
        The number of wrong predictions; None in regression.
    loss : float or None
        The sum of the squared errors; None in classification.
    support_vectors : int
        The present number of support vectors.
    seconds : float
        The processor time spent so far on checking, predicting and learning rows.
    memory_bytes : int
        The memory of the native model.
    metrics : dict
        ``metrics["running"]`` has the `Metrics` of all rows by name, ``metrics["window"]`` those of the
        last ``metrics["window"]["rows"]`` rows. An undefined metric is None.
    time : float or None
        The time of the last row, in seconds since 1970, if rows have times.

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
    metrics: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict, hash=False)
    time: float | None = None

    @property
    def error(self) -> float:
        """The number of mistakes, or in regression the sum of the squared errors."""
        return float(self.loss if self.mistakes is None else self.mistakes)  # type: ignore[arg-type]

    @property
    def rate(self) -> float:
        """Mistakes per row, or in regression the mean squared error."""
        return self.error / self.rows

    def as_dict(self) -> dict[str, Any]:
        """The fields as a dict, for JSON."""
        return asdict(self)
