"""Curves of runs and comparisons, from their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.evaluate import Comparison, Record, Row
from budgetron.plots import style

Source = Comparison | Mapping[str, Iterable[Record]] | Iterable[Record]


@dataclass
class Line:
    """What a learner shows in a picture: a mean over x, and a standard deviation."""

    name: str
    x: npt.NDArray[Any]
    mean: npt.NDArray[Any]
    sd: npt.NDArray[Any]


def error_against_rows(source: Source, ax: Any = None) -> Any:
    """Mistakes in percent of the rows so far, or the mean squared error so far.

    ``source`` is a `Comparison`, the records of a run, or the records of several by their names. The bands
    are one standard deviation over the permutations.
    """
    runs = _runs(source)
    scale, label = _measure(next(iter(runs.values()))[0][0].mistakes is not None)
    ax = curves([_over_rows(name, each, "rate", scale) for name, each in runs.items()], ax)
    ax.set(xlabel="rows", ylabel=label)
    return ax


def support_vectors_against_rows(source: Source, ax: Any = None) -> Any:
    """How the models grow; ``source`` is as for `error_against_rows`."""
    ax = curves(over_rows(source, "support_vectors"), ax, from_zero=True)
    ax.set(xlabel="rows", ylabel="support vectors")
    ax.yaxis.set_major_formatter("{x:,.0f}")
    return ax


def error_against_budget(comparisons: Mapping[int, Comparison], ax: Any = None) -> Any:
    """The error after the pass for several budgets, of each of which there is a comparison.

    A learner that is in only one of them, such as one without a budget, is a line across.
    """
    kept = _by_budget(comparisons)
    scale, label = _measure(next(iter(kept.values())).task == "classification")
    lines = []
    for name, rows in _rows(kept).items():
        lone = len(rows) == 1
        budgets, values = list(kept if lone else rows), list(rows.values())
        lines.append(_of_rows(name, budgets, values * len(kept) if lone else values, scale))
    ax = curves(lines, ax, marked=True)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(kept), [f"{budget:,}" for budget in kept])
    ax.minorticks_off()
    ax.set(xlabel="budget", ylabel=label)
    return ax


def error_against_time(source: Comparison | Mapping[int, Comparison], ax: Any = None) -> Any:
    """The error after the pass against the seconds that it took: best is at the lower left.

    ``source`` is a `Comparison`, or one for each of several budgets, which a line connects.
    """
    kept = {0: source} if isinstance(source, Comparison) else _by_budget(source)
    scale, label = _measure(next(iter(kept.values())).task == "classification")
    ax = style.axes(ax)
    for (name, rows), look in zip(_rows(kept).items(), style.styles(), strict=False):
        line = _of_rows(name, [row.seconds for row in rows.values()], list(rows.values()), scale)
        ax.errorbar(line.x, line.mean, yerr=line.sd, label=name, elinewidth=1, markersize=6, **look)
    _seconds(ax)
    ax.set(xlabel="seconds", ylabel=label)
    return style.with_legend(ax)


def overview(comparison: Comparison) -> Any:
    """A figure of a comparison: error and support vectors against rows, and error against time."""
    figure, axes = style.pyplot().subplots(1, 3, figsize=(14, 4), layout="constrained")
    error_against_rows(comparison, axes[0])
    support_vectors_against_rows(comparison, axes[1])
    error_against_time(comparison, axes[2])
    return figure


def over_rows(source: Source, what: str = "rate", scale: float = 1.0) -> list[Line]:
    """Any number of the records against rows, as lines for `curves`: "rate", "seconds", ..."""
    return [_over_rows(name, each, what, scale) for name, each in _runs(source).items()]


def curves(
    lines: Sequence[Line],
    ax: Any = None,
    *,
    marked: bool = False,
    named: bool = True,
    from_zero: bool = False,
) -> Any:
    """Any lines, as all pictures here draw theirs.

    ``marked`` shows the points, ``from_zero`` starts the vertical axis there. Without ``named`` no names
    stand beside the lines, for pictures of several axes that share a legend; a line without points takes a
    colour and draws nothing.
    """
    ax = _banded(style.axes(ax), list(lines), marked)
    if from_zero:
        ax.set_ylim(bottom=0)
    return _labelled(ax, list(lines)) if named else ax


def _seconds(ax: Any) -> None:
    """An axis of times: from 0, or logarithmic where they are far apart."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    low, high = ax.dataLim.intervalx
    if high < 10 * low:
        ax.set_xlim(left=0)
        ax.xaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 5, 10)))
    else:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")


