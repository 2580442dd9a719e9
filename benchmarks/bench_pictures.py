"""Plots of the benchmark tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from benchmarks.growth import Growth

OURS, PEERS = "#1b6ca8", "#c9c9c9"


def bars(lines: list[dict[str, Any]], title: str, path: Path) -> None:
    """Plot microseconds per row on a logarithmic scale, the fastest on top."""
    lines = sorted((line for line in lines if line["us"] > 0), key=lambda line: -line["us"])
    least, most, rows = lines[-1]["us"], lines[0]["us"], max(line["rows"] for line in lines)
    figure, axes = plt.subplots(figsize=(9.5, 0.3 * len(lines) + 1.4), layout="constrained")
    for i, line in enumerate(lines):
        axes.barh(i, line["us"], color=OURS if line["ours"] else PEERS, height=0.72)
        axes.text(1.08 * line["us"], i, _label(line, rows), va="center", fontsize=8)
    axes.set_yticks(range(len(lines)), [line["name"] for line in lines], fontsize=9)
    axes.set_ylim(-0.6, len(lines) - 0.4)
    axes.set_xscale("log")
    axes.set_xlim(least / 2, 200 * most)
    axes.set_xticks([t for t in (0.1, 1, 10, 100, 1000, 10_000) if least / 2 < t < 10 * most])
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("microseconds per row to predict and learn, one thread, logarithmic")
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    keys = [Patch(color=OURS, label="budgetron"), Patch(color=PEERS, label="others")]
    axes.legend(handles=keys, frameon=False, loc="upper right")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _label(line: dict[str, Any], most: int) -> str:
    us = f"{line['us']:,.0f}" if line["us"] >= 100 else f"{line['us']:.3g}"
    rows = "" if line["rows"] == most else f" in {line['rows']:,} rows"
    return f"{us} µs, {line['mistakes']:.1%} mistakes{rows}"


def curves(sheets: list[Growth], path: Path) -> None:
    """Plot cost against size, both logarithmic. The legend has the slope over the upper half."""
    across = (len(sheets) + 1) // 2
    figure, grid = plt.subplots(2, across, figsize=(5 * across, 7.5), layout="constrained", squeeze=False)
    for axes in grid.flat[len(sheets) :]:
        axes.set_visible(False)
    for axes, sheet in zip(grid.flat, sheets, strict=False):
        slopes = sheet.slopes()
        for marker, (name, costs) in zip("osD", sheet.costs.items(), strict=True):
            label = f"{name}, slope {slopes[name][1]:.2f}"
            axes.plot(sheet.values, costs, marker=marker, markersize=4, linewidth=1.2, label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(sheet.values, [str(v) for v in sheet.values], rotation=30)
        axes.yaxis.set_major_formatter(lambda v, _: f"{v:.3g}")
        axes.set_xlabel(sheet.what)
        axes.set_ylabel(sheet.unit.replace("us", "µs"))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("How cost grows (slopes over the upper half of the values)")
    figure.savefig(path, dpi=150)
    plt.close(figure)
