"""The page with the tables, from the kept results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from benchmarks.streams.data import LABELS, NAMES, TARGETS, rows_of
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
DEFAULT = "auto 50"

TEMPLATE = Path(__file__).with_name("page.md")


def page(results: dict[tuple[str, str, int], Result], rows: int) -> str:
    """The whole page in Markdown."""
    kept = chosen(results, rows)
    best = [f"* {name}: {kept[name, 'papers'].setting}" for name in NAMES if (name, "papers") in kept]
    return TEMPLATE.read_text(encoding="utf-8").format(
        rows=rows,
        summary=summary(kept),
        losses=losses(kept),
        error=grid(kept, NAMES, lambda r: r.error, lowest=True),
        log_loss=grid(kept, LABELS, lambda r: r.log_loss, lowest=True),
        us=grid(kept, NAMES, lambda r: r.us),
        kib=grid(kept, NAMES, lambda r: r.kib),
        calibration=grid(kept, LABELS, lambda r: calibration_error([r]) if r.bins else None),
        settings="\n".join(best),
        versions=", ".join(sorted({r.version for r in kept.values() if r.version})),
    )


def chosen(results: dict[tuple[str, str, int], Result], rows: int) -> Results:
    """The results with that number of rows, or with all rows of a shorter stream."""
    return {
        (stream, learner): result
        for (stream, learner, n), result in results.items()
        if stream in NAMES and learner in HEADS and n == rows_of(stream, rows)
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
    """A line for each peer: ratios of error, log loss, time and memory, and where we are ahead."""
    lines = [
        "| against | streams | error: auto 50 | auto 100 | auto 400 | targets: auto 50 | "
        "log loss: auto 50 | ahead | clearly ahead | clearly behind | times our µs | times our KiB |",
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
                ratio_cell(ratio(results, ours, peer, LABELS, error))
                for ours in ("auto 50", "auto 100", "auto 400")
            ),
            ratio_cell(ratio(results, DEFAULT, peer, TARGETS, error)),
            ratio_cell(ratio(results, DEFAULT, peer, LABELS, lambda r: r.log_loss)),
            str(sum(any_ > 0 for any_, _ in duels)),
            str(sum(clear > 0 for _, clear in duels)),
            str(sum(clear < 0 for _, clear in duels)),
            times_cell(
                ratio(results, peer, DEFAULT, NAMES, lambda r: r.us) if peer != "last label" else None
            ),
            times_cell(
                ratio(results, peer, DEFAULT, NAMES, lambda r: r.kib) if peer != "last label" else None
            ),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def losses(results: Results) -> str:
    """For each peer the streams on which it has the lower error, with both errors; clear ones in bold."""
    lines = ["| against | lower error than `auto 50` on (theirs, ours) |", "|---|---|"]
    for peer, head in HEADS.items():
        pairs = _pairs(results, DEFAULT, peer, NAMES)
        if not pairs or (peer in OURS and peer != "papers"):
            continue
        lost = [_lost(a, b) for a, b in pairs if duel(a, b)[0] < 0]
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
        least = number(min(rivals)) if lowest and rivals else None
        cells = [number(found.get(h)) for h in heads]
        bold = [
            f"**{c}**" if c == least and h != "boosting" else c for h, c in zip(heads, cells, strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(bold)} |")
    return "\n".join(lines)


def _pairs(results: Results, a: str, b: str, streams: Iterable[str]) -> Iterable[tuple[Result, Result]]:
    return [(results[s, a], results[s, b]) for s in streams if (s, a) in results and (s, b) in results]


def _lost(ours: Result, theirs: Result) -> str:
    name = f"**{ours.stream}**" if duel(ours, theirs)[1] < 0 else ours.stream
    return f"{name} ({number(theirs.error)}, {number(ours.error)})"


def number(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}" if value < 1e6 else f"{value:.0e}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio_cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def times_cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}" if value < 100 else f"{value:.0f}"
