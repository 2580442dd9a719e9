"""An animation of a classifier of two features while it learns."""

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from budgetron._util import check
from budgetron.estimators import OnlineClassifier
from budgetron.evaluate import Record, prequential
from budgetron.learners.learner import Floats
from budgetron.plots import style
from budgetron.plots.boundary import Shot, View, draw, points, rows, set_up_axes


def learning(
    model: OnlineClassifier, X: Any, y: Any, ax: Any = None, *, every: int = 20, resolution: int = 150
) -> Any:
    """Animate the boundary and the support vectors while the model learns. The title shows the mistakes.

    In this call the model predicts and learns all rows. The frames are stored, so the animation can be
    shown or saved more than once. Rows that are new in a frame are drawn stronger than older ones.

    Parameters
    ----------
    model : OnlineClassifier
        The model; usually not fitted yet.
    X, y : arrays
        The rows, with two features, in the order in which they are learned, and their labels.
    every : int
        The number of rows between two frames.
    ax, resolution
        As for `decision_boundary`.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        Show it, or save it: ``learning(...).save("learning.gif", writer="pillow", fps=8)``.

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
    check.instance("plots.learning", "model", model, OnlineClassifier)
    view = View.around(X, check.count("plots.learning", "resolution", resolution))
    records = prequential(model, (X, y), every=check.count("plots.learning", "every", every))
    frames = [(record, Shot.of("plots.learning", model, view)) for record in records]
    if ax is None:
        ax = pyplot.subplots(figsize=(4.8, 3.6), layout="constrained")[1]
    film = Film(set_up_axes(ax, view), X, y, view, frames)
    return FuncAnimation(ax.figure, film.show, frames=len(frames), interval=120)


@dataclass
class Film:
    """The frames (records and the model at that time), and the artists of the frame that is shown."""

    ax: Any
    X: Floats
    y: npt.NDArray[Any]
    view: View
    frames: list[tuple[Record, Shot]]
    drawn: list[Any] = field(default_factory=list)

    def show(self, i: int) -> list[Any]:
        """Replace the frame shown by frame i."""
        for artist in self.drawn:
            artist.remove()
        record, shot = self.frames[i]
        before = self.frames[i - 1][0].rows if i else 0
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
