"""Which filters of the default need a full covariance of many inputs: ``python -m benchmarks.wide_rows``.

Prints, for every set, error and log loss of some choices relative to full covariances everywhere, with time
and memory; for targets the error is the squared one. Words choose the sets; all take about ten minutes. It
needs the data sets of the folder that BUDGETRON_DATA names.
"""

from __future__ import annotations

import lzma
import os
import sys
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_softmax
from sklearn.datasets import load_svmlight_file

from budgetron import OnlineClassifier, OnlineRegressor, auto
from budgetron.estimators.online import progressive

# The experts on full rows of Auto.composition; those named here keep variances of the inputs only.
FILTERS = {"inputs": 0, "widths": 1, "sparse": 2, "moving inputs": 7, "moving": 8, "slow inputs": 11}
CHOICES: dict[str, set[str]] = {
    "full": set(),
    "without sparse": {"sparse"},
    "without sparse, widths": {"sparse", "widths"},
    "diagonal": set(FILTERS),
}
Rows = tuple[Any, np.ndarray]


def _open(name: str, suffix: str) -> lzma.LZMAFile:
    return lzma.open(Path(os.environ["BUDGETRON_DATA"]) / f"{name}{suffix}.xz")


def _load(names: str, columns: int, rows: int = 10_000) -> Rows:
    parts = []
    for name in names.split():
        with _open(name, ".svm") as file:
            parts.append(load_svmlight_file(file, n_features=columns))
    X, y = sparse.vstack([X for X, _ in parts]).tocsr(), np.concatenate([y for _, y in parts])
    chosen = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[chosen], y[chosen]


def _products(data: Rows, degree: int, columns: int) -> Rows:
    """The last columns, standardised, and all their products up to a degree."""
    X, y = data
    dense = X.toarray()[:, -columns:]
    dense = (dense - dense.mean(axis=0)) / dense.std(axis=0)
    places = [p for k in range(1, degree + 1) for p in combinations_with_replacement(range(columns), k)]
    return np.stack([dense[:, p].prod(axis=1) for p in places], axis=1), y


def _windows(length: int) -> Rows:
    """Rows of elec with the rows and labels before them."""
    with _open("elec", ".csv") as file:
        rows = np.loadtxt(file, delimiter=",", skiprows=1)[:10_000]
    before = [np.vstack([np.repeat(rows[:1], k, axis=0), rows[:-k]]) for k in range(1, length + 1)]
    return np.hstack([rows[:, :-1], *before]), rows[:, -1]


def _words(columns: int) -> Rows:
    """Counts of words of eight topics."""
    r = np.random.default_rng(3)
    topics, y = r.dirichlet(np.full(columns, 0.05), 8), r.integers(0, 8, 10_000)
    common = r.dirichlet(np.full(columns, 0.5))
    return sparse.csr_matrix([r.multinomial(20, 0.3 * topics[c] + 0.7 * common) for c in y], dtype=float), y


def _mixed(columns: int = 500) -> Rows:
    """A linear target of columns that depend on each other."""
    r = np.random.default_rng(0)
    X = r.standard_normal((10_000, 50)) @ r.standard_normal((50, columns))
    X += 0.5 * r.standard_normal(X.shape)
    f = X @ r.standard_normal(columns)
    return X, f / f.std() + 0.3 * r.standard_normal(len(f))


TARGETS = {"parkinsons, cubes", "mixed"}
SETS: dict[str, Callable[[], Rows]] = {
    "a9a": lambda: _load("a9a.train a9a.test", 123),
    "dna": lambda: _load("dna.train dna.test", 180),
    "letter, squares": lambda: _products(_load("letter.train letter.test", 16), 2, 16),
    "w8a": lambda: _load("w8a.train w8a.test", 300),
    "windows of 60": lambda: _windows(60),
    "mixed": _mixed,
    "parkinsons, cubes": lambda: _products(_load("parkinsons", 20), 3, 14),
    "windows of 100": lambda: _windows(100),
    "mnist": lambda: _load("mnist.test", 780),
    "letter, cubes": lambda: _products(_load("letter.train letter.test", 16, 5000), 3, 16),
    "words": lambda: _words(1000),
}


def measure(X: Any, y: np.ndarray, targets: bool, diagonal: set[str]) -> np.ndarray:
    """Error, log loss, microseconds a row and bytes."""
    learner = auto().composition()
    for name, place in FILTERS.items():
        kind = 0 if name in diagonal else "full"
        learner = learner.set_params(**{f"learner__learner__{place}__rule__covariance": kind})
    began = process_time()
    if targets:
        regressor = OnlineRegressor(learner, random_state=0)
        error, loss = np.mean((regressor.progressive_predict(X, y) - y) ** 2), np.nan
        memory = regressor.memory_bytes_
    else:
        classifier, labels = OnlineClassifier(learner, random_state=0), np.unique(y)
        predicted, [scored] = progressive(classifier, X, y, None, labels)
        f = (
            scored.scores
            if scored.scores.shape[1] > 1
            else np.hstack([-scored.scores / 2, scored.scores / 2])
        )
        loss = -log_softmax(f, axis=1)[np.arange(len(y)), np.searchsorted(labels, y)].mean()
        error, memory = np.mean(predicted != y), classifier.memory_bytes_
    return np.array([error, loss, 1e6 * (process_time() - began) / len(y), memory])


def main(words: list[str]) -> None:
    """Print a line for every set and choice."""
    for name, rows in SETS.items():
        if words and not any(word in name for word in words):
            continue
        X, y = rows()
        full = None
        for choice, diagonal in CHOICES.items():
            now = measure(X, y, name in TARGETS, diagonal)
            full = now if full is None else full
            numbers = "  ".join(f"{ratio:6.3f}" for ratio in now / full)
            print(f"{name:18} {X.shape[1]:5}  {choice:23} {numbers}   {now[2]:6.1f} us", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
