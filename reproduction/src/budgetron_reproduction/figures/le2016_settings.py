"""The runs of both figures of Le et al. 2016: SGD, BSGD and NBSGD with the same settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from budgetron.learners.algorithms import bsgd, nbsgd, sgd
from budgetron.parts.kernels import Gaussian
from budgetron.plots import Line
from budgetron_reproduction.preparation import Rows, prepared
from budgetron_reproduction.printed import table
from budgetron_reproduction.threads import threads

K, LAM = Gaussian(1.0), 2.0**-8
"""From the paper's grids: the gamma with the best accuracy of all three, and the smallest lam."""
ORDERS, POINTS = 3, 15
SETTINGS = (
    "a9a, hinge loss, Gaussian kernel with γ = 1, λ = 2^-8; BSGD has a budget of a tenth of the rows, at "
    "which maintenance of NBSGD begins; β is 0.6 of the rows."
)
NAMES = ("sgd", "bsgd", "nbsgd")

Floats = npt.NDArray[np.float64]
T = TypeVar("T")


def learners(n: int) -> dict[str, Any]:
    """The three learners, for n rows."""
    B = n // 10
    return {
        "sgd": sgd(K, lam=LAM),
        "bsgd": bsgd(K, budget=B, lam=LAM),
        "nbsgd": nbsgd(K, budget=B, beta=0.6 * n, lam=LAM),
    }


def rows_of(dataset: str, order: int, n: int) -> tuple[Rows, Rows]:
    """The first n training rows of a random order, and the test rows."""
    what = table("le2016", 3)
    rows = prepared(what, what.sources[dataset])
    (X, y), testing = rows.order(order), rows.testing
    assert testing is not None
    return (X[:n], y[:n]), testing


def recipe(dataset: str, n: int) -> object:
    """Everything that the runs over n rows depend on except the rows."""
    return table("le2016", 3).sources[dataset], learners(n), n, ORDERS, POINTS


def over_orders(one: Callable[[int], T], n_jobs: int) -> list[T]:
    """The results of ``one`` for each order, each computed in one thread."""
    with threadpool_limits(1), ThreadPoolExecutor(threads(n_jobs)) as pool:
        return list(pool.map(one, range(ORDERS)))


def line(name: str, x: Any, y: Any) -> Line:
    """A line without deviations."""
    return Line(name, np.asarray(x, dtype=float), np.asarray(y), np.zeros(len(y)))


def said_of(values: Mapping[str, float], digits: str = ".3g") -> str:
    """Values by name, as text."""
    return ", ".join(f"{name} {value:{digits}}" for name, value in values.items())
