"""Plot curves of runs and comparisons from their records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.evaluate import Comparison, Record, Row
from budgetron.plots import style

Source = Comparison | Mapping[str, Iterable[Record]] | Iterable[Record]


QUESTIONS = {
    "rate": "How large is the error now?",
    "kappa": "How much better than chance now?",
    "kappa_temporal": "How much better than the last label now?",
    "log_loss": "How good are the probabilities now?",
}
"""The titles of plots of metrics of the last rows."""


@dataclass
class Line:
    """A curve: the mean and the standard deviation at each x.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import plots
    >>> mean = np.array([0.3, 0.2, 0.1])
    >>> line = plots.Line("mine", np.array([1, 2, 4]), mean, 0.1 * mean)
    >>> plots.curves([line]).get_lines()[0].get_label()
    'mine'
    """

    name: str
    x: npt.NDArray[Any]
    mean: npt.NDArray[Any]
    sd: npt.NDArray[Any]


def error_against_rows(source: Source, ax: Any = None) -> Any:
    """Plot the mistakes in percent of the rows so far, or the mean squared error so far.

    ``source`` is a `Comparison`, the records of a run, or a dict of name to records. The bands show one
    standard deviation over the permutations.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, plots, rbp
    >>> rows = datasets.synthetic(300, seed=0)
    >>> result = evaluate.compare({"rbp": rbp(Gaussian(1.0), budget=20)}, rows, permutations=2, every=100)
    >>> ax = plots.error_against_rows(result)
    >>> ax.get_xlabel()
    'rows'
    """
    runs = _runs(source)
    scale, label = _measure(next(iter(runs.values()))[0][0].mistakes is not None)
    ax = curves([_over_rows(name, each, "rate", scale) for name, each in runs.items()], ax)
    question = "How many mistakes so far?" if scale == 100 else "How large is the error so far?"
    return _against_rows(ax, question, label)


def window_against_rows(source: Source, metric: str = "rate", ax: Any = None) -> Any:
    """Plot a metric of the last rows, which shows change sooner than the mean over all rows.

    ``source`` is as for `error_against_rows`. The metric is "rate", the mistakes in percent or the mean
    squared error, or the name of a metric in the records, such as "kappa". Where it is undefined, the line
    has a gap.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, plots, rbp
    >>> rows = datasets.synthetic(300, seed=0)
    >>> learners = {"rbp": rbp(Gaussian(1.0), budget=20)}
    >>> result = evaluate.compare(learners, rows, permutations=2, every=100, window=100)
    >>> plots.window_against_rows(result).get_ylabel()
    'mistakes, % of rows, last 100 rows'
    """
    runs = _runs(source)
    records = [record for each in runs.values() for run in each for record in run]
    if not all(metric in record.metrics.get("window", {}) for record in records):
        raise ValueError(f"plots: the records have no {metric!r} of the last rows.")
    scale, label = _measure(records[0].mistakes is not None) if metric == "rate" else (1.0, metric)
    rows = max(int(record.metrics["window"]["rows"] or 0) for record in records)
    ax = curves([_over_rows(name, each, metric, scale, "window") for name, each in runs.items()], ax)
    question = QUESTIONS.get(metric, f"How is {metric} now?")
    if metric == "rate" and scale == 100:
        question = "How many mistakes now?"
    return _against_rows(ax, question, f"{label}, last {rows:,} rows")


def support_vectors_against_rows(source: Source, ax: Any = None) -> Any:
    """Plot the number of support vectors; ``source`` is as for `error_against_rows`.

    A learner that never has any is not drawn.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, plots, rbp
    >>> rows = datasets.synthetic(300, seed=0)
    >>> result = evaluate.compare({"rbp": rbp(Gaussian(1.0), budget=20)}, rows, permutations=2, every=100)
    >>> plots.support_vectors_against_rows(result).get_ylabel()
    'support vectors'
    """
    lines = [line if line.mean.any() else _nothing(line) for line in over_rows(source, "support_vectors")]
    ax = curves(lines, ax, from_zero=True)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    return _against_rows(ax, "How large is the model?", "support vectors")


def error_against_budget(comparisons: Mapping[int, Comparison], ax: Any = None) -> Any:
    """Plot the error after the pass against the budget, from a dict of budget to `Comparison`.

    A learner that is in only one comparison, such as one without a budget, becomes a horizontal line.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, plots, rbp
    >>> rows = datasets.synthetic(300, seed=0)
    >>> results = {
    ...     budget: evaluate.compare({"rbp": rbp(Gaussian(1.0), budget=budget)}, rows, permutations=2)
    ...     for budget in (10, 20)
    ... }
    >>> plots.error_against_budget(results).get_xlabel()
    'budget'
    """
    by_budget = _by_budget(comparisons)
    scale, label = _measure(next(iter(by_budget.values())).task == "classification")
    lines = []
    for name, rows in _rows(by_budget).items():
        lone = len(rows) == 1
        budgets, values = list(by_budget if lone else rows), list(rows.values())
        lines.append(_of_rows(name, budgets, values * len(by_budget) if lone else values, scale))
    ax = curves(lines, ax, marked=True)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(by_budget), [f"{budget:,}" for budget in by_budget])
    ax.minorticks_off()
    return _titled(ax, "What does a larger budget gain?", "budget", label)


def error_against_time(source: Comparison | Mapping[int, Comparison], ax: Any = None) -> Any:
    """Plot the error after the pass against its seconds. The best learners are at the lower left.

    ``source`` is a `Comparison`, or a dict of budget to `Comparison`. A line connects the budgets.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, plots, rbp
    >>> rows = datasets.synthetic(300, seed=0)
    >>> result = evaluate.compare({"rbp": rbp(Gaussian(1.0), budget=20)}, rows, permutations=2)
    >>> plots.error_against_time(result).get_xlabel()
    'seconds'
    """
    by_budget = {0: source} if isinstance(source, Comparison) else _by_budget(source)
    scale, label = _measure(next(iter(by_budget.values())).task == "classification")
    ax = style.axes(ax)
    for (name, rows), look in zip(_rows(by_budget).items(), style.styles(), strict=False):
        line = _of_rows(name, [row.seconds for row in rows.values()], list(rows.values()), scale)
        ax.errorbar(line.x, line.mean, yerr=line.sd, label=name, elinewidth=1, markersize=6, **look)
    _scale_time_axis(ax)
    return style.with_legend(_titled(ax, "What does a lower error cost?", "seconds", label))


def overview(comparison: Comparison) -> Any:
    """A figure of up to five plots.

    These are the error of all rows so far, the error and kappa of the last rows if the records have them,
    the support vectors if there are any, and the error against the time.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, plots, rbp
    >>> rows = datasets.synthetic(300, seed=0)
    >>> result = evaluate.compare({"rbp": rbp(Gaussian(1.0), budget=20)}, rows, permutations=2, every=100)
    >>> len(plots.overview(result).axes)
    5
    """
    records = [record for runs in comparison.records.values() for run in runs for record in run]
    panels: list[Callable[[Any], Any]] = [partial(error_against_rows, comparison)]
    panels += [
        partial(window_against_rows, comparison, metric)
        for metric in ("rate", "kappa")
        if any(record.metrics.get("window", {}).get(metric) is not None for record in records)
    ]
    if any(record.support_vectors for record in records):
        panels.append(partial(support_vectors_against_rows, comparison))
    panels.append(partial(error_against_time, comparison))
    columns = len(panels) if len(panels) < 4 else -(-len(panels) // 2)
    lines = -(-len(panels) // columns)
    size = (14 / 3 * columns, 4.0 * lines)
    figure, axes = style.pyplot().subplots(
        lines, columns, figsize=size, layout="constrained", squeeze=False
    )
    for ax, draw in zip(axes.flat, panels, strict=False):
        draw(ax)
    for ax in axes.flat[len(panels) :]:
        ax.remove()
    return figure


def over_rows(source: Source, what: str = "rate", scale: float = 1.0) -> list[Line]:
    """Lines for `curves`: an attribute of the records ("rate", "seconds", ...) against rows.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, plots, rbp
    >>> rows = datasets.synthetic(300, seed=0)
    >>> result = evaluate.compare({"rbp": rbp(Gaussian(1.0), budget=20)}, rows, permutations=2, every=100)
    >>> [line] = plots.over_rows(result, "support_vectors")
    >>> line.x, line.mean
    (array([100, 200, 300]), array([20., 20., 20.]))
    """
    return [_over_rows(name, each, what, scale) for name, each in _runs(source).items()]


def curves(
    lines: Sequence[Line],
    ax: Any = None,
    *,
    marked: bool = False,
    named: bool = True,
    from_zero: bool = False,
) -> Any:
    """Draw lines in the style of this package, each with a band of one standard deviation.

    ``marked`` draws a marker at each point. ``from_zero`` starts the vertical axis at 0. ``named=False``
    omits the names beside the lines, for figures whose axes share a legend. A line without points draws
    nothing, but uses up a colour.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import plots
    >>> x, mean = np.array([50, 100, 200]), np.array([0.3, 0.2, 0.1])
    >>> ax = plots.curves([plots.Line("mine", x, mean, 0.1 * mean)], marked=True, from_zero=True)
    >>> float(ax.get_ylim()[0])
    0.0
    """
    ax = style.axes(ax)
    for line, look in zip(lines, style.styles(), strict=False):
        few = marked or len(line.x) == 1
        ax.plot(line.x, line.mean, markersize=5 if few else 0, label=line.name, **look)
        if line.sd.any():
            low, high = line.mean - line.sd, line.mean + line.sd
            ax.fill_between(line.x, low, high, color=look["color"], alpha=0.13, linewidth=0)
    ax.margins(x=0.02)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    if from_zero:
        ax.set_ylim(bottom=0)
    return _label_ends(ax, list(lines)) if named else ax


def _titled(ax: Any, question: str, x: str, y: str) -> Any:
    """The axes with a title and with names of x and y."""
    ax.set_title(question, loc="left", fontsize=11)
    ax.set(xlabel=x, ylabel=y)
    return ax


def _against_rows(ax: Any, question: str, y: str) -> Any:
    """The same, with few ticks of rows."""
    ax.xaxis.set_major_locator(style.few_rows())
    return _titled(ax, question, "rows", y)


def _scale_time_axis(ax: Any) -> None:
    """Scale the time axis: linear from 0, or logarithmic if the times differ by a factor of 10."""
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


def _label_ends(ax: Any, lines: list[Line]) -> Any:
    """Write the names at the ends of the lines, or in a legend if there are more lines than colours."""
    if len(lines) > len(style.COLOURS):
        return style.with_legend(ax)
    pairs = zip(lines, style.COLOURS, strict=False)
    named = [(line, colour) for line, colour in pairs if line.name and len(line.x)]
    ax.get_ylim()  # makes matplotlib compute the limits
    to_axes = ax.transData + ax.transAxes.inverted()
    ends = [to_axes.transform((line.x[-1], line.mean[-1]))[1] for line, _ in named]
    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    for (line, colour), y in zip(named, _spread(ends, 12 / height), strict=True):
        ax.annotate(line.name, (1.01, y), xycoords="axes fraction", color=colour, fontsize=9, va="center")
    return ax


def _spread(places: list[float], gap: float) -> list[float]:
    """Move positions between 0 and 1 as little as possible, so that neighbours are ``gap`` apart.

    >>> _spread([0.5, 0.5, 0.9, 1.0], 0.2)
    [0.4, 0.6, 0.8, 1.0]
    """
    order = np.argsort(places, kind="stable")
    groups: list[tuple[float, int]] = []  # the middle and the size of each group of neighbours
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
    """The middle of a group, moved so that the group lies between 0 and 1."""
    half = (size - 1) / 2 * gap
    return max(min(middle, 1 - half), half)


def _measure(labels: bool) -> tuple[float, str]:
    return (100.0, "mistakes, % of rows") if labels else (1.0, "mean squared error")


def _nothing(line: Line) -> Line:
    """The line without its points; it still uses up its colour, so that the others keep theirs."""
    return Line(line.name, line.x[:0], line.mean[:0], line.sd[:0])


def _runs(source: Source) -> dict[str, list[list[Record]]]:
    """The runs of each learner by name. The records of a single run have the empty name."""
    if isinstance(source, Comparison):
        return {name: [list(run) for run in runs] for name, runs in source.records.items()}
    named = source if isinstance(source, Mapping) else {"": source}
    runs = {str(name): [list(records)] for name, records in named.items()}
    if not runs or not all(run for [run] in runs.values()):
        raise ValueError("plots: there are no records to draw.")
    return runs


def _over_rows(
    name: str, runs: list[list[Record]], what: str, scale: float, metrics: str | None = None
) -> Line:
    """The line of an attribute of the records, or of one of their metrics ("running" or "window")."""
    numbers = [
        [getattr(record, what) if metrics is None else record.metrics[metrics][what] for record in run]
        for run in runs
    ]
    values = scale * np.array(numbers, dtype=float)  # None becomes NaN
    sd = values.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(values.shape[1])
    return Line(name, np.array([record.rows for record in runs[0]]), values.mean(axis=0), sd)


def _of_rows(name: str, x: list[Any], rows: list[Row], scale: float) -> Line:
    means, sds = [row.mean for row in rows], [row.sd or 0.0 for row in rows]
    return Line(name, np.array(x, dtype=float), scale * np.array(means), scale * np.array(sds))


def _by_budget(comparisons: Mapping[int, Comparison]) -> dict[int, Comparison]:
    if not isinstance(comparisons, Mapping) or not comparisons:
        raise ValueError("plots: expected a dict of budget to Comparison with at least one entry.")
    return dict(sorted(comparisons.items()))


def _rows(comparisons: Mapping[int, Comparison]) -> dict[str, dict[int, Row]]:
    """Name to budget to row."""
    rows: dict[str, dict[int, Row]] = {}
    for budget, comparison in comparisons.items():
        for row in comparison.rows:
            rows.setdefault(row.name, {})[budget] = row
    return rows
