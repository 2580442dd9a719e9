"""The streams: data sets in their own order or shuffled, and river's generators with drift.

A stream is made once for every number of rows, and kept in build/streams as .npz. Data sets need budgetron,
generators need river. The two are in different environments; all other code reads the kept files.
"""

from __future__ import annotations

import csv
import lzma
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

KEPT = Path(__file__).parents[2] / "build" / "streams"
SEED = 0


@dataclass(frozen=True)
class Stream:
    """Dense rows X, and labels 0, 1, ... or targets y. ``classes`` is 0 for targets."""

    name: str
    X: np.ndarray
    y: np.ndarray
    classes: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.y)


IN_ORDER = {"elec": "elec", "weather": "weather", "covtype": "covtype"}
SHUFFLED = {
    "covtype shuffled": "covtype",
    "a9a": "a9a",
    "ijcnn1": "ijcnn1",
    "cod-rna": "cod-rna",
    "letter": "letter",
    "w8a": "w8a",
    "skin": "skin_nonskin",
    "shuttle": "shuttle",
    "kddcup99": "kddcup99_10pct",
    "poker": "poker",
}
TARGETS = ("housing", "abalone", "cadata", "casp", "parkinsons")
GENERATED = (
    "SEA abrupt",
    "SEA gradual",
    "Agrawal abrupt",
    "Agrawal gradual",
    "RBF slow drift",
    "RBF fast drift",
    "Hyperplane",
    "LED abrupt",
    "LED gradual",
)
LABELS = (*IN_ORDER, *SHUFFLED, *GENERATED)
"""The streams with labels."""
NAMES = (*LABELS, *TARGETS)
"""All streams, in the order of the table."""
LENGTHS = {
    "elec": 45312,
    "weather": 18159,
    "letter": 15000,
    "shuttle": 43500,
    "poker": 25010,
    "a9a": 48842,
    "w8a": 64700,
    "housing": 506,
    "abalone": 4177,
    "cadata": 20640,
    "casp": 45730,
    "parkinsons": 5875,
}
"""The rows of the streams with fewer than 100,000."""
LABELS_ONLY = ("leveraging bagging",)
"""The learners that cannot learn targets."""


def rows_of(name: str, rows: int) -> int:
    """That number of rows, or all rows of a shorter stream."""
    return min(rows, LENGTHS.get(name, rows))


def available(name: str, rows: int) -> Stream | None:
    """The first rows of a stream; None, with a message, if its file or river is missing."""
    try:
        return load(name, rows)
    except (ImportError, FileNotFoundError, ValueError) as error:
        print(f"{name} is left out: {error}")
        return None


def load(name: str, rows: int) -> Stream:
    """The first rows of a stream, from the kept file or made now."""
    path = KEPT / f"{name.replace(' ', '_')}.{rows}.npz"
    if not path.exists():
        make = generated if name in GENERATED else from_file
        X, y = make(name, rows)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.npz")
        np.savez_compressed(partial, X=X, y=y)
        partial.replace(path)
    with np.load(path) as kept:
        return stream(name, kept["X"], kept["y"])


def stream(name: str, X: np.ndarray, y: np.ndarray) -> Stream:
    """A stream whose labels, if it has labels, are replaced by their ranks."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    if name in TARGETS:
        return Stream(name, X, np.ascontiguousarray(y, dtype=np.float64), 0)
    labels, ranks = np.unique(y, return_inverse=True)
    return Stream(name, X, ranks, max(2, len(labels)))


def from_file(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a data set of the data folder, shuffled unless the order is the point of it."""
    from budgetron import datasets
    from budgetron.datasets.folders import data_folder

    if name in ("elec", "weather"):
        X, y = csv_rows(data_folder() / f"{name}.csv.xz", rows)
        return X, y
    file = {**IN_ORDER, **SHUFFLED}.get(name, name)
    X, y = datasets.load(file, "train" if file == "poker" else None)
    if name in IN_ORDER:
        chosen = np.arange(min(rows, len(y)))
    else:
        chosen = np.random.default_rng(SEED).permutation(len(y))[:rows]
    return X[chosen].toarray(), y[chosen]


def csv_rows(path: Path, rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The first rows, or all, of a CSV file with a header whose last column is the label."""
    with lzma.open(path, "rt", encoding="utf-8") as text:
        stop = None if rows is None else rows + 1
        table = np.array([*islice(csv.reader(text), 1, stop)], dtype=np.float64)
    return table[:, :-1], table[:, -1]


def generated(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one of river's generators. The centre of a drift is after half of the rows."""
    pairs = list(islice(_generator(name, rows), rows))
    columns = list(pairs[0][0])
    X = [[x[column] for column in columns] for x, _ in pairs]
    return np.array(X, dtype=np.float64), np.array([int(y) for _, y in pairs])


def _generator(name: str, rows: int) -> Iterable[tuple[dict[Any, float], Any]]:
    from river.datasets import synth

    concepts: dict[str, tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]] = {
        "SEA": (synth.SEA, {"variant": 0, "noise": 0.1}, {"variant": 2, "noise": 0.1}),
        "Agrawal": (synth.Agrawal, {"classification_function": 0}, {"classification_function": 4}),
        "LED": (
            synth.LEDDrift,
            {"noise_percentage": 0.1, "irrelevant_features": True},
            {"noise_percentage": 0.1, "irrelevant_features": True, "n_drift_features": 7},
        ),
    }
    kind, _, how = name.partition(" ")
    if kind == "RBF":
        speed = 1e-4 if how == "slow drift" else 1e-3
        return synth.RandomRBFDrift(
            SEED, SEED, n_classes=5, n_features=10, n_centroids=50, change_speed=speed, n_drift_centroids=50
        )
    if kind == "Hyperplane":
        return synth.Hyperplane(SEED, n_features=10, n_drift_features=10, mag_change=0.001)
    make, settings, later = concepts[kind]
    before, after, half = make(seed=SEED, **settings), make(seed=SEED + 1, **later), rows // 2
    if how == "abrupt":  # river's ConceptDriftStream overflows for a drift that is narrow
        return chain(islice(before, half), after)
    return synth.ConceptDriftStream(before, after, position=half, width=rows // 5, seed=SEED)
