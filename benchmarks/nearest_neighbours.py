"""`Neighbours` and river's KNNClassifier on the same rows, each predicted before it is learned.

Run ``python -m benchmarks.nearest_neighbours``: the error, and the processor time of a row, on 5,000 rows
of a generator of river and of elec, if the folder that BUDGETRON_DATA names has it. Then the time of a row
against the number of columns, of normal rows and of a random walk: on a walk near rows are found early.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from river import neighbors, preprocessing

from benchmarks.streams import data
from budgetron import Neighbours, OnlineClassifier, Standardised

ROWS, WINDOW, K = 5000, 1000, 3


def ours(X: Any, y: Any) -> tuple[float, float]:
    """The error in percent and the microseconds of a row, here."""
    model = OnlineClassifier(Standardised(Neighbours(WINDOW, K)), random_state=0)
    began = time.process_time()
    wrong = model.progressive_predict(X, y) != y
    return 100 * wrong.mean(), 1e6 * (time.process_time() - began) / len(y)


def theirs(X: Any, y: Any) -> tuple[float, float]:
    """The same for river, with all WINDOW rows compared."""
    knn = neighbors.KNNClassifier(n_neighbors=K, engine=neighbors.LazySearch(window_size=WINDOW))
    model, wrong = preprocessing.StandardScaler() | knn, 0
    rows = [dict(enumerate(map(float, x))) for x in X]
    began = time.process_time()
    for x, label in zip(rows, y.tolist(), strict=True):
        wrong += model.predict_one(x) != label
        model.learn_one(x, label)
    return 100 * wrong / len(y), 1e6 * (time.process_time() - began) / len(y)


def microseconds(X: Any) -> float:
    """The time of a row with a full window: the least of five runs."""
    y, taken = X[:, 0] > 0, []
    for _ in range(5):
        model = OnlineClassifier(Neighbours(WINDOW, K)).fit(X[:WINDOW], y[:WINDOW])
        began = time.process_time()
        model.partial_fit(X[WINDOW:], y[WINDOW:])
        taken.append(time.process_time() - began)
    return 1e6 * min(taken) / (len(X) - WINDOW)


def main() -> None:
    """Print both tables."""
    for stream in filter(None, (data.available(name, ROWS) for name in ("RBF fast drift", "elec"))):
        for who, run in (("Neighbours", ours), ("river", theirs)):
            error, taken = min(run(stream.X, stream.y) for _ in range(3))
            print(f"{stream.name}, {who}: {error:.1f} %, {taken:.1f} us a row")
    rng = np.random.default_rng(0)
    for columns in (10, 54, 300):
        X = rng.normal(size=(4000, columns))
        walk = 0.1 * X.cumsum(axis=0)
        print(f"{columns} columns: normal {microseconds(X):.1f} us, a walk {microseconds(walk):.1f} us")


if __name__ == "__main__":
    main()
