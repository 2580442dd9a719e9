"""Do sets and intervals cover on real streams, also after a drift, and how large are they?

    python -m benchmarks.coverage [--rows 60000] [STREAM ...]

Rows are in their order. For each stream: the share covered in windows of 1,000 rows, that of the window
before and of the window after the row where the error rises most, that of the first 100 and 250 rows after
it, the mean size, the share of empty sets, and that of sets of all labels or intervals without ends. Plain
sets trust the probabilities: the fewest labels whose probabilities add up to what was asked, or all labels
of a fixed probability. Plain intervals are the prediction and so many deviations. Data sets that are not
there are left out.
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
MADE = 20_000


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


def blocks(rows: int) -> Rows:
    """Blocks of 3,000 rows with 2 % and 35 % of wrong labels in turns."""
    random = np.random.default_rng(7)
    X, hard = random.normal(size=(MADE, 4)), np.arange(MADE) // 3000 % 2 == 1
    y = (X[:, 0] + X[:, 1] > 0) ^ (random.random(MADE) < np.where(hard, 0.35, 0.02))
    return Rows(X[:rows], y.astype(int)[:rows], 3000)


def turning(rows: int) -> Rows:
    """Eleven classes that turn around a point, once over the stream."""
    X = np.random.default_rng(7).normal(size=(MADE, 4))
    turns = np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi) + np.arange(MADE) / MADE
    return Rows(X[:rows], np.floor(turns % 1 * 11).astype(int)[:rows])


def separable(rows: int) -> Rows:
    """Two classes without noise, exchanged from the middle on."""
    X = np.random.default_rng(7).normal(size=(MADE, 4))
    y = (X[:, 0] > 0) ^ (np.arange(MADE) >= MADE // 2)
    return Rows(X[:rows], y.astype(int)[:rows], MADE // 2)


def noisy(noise: Callable[[Any, Any], Any], drift: int | None = None) -> Callable[[int], Rows]:
    """Targets with noise that ``noise`` makes of standard normal numbers and the numbers of the rows."""
    random = np.random.default_rng(7)
    X, z = random.normal(size=(MADE, 4)), random.normal(size=MADE)
    y = 3 * X[:, 0] + noise(z, np.arange(MADE))
    return lambda rows: Rows(X[:rows], y[:rows], drift)


STREAMS: dict[str, tuple[Callable[[int], Rows], tuple[float, ...]]] = {
    "elec": (elec, (0.9, 0.98)),
    "elec, labels swapped": (swapped, (0.9, 0.98)),
    "weather": (weather, (0.9,)),
    "covtype in order": (covtype, (0.9, 0.99)),
    "elec, price": (price, (0.9,)),
    "weather, temperature": (temperature, (0.9,)),
    "weather, another unit": (unit, (0.9,)),
    "noise of labels in turns": (blocks, (0.9,)),
    "eleven classes that turn": (turning, (0.9, 0.99)),
    "separable, labels swapped": (separable, (0.9,)),
    "noise 1 and 10 in turns": (noisy(lambda z, t: z * 10.0 ** (t // 4000 % 2), 4000), (0.9,)),
    "a random walk": (noisy(lambda z, _: np.cumsum(z)), (0.9,)),
    "bursts of 150 rows": (noisy(lambda z, t: z * np.where(t % 1700 < 150, 30, 0.3)), (0.9,)),
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
    likely = shares >= 1 - asked
    return {
        f"probabilities that add up to {asked:g}": (rank < sizes, sizes),
        f"probability of at least {1 - asked:.2g}": (
            likely[np.arange(len(places)), places],
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


def line(inside: Any, sizes: Any, asked: float, drift: int, largest: float) -> str:
    """The cells of a row of the table."""
    at = drift - 1
    windows = inside[: len(inside) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1)[1:]
    known = sizes[np.isfinite(sizes)]
    return " | ".join(
        [
            f"{inside.mean():.1%}",
            f"{windows.min():.1%} to {windows.max():.1%}",
            f"{(np.abs(windows - asked) <= 0.02 + 1e-9).sum()} of {len(windows)}",
            f"{inside[at - WINDOW : at].mean():.1%}",
            f"{inside[at : at + WINDOW].mean():.1%}",
            f"{inside[at : at + 100].mean():.0%}",
            f"{inside[at : at + 250].mean():.1%}",
            f"{known.mean():.3g}",
            f"{(sizes == 0).mean():.1%}",
            f"{(sizes >= largest).mean():.2%}",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("streams", nargs="*", default=list(STREAMS))
    parser.add_argument("--rows", type=int, default=60_000)
    args = parser.parse_args()
    head = "covered | windows of 1,000 | within 2 points | before | after the drift | first 100 | first 250"
    print(f"stream | asked | sets | {head} | size | empty | everything")
    for name in args.streams:
        load, coverages = STREAMS[name]
        try:
            rows = load(args.rows)
        except (DataError, OSError, ValueError) as error:
            print(f"{name} is left out: {str(error)[:80]}")
            continue
        targets = len(np.unique(rows.y)) > 20
        drift, largest = place_of_drift(rows, targets), np.inf if targets else len(np.unique(rows.y))
        for asked in coverages:
            model: Any = (OnlineRegressor if targets else OnlineClassifier)(random_state=0, coverage=asked)
            found = evaluate.coverage(model, (rows.X, rows.y))
            print(
                name,
                asked,
                "conformal",
                line(found.inside, found.sizes, asked, drift, largest),
                sep=" | ",
                flush=True,
            )
            for what, (inside, sizes) in plain(rows, asked, targets).items():
                print(name, asked, what, line(inside, sizes, asked, drift, largest), sep=" | ", flush=True)
        print(f"{name}: the drift is at row {drift:,} of {len(rows.y):,}")


if __name__ == "__main__":
    main()
