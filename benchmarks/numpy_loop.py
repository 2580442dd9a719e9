"""One pass of this library against the same loop in plain NumPy: ratios, not seconds.

Run ``make bench``.
"""

from __future__ import annotations

import argparse
from functools import partial
from time import process_time

import numpy as np

from budgetron import (
    DualNearest,
    DualRemoval,
    Gaussian,
    Learner,
    Merge,
    OnlineClassifier,
    ProjectSmallest,
    RemoveSmallest,
    algorithms,
)


def stream(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two noisy classes that are not linearly separable."""
    r = np.random.default_rng(seed)
    X = r.standard_normal((n, d))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * r.standard_normal(n)
    return X, np.where(f > 0, 1.0, -1.0)


def plain_rbp(X: np.ndarray, y: np.ndarray, gamma: float, budget: int) -> int:
    """A Randomized Budget Perceptron in plain NumPy. Returns its mistakes."""
    r = np.random.default_rng(0)
    S, norms, alpha = np.empty((budget, X.shape[1])), np.empty(budget), np.empty(budget)
    n = mistakes = 0
    for x, label in zip(X, y, strict=True):
        xx = x @ x
        f = alpha[:n] @ np.exp(-gamma * (norms[:n] + xx - 2 * (S[:n] @ x)))
        if (1.0 if f >= 0 else -1.0) != label:
            mistakes += 1
            i = n if n < budget else r.integers(budget)
            S[i], norms[i], alpha[i] = x, xx, label
            n = min(n + 1, budget)
    return mistakes


def seconds(function, repeat: int = 3) -> tuple[float, int]:
    """The least time of several runs, and the result of the function."""
    times = []
    for _ in range(repeat):
        start = process_time()
        result = function()
        times.append(process_time() - start)
    return min(times), result


def native(name: str, X: np.ndarray, y: np.ndarray, gamma: float, **settings: object) -> int:
    """One progressive pass of an algorithm. Returns its mistakes."""
    model = OnlineClassifier(getattr(algorithms, name)(Gaussian(gamma), **settings), random_state=0)
    return int(np.sum(model.progressive_predict(X, y) != y))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=22)
    parser.add_argument("--budget", type=int, default=100)
    options = parser.parse_args()
    X, y = stream(options.rows, options.features)
    gamma, n = 1 / (2 * options.features), len(X)
    slow, mistakes = seconds(lambda: plain_rbp(X, y, gamma, options.budget))
    print(f"{n} rows, {options.features} features, budget {options.budget}, one thread")
    print(f"{'':<20}{'us/example':>12}{'NumPy loop / this':>20}{'mistakes':>11}")
    print(f"{'NumPy loop (rbp)':<20}{1e6 * slow / n:>12.2f}{1.0:>20.1f}{mistakes / n:>11.1%}")
    for name in ("rbp", "stoptron", "forgetron", "projectron", "bpa_s", "bogd", "bogd_pp"):
        fast, mistakes = seconds(lambda name=name: native(name, X, y, gamma, budget=options.budget))
        print(f"{name:<20}{1e6 * fast / n:>12.2f}{slow / fast:>20.1f}{mistakes / n:>11.1%}")
    maintenance(X, y, gamma)


def maintenance(
    X: np.ndarray, y: np.ndarray, gamma: float, budget: int = 500, repeat: int = 3
) -> dict[str, float]:
    """Print the cost of a row with maintenance, at a full budget of 500. Returns the ratios to removal."""
    nearest = partial(ProjectSmallest, neighbours=4)
    kinds = {"removal": RemoveSmallest, "nearest": nearest, "merging": Merge, "exact": ProjectSmallest}
    times = {}
    for name, kind in kinds.items():
        learner = algorithms.bsgd(Gaussian(gamma), budget=budget, lam=1e-4, maintenance=kind)
        times[name] = min(
            when_full(learner, X, y, 2 * budget) for _ in range(repeat if name != "exact" else 1)
        )
    print(f"\nbsgd, budget {budget}")
    print(f"{'':<20}{'us/example':>12}{'this / removal':>20}")
    for name, time in times.items():
        print(f"{name:<20}{1e6 * time:>12.2f}{time / times['removal']:>20.1f}")
    double_updating(X, y, gamma, budget)
    return {name: time / times["removal"] for name, time in times.items()}


def when_full(learner: Learner, X: np.ndarray, y: np.ndarray, full: int) -> float:
    """Seconds a row after the first rows, which fill the budget and allocate its memory."""
    model = OnlineClassifier(learner, random_state=0)
    model.progressive_predict(X[:full], y[:full])
    start = process_time()
    model.progressive_predict(X[full:], y[full:])
    return (process_time() - start) / (len(X) - full)


def double_updating(X: np.ndarray, y: np.ndarray, gamma: float, budget: int) -> None:
    """Print the cost of double updating relative to the Randomized Budget Perceptron."""
    plain, _ = seconds(lambda: native("rbp", X, y, gamma, budget=budget))
    print(f"\nbduol, budget {budget}")
    print(f"{'':<20}{'us/example':>12}{'this / rbp':>20}")
    for kind in (DualNearest, DualRemoval):
        time, _ = seconds(lambda k=kind: native("bduol", X, y, gamma, budget=budget, maintenance=k))
        print(f"{kind.__name__:<20}{1e6 * time / len(X):>12.2f}{time / plain:>20.1f}")


if __name__ == "__main__":
    main()
