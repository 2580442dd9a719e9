"""The pictures of the README and the documentation, from scikit-learn's data sets.

Run ``python -m benchmarks.readme_pictures``; the pictures are written to docs/pictures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_digits, make_moons

from budgetron import (
    Bins,
    CellMap,
    Gaussian,
    Kalman,
    Laplacian,
    Mapped,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    RandomBinning,
    Tiles,
    algorithms,
    evaluate,
    plots,
)
from budgetron.learners.learner import Learner
from budgetron.plots import style
from budgetron.plots.style import COLOURS

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
DIGITS = Gaussian.of_width(8)
"""A kernel width for the digits, whose pixels are 0 to 16."""
ORDERS = 20


def main() -> None:
    """Draw all pictures."""
    FOLDER.mkdir(exist_ok=True)
    save(error_against_rows(), "error_against_rows.png")
    save(error_against_budget(), "error_against_budget.png")
    save(boundary(), "boundary.png")
    save(neighbours(), "neighbours.png")
    save(deviations(), "deviations.png")
    save(cells(), "cells.png")
    save(explanation(), "explanation.png")
    save(importances(), "importances.png")
    save(intervals(), "intervals.png")
    learning(FOLDER / "learning.gif")


def error_against_rows() -> Any:
    """Error against rows, also for the Perceptron without a budget."""
    learners = {**unbounded(), **budgeted(40)}
    result = evaluate.compare(learners, load_digits(return_X_y=True), permutations=ORDERS, every=60)
    figure, ax = canvas(45)
    plots.error_against_rows(result, ax)
    ax.set_title("Handwritten digits, budget 40", loc="left", fontsize=11)
    return figure


def error_against_budget() -> Any:
    """Error against budget."""
    data = load_digits(return_X_y=True)
    found = {}
    for budget in (10, 20, 40, 80, 160):
        learners = {**(unbounded() if budget == 10 else {}), **budgeted(budget)}
        found[budget] = evaluate.compare(learners, data, permutations=ORDERS, every=len(data[1]))
    figure, ax = canvas(55)
    plots.error_against_budget(found, ax)
    ax.set_title("Handwritten digits, after one pass", loc="left", fontsize=11)
    return figure


def unbounded() -> dict[str, Learner]:
    """The baseline without a budget: a Perceptron that stores every mistake."""
    return {"perceptron, no budget": algorithms.perceptron(DIGITS)}


def budgeted(budget: int) -> dict[str, Learner]:
    """The learners that are drawn at a budget."""
    names = ("rbp", "projectron", "bpa_p")
    return {name: getattr(algorithms, name)(DIGITS, budget=budget) for name in names}


def boundary() -> Any:
    """The same moons by a learner that only removes (rbp), and by one that projects before (bpa_p)."""
    X, y = moons(1500)
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained", sharey=True)
    for ax, name in zip(axes, ("rbp", "bpa_p"), strict=True):
        model = OnlineClassifier(getattr(algorithms, name)(Gaussian(2.0), budget=20), random_state=0)
        mistakes = np.mean(model.progressive_predict(X, y) != y)
        plots.decision_boundary(model, X, y, ax, resolution=400)
        ax.set_title(f"{name}: {mistakes:.1%} mistakes, {model.n_support_} support vectors", fontsize=11)
    axes[0].get_legend().remove()
    axes[1].set_ylabel("")
    return figure


def neighbours() -> Any:
    """The regions of the last 300 rows at three moments, while a wave of labels moves to the right."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 2))
    y = np.where(X[:, 1] > 0.5 * np.sin(4 * X[:, 0] - np.arange(3000) / 600), "above", "below")
    model = OnlineClassifier(Neighbours(window=300), random_state=0)
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
    for ax, last in zip(axes, (1000, 2000, 3000), strict=True):
        new = slice(last - 1000, last)
        mistakes = np.mean(model.progressive_predict(X[new], y[new]) != y[new])
        recent = slice(last - 300, last)
        plots.decision_boundary(model, X[recent], y[recent], ax, resolution=300)
        ax.set_title(f"row {last:,}; {mistakes:.1%} mistakes since {last - 1000:,}", fontsize=11)
    for ax in axes[:2]:
        ax.get_legend().remove()
    for ax in axes[1:]:
        ax.set_ylabel("")
    return figure


