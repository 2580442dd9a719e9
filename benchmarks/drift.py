"""Detectors of drift beside river's: false alarms on stationary streams, delays on nine kinds of drift.

    python -m benchmarks.drift [--runs 20] [--flat-runs 3]

Each detector of river is set to as many false alarms in 10^5 stationary rows as are allowed, one: the
most sensitive setting of a grid, on the worst of three streams of errors, or of numbers. Delays are rows
from the drift, which comes after 5,000 rows, to the first alarm; one that is not found in 10,000 rows
counts as 10,000. KSWIN has its own window and one of 400 rows; it is set on a fifth of the
stationary streams.
"""

import argparse
from collections.abc import Callable, Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
from river import drift
from river.drift import kswin
from scipy import stats

from budgetron.evaluate.drift.watch import ERRORS, INPUTS, Watch

STATIONARY, BEFORE, AFTER = 100_000, 5000, 10_000
Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def rates(before: float, after: float, ramp: int = 0) -> Draw:
    """Mistakes whose rate changes, at once or within so many rows."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        now = np.full(AFTER, after)
        now[:ramp] = np.linspace(before, after, ramp)
        return 1.0 * (rng.random(BEFORE) < before), 1.0 * (rng.random(AFTER) < now)

    return draw


def column(before: Callable[..., np.ndarray], after: Callable[..., np.ndarray]) -> Draw:
    """Values of one column."""
    return lambda rng: (before(rng, BEFORE), after(rng, AFTER))


def normal(mean: float, sd: float) -> Callable[..., np.ndarray]:
    return lambda rng, n: rng.normal(mean, sd, n)


def skewed(scale: float) -> Callable[..., np.ndarray]:
    return lambda rng, n: scale * rng.exponential(size=n)


def slowly(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n) + np.clip(np.arange(n) / 2000, 0, 1)


KINDS: dict[str, tuple[str, Draw]] = {
    "errors 10 -> 40 %": (ERRORS, rates(0.1, 0.4)),
    "errors 10 -> 20 %": (ERRORS, rates(0.1, 0.2)),
    "errors 1 -> 5 %": (ERRORS, rates(0.01, 0.05)),
    "errors 30 -> 50 %": (ERRORS, rates(0.3, 0.5)),
    "errors 10 -> 30 % in 2,000 rows": (ERRORS, rates(0.1, 0.3, 2000)),
    "level up by one deviation": (INPUTS, column(normal(0, 1), normal(1, 1))),
    "level up slowly, in 2,000 rows": (INPUTS, column(normal(0, 1), slowly)),
    "spread doubled": (INPUTS, column(normal(0, 1), normal(0, 2))),
    "unit x 100, skewed": (INPUTS, column(skewed(1), skewed(100))),
}
FLAT: dict[str, list[Callable[..., np.ndarray]]] = {
    ERRORS: [lambda rng, n, p=p: 1.0 * (rng.random(n) < p) for p in (0.01, 0.1, 0.3)],
    INPUTS: [normal(0, 1), skewed(1), lambda rng, n: rng.standard_t(3, n)],
}


def ours(of: str) -> Callable[[np.ndarray], Iterator[int]]:
    """The rows of our alarms."""

    def run(values: np.ndarray) -> Iterator[int]:
        watch = Watch(targets=False)
        wrong = values.astype(int) if of == ERRORS else np.zeros(len(values), int)
        X = np.zeros((len(values), 0)) if of == ERRORS else values[:, None]
        y = np.zeros(len(values), int)
        return (alarm.row for alarm in watch.tell(X, y, wrong) if alarm.of == of)

    return run


def theirs(made: Callable[[], Any], of: str) -> Callable[[np.ndarray], Iterator[int]]:
    """The rows of the alarms of a detector of river; of errors only those where the mean has risen."""

    def run(values: np.ndarray) -> Iterator[int]:
        detector = made()
        for i, value in zip(count(1), values.tolist(), strict=False):
            before = detector.estimation if of == ERRORS and hasattr(detector, "estimation") else None
            detector.update(value)
            if detector.drift_detected and (before is None or detector.estimation >= before):
                yield i

    return run


PROBABILITIES: dict[tuple[int, float], float] = {}


def quick_ks(one: list[float], other: list[float], **more: Any) -> tuple[float, float]:
    """As `scipy.stats.ks_2samp` for samples of equal size, whose probability follows from the distance."""
    a, b, values = np.sort(one), np.sort(other), np.concatenate([one, other])
    apart = np.abs(np.searchsorted(a, values, "right") - np.searchsorted(b, values, "right")).max()
    key = (len(one), int(apart))
    if key not in PROBABILITIES:
        PROBABILITIES[key] = stats.ks_2samp(one, other, **more).pvalue
    return apart / len(one), PROBABILITIES[key]


kswin.stats = SimpleNamespace(ks_2samp=quick_ks)
ALPHAS = [3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-7]
GRIDS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "ADWIN": (
        lambda delta: drift.ADWIN(delta=delta),
        [2e-3, 5e-4, 1e-4, 2e-5, 4e-6, 1e-6, 1e-7],
    ),
    "Page-Hinkley": (
        lambda h: drift.PageHinkley(threshold=h, mode="up"),
        [25, 50, 100, 200, 400, 800, 1600],
    ),
    "KSWIN": (lambda alpha: drift.KSWIN(alpha=alpha, seed=1), ALPHAS),
    "KSWIN of 400": (
        lambda alpha: drift.KSWIN(alpha=alpha, window_size=400, stat_size=150, seed=1),
        ALPHAS,
    ),
}


def false_alarms(run: Callable[[np.ndarray], Iterator[int]], of: str, runs: int) -> float:
    """How many in 10^5 rows, on the worst of the stationary streams."""
    worst = 0.0
    for draw in FLAT[of]:
        found = [sum(1 for _ in run(draw(np.random.default_rng(i), STATIONARY))) for i in range(runs)]
        worst = max(worst, float(np.mean(found)))
    return worst


def delay(run: Callable[[np.ndarray], Iterator[int]], draw: Draw, runs: int) -> tuple[float, int]:
    """The mean delay, and how many drifts were not found. Alarms before the drift are passed over."""
    delays = []
    for i in range(runs):
        values = np.concatenate(draw(np.random.default_rng(1000 + i)))
        delays.append(next((row - BEFORE for row in run(values) if row > BEFORE), AFTER))
    return float(np.mean(delays)), delays.count(AFTER)


def chosen(name: str, of: str, runs: int) -> tuple[Any, float]:
    """The most sensitive setting that has one false alarm at most."""
    made, grid = GRIDS[name]
    runs = max(1, runs // 5) if grid is ALPHAS else runs
    for setting in grid:
        found = false_alarms(theirs(lambda s=setting: made(s), of), of, runs)
        if found <= 1.0:
            break
    return setting, found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--flat-runs", type=int, default=5)
    args = parser.parse_args()
    runs = {of: {"ours": ours(of)} for of in FLAT}
    for of, known in runs.items():
        said = f"{false_alarms(ours(of), of, args.flat_runs):.2f} ours"
        for name, (made, _) in GRIDS.items():
            setting, found = chosen(name, of, args.flat_runs)
            known[name] = theirs(lambda s=setting, m=made: m(s), of)
            said += f", {found:.2f} {name} (at {setting})"
        print(f"false alarms in 10^5 rows, {of}: {said}", flush=True)
    names = ["ours", *GRIDS]
    print("\n| drift | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for kind, (of, draw) in KINDS.items():
        cells = []
        for name in names:
            mean, missed = delay(runs[of][name], draw, args.runs)
            cells.append(f"{mean:,.0f}" + (f" ({missed} missed)" if missed else ""))
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
