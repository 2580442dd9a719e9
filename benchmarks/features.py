"""FOGD beside scikit-learn's RBFSampler + SGDClassifier on the same rows, in one run on one thread.

The peer gets as many features as we have frequencies, and predicts before it learns: a batch of 1000 rows
at a time, and one row at a time (on fewer rows). Run ``python benchmarks/features.py``.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from time import perf_counter

import numpy as np
from files import load
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from budgetron import Gaussian, OnlineClassifier, fogd

GAMMA = 1 / 128  # sigma = 8


def ours(X: np.ndarray, y: np.ndarray, D: int) -> tuple[float, float]:
    """Seconds a row, and the share of mistakes."""
    model = OnlineClassifier(fogd(Gaussian(GAMMA), components=D, eta=0.5), random_state=0)
    start = perf_counter()
    predictions = model.progressive_predict(X, y)
    return (perf_counter() - start) / len(X), float(np.mean(predictions != y))


def peer(X: np.ndarray, y: np.ndarray, D: int, batch: int) -> tuple[float, float]:
    """The same of the peer, test then train."""
    sampler = RBFSampler(gamma=GAMMA, n_components=D, random_state=0).fit(X)
    model = SGDClassifier(random_state=0)
    model.partial_fit(sampler.transform(X[:1]), y[:1], classes=[-1, 1])
    mistakes, start = 0, perf_counter()
    for i in range(0, len(X), batch):
        Z = sampler.transform(X[i : i + batch])
        mistakes += int(np.sum(model.predict(Z) != y[i : i + batch]))
        model.partial_fit(Z, y[i : i + batch])
    return (perf_counter() - start) / len(X), mistakes / len(X)


def measure(rows: int | None = None, D: int = 400, repeat: int = 5) -> dict[str, tuple[float, float]]:
    """Seconds a row and mistakes, ours in both precisions and the peer's: the least of runs in turn."""
    parts = [load(f"ijcnn1.{part}", 22) for part in ("train", "test")]
    X = np.vstack([X.toarray() for X, _ in parts])[:rows]
    y = np.concatenate([y for _, y in parts])[:rows]
    single = X.astype(np.float32)
    runs = {
        "ours": lambda: ours(X, y, D),
        "ours, float32": lambda: ours(single, y, D),
        "batches": lambda: peer(X, y, D, 1000),
        "batches, float32": lambda: peer(single, y, D, 1000),
    }
    turns = [{name: run() for name, run in runs.items()} for _ in range(repeat)]
    times = {name: min(turn[name] for turn in turns) for name in runs}
    return times | {"one at a time": peer(X[:2000], y[:2000], D, 1)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--components", type=int, default=400)
    options = parser.parse_args()
    times = measure(options.rows, options.components)
    print(f"ijcnn1, {options.components} frequencies, one thread")
    print(f"{'':<20}{'us/row':>10}{'this / ours':>13}{'mistakes':>10}")
    for name, (seconds, mistakes) in times.items():
        print(f"{name:<20}{1e6 * seconds:>10.2f}{seconds / times['ours'][0]:>13.1f}{mistakes:>10.2%}")
    print(f"batches / ours, float32: {times['batches'][0] / times['ours, float32'][0]:.1f}")


if __name__ == "__main__":
    main()
