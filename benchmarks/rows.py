"""The rows of the benchmarks: a data set in a fixed random order, or synthetic rows instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.numpy_loop import stream
from budgetron import datasets
from budgetron.streams import DataError


@dataclass(frozen=True)
class Data:
    """Rows X (CSR), labels y of -1 and +1, and a description of them."""

    name: str
    X: Any
    y: np.ndarray

    @property
    def dense(self) -> np.ndarray:
        """The rows as an array."""
        return np.ascontiguousarray(self.X.toarray())


def load(name: str, n_features: int) -> Data:
    """A shuffled data set; if its file is missing, synthetic rows as wide and about as sparse."""
    r = np.random.default_rng(0)
    try:
        X, y = datasets.load(name, "train")
    except DataError as error:
        print(f"{error} A synthetic stream stands in.")
        return _stand_in(n_features, r)
    order = r.permutation(len(y))
    return Data(name, X[order], y[order])


def _stand_in(n_features: int, r: np.random.Generator) -> Data:
    X, y = stream(30_000, n_features)
    if n_features > 100:
        X *= r.random(X.shape) < 13 / n_features
    return Data(f"synthetic ({n_features} features)", sparse.csr_matrix(X), y)


def noise(n: int, d: int, nonzeros: int | None = None, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Rows with random labels, so that any budget is soon full; CSR if ``nonzeros`` is given."""
    r = np.random.default_rng(seed)
    y = r.choice([-1.0, 1.0], n)
    if nonzeros is None:
        return r.standard_normal((n, d)), y
    columns = np.argpartition(r.random((n, d)), nonzeros, axis=1)[:, :nonzeros]
    columns.sort(axis=1)
    X = sparse.csr_matrix(
        (r.standard_normal(n * nonzeros), columns.ravel(), np.arange(0, n * nonzeros + 1, nonzeros)), (n, d)
    )
    return X, y
