"""The pictures: error by rows seen with the crossings, and mean error against time and memory.

All come from the kept results.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.streams.pictures import save
from benchmarks.streams.whole import sources, table
from benchmarks.streams.whole.heads import DEFAULT, LEARNERS, PEERS
from benchmarks.streams.whole.results import PART, Result
from budgetron.plots import style

DRAWN = (
    "covtype",
    "covtype shuffled",
    "ijcnn1",
    "letter",
    "Agrawal",
    "RBF fast drift",
    "random tree",
    "poker hands",
    "casp",
)
"""The streams whose error is drawn by rows seen."""
CURVES = 5
"""The most peers in one picture of a stream: those with the lowest error beside that of the default."""
GROWTH = 1.25
"""A point of a curve is the mean over the parts between a number of rows and so many times that number."""


def draw(results: table.Results) -> None:
    """Draw all pictures."""
    save(by_rows(results), "whole_streams_rows.png")
    save(cost(results, "times", "times our microseconds a row"), "whole_streams_time.png")
    save(cost(results, "memory", "times our memory"), "whole_streams_memory.png")


def by_rows(results: table.Results) -> Any:
    """A curve for each learner on some streams; a dot where a peer gets ahead of the default for good."""
    names = [name for name in DRAWN if (name, DEFAULT) in results]
    columns = min(3, max(1, len(names)))
    lines = max(1, -(-len(names) // columns))
    figure, axes = plt.subplots(
        lines, columns, figsize=(4.4 * columns, 3.4 * lines), layout="constrained", squeeze=False
    )
    looks = dict(zip(LEARNERS, style.styles(), strict=False))
    for ax, name in zip(axes.flat, names, strict=False):
        style.axes(ax)
        ours = results[name, DEFAULT]
        for learner in (DEFAULT, *_best(results, name)):
            theirs = results[name, learner]
            rows, errors = growing(theirs)
            ax.plot(rows, errors, label=learner, **{**looks[learner], "marker": ""})
            start = table.crossing(ours, theirs)
            if start is not None:
                at = max(start, rows[0])
                ax.plot(at, np.interp(at, rows, errors), "o", color=looks[learner]["color"], markersize=7)
        ax.set(xscale="log", ylim=(0, None), xlabel="rows seen")
        _plain(ax)
        ax.set_title(name, loc="left", fontsize=11)
        ax.legend(frameon=False, fontsize=7)
    for ax in axes[:, 0]:
        ax.set_ylabel("error, %")
    for ax in list(axes.flat)[len(names) :]:
        ax.set_visible(False)
    return figure


def _best(results: table.Results, name: str) -> list[str]:
    """The peers to draw, in the order of the tables."""
    ratios = {
        peer: table.ratio(results[name, DEFAULT], results[name, peer])
        for peer in PEERS
        if (name, peer) in results
    }
    there = sorted((peer for peer, ratio in ratios.items() if ratio), key=lambda peer: -(ratios[peer] or 0))
    return sorted(there[:CURVES], key=PEERS.index)


def growing(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """The errors over longer and longer stretches, each at its last row."""
    ends, errors, start = [], [], 0
    while start < len(result.errors):
        stop = max(start + 1, round(GROWTH * start))
        if 2 * (len(result.errors) - stop) < stop - start:  # what would be left is short
            stop = len(result.errors)
        ends.append(min(stop * PART, result.rows))
        errors.append(np.average(result.errors[start:stop], weights=result.parts[start:stop]))
        start = stop
    return np.array(ends), np.array(errors)


def cost(results: table.Results, what: str, label: str) -> Any:
    """The mean error of each learner against its time or memory, all divided by the default's."""
    figure, ax = plt.subplots(figsize=(7.4, 4.4), layout="constrained")
    style.axes(ax)
    places: list[tuple[float, float, int]] = []
    for learner, look in zip(LEARNERS, style.styles(), strict=False):
        found = table.costs(results, learner, sources.names("whole"))
        if found is None or not getattr(found, what):
            continue
        x = getattr(found, what)
        ax.plot(x, found.error, look["marker"], color=look["color"], markersize=7)
        apart = [abs(np.log([x / a, found.error / b])) / (0.8, 0.1) for a, b, _ in places]
        near = [place[2] for place, away in zip(places, apart, strict=True) if away.max() < 1]
        below = 1 + max(near, default=-1)  # the labels of those that are near
        places.append((x, found.error, below))
        ax.annotate(
            f"{learner} ({found.streams})",
            (x, found.error),
            xytext=(6, 3 - 10 * below),
            textcoords="offset points",
            fontsize=8,
        )
    ax.axhline(1, color="#999999", linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set(xscale="log", yscale="log", xlabel=label, ylabel=f"error, times that of {DEFAULT}")
    _plain(ax)
    ax.set_yticks([1, 2, 3, 5, 10], ["1", "2", "3", "5", "10"])
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_title("Mean over the streams that both have done (their number)", loc="left", fontsize=11)
    ax.margins(x=0.2, y=0.1)
    return figure


def _plain(ax: Any) -> None:
    """Write the numbers of a logarithmic axis without powers."""
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1000 else f"{value / 1000:g}k")
    ax.xaxis.set_minor_formatter(NullFormatter())
