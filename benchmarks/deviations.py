"""Do two deviations of the default cover 95 % of the targets, among rows with small and with large ones?

``python -m benchmarks.deviations`` prints the table of docs/tune_free.md. Rows come in a random order;
every ten are predicted, then learned. The first thousand, or a third of fewer rows, do not count.
"""

from __future__ import annotations

import numpy as np

from budgetron import OnlineRegressor, datasets

NAMES = ("housing", "abalone", "parkinsons", "cadata", "casp")
AT_ONCE = 10


def main() -> None:
    """Print a line for each data set."""
    print("| data | rows | covered, % | by fifths of the deviation, small to large | log loss |")
    print("|---|---|---|---|---|")
    for name in NAMES:
        X, y = datasets.load(name)
        order = np.random.default_rng(0).permutation(len(y))
        print(line(name, np.asarray(X.toarray())[order], np.asarray(y)[order]), flush=True)


def line(name: str, X: np.ndarray, y: np.ndarray) -> str:
    """Coverage, coverage by fifths, and the mean negative log likelihood of standardised targets."""
    mean, deviation = progressive(X, y)
    counted = slice(min(1000, len(y) // 3), None)
    off = (np.abs(y - mean) / deviation)[counted]
    fifths = np.array_split(np.argsort(deviation[counted], kind="stable"), 5)
    loss = np.mean(np.log(deviation[counted] / y.std()) + off**2 / 2 + np.log(2 * np.pi) / 2)
    shares = ", ".join(f"{100 * (off[rows] < 2).mean():.0f}" for rows in fifths)
    return f"| {name} | {len(y):,} | {100 * (off < 2).mean():.1f} | {shares} | {loss:.3f} |"


def progressive(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the deviation of every row before it is learned."""
    model = OnlineRegressor(random_state=0).partial_fit(X[:AT_ONCE], y[:AT_ONCE])
    mean, deviation = np.zeros(len(y)), np.ones(len(y))
    for first in range(AT_ONCE, len(y), AT_ONCE):
        rows = slice(first, first + AT_ONCE)
        mean[rows], deviation[rows] = model.predict(X[rows], return_std=True)
        model.partial_fit(X[rows], y[rows])
    return mean, deviation


if __name__ == "__main__":
    main()
