"""Budgetron inside river: a pipeline, an ensemble, and late columns and labels.

Run as ``python examples/river_pipeline.py``. It prints how often each model was right.
"""

import math
import random
from collections.abc import Iterator

from river import compose, ensemble, evaluate, linear_model, metrics, optim, preprocessing

from budgetron import Gaussian, bpa_p
from budgetron.river import BudgetClassifier, FourierFeatures


def machines(n: int = 1500, seed: int = 0) -> Iterator[tuple[dict, str]]:
    """Measurements of machines. A sensor is new after a third of them, a fault after two thirds."""
    rng = random.Random(seed)
    for i in range(n):
        x = {"load": rng.gauss(0, 1), "heat": rng.gauss(0, 1), "site": rng.choice(["north", "south"])}
        label = "fault" if math.hypot(x["load"], x["heat"]) > 1.2 else "fine"
        if i > n / 3:
            x["vibration"] = rng.gauss(0, 1)
        if i > 2 * n / 3 and x["vibration"] > 0.8:
            label = "loose"
        yield x, label


def models() -> dict:
    """What is compared. Ours take texts as they are; the default takes raw numbers too."""
    budgeted = BudgetClassifier(bpa_p(Gaussian(0.5), budget=100), seed=0)
    scaled = compose.Discard("site") | preprocessing.StandardScaler()
    softmax = linear_model.SoftmaxRegression(optim.SGD(0.1))
    return {
        "softmax regression": scaled.clone() | softmax.clone(),
        "softmax regression on Fourier features": scaled.clone()
        | FourierFeatures(seed=0)
        | softmax.clone(),
        "bpa_p": budgeted,
        "five of bpa_p, bagged": ensemble.ADWINBaggingClassifier(budgeted.clone(), n_models=5, seed=0),
        "the default": BudgetClassifier(seed=0),
    }


def main() -> None:
    """Predict each row, then learn it."""
    for name, model in models().items():
        accuracy = evaluate.progressive_val_score(machines(), model, metrics.Accuracy())
        print(f"{name:40} {100 * accuracy.get():.1f} % right")


if __name__ == "__main__":
    main()
