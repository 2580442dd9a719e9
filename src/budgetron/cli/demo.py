"""A demonstration: the default and eight other learners over handwritten digits.

Run ``python -m budgetron.cli.demo``. It ends with two pictures in the terminal: how the mistakes get fewer,
and which digits the default took for others.
"""

import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from budgetron.estimators import OnlineClassifier
from budgetron.evaluate import Comparison, compare
from budgetron.learners import algorithms
from budgetron.learners.algorithms import auto
from budgetron.learners.learner import Learner
from budgetron.parts.kernels import Gaussian

DEFAULT = "auto (the default)"
BARS, STEP = "▁▂▃▄▅▆▇█", 0.04  # a step of a bar is 4 % of mistakes
SHADES = " ░▒▓█"
NEXT = """Try next:
  {bin}budgetron run FILE.csv --target COLUMN    # the default on a table of yours, as it is
  {bin}budgetron compare synthetic --learners rbp,bpa_nn,fogd --budget 50 --sigma 1
  {bin}python -c 'from budgetron import OnlineClassifier; help(OnlineClassifier)'
  README.md has a quick start in Python, docs/tutorial.md goes from a file to a served model."""


def learners(budget: int = 100) -> dict[str, Learner]:
    """The default, a learner without a budget, and seven with one."""
    k = Gaussian.of_width(8)
    return {
        DEFAULT: auto(),
        "perceptron, no budget": algorithms.perceptron(k),
        "stoptron": algorithms.stoptron(k, budget=budget),
        "rbp": algorithms.rbp(k, budget=budget),
        "forgetron": algorithms.forgetron(k, budget=budget),
        "projectron": algorithms.projectron(k, budget=budget),
        "bpa_s": algorithms.bpa_s(k, budget=budget),
        "bpa_nn": algorithms.bpa_nn(k, budget=budget),
        "bogd": algorithms.bogd(k, budget=budget, eta=0.5),
    }


def bars(result: Comparison) -> str:
    """A line for each learner: its share of mistakes in each hundred rows, over all orders."""
    lines = []
    for name, runs in result.records.items():
        mistakes = np.mean([[0.0, *(record.error for record in run)] for run in runs], axis=0)
        rows = [0, *(record.rows for record in runs[0])]
        shares = np.diff(mistakes) / [b - a for a, b in pairwise(rows)]
        heights = np.minimum(shares / STEP, len(BARS) - 1).astype(int)
        drawn = "".join(BARS[height] for height in heights)
        lines.append(f"  {name:<22} {drawn}  {shares[0]:4.0%} at first, {shares[-1]:4.1%} at the end")
    return "\n".join(lines)


def faces(X: npt.NDArray[Any], captions: list[str]) -> str:
    """Digits of 8 x 8 grey values from 0 to 16, side by side, each with a caption below it."""
    shades = np.minimum(X.reshape(len(X), 8, 8) * len(SHADES) // 17, len(SHADES) - 1).astype(int)
    lines = ["  ".join("".join(2 * SHADES[v] for v in digit[row]) for digit in shades) for row in range(8)]
    return "\n".join(f"  {line}".rstrip() for line in [*lines, "  ".join(f"{c:<16}" for c in captions)])


def main(orders: int = 5) -> None:
    """Compare the learners over ``orders`` random orders of the digits."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show the bars shows "?"
    X, y = load_digits(return_X_y=True)
    print(f"Handwritten digits: {len(X)} rows, {X.shape[1]} features, 10 classes, budget 100.")
    print("Each row is predicted, then learned.\n", flush=True)
    result = compare(learners(), (X, y), permutations=orders, every=100)
    print(result.table())
    print(f"\nMistakes in each hundred rows, from the first to the last; a step is {STEP:.0%}:\n")
    print(bars(result))
    predicted = OnlineClassifier(random_state=0).progressive_predict(X, y)
    last = np.flatnonzero(predicted != y)[-4:]
    print("\nThe last four digits that the default took for others:\n")
    print(faces(X[last], [f"{y[i]}, taken for {predicted[i]}" for i in last]))
    folder = os.path.relpath(Path(sys.executable).parent)
    print("\n" + NEXT.format(bin="" if folder.startswith("..") else folder + os.sep))


if __name__ == "__main__":
    main()
