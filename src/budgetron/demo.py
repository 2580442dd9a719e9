"""A first real job: several learners over handwritten digits, in the online protocol.

Run ``python -m budgetron.demo``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits

from budgetron import algorithms
from budgetron.estimators import OnlineClassifier
from budgetron.kernels import Gaussian
from budgetron.learners import Learner


def learners(budget: int = 100) -> dict[str, Learner]:
    """What competes: two parents without a budget, and what fits into it."""
    k = Gaussian.of_width(8)
    return {
        "perceptron": algorithms.perceptron(k),
        "ogd": algorithms.ogd(k, eta=0.5),
        "stoptron": algorithms.stoptron(k, budget=budget),
        "rbp": algorithms.rbp(k, budget=budget),
        "forgetron": algorithms.forgetron(k, budget=budget),
        "budget_perceptron": algorithms.budget_perceptron(k, budget=budget),
        "projectron": algorithms.projectron(k, budget=budget),
        "bpa_s": algorithms.bpa_s(k, budget=budget),
        "bpa_nn": algorithms.bpa_nn(k, budget=budget),
        "bogd": algorithms.bogd(k, budget=budget, eta=0.5),
    }


@dataclass
class Score:
    """What one learner has shown so far, over several orders of the same rows."""

    name: str
    mistakes: list[float] = field(default_factory=list)
    support_vectors: int = 0
    memory: int = 0
    rows: int = 0
    seconds: float = 0.0

    def row(self) -> str:
        """A line of the table."""
        rate = f"{np.mean(self.mistakes):5.1f} ± {np.std(self.mistakes):3.1f} %"
        speed = f"{self.rows / self.seconds:9,.0f}"
        return (
            f"{self.name:<18} {rate:>14} {self.support_vectors:>9} {self.memory / 1024:>8.0f} {speed:>12}"
        )


def head() -> str:
    """The head of the table."""
    return f"{'learner':<18} {'mistakes':>14} {'support':>9} {'KiB':>8} {'rows/second':>12}\n" + "-" * 65


def main(orders: int = 20) -> None:
    """Run every learner over ``orders`` random orders of the digits; the table grows as they go."""
    X, y = load_digits(return_X_y=True)
    live = sys.stdout.isatty()
    print(f"Handwritten digits: {len(X)} rows, {X.shape[1]} features, 10 classes, budget 100.")
    print(f"Each row is predicted, then learned; mean and deviation over {orders} random orders.\n")
    print(head())
    for name, learner in learners().items():
        score = Score(name)
        for i in range(orders):
            order = np.random.default_rng(i).permutation(len(X))
            model = OnlineClassifier(learner, random_state=i)
            start = perf_counter()
            predictions = model.progressive_predict(X[order], y[order])
            score.seconds += perf_counter() - start
            score.rows += len(X)
            score.mistakes.append(100 * float(np.mean(predictions != y[order])))
            score.support_vectors, score.memory = model.n_support_, model.memory_bytes_
            if live:
                print(f"\r{score.row()}", end="", flush=True)
        print(f"\r{score.row()}" if live else score.row(), flush=True)


if __name__ == "__main__":
    main()
