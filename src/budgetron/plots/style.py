"""The common style of all plots: colours, markers, axes and legends."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from budgetron._util.extras import pip_install

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#333333")
"""The colours of Okabe and Ito, which colour-blind readers can distinguish."""
DASHES = ((0, ()), (0, (5, 2)), (0, (1.5, 1.5)))
"""The line styles: solid for the first seven lines, then dashed, then dotted."""
MARKERS = "osD^vPX"


def pyplot() -> Any:
    """matplotlib.pyplot. The error says how to install it."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError(f"Drawing needs matplotlib: {pip_install('plot')}.") from None
    return matplotlib.pyplot


def axes(ax: Any) -> Any:
    """The given axes or new ones, in the style of this package."""
    if ax is None:
        ax = pyplot().subplots(figsize=(6.4, 4), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def styles() -> Iterator[dict[str, Any]]:
    """The styles of the lines: all colours, then all colours again with dashes and other markers."""
    for i in count():
        markers, dashes = np.roll(list(MARKERS), i).tolist(), DASHES[i % len(DASHES)]
        for colour, marker in zip(COLOURS, markers, strict=True):
            yield {"color": colour, "marker": marker, "linestyle": dashes, "linewidth": 1.6}


def few_rows() -> Any:
    """Places few ticks of rows, since numbers of seven digits would touch."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4, integer=True, steps=(1, 2, 4, 5, 10))


def with_legend(ax: Any) -> Any:
    """Put a legend to the right of the axes."""
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return ax
