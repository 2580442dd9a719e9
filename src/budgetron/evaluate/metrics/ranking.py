"""The area under the ROC curve in bounded memory: histograms of scores."""

import numpy as np

from budgetron.evaluate.metrics.sums import Array, Rows, Sums, Values, plus

_SMALLEST, _LARGEST = 2.0**-30, 2.0**20
_KEPT = 48  # the bits below are dropped: sign, exponent and four digits of a double remain
_FIRST = int(np.float64(_SMALLEST).view(np.int64) >> _KEPT)
_HALF = int(np.float64(_LARGEST).view(np.int64) >> _KEPT) - _FIRST
BINS = 2 * _HALF + 1


def bins_of(scores: Array) -> Array:
    """The bin of each score.

    The bins are 16 to an octave, from 2^-30 to 2^20 and symmetric around 0: their width is 1/32 to 1/16 of
    the score. Smaller scores count as 0, larger ones as the largest.
    """
    size = np.abs(np.ascontiguousarray(scores, dtype=np.float64))
    place = np.clip((size.view(np.int64) >> _KEPT) - (_FIRST - 1), 0, _HALF)
    bins: Array = np.where(scores < 0, _HALF - place, _HALF + place).astype(np.int16)
    return bins


def lowest_scores() -> Array:
    """The lowest score, in size, of every bin."""
    places = np.arange(_FIRST, _FIRST + _HALF, dtype=np.int64)
    size = (places << _KEPT).view(np.float64)
    return np.concatenate([-size[::-1], [0.0], size])


def log_odds(proba: Array) -> Array:
    """log(p / (1 - p)), a scale on which probabilities near 0 and 1 stay apart."""
    with np.errstate(divide="ignore"):
        return np.log(proba) - np.log1p(-proba)


class Ranking(Sums):
    """For each class a histogram of its score over the rows of the class, and one over the others."""

    arrays = ("counts", "total")

    def __init__(self, classes: int) -> None:
        self.counts = np.zeros((2, classes, BINS))
        self.total = np.zeros(1)

    def add(self, rows: Rows) -> None:
        y, bins, weight = rows["y"], rows["bins"], rows["weight"]
        classes = np.arange(bins.shape[1])
        of_class = (y[:, None] == classes).astype(np.intp)
        places = (of_class * len(classes) + classes) * BINS + bins
        np.add.at(self.counts.reshape(-1), places.ravel(), np.repeat(weight, len(classes)))
        self.total = plus(self.total, weight)

    def grow(self, places: Array, classes: int) -> None:
        """A new class had the lowest score in all rows so far."""
        counts = np.zeros((2, classes, BINS))
        counts[0, :, 0] = self.total
        counts[:, places] = self.counts
        self.counts = counts

    def found_and_seen(self) -> tuple[Array, Array]:
        """For each class, from the highest score down: the weight of its rows so far, and of all rows."""
        others, members = self.counts[:, :, ::-1]
        found = np.cumsum(members, axis=1)
        return found, found + np.cumsum(others, axis=1)

    def values(self) -> Values:
        """The mean over the classes that have rows and are not alone; ties count half."""
        others, members = self.counts
        below = np.cumsum(others, axis=1) - others / 2
        pairs = members.sum(axis=1) * others.sum(axis=1)
        areas = (members * below).sum(axis=1)[pairs > 0] / pairs[pairs > 0]
        return {"auc": float(areas.mean()) if len(areas) else None}
