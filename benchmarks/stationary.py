"""False alarms of the detectors of drift on stationary streams whose rows depend on those before.

    python -m benchmarks.stationary [--runs 30] [--first-seed 1000]

Told are alarms in 10^5 rows, raw are changes before those that are silenced: means, and the most of a run.
"""

import argparse
from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

from budgetron.evaluate.drift import watch
from budgetron.evaluate.drift.watch import ERRORS, INPUTS, LABELS, Watch

ROWS, EARLIER = 100_000, 5000
Draw = Callable[[np.random.Generator, int], np.ndarray]


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n)


def ar(share: float, shocks: Draw = normal) -> Draw:
    """A share of the value before, and a shock."""
    return lambda rng, n: lfilter([1], [1, -share], shocks(rng, n + EARLIER))[EARLIER:]


def scaled(share: float) -> Draw:
    """The same with a deviation of one."""
    return lambda rng, n: ar(share)(rng, n) * np.sqrt(1 - share**2)


def mean_of(k: int) -> Draw:
    return lambda rng, n: lfilter(np.ones(k), [1], rng.normal(size=n + k))[k:]


def garch(a: float, b: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        found, variance = [], 1.0
        for shock in rng.normal(size=n + EARLIER).tolist():
            found.append(variance**0.5 * shock)
            variance = 1 - a - b + a * found[-1] ** 2 + b * variance
        return np.array(found[EARLIER:])

    return draw


def long_memory(d: float) -> Draw:
    """Fractional noise: its correlations fade so slowly that their sum is infinite."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        k, size = np.arange(1, 2 * n), 4 * n
        weights = np.cumprod(np.r_[1, (k - 1 + d) / k])
        shocks = np.fft.rfft(rng.normal(size=2 * n), size)
        return np.fft.irfft(shocks * np.fft.rfft(weights, size), size)[n : 2 * n]

    return draw


def day(rows: int) -> Draw:
    return lambda rng, n: np.sin(2 * np.pi * (np.arange(n) / rows + rng.random())) + rng.normal(size=n)


def held(stay: float, drawn: Draw) -> Draw:
    """A new value with a probability, else the one before."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        values, new = drawn(rng, n), rng.random(n) >= stay
        return values[np.maximum.accumulate(np.where(new, np.arange(n), 0))]

    return draw


def flag(p: float) -> Draw:
    return lambda rng, n: 1.0 * (rng.random(n) < p)


def code(k: int) -> Draw:
    return lambda rng, n: rng.integers(0, k, n)


def regimes(stay: float) -> Draw:
    return lambda rng, n: 1.5 * held(stay, flag(0.5))(rng, n) + rng.normal(size=n)


def at_rate(score: Draw) -> Draw:
    """Ones whose log odds are a stream."""
    return lambda rng, n: 1.0 * (rng.random(n) < 1 / (1 + np.exp(2 - score(rng, n))))


def student(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_t(3, n)


def cauchy(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_cauchy(n)


KINDS: dict[str, dict[str, Draw]] = {
    INPUTS: {
        "independent": normal,
        "independent, Student's t": student,
        "AR 0.2": ar(0.2),
        "AR 0.5": ar(0.5),
        "AR 0.9": ar(0.9),
        "AR 0.99": ar(0.99),
        "AR 0.999": ar(0.999),
        "AR -0.5": ar(-0.5),
        "AR -0.7": ar(-0.7),
        "AR 0.9, Student's t": ar(0.9, student),
        "AR 0.9, Cauchy": ar(0.9, cauchy),
        "exp of AR 0.8": lambda rng, n: np.exp(ar(0.8)(rng, n)),
        "mean of 20": mean_of(20),
        "GARCH 0.1, 0.85": garch(0.1, 0.85),
        "GARCH 0.05, 0.94": garch(0.05, 0.94),
        "volatility AR 0.98": lambda rng, n: np.exp(0.7 * scaled(0.98)(rng, n)) * rng.normal(size=n),
        "held for 5 rows": held(0.8, normal),
        "held for 50 rows": held(0.98, normal),
        "flag in runs of 10": held(0.9, flag(0.3)),
        "flag in runs of 100": held(0.99, flag(0.1)),
        "levels for 50 rows": regimes(0.98),
        "levels for 500 rows": regimes(0.998),
        "long memory 0.2": long_memory(0.2),
        "long memory 0.4": long_memory(0.4),
        "day of 24 rows": day(24),
        "day of 288 rows": day(288),
        "day of 1,440 rows": day(1440),
    },
    ERRORS: {
        "independent": flag(0.1),
        "in runs, 0.3": held(0.3, flag(0.3)),
        "in runs, 0.5": held(0.5, flag(0.1)),
        "in runs, 0.9": held(0.9, flag(0.1)),
        "rare, in runs, 0.9": held(0.9, flag(0.01)),
        "rate AR 0.9": at_rate(scaled(0.9)),
        "rate AR 0.98": at_rate(scaled(0.98)),
        "rate AR 0.99": at_rate(scaled(0.99)),
        "rate AR 0.999": at_rate(scaled(0.999)),
        "AR 0.8 above a limit": lambda rng, n: 1.0 * (ar(0.8)(rng, n) > 1.5),
        "rate by a day of 24": at_rate(day(24)),
        "rate by a day of 288": at_rate(day(288)),
        "rate by a day of 1,440": at_rate(day(1440)),
    },
    LABELS: {
        "independent": code(5),
        "2 in runs, 0.5": held(0.5, code(2)),
        "2 in runs, 0.9": held(0.9, code(2)),
        "2 in runs, 0.99": held(0.99, code(2)),
        "2 in runs, 0.999": held(0.999, code(2)),
        "5 in runs, 0.9": held(0.9, code(5)),
        "5 in runs, 0.99": held(0.99, code(5)),
        "7, each 50 times": lambda _, n: np.arange(n) // 50 % 7,
    },
}


def alarms(of: str, values: np.ndarray) -> int:
    """How many alarms a stream raises."""
    watched, none = Watch(targets=False), np.zeros(len(values), int)
    X = values[:, None] if of == INPUTS else np.zeros((len(values), 0))
    y = values.astype(int) if of == LABELS else none
    predicted = values.astype(int) if of == ERRORS else y
    return sum(alarm.of == of for alarm in watched.tell(X, y, predicted))


def changes(of: str, values: np.ndarray) -> int:
    """How many changes a detector finds."""
    if of == INPUTS:
        return len(watch._columns(of, 1).tell_rows([], np.ascontiguousarray(values[:, None])))
    return len(watch._rates(of, 2 if of == ERRORS else watch.CODES).tell(values.astype(np.int64)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=1000)
    args = parser.parse_args()
    print(f"| {ROWS:,} stationary rows | told | most | raw |\n|---|---|---|---|")
    for of, kinds in KINDS.items():
        for name, draw in kinds.items():
            streams = [draw(np.random.default_rng(args.first_seed + i), ROWS) for i in range(args.runs)]
            told = [alarms(of, values) for values in streams]
            raw = np.mean([changes(of, values) for values in streams])
            print(f"| {of}: {name} | {np.mean(told):.2f} | {max(told)} | {raw:.1f} |", flush=True)


if __name__ == "__main__":
    main()
