"""Detectors of drift beside river's: false alarms on stationary streams, delays on nine kinds of drift.

    python -m benchmarks.drift [--runs 20] [--flat-runs 5] [--detectors ours ADWIN]

Each detector of river is set to as many false alarms in 10^5 stationary rows as are allowed, one: the
most sensitive setting of a grid, on the worst of four streams of errors, one of which is that of a
learner, or of three streams of numbers. Delays are rows
from the drift, which comes after 5,000 rows, to the first alarm; one that is not found in 10,000 rows
counts as 10,000. KSWIN has its own window and four others, each set by two runs of every stationary
stream; of these "best KSWIN" has, for each kind of drift, the one with the least delay. Streams with
memory are in `benchmarks.stationary`.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
from river import drift
from river.drift import kswin
from scipy import stats

from budgetron import Gaussian, OnlineClassifier, algorithms
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


@cache
def learned(seed: int, n: int) -> np.ndarray:
    """The mistakes of a learner on stationary rows, after its first 1,000."""
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(n + 1000, 5)), rng.normal(size=n + 1000)
    y = X[:, 0] * X[:, 1] + 0.5 * noise > 0
    model = OnlineClassifier(algorithms.rbp(Gaussian(0.1), budget=100), random_state=0)
    return 1.0 * (model.progressive_predict(X, y) != y)[1000:]


FLAT: dict[str, list[Callable[..., np.ndarray]]] = {
    ERRORS: [lambda rng, n, p=p: 1.0 * (rng.random(n) < p) for p in (0.01, 0.1, 0.3)]
    + [lambda rng, n: learned(int(rng.integers(2**31)), n)],
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
WINDOWS = {(100, 30): "KSWIN"} | {
    each: f"KSWIN {each[0]}" for each in [(200, 60), (400, 150), (1000, 300), (2000, 600)]
}
ALPHAS = np.logspace(-2, -12, 41).tolist()
KSWIN_RUNS = 2
GRIDS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "ADWIN": (
        lambda delta: drift.ADWIN(delta=delta),
        np.logspace(-0.25, -9, 36).tolist(),
    ),
    "Page-Hinkley": (
        lambda h: drift.PageHinkley(threshold=h, mode="up"),
        np.geomspace(10, 3000, 34).tolist(),
    ),
}


def kswin_of(window: tuple[int, int], alpha: float) -> Any:
    return drift.KSWIN(alpha=alpha, window_size=window[0], stat_size=window[1], seed=1)


def alphas(window: tuple[int, int], of: str) -> tuple[float, float]:
    """The largest alpha with one false alarm at most, and how many it has.

    The probabilities of a run without any alarm say where there would have been one: after an alarm the
    window has to be filled again.
    """
    found = np.zeros(len(ALPHAS))
    for draw in FLAT[of][:3]:
        alarms = np.zeros(len(ALPHAS))
        for i in range(KSWIN_RUNS):
            detector, improbable = kswin_of(window, 0.0), []
            for row, value in enumerate(draw(np.random.default_rng(i), STATIONARY).tolist()):
                detector.update(value)
                if row >= window[0] and detector.p_value < ALPHAS[0]:
                    improbable.append((row, detector.p_value))
            for k, alpha in enumerate(ALPHAS):
                last = -window[0]
                for row, p in improbable:
                    if p <= alpha and row - last >= window[0]:
                        alarms[k], last = alarms[k] + 1, row
        found = np.maximum(found, alarms / KSWIN_RUNS)
    k = int(np.argmax(found <= 1.0))
    return ALPHAS[k], float(found[k])


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


def chosen(name: str, of: str, runs: int) -> tuple[Any, Any, float]:
    """A detector with its most sensitive setting that has one false alarm at most; and the setting."""
    for window, known in WINDOWS.items():
        if name == known:
            alpha, found = alphas(window, of)
            made = partial(kswin_of, window, alpha)
            return theirs(made, of), f"{alpha:.1e}", found
    by_setting, grid = GRIDS[name]
    for setting in grid:
        run = theirs(partial(by_setting, setting), of)
        if (found := false_alarms(run, of, runs)) <= 1.0:
            break
    return run, f"{setting:.2g}", found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--flat-runs", type=int, default=5)
    parser.add_argument("--detectors", nargs="+", default=["ours", *GRIDS, *WINDOWS.values()])
    args = parser.parse_args()
    runs: dict[str, dict[str, Any]] = {of: {} for of in FLAT}
    for of, known in runs.items():
        for name in args.detectors:
            if name == "ours":
                known[name], setting, found = (
                    ours(of),
                    "default",
                    false_alarms(ours(of), of, args.flat_runs),
                )
            else:
                known[name], setting, found = chosen(name, of, args.flat_runs)
            print(f"{of}: {found:.2f} false alarms in 10^5 rows, {name} at {setting}", flush=True)
    print("\n| drift | " + " | ".join([*args.detectors, "best KSWIN"]) + " |")
    print("|---|" + "---|" * (len(args.detectors) + 1))
    for kind, (of, draw) in KINDS.items():
        cells, best = [], float(AFTER)
        for name in args.detectors:
            mean, missed = delay(runs[of][name], draw, args.runs)
            best = min(best, mean) if name in WINDOWS.values() else best
            cells.append(f"{mean:,.0f}" + (f" ({missed} missed)" if missed else ""))
        print(f"| {kind} | " + " | ".join([*cells, f"{best:,.0f}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
