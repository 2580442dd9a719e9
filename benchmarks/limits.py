"""The least time of a row on this machine: its multiplications at the peak, and its elementary functions.

Only the scores are counted, which every row needs: kernel row or features, and their product with the
coefficients. An update is extra, so an algorithm that updates often stays farther from its limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.clock import take_turns

SIDE, MANY = 512, 100_000


@dataclass(frozen=True)
class Work:
    """What the scores of one row take: fused multiplications, exponentials, pairs of sine and cosine."""

    products: int
    exponentials: int = 0
    turns: int = 0
    single: bool = False


@dataclass(frozen=True)
class Machine:
    """Microseconds of one product, one exponential, and one sine and cosine."""

    product: float
    exponential: float
    turn: float

    def limit(self, work: Work) -> float:
        """The least microseconds of a row; two numbers of single precision fit where one of double does."""
        sum_ = work.products * self.product + work.exponentials * self.exponential + work.turns * self.turn
        return sum_ / 2 if work.single else sum_


def kernel(budget: int, d: int, single: bool = False) -> Work:
    """A kernel row of the Gaussian, and one score."""
    return Work(budget * (d + 1), exponentials=budget, single=single)


def fourier(components: int, d: int, single: bool = False) -> Work:
    """Fourier features, and one score."""
    return Work(components * (d + 2), turns=components, single=single)


def work_of(name: str, d: int) -> Work | None:
    """The work of a line of the table: "rbp, B=100", "fogd, D=400, float32"; None if it names no size."""
    words = name.split(", ")
    single = "float32" in words
    sizes = {word[:2]: int(word[2:]) for word in words if word[:2] in ("B=", "D=")}
    if "B=" in sizes:
        return kernel(sizes["B="], d, single)
    return fourier(sizes["D="], d, single) if "D=" in sizes else None


def measure() -> Machine:
    """NumPy's product of matrices is the peak, its exp and sin are the functions; one thread."""
    r = np.random.default_rng(0)
    A, square = r.standard_normal((SIDE, SIDE)), np.empty((SIDE, SIDE))
    x, out = r.random(MANY), np.empty(MANY)

    def turn() -> None:
        np.sin(x, out=out)
        np.cos(x, out=out)

    runs: dict[str, Callable[[], Any]] = {
        "product": partial(np.matmul, A, A, square),
        "exp": partial(np.exp, x, out),
        "turn": turn,
    }
    seconds = take_turns(runs, 0.3).seconds
    return Machine(
        1e6 * seconds["product"] / SIDE**3, 1e6 * seconds["exp"] / MANY, 1e6 * seconds["turn"] / MANY
    )
