"""The pictures: error over an abrupt drift, reliability, and the weights of the experts over a stream.

The first two come from the kept results. The third runs our default learner again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.streams import data, table
from benchmarks.streams.results import Result, calibration_error
from budgetron import OnlineClassifier
from budgetron.plots import Line, curves, style

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
DRIFTS = ("Agrawal abrupt", "LED abrupt")
DRAWN = ("auto 50", "ARF 10", "HAT", "Hoeffding tree")
CALIBRATED = ("a9a", "ijcnn1", "cod-rna", "elec")
EXPERTS = (
    "inputs, steady",
    "Fourier of three widths, steady",
    "sparse Fourier, steady",
    "bpa_nn",
    "tiles",
    "recruited tiles",
    "bins and pairs of bins",
    "inputs, forgets fast",
    "bins, forgets fast",
    "neighbours",
    "inputs, forgets slowly",
    "neighbours, raw columns",
)
"""The experts of ``auto`` in their order."""


def draw(results: dict[tuple[str, str, int], Result], rows: int) -> None:
    """Draw all pictures."""
    FOLDER.mkdir(exist_ok=True)
    kept = table.chosen(results, rows)
    save(drift(kept), "streams_drift.png")
    save(reliability(kept), "streams_reliability.png")
    elec = data.available("elec", rows)
    if elec is not None:
        save(experts(elec), "streams_experts.png")


def drift(kept: table.Results) -> Any:
    """The error in parts of two streams whose concept changes after half of the rows."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for ax, name in zip(axes, DRIFTS, strict=True):
        rows = kept[name, table.DEFAULT].rows
        lines = [_over_rows(kept[name, each]) for each in DRAWN if (name, each) in kept]
        ax.set_ylim(0, 100 if max(line.mean.max() for line in lines) > 60 else 60)
        curves(lines, ax)
        ax.axvline(rows / 2, color="#999999", linewidth=0.8, linestyle=(0, (4, 3)))
        ax.set(xlabel="rows", ylabel=f"mistakes, % of {rows // len(lines[0].x)} rows")
        ax.set_title(f"{name}: the concept changes at the dashed line", loc="left", fontsize=11)
    return figure


def reliability(kept: table.Results) -> Any:
    """The share of right predictions against the confidence in them, on four streams."""
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained", sharey=True)
    drawn = [each for each in DRAWN if each != "HAT"]
    for ax, name in zip(axes, CALIBRATED, strict=True):
        style.axes(ax)
        ax.plot([0.5, 1], [0.5, 1], color="#999999", linewidth=0.8, linestyle=(0, (4, 3)))
        for learner, look in zip(drawn, style.styles(), strict=False):
            if (name, learner) not in kept:
                continue
            result = kept[name, learner]
            points = np.array([(said, right) for n, said, right in result.bins if n >= 20])
            label = f"{learner}: {calibration_error([result]):.3f}"
            ax.plot(*points.T, markersize=4, label=label, **look)
        ax.set(xlabel="confidence", xlim=(0.48, 1.02), ylim=(0.15, 1.02))
        ax.set_title(name, loc="left", fontsize=11)
        ax.legend(frameon=False, fontsize=8, title="calibration error", title_fontsize=8, loc="lower right")
    axes[0].set_ylabel("share of right predictions")
    return figure


def experts(stream: data.Stream, every: int = 50) -> Any:
    """The weights of the experts of the default learner while it learns a stream."""
    model, weights, rows = OnlineClassifier(random_state=0), [], []
    for start in range(0, stream.rows, every):
        part = slice(start, start + every)
        model.partial_fit(stream.X[part], stream.y[part], classes=list(range(stream.classes)))
        rows.append(min(start + every, stream.rows))
        weights.append(model.expert_weights_)
    names = EXPERTS if len(EXPERTS) == len(weights[0]) else [f"expert {i}" for i in range(len(weights[0]))]
    figure, ax = plt.subplots(figsize=(8.6, 4), layout="constrained")
    values, none = np.array(weights), np.zeros(len(rows))
    low, high = values.min(), values.max()
    ax.set_ylim(low - 0.05, high + 0.05)
    curves([Line(n, np.array(rows), w, none) for n, w in zip(names, values.T, strict=True)], ax)
    ax.set(xlabel="rows", ylabel="weight")
    ax.set_title(f"{stream.name}: the weights of the experts", loc="left", fontsize=11)
    return figure


def _over_rows(result: Result) -> Line:
    """The errors of the parts of a stream, each at the middle of its part."""
    parts = len(result.windows)
    middles = result.rows * (0.5 + np.arange(parts)) / parts
    return Line(result.learner, middles, np.array(result.windows), np.zeros(parts))


def save(figure: Any, name: str) -> None:
    """Save a figure without metadata, so that the same picture has the same bytes."""
    figure.savefig(FOLDER / name, dpi=150, metadata={"Software": None})
    plt.close(figure)
