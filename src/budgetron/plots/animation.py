"""A classifier of two features while it learns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from budgetron import _check
from budgetron.estimators import OnlineClassifier
from budgetron.evaluate import Record, prequential
from budgetron.learners import Floats
from budgetron.plots import style
from budgetron.plots.boundary import Shot, View, draw, points, rows, stage


def learning(
    model: OnlineClassifier, X: Any, y: Any, ax: Any = None, *, every: int = 20, resolution: int = 150
) -> Any:
    """An animation of the boundary and the support vectors while rows arrive, the mistakes in its title.

    The model predicts each row and then learns it, all of them in this call; the frames are kept, and can
    be shown or saved as often as wanted. Rows that are new in a frame are stronger than the older ones.

    Parameters
    ----------
    model : OnlineClassifier
        Who learns; usually one that is not fitted yet.
    X, y : arrays
        The rows, of two features, in the order in which they arrive, and their labels.
    ax : matplotlib axes, optional
        Where to draw; by default on new ones.
    every : int
        The rows from one frame to the next.
    resolution : int
        At so many places along each axis the model is asked.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        To be shown, or saved: ``learning(...).save("learning.gif", writer="pillow", fps=8)``.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from budgetron import Gaussian, OnlineClassifier, bpa_nn, plots
    >>> model = OnlineClassifier(bpa_nn(Gaussian(2.0), budget=20))
    >>> film = plots.learning(model, *make_moons(500, noise=0.2, random_state=0), every=100)
    >>> film.save(os.path.join(tempfile.mkdtemp(), "learning.gif"), writer="pillow", fps=8)
    >>> model.n_support_
    20
    """
    pyplot = style.pyplot()
    from matplotlib.animation import FuncAnimation

    X, y = rows("plots.learning", X, y)
    _check.instance("plots.learning", "model", model, OnlineClassifier)
    view = View.around(X, _check.count("plots.learning", "resolution", resolution))
    records = prequential(model, (X, y), every=_check.count("plots.learning", "every", every))
    frames = [Frame(record, Shot.of("plots.learning", model, view)) for record in records]
    if ax is None:
        ax = pyplot.subplots(figsize=(4.8, 3.6), layout="constrained")[1]
    film = Film(stage(ax, view), X, y, view, frames)
    return FuncAnimation(ax.figure, film.show, frames=len(frames), interval=120)


@dataclass(frozen=True)
class Frame:
    """A run after some rows, and the model then."""

    record: Record
    shot: Shot


@dataclass
class Film:
    """The frames, and what the one that is shown has drawn."""

    ax: Any
    X: Floats
    y: npt.NDArray[Any]
    view: View
    frames: list[Frame]
    drawn: list[Any] = field(default_factory=list)

    def show(self, i: int) -> list[Any]:
        """Frame i in place of the one that is there."""
        for artist in self.drawn:
            artist.remove()
        record, shot = self.frames[i].record, self.frames[i].shot
        before = self.frames[i - 1].record.rows if i else 0
        self.drawn = [
            *draw(self.ax, shot, self.view),
            *self._points(slice(before), shot, 0.25),
            *self._points(slice(before, record.rows), shot, 0.9),
        ]
        self.ax.set_title(
            f"{record.rows:,} rows, {record.rate:.1%} mistakes, {record.support_vectors} support vectors",
            fontsize=10,
        )
        return self.drawn

    def _points(self, some: slice, shot: Shot, alpha: float) -> list[Any]:
        return points(self.ax, self.X[some], self.y[some], shot.classes, alpha)
