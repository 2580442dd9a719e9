"""Plot why a row got its score, and which columns mattered when."""

from typing import Any

import numpy as np

from budgetron._util.text import printable
from budgetron.estimators.explain.columns import Columns
from budgetron.estimators.explain.explanation import Explanation
from budgetron.evaluate import prequential
from budgetron.plots import style
from budgetron.plots.lines import Line, curves

RAISES, LOWERS = style.COLOURS[0], style.COLOURS[1]


def explanation(why: Explanation, ax: Any = None, most: int = 10) -> Any:
    """Plot what each column adds to the score of a row, as bars, from the largest.

    Parameters
    ----------
    why : Explanation
        As ``model.explain_one(x)`` returns it.
    ax : matplotlib axes, optional
        Where to draw.
    most : int
        The number of columns; the others are one bar.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from budgetron import OnlineClassifier, plots
    >>> data = load_breast_cancer(as_frame=True)
    >>> model = OnlineClassifier(random_state=0).partial_fit(data.data, data.target)
    >>> ax = plots.explanation(model.explain(data.data[:1], samples=8)[0], most=3)
    >>> [label.get_text().split(" = ")[0] for label in ax.get_yticklabels()][-1]
    '27 more columns'
    """
    ax, order = style.axes(ax), why.order
    bars = [(_named(why, j), float(why.contributions[j]), float(why.errors[j])) for j in order[:most]]
    if rest := order[most:]:
        bars.append((f"{len(rest)} more columns", float(why.contributions[rest].sum()), 0.0))
    names, values, errors = zip(*bars, strict=True)
    places = np.arange(len(bars))
    ax.barh(places, values, color=[RAISES if v >= 0 else LOWERS for v in values])
    known = np.flatnonzero(np.array(errors) > 0)
    means, spread = np.array(values)[known], np.array(errors)[known]
    ax.errorbar(means, places[known], xerr=spread, fmt="none", ecolor="#333333", elinewidth=1, capsize=2)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.axvline(0, color="#333333", linewidth=0.8)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", color="#e6e6e6", linewidth=0.8)
    of = "prediction" if why.label is None else f"score of {printable(str(why.label))}"
    ax.set(xlabel=f"adds to the {of}", title=f"Why {why.score:.3g}, and not {why.baseline:.3g}?")
    return ax


def _named(why: Explanation, j: int) -> str:
    value = why.values[j]
    text = "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return printable(f"{why.columns[j]} = {text}")[:40].replace("$", r"\$")


def importances(model: Any, stream: Any, *, classes: Any = None, every: int = 200, most: int = 8) -> Any:
    """Learn a stream, and draw how much each column matters against rows.

    Parameters
    ----------
    model : OnlineClassifier or OnlineRegressor
        Its learner keeps rows, as the default does.
    stream : stream, or pair of rows and labels
        As for :func:`budgetron.evaluate.prequential`.
    classes : labels, optional
        All labels of the stream, for an unfitted classifier and a stream.
    every : int
        The number of rows between two points.
    most : int
        The number of columns drawn: those that mattered most at some time.

    Returns
    -------
    Axes
        A line for each column: its share in what the answers change by if a column is shuffled.

    Examples
    --------
    >>> from budgetron import OnlineClassifier, datasets, plots
    >>> ax = plots.importances(OnlineClassifier(random_state=0), datasets.synthetic(400, seed=0), every=200)
    >>> ax.get_ylabel()
    'share of importance'
    """
    rows, shares = list[int](), list[dict[str, float]]()
    more = {} if classes is None else {"classes": classes}
    for record in prequential(model, stream, every=every, **more):
        if record.rows > 1:
            names = Columns.of(model.fitted_).names
            rows.append(record.rows)
            shares.append(dict(zip(names, model.feature_importances_.tolist(), strict=True)))
    if not rows:
        raise ValueError("plots.importances: the stream has fewer than two rows.")
    table = {name: np.array([share.get(name, 0.0) for share in shares]) for name in shares[-1]}
    drawn = sorted(table, key=lambda name: -table[name].max())[:most]
    none = np.zeros(len(rows))
    lines = [Line(printable(name), np.array(rows), table[name], none) for name in drawn]
    ax = curves(lines, style.axes(None))
    ax.set(xlabel="rows", ylabel="share of importance", title="Which columns matter now?")
    ax.set_ylim(bottom=0)
    return ax
