"""How the cost grows with budget, features, nonzeros, classes and rows: log-log slopes.

``make growth`` prints them and draws build/growth.png.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.clock import take_turns
from benchmarks.library import learner
from benchmarks.rows import noise
from budgetron import OneByOne
from budgetron.learners.learner import Learner

NAMES = ("rbp", "bogd", "forgetron")


@dataclass(frozen=True)
class Growth:
    """The cost at each size; one series per learner."""

    what: str
    unit: str
    values: list[int]
    costs: dict[str, list[float]]

    def slopes(self) -> dict[str, tuple[float, float]]:
        """The slope of each series, over all sizes and over the upper half of them."""
        x = np.log(self.values)
        half = len(x) // 2
        return {
            name: (np.polyfit(x, np.log(s), 1)[0], np.polyfit(x[half:], np.log(s[half:]), 1)[0])
            for name, s in self.costs.items()
        }


def ready(what: Learner, X: Any, y: np.ndarray, classes: int = 2) -> Callable[[], Any]:
    """A second pass over the same rows, so that the budget is full."""
    model = OneByOne(what, X.shape[1], classes)
    model.learn(X, y)
    return lambda: model.learn(X, y)


def series(
    what: str,
    values: list[int],
    rows: Callable[[int], tuple[Any, np.ndarray]],
    budget: Callable[[int], int],
    classes: Callable[[int], int] = lambda _: 2,
) -> Growth:
    """Measure every learner at every size, in turns, with a full budget."""
    runs, counts = {}, {}
    for value in values:
        X, y = rows(value)
        counts[value] = X.shape[0]
        for name in NAMES:
            runs[f"{name} {value}"] = ready(learner(name, budget=budget(value)), X, y, classes(value))
    times = take_turns(runs, 0.4)
    per_row = {n: [1e6 * times.seconds[f"{n} {v}"] / counts[v] for v in values] for n in NAMES}
    return Growth(what, "us / row", values, per_row)


def measure() -> Iterator[Growth]:
    """All five measurements."""
    X, y = noise(8000, 22)
    yield series(
        "budget B (22 features)", [25, 50, 100, 200, 400, 800, 1600], lambda _: (X, y), lambda B: B
    )
    yield series(
        "features d (B = 200)", [4, 8, 16, 32, 64, 128, 256, 512], lambda d: noise(4000, d), lambda _: 200
    )
    yield series(
        "nonzeros of 1000 columns (B = 200)",
        [4, 8, 16, 32, 64, 128, 256],
        lambda k: noise(3000, 1000, k),
        lambda _: 200,
    )
    yield series(
        "classes (B = 200, 22 features)",
        [3, 6, 12, 24, 48],
        lambda k: (X[:4000], np.random.default_rng(k).integers(k, size=4000).astype(float)),
        lambda _: 200,
        lambda k: k,
    )
    per_row = series(
        "rows n (B = 100, 22 features)",
        [2500, 5000, 10_000, 20_000, 40_000],
        lambda n: noise(n, 22),
        lambda _: 100,
    )
    total = {
        name: [1e-3 * us * n for us, n in zip(costs, per_row.values, strict=True)]
        for name, costs in per_row.costs.items()
    }
    yield Growth(per_row.what, "milliseconds", per_row.values, total)


def show(sheets: list[Growth]) -> None:
    """Print costs and slopes."""
    print("\nHow cost grows")
    for sheet in sheets:
        print(f"\n{sheet.what:<40}" + "".join(f"{v:>9}" for v in sheet.values) + "    slope  upper half")
        for name, costs in sheet.costs.items():
            slope, upper = sheet.slopes()[name]
            numbers = "".join(f"{s:>9.3g}" for s in costs)
            print(f"  {name + ', ' + sheet.unit:<38}{numbers}{slope:>9.2f}{upper:>12.2f}")


def main() -> None:
    """Measure, print and draw."""
    from benchmarks.bench_pictures import curves  # which imports this module

    with threadpool_limits(1):
        sheets = list(measure())
    show(sheets)
    path = Path(__file__).parents[1] / "build" / "growth.png"
    path.parent.mkdir(exist_ok=True)
    curves(sheets, path)
    print("\nbuild/growth.png")


if __name__ == "__main__":
    main()
