"""Do sets and intervals cover on real streams, also after a drift, and how large are they?

    python -m benchmarks.coverage [--rows 60000] [STREAM ...]

Rows are in their order. For each stream: the share covered in windows of 1,000 rows, that of the window
before and of the window after the row where the error rises most, and after how many rows the next 500 are
covered to within two points of what was asked, or more. Plain sets trust the probabilities: the fewest
labels whose probabilities add up to what was asked, or all labels of a fixed probability. Plain intervals
are the prediction and so many deviations. Data sets that are not there are left out.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from benchmarks.streams.data import csv_rows
from budgetron import DataError, OnlineClassifier, OnlineRegressor, datasets, evaluate
from budgetron.datasets.folders import data_folder

WINDOW, HALF = 1000, 500


class Rows(NamedTuple):
    """Rows, their labels or targets, and where they drift if that is known."""

    X: Any
    y: Any
    drift: int | None = None


def elec(rows: int) -> Rows:
    return Rows(*csv_rows(data_folder() / "elec.csv.xz", rows))


def swapped(rows: int) -> Rows:
    """The two labels of elec, exchanged from the middle on."""
    X, y, _ = elec(rows)
    half = len(y) // 2
    return Rows(X, np.where(np.arange(len(y)) < half, y, 1 - y), half)


def weather(rows: int) -> Rows:
    return Rows(*csv_rows(data_folder() / "weather.csv.xz", rows))


def covtype(rows: int) -> Rows:
    X, y = datasets.load("covtype")
    return Rows(X[:rows].toarray(), y[:rows])


def price(rows: int) -> Rows:
    """The price of elec from the other columns."""
    X, _, _ = elec(rows)
    return Rows(np.delete(X, 1, axis=1), X[:, 1])


def temperature(rows: int) -> Rows:
    """The temperature of a day of weather from the other columns: the seasons and years are a drift."""
    X, _, _ = weather(rows)
    return Rows(X[:, 1:], X[:, 0])


def unit(rows: int) -> Rows:
    """The temperature, in Celsius from the middle on."""
    X, y, _ = temperature(rows)
    half = len(y) // 2
    return Rows(X, np.where(np.arange(len(y)) < half, y, (y - 32) / 1.8), half)


STREAMS: dict[str, tuple[Callable[[int], Rows], tuple[float, ...]]] = {
    "elec": (elec, (0.9, 0.98)),
    "elec, labels swapped": (swapped, (0.9, 0.98)),
    "weather": (weather, (0.9,)),
    "covtype in order": (covtype, (0.9, 0.99)),
    "elec, price": (price, (0.9,)),
    "weather, temperature": (temperature, (0.9,)),
    "weather, another unit": (unit, (0.9,)),
}


def plain(rows: Rows, asked: float, targets: bool) -> dict[str, tuple[Any, Any]]:
    """Whether the sets or intervals without calibration cover, and their sizes, from the second row on."""
    if targets:
        model, ends = OnlineRegressor(random_state=0), []
        for i in range(len(rows.y)):
            row = rows.X[i : i + 1]
            if i:
                ends.append(np.stack(model.predict(row, return_std=True), axis=1))
            model.partial_fit(row, rows.y[i : i + 1])
        predicted, deviation = np.concatenate(ends).T
        half = norm.ppf((1 + asked) / 2) * deviation
        return {"deviations": (np.abs(rows.y[1:] - predicted) <= half, 2 * half)}
    shares = OnlineClassifier(random_state=0).progressive_predict_proba(rows.X, rows.y)[1:]
    places = np.unique(rows.y, return_inverse=True)[1][1:]
    order = np.argsort(-shares, axis=1)
    before = np.cumsum(np.take_along_axis(shares, order, axis=1), axis=1)
    sizes = 1 + (before[:, :-1] < asked).sum(axis=1)
    rank = np.argmax(order == places[:, None], axis=1)
    own = shares[np.arange(len(places)), places]
    likely = np.maximum(shares >= 1 - asked, shares == shares.max(axis=1, keepdims=True))
    return {
        f"probabilities that add up to {asked:g}": (rank < sizes, sizes),
        f"probability of at least {1 - asked:.2g}": (
            (own >= 1 - asked) | (rank == 0),
            likely.sum(axis=1),
        ),
    }


def place_of_drift(rows: Rows, targets: bool) -> int:
    """The row at which the error of the next 500 rows is most above that of the 500 before."""
    if rows.drift is not None:
        return rows.drift
    model: Any = (OnlineRegressor if targets else OnlineClassifier)(random_state=0)
    predicted = model.progressive_predict(rows.X, rows.y)
    wrong = np.abs(predicted - rows.y) if targets else predicted != rows.y
    sums = np.concatenate([[0], np.cumsum(wrong)])
    at = np.arange(2 * WINDOW, len(wrong) - WINDOW)
    after, before = sums[at + HALF] - sums[at], sums[at] - sums[at - HALF]
    return int(at[np.argmax(after - before)])


def line(inside: Any, sizes: Any, asked: float, drift: int) -> str:
    """The cells of a row of the table."""
    at = drift - 1
    windows = inside[: len(inside) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1)[1:]
    sums = np.concatenate([[0], np.cumsum(inside)])
    ahead = np.arange(at, len(inside) - HALF)
    good = (sums[ahead + HALF] - sums[ahead]) / HALF >= asked - 0.02
    soon = str(int(np.argmax(good))) if good.any() else "never"
    known = sizes[np.isfinite(sizes)]
    return " | ".join(
        [
            f"{inside.mean():.1%}",
            f"{windows.min():.1%} to {windows.max():.1%}",
            f"{(np.abs(windows - asked) <= 0.02 + 1e-9).mean():.0%}",
            f"{inside[at - WINDOW : at].mean():.1%}",
            f"{inside[at : at + WINDOW].mean():.1%}",
            soon,
            f"{known.mean():.3g}",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("streams", nargs="*", default=list(STREAMS))
    parser.add_argument("--rows", type=int, default=60_000)
    args = parser.parse_args()
    head = "covered | windows of 1,000 | within 2 points | before | after the drift | rows until"
    print(f"stream | asked | sets | {head} | size")
    for name in args.streams:
        load, coverages = STREAMS[name]
        try:
            rows = load(args.rows)
        except (DataError, OSError, ValueError) as error:
            print(f"{name} is left out: {str(error)[:80]}")
            continue
        targets = len(np.unique(rows.y)) > 20
        drift = place_of_drift(rows, targets)
        for asked in coverages:
            model: Any = (OnlineRegressor if targets else OnlineClassifier)(random_state=0, coverage=asked)
            found = evaluate.coverage(model, (rows.X, rows.y))
            print(
                name,
                asked,
                "conformal",
                line(found.inside, found.sizes, asked, drift),
                sep=" | ",
                flush=True,
            )
            for what, (inside, sizes) in plain(rows, asked, targets).items():
                print(name, asked, what, line(inside, sizes, asked, drift), sep=" | ", flush=True)
        print(f"{name}: the drift is at row {drift:,} of {len(rows.y):,}")


if __name__ == "__main__":
    main()
