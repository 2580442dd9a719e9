"""The page with the tables, from the kept results."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from benchmarks.streams.data import LABELS, NAMES, TARGETS
from benchmarks.streams.results import Result, calibration_error

Results = dict[tuple[str, str], Result]
"""Results by stream and learner."""
OURS = {"auto 50": "auto 50", "auto 100": "auto 100", "auto 400": "auto 400", "papers": "papers"}
PEERS = {
    "last label": "last label",
    "Hoeffding tree": "Hoeffding",
    "HAT": "HAT",
    "ARF 10": "ARF 10",
    "ARF 30": "ARF 30",
    "SRP": "SRP",
    "leveraging bagging": "bagging",
    "KNN": "KNN",
    "linear on RBFSampler": "linear",
    "SGD on RBFSampler": "SGD",
    "boosting": "boosting",
}
HEADS = {**OURS, **PEERS}
"""The learners in the order of the columns, and the heads of their columns."""
DEFAULT = "auto 100"

HOW = """\
# Streams: the default beside its peers

`make streams` writes this page. Each row is predicted before it is learned, in one pass. Everybody gets the
same rows in the same order: the first {rows:,} of each stream, or all rows of a shorter one. One order, one seed.

* **error**: mistakes in % of the rows; for targets the mean squared error in % of the variance of the targets.
* **log loss**: probabilities below 1e-6 count as 1e-6. Our learner is told the classes at the start and the peers
  are not, so the first row of a class counts as a guess for every peer.
* **µs a row**: processor time to predict and learn. Ours is one call for the whole stream; river's is a Python loop.
* **KiB**: the memory of the model after the last row.

Who runs:

* `auto 50`, `auto 100`, `auto 400`: `auto(size)` on raw rows. `auto 100` is the default of `OnlineClassifier()`
  and `OnlineRegressor()`.
* `papers`: the best of 102 settings of ten budgeted algorithms with {budget} support vectors on standardised rows.
  It is chosen after the fact, by its error on the same rows. No user can do that.
* `Hoeffding` (tree), `HAT`, `ARF` of 10 and 30 trees, `SRP`, (leveraging) `bagging`: river, default parameters, raw rows.
* `KNN` and `linear`: river, behind its `StandardScaler`. `linear` is logistic or softmax regression on `RBFSampler`,
  which is per column in river; for targets it is `LinearRegression` on the columns themselves.
* For targets all learners of river are behind `StandardScaler` and `TargetStandardScaler`: on raw rows the linear
  models in the leaves of its trees diverge.
* `SGD`: scikit-learn's `SGDClassifier` (log loss) or `SGDRegressor` on `RBFSampler`, behind `StandardScaler`, in
  batches of 1.
* `boosting`: scikit-learn's `HistGradientBoosting`, refitted on all rows seen after 125, 250, 500, 1,000, ... rows.
  It keeps every row: it is a bound to aim at, not a peer.
* `last label`: the label or target of the row before. It is low where labels come in runs.
"""


def page(results: dict[tuple[str, str, int], Result], rows: int) -> str:
    """The whole page in Markdown."""
    kept = chosen(results, rows)
    parts = [
        HOW.format(rows=rows, budget=200),
        "## Summary\n",
        "Ratios are geometric means over the streams that both have run: below 1 ours is better. `ahead` counts the\n"
        "streams on which `auto 100` has the lower error; `clearly` counts those where the difference is more than two\n"
        "standard errors of the differences in 50 parts of the stream.\n",
        summary(kept),
        "\n## Where the default loses\n",
        losses(kept),
        "\n## Error\n",
        grid(kept, NAMES, lambda r: r.error, lowest=True),
        "\n## Log loss\n",
        grid(kept, LABELS, lambda r: r.log_loss, lowest=True),
        "\n## Microseconds a row\n",
        grid(kept, NAMES, lambda r: r.us),
        "\n## KiB\n",
        grid(kept, NAMES, lambda r: r.kib),
        "\n## Calibration\n",
        "The expected calibration error: the mean distance between the confidence in the predicted class and the share of\n"
        "right predictions, in ten bins.\n",
        grid(kept, LABELS, lambda r: calibration_error([r]) if r.bins else None),
        "\n## Settings of `papers`\n",
        *(f"* {name}: {kept[name, 'papers'].setting}" for name in NAMES if (name, "papers") in kept),
        "\n## Versions\n",
        ", ".join(sorted({r.version for r in kept.values() if r.version})) + ".",
        "\n## Pictures\n",
        "![Error over an abrupt drift](pictures/streams_drift.png)\n",
        "![Reliability](pictures/streams_reliability.png)\n",
        "![Weights of the experts](pictures/streams_experts.png)",
    ]
    return "\n".join(parts) + "\n"


def chosen(results: dict[tuple[str, str, int], Result], rows: int) -> Results:
    """The results with that number of rows. Of a stream that is shorter, those with all its rows."""
    most: dict[str, int] = {}
    for stream, _, n in results:
        if n <= rows:
            most[stream] = max(n, most.get(stream, 0))
    full = {name: rows for name in NAMES if name not in TARGETS}
    return {
        (stream, learner): result
        for (stream, learner, n), result in results.items()
        if learner in HEADS and n == full.get(stream, most.get(stream))
    }


def ratio(
    results: Results, ours: str, peer: str, streams: Iterable[str], what: Callable[[Result], float | None]
) -> float | None:
    """The geometric mean of our figure divided by the peer's."""
    logs = []
    for a, b in _pairs(results, ours, peer, streams):
        x, y = what(a), what(b)
        if x is not None and y is not None:
            logs.append(np.log(max(x, 1e-9)) - np.log(max(y, 1e-9)))
    return float(np.exp(np.mean(logs))) if logs else None