def _banded(ax: Any, lines: list[Line], marked: bool = False) -> Any:
    """The lines, each in a band of one standard deviation."""
    for line, look in zip(lines, style.styles(), strict=False):
        few = marked or len(line.x) == 1
        ax.plot(line.x, line.mean, markersize=5 if few else 0, label=line.name, **look)
        if line.sd.any():
            low, high = line.mean - line.sd, line.mean + line.sd
            ax.fill_between(line.x, low, high, color=look["color"], alpha=0.13, linewidth=0)
    ax.margins(x=0.02)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    return ax


def _labelled(ax: Any, lines: list[Line]) -> Any:
    """The names at the ends of the lines; in a legend where there are more of them than colours."""
    if len(lines) > len(style.COLOURS):
        return style.with_legend(ax)
    named = [(line, colour) for line, colour in zip(lines, style.COLOURS, strict=False) if _has_end(line)]
    ax.get_ylim()  # the limits that the lines ask for are worked out when they are looked at
    to_axes = ax.transData + ax.transAxes.inverted()
    ends = [to_axes.transform((line.x[-1], line.mean[-1]))[1] for line, _ in named]
    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    for (line, colour), y in zip(named, _apart(ends, 12 / height), strict=True):
        ax.annotate(line.name, (1.01, y), xycoords="axes fraction", color=colour, fontsize=9, va="center")
    return ax


def _has_end(line: Line) -> bool:
    """Whether there is a name to write and a place to write it."""
    return bool(line.name) and len(line.x) > 0


def _apart(places: list[float], gap: float) -> list[float]:
    """Places between 0 and 1, moved as little as it takes to have a gap between neighbours.

    >>> _apart([0.5, 0.5, 0.9, 1.0], 0.2)
    [0.4, 0.6, 0.8, 1.0]
    """
    order = np.argsort(places, kind="stable")
    groups: list[tuple[float, int]] = []  # the middle of a group of neighbours, and how many they are
    for place in np.asarray(places, dtype=float)[order]:
        middle, size = _inside(float(place), 1, gap), 1
        while groups and groups[-1][0] + (groups[-1][1] + size) / 2 * gap > middle:
            other, many = groups.pop()
            middle, size = (other * many + middle * size) / (many + size), many + size
            middle = _inside(middle, size, gap)
        groups.append((middle, size))
    moved = np.empty(len(places))
    moved[order] = [middle + (i - (size - 1) / 2) * gap for middle, size in groups for i in range(size)]
    return [round(float(place), 12) for place in moved]


def _inside(middle: float, size: int, gap: float) -> float:
    """The middle of a group that stays between 0 and 1."""
    half = (size - 1) / 2 * gap
    return max(min(middle, 1 - half), half)


def _measure(labels: bool) -> tuple[float, str]:
    return (100.0, "mistakes, % of rows") if labels else (1.0, "mean squared error")


def _runs(source: Source) -> dict[str, list[list[Record]]]:
    """The runs of every learner by its name; a run of no name has the empty one."""
    if isinstance(source, Comparison):
        return {name: [list(run) for run in runs] for name, runs in source.records.items()}
    named = source if isinstance(source, Mapping) else {"": source}
    runs = {str(name): [list(records)] for name, records in named.items()}
    if not runs or not all(run for [run] in runs.values()):
        raise ValueError("plots: there are no records to draw.")
    return runs


def _over_rows(name: str, runs: list[list[Record]], what: str, scale: float) -> Line:
    values = scale * np.array([[getattr(record, what) for record in run] for run in runs], dtype=float)
    sd = values.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(values.shape[1])
    return Line(name, np.array([record.rows for record in runs[0]]), values.mean(axis=0), sd)


def _of_rows(name: str, x: list[Any], rows: list[Row], scale: float) -> Line:
    means, sds = [row.mean for row in rows], [row.sd or 0.0 for row in rows]
    return Line(name, np.array(x, dtype=float), scale * np.array(means), scale * np.array(sds))


def _by_budget(comparisons: Mapping[int, Comparison]) -> dict[int, Comparison]:
    if not isinstance(comparisons, Mapping) or not comparisons:
        raise ValueError("plots: expected a dict of budget to Comparison with at least one of them.")
    return dict(sorted(comparisons.items()))


def _rows(comparisons: Mapping[int, Comparison]) -> dict[str, dict[int, Row]]:
    """Name to budget to row."""
    found: dict[str, dict[int, Row]] = {}
    for budget, comparison in comparisons.items():
        for row in comparison.rows:
            found.setdefault(row.name, {})[budget] = row
    return found
