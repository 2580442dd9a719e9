"""Metrics of labels: how often each class was predicted for each class."""

import numpy as np

from budgetron.evaluate.metrics.sums import Array, Rows, Sums, Values, plus, ratio

MOST_CLASSES = 50
"""The confusion matrix is kept for at most this many classes; the metrics need only its margins."""


class Confusion(Sums):
    """The weight of the rows of each class, of each predicted class, and of the right predictions."""

    arrays = ("true", "predicted", "right", "matrix", "repeated")

    def __init__(self, classes: int) -> None:
        self.true, self.predicted, self.right = np.zeros((3, classes))
        side = classes if classes <= MOST_CLASSES else 0
        self.matrix = np.zeros((side, side))
        self.repeated = np.zeros(1)

    def add(self, rows: Rows) -> None:
        y, predicted, weight = rows["y"], rows["predicted"], rows["weight"]
        right = y == predicted
        np.add.at(self.true, y, weight)
        np.add.at(self.predicted, predicted, weight)
        np.add.at(self.right, y, weight * right)
        if len(self.matrix):
            np.add.at(self.matrix.reshape(-1), y * len(self.matrix) + predicted, weight)
        self.repeated = plus(self.repeated, weight * rows["repeats"])

    def grow(self, places: Array, classes: int) -> None:
        grown = Confusion(classes)
        for name in ("true", "predicted", "right"):
            getattr(grown, name)[places] = getattr(self, name)
        if len(grown.matrix):
            grown.matrix[np.ix_(places, places)] = self.matrix
        self.__dict__ = vars(grown) | {"repeated": self.repeated}

    def values(self) -> Values:
        true, predicted, right = self.true, self.predicted, self.right
        total = float(true.sum())
        wrong = total - float(right.sum())
        return {
            "rate": ratio(wrong, total),
            "accuracy": ratio(float(right.sum()), total),
            "balanced_accuracy": _mean(right[true > 0], true[true > 0]),
            "f1": self._f1(),
            "kappa": _kappa(wrong, total - float((true * predicted).sum()) / total if total else 0.0),
            "kappa_temporal": _kappa(wrong, total - float(self.repeated[0])),
        }

    @property
    def mistakes(self) -> int:
        """The weight of the wrong predictions, rounded."""
        return round(float(self.true.sum() - self.right.sum()))

    def recall(self) -> list[float | None]:
        """The share of the rows of each class that were predicted right; None for a class without rows."""
        return [ratio(*pair) for pair in zip(self.right.tolist(), self.true.tolist(), strict=True)]

    def precision(self) -> list[float | None]:
        """The share of the predictions of each class that were right; None for a class never predicted."""
        return [ratio(*pair) for pair in zip(self.right.tolist(), self.predicted.tolist(), strict=True)]

    def _f1(self) -> float | None:
        """As scikit-learn: of the second class if there are two, else the mean over the classes seen."""
        both = self.true + self.predicted
        if len(both) == 2 and both.any():
            return 2 * float(self.right[1]) / float(both[1]) if both[1] else 0.0
        return _mean(2 * self.right[both > 0], both[both > 0])


def _mean(a: Array, b: Array) -> float | None:
    return float(np.mean(a / b)) if len(b) else None


def _kappa(wrong: float, chance: float) -> float | None:
    """1 - wrong / chance: the weight of the mistakes relative to those of a predictor by chance."""
    share = ratio(wrong, chance)
    return None if share is None else 1 - share
