"""Metrics of targets: MAE, RMSE, R^2 and pinball loss."""

import math
from collections.abc import Sequence

import numpy as np

from budgetron.evaluate.metrics.sums import Array, Rows, Sums, Values, plus, ratio


class Residuals(Sums):
    """Sums of the errors and of the targets.

    Targets are counted from the first one, which is subtracted: so the variance of large targets that
    hardly differ is not lost to rounding, and that of constant targets is exactly 0.
    """

    arrays = ("rows", "total", "first", "absolute", "squared", "targets", "squares", "pinballs")

    def __init__(self, quantiles: Sequence[float]) -> None:
        self.quantiles = tuple(quantiles)
        self.rows, self.total, self.first = np.zeros((3, 1))
        self.absolute, self.squared, self.targets, self.squares = np.zeros((4, 1))
        self.pinballs = np.zeros((len(self.quantiles), 1))

    def add(self, rows: Rows) -> None:
        y, weight = rows["y"], rows["weight"]
        if len(y) and not self.rows[0]:
            self.first = y[:1].copy()
        with np.errstate(over="ignore"):
            error, target = y - rows["predicted"], y - self.first
            self.rows = self.rows + len(y)
            self.total = plus(self.total, weight)
            self.absolute = plus(self.absolute, weight * np.abs(error))
            self.squared = plus(self.squared, weight * np.square(error))
            self.targets = plus(self.targets, weight * target)
            self.squares = plus(self.squares, weight * np.square(target))
            for i, quantile in enumerate(self.quantiles):
                self.pinballs[i] = plus(self.pinballs[i], weight * pinball(error, quantile))

    def values(self) -> Values:
        total, squared = float(self.total[0]), float(self.squared[0])
        mean_square = ratio(squared, total)
        pinballs = [ratio(loss, total) for loss in self.pinballs[:, 0].tolist()]
        return {
            "rate": mean_square,
            "mae": ratio(float(self.absolute[0]), total),
            "rmse": None if mean_square is None else math.sqrt(mean_square),
            "r2": self._r2(squared, total),
        } | dict(zip(map(name_of, self.quantiles), pinballs, strict=True))

    def _r2(self, squared: float, total: float) -> float | None:
        """As scikit-learn: None for less than two rows; for constant targets 1 if exact, else 0."""
        if self.rows[0] < 2:
            return None
        with np.errstate(all="ignore"):
            spread = float(self.squares[0] - np.square(self.targets[0]) / total)
        if math.isnan(spread):  # the squares are too large
            return None
        if spread <= 0:
            return 1.0 if squared == 0 else 0.0
        share = ratio(squared, spread)
        return None if share is None else 1 - share


def pinball(error: Array, quantile: float) -> Array:
    """The loss of a predicted quantile: an error above 0 costs ``quantile``, below 0 ``1 - quantile``."""
    return np.where(error >= 0, quantile * error, (quantile - 1) * error)


def name_of(quantile: float) -> str:
    """The name of the pinball loss of a quantile: "pinball" for the median, else "pinball:0.9"."""
    return "pinball" if quantile == 0.5 else f"pinball:{quantile:g}"
