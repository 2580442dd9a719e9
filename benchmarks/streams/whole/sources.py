"""The whole streams, and the streams that nobody looked at while the default was made.

A stream is made once and kept in build/streams/whole as .npz. Data sets need budgetron, and some generators
need river. The two are in different environments; all other code reads the kept files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.streams.data import Stream, csv_rows
from benchmarks.streams.whole import generators as g

KEPT = Path(__file__).parents[3] / "build" / "streams" / "whole"
Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Source:
    """How a stream is made: ``make`` returns rows, and labels (whole numbers) or targets (floats)."""

    make: Callable[[], Rows]
    needs: str = ""
    """"river", "budgetron" or nothing: what must be installed to make it."""


def csv_file(name: str) -> Rows:
    """A CSV file of the data folder, in its order. The last column is the label."""
    from budgetron.datasets.folders import data_folder

    X, y = csv_rows(data_folder() / f"{name}.csv.xz", None)
    return X, _ranks(y)


def svm(
    name: str, *parts: str, rows: int | None = None, order: int | None = 0, targets: bool = False
) -> Rows:
    """The given parts of a data set, one after the other; with a seed ``order``, shuffled."""
    from scipy import sparse

    from budgetron import datasets

    pieces = [datasets.load(name, part) for part in parts or ("whole",)]
    columns = max(X.shape[1] for X, _ in pieces)
    for X, _ in pieces:
        X.resize(X.shape[0], columns)
    X = sparse.vstack([X for X, _ in pieces], format="csr")
    y = np.concatenate([y for _, y in pieces])
    chosen = np.arange(len(y)) if order is None else np.random.default_rng(order).permutation(len(y))
    chosen = chosen[:rows]
    y = y[chosen]
    return X[chosen].toarray(), y.astype(np.float64) if targets else _ranks(y)


def _ranks(y: np.ndarray) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1].astype(np.int64)


def _file(name: str, *parts: str, **how: object) -> Source:
    return Source(partial(svm, name, *parts, **how), "budgetron")


def _river(name: str) -> Source:
    return Source(partial(g.by_river, name), "river")


_BOTH = ("train", "test")
WHOLE: dict[str, Source] = {
    "elec": Source(partial(csv_file, "elec"), "budgetron"),
    "weather": Source(partial(csv_file, "weather"), "budgetron"),
    "covtype": _file("covtype", order=None),
    "covtype shuffled": _file("covtype", rows=200_000),
    "a9a": _file("a9a", *_BOTH),
    "ijcnn1": _file("ijcnn1", *_BOTH),
    "cod-rna": _file("cod-rna", *_BOTH, rows=200_000),
    "letter": _file("letter", *_BOTH),
    "w8a": _file("w8a", *_BOTH),
    "skin": _file("skin_nonskin"),
    "shuttle": _file("shuttle", *_BOTH),
    "kddcup99": _file("kddcup99_10pct", rows=100_000),
    "Agrawal": _river("Agrawal"),
    "SEA": _river("SEA"),
    "LED": _river("LED"),
    "Hyperplane": _river("Hyperplane"),
    "RBF slow drift": _river("RBF slow drift"),
    "RBF fast drift": _river("RBF fast drift"),
    "random tree": _river("random tree"),
    "RBF, 500 centres": _river("RBF, 500 centres"),
    "poker hands": Source(g.poker_hands),
    "clusters": Source(partial(g.clusters, seed=1, count=400, columns=8, classes=4, spread=0.08)),
    "checkerboard": Source(partial(g.checkerboard, seed=2, cells=8, relevant=2, columns=6, noise=0.02)),
    "XOR of three": Source(partial(g.xor, seed=3, relevant=(2, 7, 11), columns=20, noise=0.02)),
    "pairs of codes": Source(partial(g.code_rules, seed=4, columns=8, codes=12, rules=((0, 1), (2, 5)))),
    "cadata": _file("cadata", targets=True),
    "casp": _file("casp", targets=True),
    "parkinsons": _file("parkinsons", targets=True),
}
"""The whole streams of the study from which the default was built, by name, in the order of the tables."""
MADE = (
    "RBF, 500 centres",
    "poker hands",
    "clusters",
    "checkerboard",
    "XOR of three",
    "pairs of codes",
)
"""Streams made on purpose, with local rules; means are given with and without them."""

_NEW = partial(_file, order=1)
UNUSED: dict[str, Source] = {
    "mushrooms": _NEW("mushrooms"),
    "phishing": _NEW("phishing"),
    "splice": _NEW("splice", *_BOTH),
    "dna": _NEW("dna", *_BOTH),
    "mnist": _NEW("mnist", "test"),
    "german": _NEW("german"),
    "svmguide3": _NEW("svmguide3", "train"),
    "RBF, 8 classes": _river("RBF, 8 classes"),
    "deep random tree": _river("deep random tree"),
    "Agrawal, five rules": _river("Agrawal, five rules"),
    "Hyperplane, fast": _river("Hyperplane, fast"),
    "LED, noisy": _river("LED, noisy"),
    "SEA, twice": _river("SEA, twice"),
    "waveform": _river("waveform"),
    "mixed": _river("mixed"),
    "sine": _river("sine"),
    "checkerboard of cubes": Source(
        partial(g.checkerboard, seed=101, cells=5, relevant=3, columns=8, noise=0.05)
    ),
    "150 clusters": Source(partial(g.clusters, seed=102, count=150, columns=12, classes=6, spread=0.12)),
    "triples of codes": Source(
        partial(g.code_rules, seed=103, columns=10, codes=6, rules=((1, 4, 8), (3, 6)), classes=3)
    ),
    "housing": _NEW("housing", targets=True),
    "abalone": _NEW("abalone", targets=True),
    "Friedman, gradual": _river("Friedman, gradual"),
}
"""Streams that took no part in the design, fixed before anybody saw a result. They are reported apart."""
SEEN_SHORT = ("mnist", "housing", "abalone")
"""Those of `UNUSED` whose data were looked at earlier, in another order or with fewer rows."""

SOURCES = {**WHOLE, **UNUSED}


def names(group: str) -> tuple[str, ...]:
    """The streams of a group: "whole", "unused" or "all"."""
    return tuple({"whole": WHOLE, "unused": UNUSED, "all": SOURCES}[group])


def available(name: str) -> Stream | None:
    """A stream; None, with a message, if it cannot be made here."""
    try:
        return load(name)
    except (ImportError, FileNotFoundError, ValueError) as error:
        print(f"{name} is left out: {error}")
        return None


def load(name: str) -> Stream:
    """A stream, from the kept file or made now."""
    path = KEPT / f"{name.replace(',', '').replace(' ', '_')}.npz"
    if not path.exists():
        X, y = SOURCES[name].make()
        path.parent.mkdir(parents=True, exist_ok=True)
        partial_file = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(partial_file, X=X, y=y)
        partial_file.replace(path)
    with np.load(path) as kept:
        X, y = np.ascontiguousarray(kept["X"], dtype=np.float64), kept["y"]
    labels = np.issubdtype(y.dtype, np.integer)
    return Stream(name, X, y, max(2, int(y.max()) + 1) if labels else 0)
