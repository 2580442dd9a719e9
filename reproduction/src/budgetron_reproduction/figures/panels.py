"""Figures of several panels that show the same algorithms, with one legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from budgetron import plots
from budgetron.plots import Line

WIDTH = 11.0
"""Inches."""


def grid(rows: int, columns: int, height: float = 2.7, **more: Any) -> tuple[Any, Any]:
    """A figure of the common width, and its axes in rows."""
    from matplotlib import pyplot

    size = (WIDTH, rows * height + 0.6)
    return pyplot.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, **more)


def multiples(
    panels: Mapping[str, Sequence[Line]], names: Sequence[str], ylabel: str, log: bool = False
) -> Any:
    """One panel for each data set, three in a row; a name has the same style in all of them."""
    columns = min(3, len(panels))
    figure, axes = grid(-(-len(panels) // columns), columns)
    for ax, (title, lines) in zip(axes.flat, panels.items(), strict=False):
        panel(ax, lines, names, title, log=log)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax in axes.flat[max(0, len(panels) - columns) : len(panels)]:
        ax.set_xlabel("rows")
    for ax in axes[:, 0]:
        ax.set_ylabel(ylabel)
    legend(figure, axes.flat[0], names)
    return figure


def panel(
    ax: Any,
    lines: Sequence[Line],
    names: Sequence[str],
    title: str = "",
    *,
    log: bool = False,
    marked: bool = False,
) -> Any:
    """Draw lines, each in the style of its name; the deviations are omitted, as they would hide lines."""
    known = {line.name: replace(line, sd=np.zeros_like(line.mean)) for line in lines}
    plots.curves([known.get(name, _empty(name)) for name in names], ax, named=False, marked=marked)
    ax.set_title(title, fontsize="medium", loc="left")
    if ax.get_xscale() == "linear":
        ax.locator_params(axis="x", nbins=5)
    if log:
        logarithmic(ax)
    return ax


def logarithmic(ax: Any) -> None:
    """Make the vertical axis logarithmic, in seconds, with enough ticks to read it."""
    from matplotlib.ticker import EngFormatter, LogLocator

    ax.set_yscale("log")
    low, high = ax.dataLim.intervaly
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    ax.yaxis.set_major_formatter(EngFormatter(unit="s"))
    ax.minorticks_off()


def legend(figure: Any, ax: Any, names: Sequence[str], columns: int = 0) -> None:
    """Add one legend below the figure, with the names that are in some panel."""
    present = {
        line.get_label() for each in figure.axes for line in each.get_lines() if len(line.get_xdata())
    }
    by_name = {line.get_label(): line for line in ax.get_lines()}
    kept = [name for name in names if name in present]
    figure.legend(
        [by_name[name] for name in kept],
        kept,
        loc="outside lower center",
        ncols=columns or min(len(kept), 10),
        frameon=False,
        columnspacing=1.2,
        handlelength=1.8,
    )


def focus(ax: Any, lines: Sequence[Line]) -> None:
    """Scale the vertical axis to the rows after the first eighth; the first few errors are chance."""
    late = np.concatenate([line.mean[len(line.mean) // 8 :] for line in lines])
    room = 0.08 * (late.max() - late.min())
    ax.set_ylim(max(0, late.min() - room), late.max() + room)


def _empty(name: str) -> Line:
    none = np.array([])
    return Line(name, none, none, none)
