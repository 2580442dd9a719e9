"""The tables as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from growth import Growth

OURS, PEERS = "#1b6ca8", "#c9c9c9"


def bars(lines: list[dict[str, Any]], title: str, path: Path) -> None:
    """Microseconds per row, on a logarithmic scale, with the share of mistakes beside the name."""
    lines = sorted((line for line in lines if line["us"] > 0), key=lambda line: -line["us"])
    figure, axes = plt.subplots(figsize=(9, 0.32 * len(lines) + 1.3), layout="constrained")
    colours = [OURS if line["ours"] else PEERS for line in lines]
    names = [line["name"] for line in lines]
    axes.barh(names, [line["us"] for line in lines], color=colours)
    for i, line in enumerate(lines):
        text = f" {line['us']:.3g} us, {line['mistakes']:.1%} mistakes"
        axes.text(line["us"], i, text, va="center", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(min(line["us"] for line in lines) / 2, 40 * max(line["us"] for line in lines))
    axes.set_xlabel("microseconds per row, predict and learn, one thread")
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def curves(sheets: list[Growth], path: Path) -> None:
    """Cost against what grows, both logarithmic, with the slope over the upper half in the legend."""
    figure, grid = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
    for axes, sheet in zip(grid.flat, sheets, strict=True):
        slopes = sheet.slopes()
        for marker, (name, seconds) in zip("osD^", sheet.seconds.items(), strict=False):
            label = f"{name}, slope {slopes[name][1]:.2f}"
            axes.plot(sheet.values, seconds, marker=marker, markersize=4, linewidth=1.2, label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(sheet.values, [str(v) for v in sheet.values], rotation=30)
        axes.yaxis.set_major_formatter(lambda v, _: f"{v:.3g}")
        axes.set_xlabel(sheet.what)
        axes.set_ylabel(sheet.unit)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("How cost grows (slopes over the upper half of the values)")
    figure.savefig(path, dpi=150)
    plt.close(figure)