def deviations() -> Any:
    """Bands of two deviations around a curve whose noise depends on x, after 300 and after 3000 rows."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 3000)
    noise = 0.1 + 0.5 * np.exp(-2 * (x - 1.5) ** 2) + 0.3 * (x < -1.5)
    y = np.sin(1.5 * x) + noise * rng.standard_normal(3000)
    grid = np.linspace(-4.5, 4.5, 400)
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained", sharey=True)
    model = OnlineRegressor(random_state=0)
    for ax, rows in zip(axes, (slice(300), slice(300, 3000)), strict=True):
        mean, deviation = model.partial_fit(x[rows, None], y[rows]).predict(grid[:, None], return_std=True)
        seen = slice(rows.stop)
        style.axes(ax)
        ax.scatter(x[seen], y[seen], s=5, color=COLOURS[1], alpha=0.4, linewidths=0, label="rows")
        low, high = mean - 2 * deviation, mean + 2 * deviation
        ax.fill_between(
            grid, low, high, color=COLOURS[0], alpha=0.2, linewidth=0, label="mean ± 2 deviations"
        )
        ax.plot(grid, mean, color=COLOURS[0], label="mean")
        ax.set(xlabel="x", xlim=(-4.5, 4.5), ylim=(-2.6, 3.2))
        ax.set_title(f"after {rows.stop} rows", loc="left", fontsize=11)
    axes[0].set_ylabel("y")
    axes[1].legend(loc="upper center", ncols=3, frameon=False, fontsize=8)
    return figure


def cells() -> Any:
    """Above, the cells of few members, a colour each; below, what a model on the whole map has learned."""
    X, y = moons(3000)
    noise = np.random.default_rng(0).normal(size=len(X))  # so that no two cells have the same weight
    kernel = Laplacian(1.5)
    kinds: dict[str, tuple[CellMap, CellMap]] = {
        "Tiles": (Tiles(1, 5), Tiles(depth=7)),
        "Bins": (Bins(5, 1, 5), Bins(32, 1, 12)),
        "RandomBinning": (RandomBinning(kernel, 1), RandomBinning(kernel)),
    }
    across, up = np.meshgrid(np.linspace(-1.8, 2.8, 400), np.linspace(-1.3, 1.8, 400))
    grid = np.column_stack([across.ravel(), up.ravel()])
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 5.6), layout="constrained", sharex=True, sharey=True)
    for (name, (few, many)), (above, below) in zip(kinds.items(), axes.T, strict=True):
        single = OnlineRegressor(Mapped(few, Kalman()), random_state=3).fit(X, noise)
        above.pcolormesh(across, up, single.predict(grid).reshape(across.shape), cmap="tab20b")
        above.set_title(f"{name}: cells", fontsize=11)
        model = OnlineClassifier(Mapped(many, Kalman(prior=6.0)), random_state=0)
        mistakes = np.mean(model.progressive_predict(X, y) != y)
        plots.decision_boundary(model, X, y, below, resolution=400)
        below.set_title(f"learned: {mistakes:.1%} mistakes", fontsize=11)
        if below is not axes[1, -1]:
            below.get_legend().remove()
    return figure


def explanation() -> Any:
    """What each column adds to the score of one row."""
    data = load_breast_cancer(as_frame=True)
    model = OnlineClassifier(random_state=0).partial_fit(data.data, data.target_names[data.target])
    return plots.explanation(model.explain(data.data[:1])[0]).figure


def importances() -> Any:
    """Which of six columns matter, if another one decides from row 1500 on."""
    X = np.random.default_rng(0).normal(size=(3000, 6))
    decides = np.where(np.arange(len(X)) < 1500, X[:, 0] * X[:, 1], X[:, 4])
    return plots.importances(OnlineClassifier(random_state=0), (X, decides > 0), every=150).figure


def intervals() -> Any:
    """Intervals of a series whose noise is large in every second half of its period."""
    random, hours = np.random.default_rng(0), np.arange(3000)
    phase = 2 * np.pi * hours / 60
    noise = random.normal(size=len(hours)) * np.where(np.sin(phase / 2) > 0, 0.8, 0.15)
    X = np.stack([np.sin(phase), np.cos(phase), np.sin(phase / 2), np.cos(phase / 2)], axis=1)
    model = OnlineRegressor(random_state=0, coverage=0.9)
    found = evaluate.coverage(model, (X, 2 * np.sin(phase) + noise))
    return plots.intervals(found, style.axes(None), rows=150).figure


def learning(path: Path) -> None:
    """An animation of the boundary while rows arrive. The last frame is shown longer."""
    X, y = moons(720)
    model = OnlineClassifier(algorithms.bpa_p(Gaussian(2.0), budget=20), random_state=0)
    film = plots.learning(model, X, y, every=20, resolution=200)
    film.save(path, writer="pillow", fps=6, dpi=100)
    with Image.open(path) as gif:
        frames = [_flat(gif, i) for i in range(gif.n_frames)]
    times = [160] * (len(frames) - 1) + [2500]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)


def _flat(gif: Any, i: int) -> Image.Image:
    """Frame i in a palette shared by all frames: shades of the class colours, mostly light, and greys."""
    gif.seek(i)
    shades = np.concatenate([np.linspace(0.08, 0.46, 60), np.linspace(0.48, 1, 20)])[:, None]
    inks = [1 - np.array(to_rgb(colour)) for colour in COLOURS[:2]]
    blocks = [1 - shades * ink for ink in inks] + [np.linspace(0, 1, 16)[:, None].repeat(3, axis=1)]
    palette = Image.new("P", (1, 1))
    palette.putpalette((255 * np.vstack(blocks)).round().astype(np.uint8).tobytes())
    return gif.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE)


def moons(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two noisy moons."""
    X, y = make_moons(n, noise=0.22, random_state=0)
    return X, y


def canvas(top: float) -> tuple[Any, Any]:
    """A figure of the README's width. Set limits first: labels are placed at the ends of lines."""
    figure, ax = plt.subplots(figsize=(7.2, 4), layout="constrained")
    ax.set_ylim(0, top)
    return figure, ax


def save(figure: Any, name: str) -> None:
    """Save a figure without metadata, so that the same picture has the same bytes."""
    figure.savefig(FOLDER / name, dpi=150, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
