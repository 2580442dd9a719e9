"""Metrics of probabilities: log loss, Brier score and expected calibration error."""

import numpy as np

from budgetron.evaluate.metrics.sums import Array, Rows, Sums, Values, plus, ratio

BINS = 15
EPSILON = float(np.finfo(np.float64).eps)


def columns(y: Array, right: Array, proba: Array) -> Rows:
    """What `Calibration` needs of each row; ``proba`` has a column for every class."""
    rows = np.arange(len(y))
    off = proba.copy()
    off[rows, y] -= 1
    squares = np.zeros(len(y))
    for column in off.T:  # one by one: a class of probability 0 does not change the bits
        squares += column * column
    return {
        "log_loss": -np.log(np.clip(proba[rows, y], EPSILON, 1 - EPSILON)),
        "brier": squares,
        "confidence": proba.max(axis=1),
        "right": right.astype(np.uint8),
    }


class Calibration(Sums):
    """Sums of the losses, and for 15 bins of the highest probability its sum and that of the right rows."""

    arrays = ("total", "log_loss", "brier", "bins")

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.total, self.log_loss, self.brier = np.zeros((3, 1))
        self.bins = np.zeros((2, BINS))

    def add(self, rows: Rows) -> None:
        weight, confidence = rows["weight"], rows["confidence"]
        self.total = plus(self.total, weight)
        self.log_loss = plus(self.log_loss, weight * rows["log_loss"])
        self.brier = plus(self.brier, weight * rows["brier"])
        place = np.clip(np.ceil(confidence * BINS).astype(np.intp) - 1, 0, BINS - 1)
        np.add.at(self.bins[0], place, weight * confidence)
        np.add.at(self.bins[1], place, weight * rows["right"])

    def grow(self, _: Array, classes: int) -> None:
        self.classes = classes

    def values(self) -> Values:
        """As scikit-learn, the Brier score of two classes is half the sum over both."""
        total = float(self.total[0])
        half = 2 if self.classes <= 2 else 1
        return {
            "log_loss": ratio(float(self.log_loss[0]), total),
            "brier": ratio(float(self.brier[0]) / half, total),
            "ece": ratio(float(np.abs(self.bins[0] - self.bins[1]).sum()), total),
        }
