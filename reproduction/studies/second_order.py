"""AROW on few Fourier features and the inputs, compared with the best results that the papers print.

One pass in one random order; each row is predicted, then learned. The features are 2 x 100 Fourier
features, the inputs and a constant. The width of the kernel is the median distance of the first rows, or
half of it.

Run ``python studies/second_order.py`` with BUDGETRON_DATA set to the folder of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist

from budgetron import AROW, Gaussian, Identity, Mapped, OnlineClassifier, RandomFourier, Stack, datasets


@dataclass(frozen=True)
class Study:
    """A data set, its preparation, and the results to compare with."""

    name: str
    standardised: bool
    share: float  # the width, as a share of the median distance
    limit: float  # the most mistakes allowed, in percent
    printed: float  # the best of the papers, with four times the features


STUDIES = (
    Study("cod-rna", True, 0.5, 4.5, 10.3),
    Study("ijcnn1", True, 0.5, 4.5, 9.1),
    Study("a9a", False, 1.0, 15.6, 17.4),
    Study("w8a", False, 1.0, 1.8, 2.4),
)


def rows(study: Study, seed: int = 0) -> tuple[Any, Any]:
    """The rows in a random order; dense if they are standardised."""
    X, y = datasets.load(study.name)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    return (standardised(X.toarray()) if study.standardised else X), y


def standardised(X: np.ndarray) -> np.ndarray:
    """Standardise each row by the rows before it; a column without variance so far is 0."""
    X = X - X[0]  # a shift, so that the squares do not cancel
    n = np.arange(len(X))[:, None]
    before = np.maximum(n, 1)
    mean = (np.cumsum(X, axis=0) - X) / before
    variance = (np.cumsum(X**2, axis=0) - X**2) / before - mean**2
    scale = np.sqrt(np.where(variance > 1e-12, variance, np.inf))
    return (X - mean) / scale


def width(X: Any, share: float, first: int = 200) -> float:
    """A share of the median distance between the first rows."""
    head = X[:first].toarray() if sparse.issparse(X) else X[1 : first + 1]
    return share * float(np.median(pdist(head)))


def run(study: Study, seed: int = 0) -> tuple[float, float, float]:
    """Mistakes in percent, the width, and the seconds of the pass."""
    X, y = rows(study, seed)
    sigma = width(X, study.share)
    features = Stack(RandomFourier(Gaussian.of_width(sigma), components=100), Identity())
    model = OnlineClassifier(Mapped(features, AROW(r=1.0)), random_state=seed)
    start = perf_counter()
    predictions = model.progressive_predict(X, y)
    return 100 * float(np.mean(predictions != y)), sigma, perf_counter() - start


def main() -> None:
    """Print the table."""
    print(f"{'':<10}{'rows':>8}{'width':>8}{'mistakes':>10}{'to beat':>9}{'papers':>8}{'us/row':>8}")
    for study in STUDIES:
        mistakes, sigma, seconds = run(study)
        n = rows(study)[1].size
        print(
            f"{study.name:<10}{n:>8}{sigma:>8.2f}{mistakes:>9.2f}%{study.limit:>8}%{study.printed:>7}%"
            f"{1e6 * seconds / n:>8.1f}"
        )


if __name__ == "__main__":
    main()
