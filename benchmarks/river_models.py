"""Microseconds to predict and learn one dict: river's models, and ours as models of river.

Run as ``python -m benchmarks.river_models``. "without the native step" is the time less that of the native
calls for the same rows in arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from river import forest, linear_model, tree

from benchmarks.clock import take_turns
from budgetron import Gaussian, OneByOne, auto, bpa_p, fogd, rbp
from budgetron._util.text import aligned
from budgetron.river import BudgetClassifier

KERNEL = Gaussian(0.05)
OURS = {
    "rbp, 100 vectors": rbp(KERNEL, budget=100),
    "fogd, 100 components": fogd(KERNEL, components=100),
    "bpa_p, 100 vectors": bpa_p(KERNEL, budget=100),
    "auto, the default": auto(),
}
RIVERS = {
    "river LogisticRegression": linear_model.LogisticRegression(),
    "river HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier(),
    "river ARFClassifier, 10 trees": forest.ARFClassifier(seed=0),
}


def measure(n: int = 1000, d: int = 20, seconds: float = 2.0) -> dict[str, float]:
    """Microseconds a row, to predict and then learn it. Runs take turns; each row is a new one at first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, 0] * X[:, 1] > 0
    dicts = [{f"feature {j}": v for j, v in enumerate(row)} for row in X.tolist()]
    labels, codes, rows = y.tolist(), np.where(y, 1.0, -1.0).tolist(), list(X)

    def of_dicts(model: Any) -> Callable[[], None]:
        def run() -> None:
            for x, label in zip(dicts, labels, strict=True):
                model.predict_one(x)
                model.learn_one(x, label)

        return run

    def of_arrays(learner: Any) -> Callable[[], None]:
        native, scores = OneByOne(learner, d).engine, np.empty(1)

        def run() -> None:
            for x, code in zip(rows, codes, strict=True):
                native.score_one(x, scores)
                native.learn_one(x, code, scores)

        return run

    runs = {name: of_dicts(BudgetClassifier(learner, seed=0)) for name, learner in OURS.items()}
    runs |= {f"{name}: native": of_arrays(learner) for name, learner in OURS.items()}
    runs |= {name: of_dicts(model) for name, model in RIVERS.items()}
    return {name: 1e6 * least / n for name, least in take_turns(runs, seconds).seconds.items()}


def main() -> None:
    """Print the table."""
    times = measure()
    lines = [["", "µs a row", "without the native step"]]
    for name in [*OURS, *RIVERS]:
        rest = f"{times[name] - times[f'{name}: native']:.1f}" if name in OURS else ""
        lines.append([name, f"{times[name]:.1f}", rest])
    print("\n".join(aligned(lines)))


if __name__ == "__main__":
    main()