def error(result: Result) -> float:
    """The error for ratios: half a mistake where there is none."""
    return max(result.error, 50 / result.rows)


def duel(a: Result, b: Result) -> tuple[int, int]:
    """Whether a is ahead (1), equal (0) or behind (-1); and the same if only clear differences count."""
    apart = np.array(b.windows) - np.array(a.windows)
    noise = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.inf
    sign = int(np.sign(b.error - a.error))
    return sign, sign if abs(apart.mean()) > 2 * noise else 0


def summary(results: Results) -> str:
    """A line for each peer: ratios of error, of log loss and of time, and on how many streams we are ahead."""
    lines = [
        "| against | streams | error: auto 50 | auto 100 | auto 400 | targets: auto 100 | log loss: auto 100 | "
        "ahead | clearly ahead | clearly behind | times our µs | times our KiB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for peer, head in HEADS.items():
        pairs = list(_pairs(results, DEFAULT, peer, NAMES))
        if peer == DEFAULT or not pairs:
            continue
        duels = [duel(a, b) for a, b in pairs]
        cells = [
            head,
            str(len(pairs)),
            *(
                _ratio(ratio(results, ours, peer, LABELS, error))
                for ours in ("auto 50", DEFAULT, "auto 400")
            ),
            _ratio(ratio(results, DEFAULT, peer, TARGETS, error)),
            _ratio(ratio(results, DEFAULT, peer, LABELS, lambda r: r.log_loss)),
            str(sum(any_ > 0 for any_, _ in duels)),
            str(sum(clear > 0 for _, clear in duels)),
            str(sum(clear < 0 for _, clear in duels)),
            _times(ratio(results, peer, DEFAULT, NAMES, lambda r: r.us) if peer != "last label" else None),
            _times(ratio(results, peer, DEFAULT, NAMES, lambda r: r.kib) if peer != "last label" else None),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def losses(results: Results) -> str:
    """For each peer the streams on which it has the lower error, with both errors."""
    lines = ["| against | lower error than `auto 100` on (theirs, ours) |", "|---|---|"]
    for peer, head in PEERS.items():
        pairs = _pairs(results, DEFAULT, peer, NAMES)
        lost = [
            f"{a.stream} ({_number(b.error)}, {_number(a.error)})" for a, b in pairs if duel(a, b)[0] < 0
        ]
        lines.append(f"| {head} | {', '.join(lost) or 'none'} |")
    return "\n".join(lines)


def grid(
    results: Results, names: Iterable[str], what: Callable[[Result], float | None], lowest: bool = False
) -> str:
    """A line for each stream and a column for each learner; with ``lowest``, the lowest number is bold.

    Boosting is left out of the comparison for bold: it keeps every row.
    """
    heads = [name for name in HEADS if any(learner == name for _, learner in results)]
    lines = [f"| stream | {' | '.join(HEADS[h] for h in heads)} |", "|---|" + "---:|" * len(heads)]
    for name in names:
        found = {h: what(results[name, h]) for h in heads if (name, h) in results}
        rivals = [v for h, v in found.items() if v is not None and h != "boosting"]
        least = _number(min(rivals)) if lowest and rivals else None
        cells = [_number(found.get(h)) for h in heads]
        bold = [
            f"**{c}**" if c == least and h != "boosting" else c for h, c in zip(heads, cells, strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(bold)} |")
    return "\n".join(lines)


def _pairs(results: Results, a: str, b: str, streams: Iterable[str]) -> Iterable[tuple[Result, Result]]:
    return [(results[s, a], results[s, b]) for s in streams if (s, a) in results and (s, b) in results]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}" if value < 1e6 else f"{value:.0e}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}" if value < 100 else f"{value:.0f}"
