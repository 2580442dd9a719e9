"""AVM beside BSGD with merging, at equal numbers of support vectors: the error of one pass.

``python -m benchmarks.approximation`` takes about three minutes. Both learners get the same grid of gamma
and lambda, and the smallest error on the grid is printed. For each pair, delta is found by bisection
such that AVM ends with about the budget of support vectors on the first permutation.
"""

from __future__ import annotations

import argparse
from itertools import product
from time import perf_counter

import numpy as np

from budgetron import Gaussian, Learner, Merge, OnlineClassifier, avm, bsgd
from tests.helpers.data_sets import load

GAMMAS = {"a9a.train": (0.01, 0.05), "ijcnn1.train": (0.3, 1.0, 3.0)}
LAMBDAS = (1e-2, 1e-3, 1e-4, 1e-5)


def run(learner: Learner, X: np.ndarray, y: np.ndarray) -> tuple[float, int, float]:
    """The share of mistakes, the number of support vectors, and the seconds."""
    model = OnlineClassifier(learner)
    began = perf_counter()
    mistakes = float((model.progressive_predict(X, y) != y).mean())
    return mistakes, model.n_support_, perf_counter() - began


def fitting_delta(kernel: Gaussian, lam: float, budget: int, X: np.ndarray, y: np.ndarray) -> float:
    """The delta with which AVM ends nearest to the budget; distances of indicators leave few sizes."""
    low, high = 0.0, 2 * float(np.sqrt((X**2).sum(1).max()))
    tried = {}
    for _ in range(12):
        delta = (low + high) / 2
        tried[delta] = run(avm(kernel, delta=delta, lam=lam), X, y)[1]
        if abs(tried[delta] - budget) <= 0.05 * budget:
            break
        low, high = (delta, high) if tried[delta] > budget else (low, delta)
    return min(tried, key=lambda delta: abs(tried[delta] - budget))


def best(name: str, budget: int, permutations: int) -> dict[str, tuple[float, str]]:
    """The smallest mean error of either learner over the grid of gamma and lambda, and its line."""
    X, y = load(name)
    orders = [np.random.default_rng(seed).permutation(len(y)) for seed in range(permutations)]
    found: dict[str, tuple[float, str]] = {}
    for gamma, lam in product(GAMMAS[name], LAMBDAS):
        kernel = Gaussian(gamma)
        delta = fitting_delta(kernel, lam, budget, X[orders[0]], y[orders[0]])
        learners = {
            "avm": avm(kernel, delta=delta, lam=lam),
            "bsgd": bsgd(kernel, budget=budget, lam=lam, maintenance=Merge),
        }
        for label, learner in learners.items():
            runs = np.array([run(learner, X[order], y[order]) for order in orders])
            error, size, seconds = runs.mean(axis=0)
            line = (
                f"{name:<13} B={budget:<5}{label:<6}{error:.2%} +- {runs[:, 0].std(ddof=1):.2%}  "
                f"{size:.0f} support vectors  {seconds:.2f} s  gamma={gamma:g} lam={lam:g}"
            ) + (f" delta={delta:.2f}" if label == "avm" else "")
            found[label] = min(found.get(label, (1.0, "")), (error, line))
    return found


def main() -> None:
    """Print one line for each data set, budget and learner: means over the permutations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--permutations", type=int, default=3)
    parser.add_argument("--data", nargs="+", default=list(GAMMAS))
    options = parser.parse_args()
    for name, budget in product(options.data, options.budgets):
        for _, line in best(name, budget, options.permutations).values():
            print(line, flush=True)


if __name__ == "__main__":
    main()
