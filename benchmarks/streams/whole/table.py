"""The page with the tables, from the kept results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.streams.table import number, ratio_cell, times_cell
from benchmarks.streams.whole import sources
from benchmarks.streams.whole.heads import DEFAULT, LEARNERS, OURS, PEERS
from benchmarks.streams.whole.results import PART, WINDOWS, Result

Results = dict[tuple[str, str], Result]
TEMPLATE = Path(__file__).with_name("page.md")
LEAST_ROWS = 400
"""A window with fewer rows says nothing."""
NONE = "Nothing has been run yet."


def page(results: Results) -> str:
    """The whole page in Markdown."""
    groups = {group: sources.names(group) for group in ("whole", "unused")}
    real = [name for name in groups["whole"] if name not in sources.MADE]
    fresh = [name for name in groups["unused"] if name not in sources.SEEN_SHORT]
    return TEMPLATE.read_text(encoding="utf-8").format(
        default=DEFAULT,
        by_window=by_window(results, {"all": groups["whole"], "not made on purpose": real}),
        cost=cost(results, groups["whole"]),
        crossings=crossings(results, groups["whole"]),
        ours=ours(results, groups["whole"]),
        by_rows=by_rows(results, groups["whole"]),
        unused_by_window=by_window(results, {"all": groups["unused"], "data never seen": fresh}),
        unused_ours=ours(results, groups["unused"]),
        unused_by_rows=by_rows(results, groups["unused"]),
        seen_short=", ".join(sources.SEEN_SHORT),
        made="; ".join(sources.MADE),
        versions=", ".join(sorted({r.version for r in results.values()})),
    )


def error(result: Result, first: int = 0, end: int | None = None) -> float | None:
    """The error for ratios: half a mistake where there is none."""
    found = result.error(first, end)
    rows = min(result.rows, result.rows if end is None else end) - first
    return None if found is None or rows <= 0 else max(found, 50 / rows)


def ratio(a: Result, b: Result, first: int = 0, end: int | None = None) -> float | None:
    """The error of a divided by that of b, on the rows of a window that both have done."""
    rows = min(a.rows, b.rows)
    if a.rows != b.rows:
        rows = rows // PART * PART
    end = min(rows, rows if end is None else end)
    if end - first < min(LEAST_ROWS, min(a.of, b.of) - first):
        return None
    x, y = error(a, first, end), error(b, first, end)
    return None if x is None or y is None else x / y


def mean(values: Iterable[float | None]) -> tuple[float | None, int]:
    """The geometric mean of the values that are there, and their number."""
    logs = [np.log(value) for value in values if value]
    return (float(np.exp(np.mean(logs))) if logs else None), len(logs)


def by_window(results: Results, groups: dict[str, Iterable[str]]) -> str:
    """For each peer and group of streams: the mean ratio of our error to the peer's, by rows seen."""
    heads = [*WINDOWS, "all rows", "log loss"]
    lines = [f"| against | streams | {' | '.join(heads)} |", "|---|---|" + "---:|" * len(heads)]
    for peer in (name for name in LEARNERS if name != DEFAULT):
        for group, streams in groups.items():
            pairs = _pairs(results, peer, streams)
            if not pairs:
                continue
            columns = [mean(ratio(a, b, *ends) for a, b in pairs) for ends in WINDOWS.values()]
            columns.append(mean(ratio(a, b) for a, b in pairs))
            columns.append(mean(_log_loss_ratio(a, b) for a, b in pairs))
            cells = [f"{ratio_cell(value)} ({count})" if count else "-" for value, count in columns]
            lines.append(f"| {peer} | {group} | {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else NONE


def _log_loss_ratio(a: Result, b: Result) -> float | None:
    rows = min(a.rows, b.rows)
    x, y = a.log_loss(0, rows // PART * PART or rows), b.log_loss(0, rows // PART * PART or rows)
    return x / y if x and y else None


def cost(results: Results, streams: Iterable[str]) -> str:
    """For each learner the mean of its error, time and memory, divided by those of the default."""
    lines = [
        "| learner | streams | error / ours | times our µs | times our KiB | µs, median | KiB, median |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for learner in LEARNERS:
        if found := costs(results, learner, streams):
            cells = [
                str(found.streams),
                ratio_cell(found.error),
                times_cell(found.times),
                times_cell(found.memory or None),
                number(found.us),
                number(found.kib or None),
            ]
            lines.append(f"| {learner} | {' | '.join(cells)} |")
    return "\n".join(lines)


@dataclass(frozen=True)
class Cost:
    """Error, time and memory of a learner divided by the default's, and its median time and memory."""

    streams: int
    error: float
    times: float
    memory: float
    us: float
    kib: float


def costs(results: Results, learner: str, streams: Iterable[str]) -> Cost | None:
    """The figures of a learner over the streams that it and the default have done."""
    pairs = [(a, b) for a, b in _pairs(results, learner, streams) if ratio(a, b)]
    if not pairs:
        return None
    known = [b.kib for _, b in pairs if b.kib > 0]  # 0: a learner that does not know its memory
    return Cost(
        len(pairs),
        1 / (mean(ratio(a, b) for a, b in pairs)[0] or 1.0),
        mean(b.us / a.us for a, b in pairs)[0] or 1.0,
        mean(b.kib / a.kib for a, b in pairs)[0] or 0.0,
        float(np.median([b.us for _, b in pairs])),
        float(np.median(known)) if known else 0.0,
    )


def crossing(ours: Result, theirs: Result) -> int | None:
    """The row from which on the peer has made fewer mistakes, whatever row one counts up to; None if never.

    It is the row at which our lead in mistakes is greatest. What follows must be longer than two parts and
    clear: the mean difference of its parts is more than two standard errors.
    """
    parts = min(len(ours.errors), len(theirs.errors))
    if ours.rows != theirs.rows:
        parts = min(ours.rows, theirs.rows) // PART
    gains = np.array(ours.errors[:parts]) - np.array(theirs.errors[:parts])
    start = int(np.argmin(np.concatenate([[0.0], np.cumsum(gains)])))
    rest = gains[start:]
    if len(rest) < 3 or rest.mean() <= 2 * rest.std(ddof=1) / np.sqrt(len(rest)):
        return None
    return start * PART


def crossings(results: Results, streams: Iterable[str]) -> str:
    """For each peer the streams on which it gets ahead of the default for good, and from which row."""
    lines = [f"| peer | ahead of `{DEFAULT}` for good from row | behind or level to the last row done |"]
    lines.append("|---|---|---:|")
    for peer in PEERS:
        pairs = _pairs(results, peer, streams)
        found = [(crossing(a, b), a.stream) for a, b in pairs]
        ahead = sorted((row, name) for row, name in found if row is not None)
        words = ", ".join(f"{name} {row:,}" for row, name in ahead)
        if pairs:
            lines.append(f"| {peer} | {words or 'none'} | {len(found) - len(ahead)} of {len(found)} |")
    return "\n".join(lines)


def ours(results: Results, streams: Iterable[str]) -> str:
    """For each stream our sizes: error, error on the last fifth, log loss, time and memory."""
    lines = [
        f"| stream | rows | error: {' | '.join(OURS)} | last fifth | log loss | µs | KiB |",
        "|---|---:|" + "---:|" * (len(OURS) + 4),
    ]
    for name in streams:
        default = results.get((name, DEFAULT))
        if default is None:
            continue
        errors = [number(results[name, each].error() if (name, each) in results else None) for each in OURS]
        last = default.error(4 * default.rows // 5 // PART * PART)
        log_loss = default.log_loss()
        logs = "-" if log_loss is None else f"{log_loss:.3f}"
        rest = [number(last), logs, number(default.us), number(default.kib)]
        lines.append(f"| {name} | {default.rows:,} | {' | '.join([*errors, *rest])} |")
    return "\n".join(lines) if len(lines) > 2 else NONE


def by_rows(results: Results, streams: Iterable[str]) -> str:
    """The error of every learner in every window of every stream; the lowest of a window is bold."""
    heads = ["stream", "learner", *WINDOWS, "µs", "KiB"]
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for name in streams:
        found = [results[name, each] for each in LEARNERS if (name, each) in results]
        errors = [[_in_window(each, *ends) for ends in WINDOWS.values()] for each in found]
        least = [
            number(min((v for v in column if v is not None), default=None))
            for column in zip(*errors, strict=True)
        ]
        for i, (each, values) in enumerate(zip(found, errors, strict=True)):
            cells = [
                f"**{cell}**" if cell == low and cell != "-" else cell
                for cell, low in zip(map(number, values), least, strict=True)
            ]
            cells += [number(each.us), number(each.kib or None)]
            lines.append(f"| {name if i == 0 else ''} | {each.learner} | {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else NONE


def _in_window(result: Result, first: int, end: int) -> float | None:
    """The error in a window; None if the run ended inside it before the stream did."""
    if result.rows < min(end, result.of) or result.rows - first < min(LEAST_ROWS, result.of):
        return None
    return result.error(first, end)


def _pairs(results: Results, peer: str, streams: Iterable[str]) -> list[tuple[Result, Result]]:
    """The results of the default and of a peer, on the streams that both have done."""
    return [
        (results[name, DEFAULT], results[name, peer])
        for name in streams
        if (name, DEFAULT) in results and (name, peer) in results and results[name, peer].rows
    ]
