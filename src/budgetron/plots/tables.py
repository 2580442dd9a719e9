"""Plot what the columns of a table hold."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np

from budgetron.plots import style
from budgetron.streams.describing import Description

MOST_PANELS, MOST_VALUES, MOST_LETTERS = 30, 8, 18


def columns(described: Description) -> Any:
    r"""Draw the columns of a table: histograms of numbers and dates, and the most frequent texts.

    Parameters
    ----------
    described : Description
        What `budgetron.streams.describe` returns.

    Returns
    -------
    Figure
        A panel for each of the first 30 columns.

    Examples
    --------
    >>> import io
    >>> from budgetron import plots, streams
    >>> file = io.BytesIO(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i % 3) for i in range(50)))
    >>> figure = plots.columns(streams.describe(file))
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['a', 'b']
    """
    shown = described.columns[:MOST_PANELS]
    across = min(len(shown), 4)
    down = -(-len(shown) // across)
    size = (3.4 * across, 2.3 * down)
    figure, grid = style.pyplot().subplots(down, across, figsize=size, layout="constrained", squeeze=False)
    for ax, column in zip(grid.flat, shown, strict=False):
        style.axes(ax)
        ax.set_title(column.name, loc="left", fontsize=10)
        ax.tick_params(labelsize=8)
        _panel(ax, described.cells[column.name], column.kind)
    for ax in grid.flat[len(shown) :]:
        ax.remove()
    return figure


def _panel(ax: Any, values: list[Any], kind: str) -> None:
    read = [value for value in values if value is not None]
    moments = [value[0] for value in read if isinstance(value, tuple)]
    numbers = [value for value in read if isinstance(value, float)]
    ax.annotate(kind, (1, 1.02), xycoords="axes fraction", ha="right", fontsize=8, color="#666666")
    if 2 * len(moments) > len(read):
        ax.hist([datetime.fromtimestamp(at, UTC) for at in moments], bins=30, color=style.COLOURS[1])
        ax.tick_params(axis="x", rotation=20)
    elif 2 * len(numbers) > len(read):
        low, high = np.quantile(numbers, [0.005, 0.995])
        ax.hist(np.clip(numbers, low, high), bins=30, color=style.COLOURS[0])
    elif read:
        most = Counter(map(str, read)).most_common(MOST_VALUES)[::-1]
        names = [
            name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 3]}..." for name, _ in most
        ]
        ax.barh(range(len(most)), [n for _, n in most], color=style.COLOURS[2])
        ax.set_yticks(range(len(most)), names)
        ax.grid(visible=False, axis="y")
