"""How often the test of two models tells a difference that is none, and how soon it tells one.

``python -m benchmarks.challengers``

Two models differ in a share of the rows, and in these the better one is right with some probability. Each
line is of 1,000 streams of 100,000 rows (100 where there is a difference), looked at after every row. The
lines of docs/service.md are from here.
"""

import sys

import numpy as np

from budgetron.serve.sequential import ALPHA, log_evidence

ROWS, STREAMS = 100_000, 1000
SHARES, RIGHT = (1.0, 0.1, 0.02), (0.5, 0.55, 0.6, 0.75)


def told(share: float, right: float, seed: int) -> int:
    """After how many rows a difference is told first; 0 if never. It can only be where models differ."""
    rng = np.random.default_rng(seed)
    places = np.flatnonzero(rng.random(ROWS) < share)
    d = np.where(rng.random(len(places)) < right, 1.0, -1.0)
    whole = np.zeros(ROWS)
    whole[places] = d
    sums = np.cumsum(whole)
    before = np.concatenate([[0.0], sums[:-1] / np.arange(1, ROWS)])
    variances = np.cumsum((whole - before) ** 2)
    found = places[log_evidence(np.abs(sums[places]), variances[places]) >= np.log(2 / ALPHA)]
    return int(found[0]) + 1 if len(found) else 0


def main() -> int:
    """Print the table."""
    for share in SHARES:
        for right in RIGHT:
            streams = STREAMS if right == 0.5 else STREAMS // 10
            rows = np.array([told(share, right, seed) for seed in range(streams)])
            found = np.where(rows > 0, rows, np.inf)
            median, late = np.quantile(found, [0.5, 0.9], method="higher")
            delay = "-" if right == 0.5 else f"{median:,.0f}, {late:,.0f}".replace("inf", "more")
            print(f"| {share:.0%} | {right:.0%} | {(rows > 0).mean():.1%} | {delay} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
