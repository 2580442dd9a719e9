"""Plot what decisions rest on: sets and intervals over a stream, precision against recall."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from budgetron._util.text import printable
from budgetron.evaluate import Metrics
from budgetron.evaluate.covering import Coverage
from budgetron.plots import style
from budgetron.plots.lines import Line, curves


def coverage(found: Coverage | Mapping[str, Coverage], window: int = 500) -> Any:
    """Plot the share of rows that sets or intervals covered, and the mean size, of the last rows.

    Parameters
    ----------
    found : Coverage, or dict of name to Coverage
        As :func:`budgetron.evaluate.coverage` returns it.
    window : int
        The number of last rows.

    Returns
    -------
    Figure
        Two axes: the share covered, with the share that was asked for, and the mean size.

    Examples
    --------
    >>> from budgetron import OnlineClassifier, datasets, evaluate, plots
    >>> model = OnlineClassifier(random_state=0, coverage=0.9)
    >>> found = evaluate.coverage(model, datasets.synthetic(600, seed=0))
    >>> [ax.get_ylabel() for ax in plots.coverage(found, window=200).axes]
    ['covered, % of the last 200 rows', 'labels in a set']
    """
    named = {"": found} if isinstance(found, Coverage) else dict(found)
    if not named:
        raise ValueError("plots.coverage: there is nothing to draw.")
    figure, axes = style.pyplot().subplots(1, 2, figsize=(13, 4), layout="constrained")
    targets = next(iter(named.values())).ends is not None
    shares = [_smooth(name, each, 100.0 * each.inside, window) for name, each in named.items()]
    sizes = [_smooth(name, each, each.sizes, window) for name, each in named.items()]
    for ax, lines in zip(axes, (shares, sizes), strict=True):
        curves(lines, ax, named=ax is axes[-1], from_zero=ax is axes[-1])
        ax.xaxis.set_major_locator(style.few_rows())
    for asked in sorted({each.asked for each in named.values()}):
        axes[0].axhline(100 * asked, color="#333333", linewidth=0.8, linestyle=style.DASHES[1])
    axes[0].set(xlabel="rows", ylabel=f"covered, % of the last {window:,} rows")
    axes[1].set(xlabel="rows", ylabel="width of an interval" if targets else "labels in a set")
    return figure


def _smooth(name: str, found: Coverage, values: Any, window: int) -> Line:
    """The mean of the last rows, at 500 points at most."""
    if len(values) < window:
        raise ValueError(f"plots.coverage: expected at least {window} rows, got {len(values)}.")
    sums = np.concatenate([[0.0], np.cumsum(np.where(np.isfinite(values), values, 0.0))])
    known = np.concatenate([[0], np.cumsum(np.isfinite(values))])
    stops = np.unique(np.linspace(window, len(values), 500).round().astype(int))
    counts = np.maximum(known[stops] - known[stops - window], 1)
    means = (sums[stops] - sums[stops - window]) / counts
    return Line(printable(name), found.first + stops, means, np.zeros(len(stops)))


def intervals(found: Coverage, ax: Any = None, rows: int = 200) -> Any:
    """Plot the last targets with their intervals; those outside are marked.

    Parameters
    ----------
    found : Coverage
        That of a regressor, as :func:`budgetron.evaluate.coverage` returns it.
    ax : matplotlib axes, optional
        Where to draw.
    rows : int
        The number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import OnlineRegressor, evaluate, plots
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> found = evaluate.coverage(OnlineRegressor(random_state=0, coverage=0.9), (X, X[:, 0]))
    >>> plots.intervals(found, rows=100).get_xlabel()
    'rows'
    """
    if found.ends is None or found.y is None or found.predicted is None:
        raise ValueError("plots.intervals: expected the intervals of a regressor, got sets.")
    ax = style.axes(ax)
    last = slice(max(0, len(found.y) - rows), None)
    x = found.first + np.arange(len(found.y))[last]
    y, inside, ends = found.y[last], found.inside[last], found.ends[last]
    ax.vlines(x, *ends.T, color=style.COLOURS[0], alpha=0.3, linewidth=2, label="interval")
    ax.plot(x, found.predicted[last], color=style.COLOURS[0], linewidth=1, label="prediction")
    ax.plot(x[inside], y[inside], "o", color="#333333", markersize=2.5, label="inside")
    ax.plot(x[~inside], y[~inside], "x", color=style.COLOURS[1], markersize=6, label="outside")
    ax.xaxis.set_major_locator(style.few_rows())
    share = f"{inside.mean():.0%} inside, {found.asked:.0%} asked"
    ax.set(xlabel="rows", ylabel="target", title=f"Where will it be? {share}")
    return style.with_legend(ax)


def precision_recall(
    metrics: Metrics, labels: Sequence[Any] | None = None, ax: Any = None, *, windowed: bool = False
) -> Any:
    """Plot precision against recall of classes, for all thresholds.

    Parameters
    ----------
    metrics : Metrics
        They rank rows: with ``average_precision`` among the names, or another metric of ranks.
    labels : labels, optional
        The classes; by default the second of two, or all.
    ax : matplotlib axes, optional
        Where to draw.
    windowed : bool
        Whether only the last rows count.

    Examples
    --------
    >>> from budgetron import OnlineClassifier, datasets, evaluate, plots
    >>> from budgetron.streams import from_arrays
    >>> session = evaluate.Session(OnlineClassifier(random_state=0), metrics=["average_precision"])
    >>> for block in from_arrays(*datasets.synthetic(500, seed=0)):
    ...     _ = session.feed(block)
    >>> plots.precision_recall(session.metrics).get_ylabel()
    'precision'
    """
    if labels is None:
        known = list(metrics.recall())
        labels = known[1:] if len(known) == 2 else known
    ax = style.axes(ax)
    for label, look in zip(labels, style.styles(), strict=False):
        curve = metrics.precision_recall(label, windowed=windowed)
        look |= {"marker": ""}
        ax.step(curve["recall"], curve["precision"], where="pre", label=printable(str(label)), **look)
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.05))
    ax.set_title("How many are found, and how many alarms are right?")
    return style.with_legend(ax)
