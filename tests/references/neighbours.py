"""Nearest neighbours among the last rows, plainly from their definition, to compare the library with.

Rows are stored in single precision, and squared distances are summed in it, column after column. Labels
are 0 .. k - 1; two classes have one output. If the window shortens, the one of
it, its half and its quarter that has the least error of late is looked at.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from tests.references.step import Array


def _nearest_first(found: tuple[np.float32, int]) -> tuple[np.float32, int]:
    distance, place = found
    return distance, -place


class Neighbours:
    """The last rows, with their labels and weights. ``classes`` is 0 for targets, and may grow."""

    def __init__(self, window: int, k: int, classes: int, shortens: bool = False) -> None:
        self.window, self.k, self.classes, self.first = window, k, classes, classes
        self.rows: list[Array] = []
        self.labels: list[float] = []
        self.weights: list[float] = []
        self.lengths = [ceil(window / 2**halved) for halved in range(3 if shortens else 1)]
        self.errors = [0.0] * len(self.lengths)  # of late

    def nearest(self, x: Array, newest: int) -> list[tuple[np.float32, int]]:
        """The squared distances and places of the nearest rows; of equal ones the later comes first."""
        distances = np.zeros(len(self.rows), dtype=np.float32)
        for stored, value in zip(np.transpose(self.rows), x.astype(np.float32)[:1024], strict=False):
            difference = stored - value
            distances += np.where(np.isnan(difference), np.float32(0), difference * difference)
        found = list(zip(distances, range(len(distances)), strict=True))
        return sorted(found[-newest:], key=_nearest_first)[: self.k]

    def counts(self, x: Array, newest: int) -> Array:
        """The weights of the classes among the nearest rows, or their mean target."""
        nearest = self.nearest(x, newest)
        farthest = float(nearest[-1][0]) if nearest else 0.0
        ratios = [float(d) / farthest if farthest > 0 else 0.0 for d, _ in nearest]
        places = [i for _, i in nearest]
        if self.classes == 0:
            votes = [self.weights[i] / (ratio + 0.05) for i, ratio in zip(places, ratios, strict=True)]
            total = sum(vote * self.labels[i] for i, vote in zip(places, votes, strict=True))
            return np.array([total / sum(votes) if votes else 0.0])
        counts = np.full(self.classes, 0.5 / self.first)
        for i, ratio in zip(places, ratios, strict=True):
            counts[int(self.labels[i])] += self.weights[i] / (ratio + 0.1) / 2
        return counts

    def score(self, x: Array) -> Array:
        """The score of every output."""
        counts = self.counts(x, self.lengths[int(np.argmin(self.errors))])
        if self.classes == 0:
            return counts
        logs = np.log(counts / (0.5 / self.first))
        if self.first > 2:
            return logs
        f = logs[1] - logs[0]
        later = np.maximum(0, logs[2:] - (logs[0] + logs[1]) / 2)
        return np.array([f]) if self.classes == 2 else np.append([-f / 2, f / 2], later)

    def learn(self, x: Array, y: float, weight: float = 1.0) -> None:
        """Count the errors, store a row, and drop the oldest if there are too many."""
        if weight == 0:
            return
        for i, length in enumerate(self.lengths):
            counts = self.counts(x, length)
            error = y - counts[0] if self.classes == 0 else 1 - counts[int(y)] / sum(counts)
            self.errors[i] += (error**2 - self.errors[i]) / self.window
        self.rows = [*self.rows, x.astype(np.float32)[:1024]][-self.window :]
        self.labels = [*self.labels, y][-self.window :]
        self.weights = [*self.weights, weight][-self.window :]
