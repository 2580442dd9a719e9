"""Plots of studies: the ranks of learners over data sets, and the curves of each data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from budgetron.evaluate import Ranks, Study
from budgetron.plots import style
from budgetron.plots.lines import Line, curves, over_rows

STEP = 0.3
"""The distance between two lines of names, and between two bars, in units of the vertical axis."""


def critical_difference(ranks: Ranks, level: float = 0.05, ax: Any = None) -> Any:
    """Draw the mean ranks of learners on a line, as Demšar (2006) does; the best is at the left.

    A bar connects learners whose ranks do not differ significantly by Nemenyi's test. The bar above the
    axis is as long as the critical difference.

    Parameters
    ----------
    ranks : Ranks
        ``Study.ranks()``, or ranks of any errors.
    level : float
        The level of the test.
    ax : axes, optional
        Where to draw.

    Examples
    --------
    >>> from budgetron import plots
    >>> from budgetron.evaluate import Ranks
    >>> errors = [[0.1, 0.2, 0.3], [0.2, 0.1, 0.3], [0.1, 0.3, 0.35]] * 3
    >>> ranks = Ranks(("rbp", "forgetron", "stoptron"), [str(i) for i in range(9)], errors)
    >>> ax = plots.critical_difference(ranks)
    >>> [text.get_text() for text in ax.texts][3:5]
    ['critical difference 1.10', 'rbp 1.33']
    """
    names = sorted(ranks.learners, key=lambda name: ranks.mean[name])
    groups, most = ranks.groups(level), len(names)
    if ax is None:
        height = 1.0 + 0.3 * (-(-most // 2) + 0.6 * len(groups))
        ax = style.pyplot().subplots(figsize=(7.0, height), layout="constrained")[1]
    _draw_axis(ax, most, ranks.critical_difference(level))
    for i, group in enumerate(groups):
        y, ends = -0.35 - 0.6 * STEP * i, (ranks.mean[group[0]], ranks.mean[group[-1]])
        ax.plot(
            [ends[0] - 0.04, ends[1] + 0.04], [y, y], color="#333333", linewidth=4, solid_capstyle="butt"
        )
    under = -0.35 - 0.6 * STEP * len(groups) - 0.5 * STEP
    _draw_names(ax, names, [ranks.mean[name] for name in names], under, most)
    lowest = under - STEP * (-(-most // 2))
    right = max(most + 0.28 * (most - 1) + 0.3, 1.1 + ranks.critical_difference(level))
    ax.set(xlim=(1 - 0.28 * (most - 1) - 0.3, right), ylim=(lowest, 1.0))
    return ax


def _draw_axis(ax: Any, most: int, difference: float) -> None:
    """The line of ranks, and the critical difference above it."""
    ax.set_axis_off()
    ax.plot([1, most], [0, 0], color="black", linewidth=1)
    for rank in range(1, most + 1):
        ax.plot([rank, rank], [0, 0.12], color="black", linewidth=1)
        ax.annotate(f"{rank}", (rank, 0.16), ha="center", va="bottom", fontsize=9)
    ax.plot([1, 1 + difference], [0.62, 0.62], color="black", linewidth=1.5, marker="|", markersize=8)
    ax.text(1, 0.72, f"critical difference {difference:.2f}", fontsize=9, va="bottom")


def _draw_names(ax: Any, names: Sequence[str], ranks: Sequence[float], under: float, most: int) -> None:
    """The names below the line: the better half at the left, from the top; the others at the right."""
    half = -(-len(names) // 2)
    colours = [style.COLOURS[i % len(style.COLOURS)] for i in range(len(names))]
    reach = 0.05 * (most - 1) + 0.1
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = i < half
        y = under - STEP * (i if left else len(names) - 1 - i)
        end = 1 - reach if left else most + reach
        ax.plot([rank, rank, end], [0, y, y], color=colours[i], linewidth=1)
        align = "right" if left else "left"
        where = end - 0.04 if left else end + 0.04
        ax.text(where, y, f"{name} {rank:.2f}", color=colours[i], fontsize=9, ha=align, va="center")


def study_curves(study: Study, budget: int | None = None) -> Any:
    """A figure with the curves of every data set: the error of the rows so far, with bands.

    The bands show one standard deviation over the orders.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, plots, rbp
    >>> made = {f"draw {i}": datasets.synthetic(300, seed=i) for i in range(3)}
    >>> result = evaluate.study({"rbp": rbp(Gaussian(1.0), budget=20)}, made, 2)
    >>> len(plots.study_curves(result).axes)
    3
    """
    names = [name for name in study.datasets if _has_runs(study, name, budget)]
    if not names:
        raise ValueError("plots: the study has no runs to draw.")
    columns = min(4, len(names))
    lines = -(-len(names) // columns)
    size = (3.4 * columns + 1.2, 2.8 * lines)
    figure, axes = style.pyplot().subplots(
        lines, columns, figsize=size, layout="constrained", squeeze=False
    )
    for ax, name in zip(axes.flat, names, strict=False):
        _draw_curves(study, name, budget, ax)
    for ax in axes.flat[len(names) :]:
        ax.remove()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def _draw_curves(study: Study, dataset: str, budget: int | None, ax: Any) -> None:
    """The curves of a data set; a learner that failed there keeps its colour."""
    comparison = study.comparison(dataset, budget)
    labels = comparison.task == "classification"
    there = {line.name: line for line in over_rows(comparison, "rate", 100.0 if labels else 1.0)}
    nothing = np.zeros(0)
    lines = [there.get(name, Line(name, nothing, nothing, nothing)) for name in study.learners]
    curves(lines, ax, named=False).set_title(dataset, loc="left", fontsize=11)
    ax.set(xlabel="rows", ylabel="mistakes, % of rows" if labels else "mean squared error")
    ax.xaxis.set_major_locator(style.few_rows())


def _has_runs(study: Study, dataset: str, budget: int | None) -> bool:
    return any(
        cell.runs for cell in study.cells if cell.dataset == dataset and budget in (None, cell.budget)
    )
