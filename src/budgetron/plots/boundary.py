"""Plot the decision regions and the support vectors of a classifier of two features."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import NotFittedError

from budgetron._util import check
from budgetron.estimators import OnlineClassifier
from budgetron.learners.learner import Floats
from budgetron.plots import style

FAINT, FULL = 0.10, 0.42
"""The opacity of a region at the boundary, and where the margin is 1 or more."""


def decision_boundary(
    model: OnlineClassifier, X: Any, y: Any, ax: Any = None, *, resolution: int = 200
) -> Any:
    """Plot the regions of the classes, the rows as small points, and the support vectors as rings.

    A region has the colour of its class. The larger the margin, the stronger the colour: abs(f(x)) for two
    classes, else the highest score minus the second highest. A support vector has the colour of the class
    with its largest coefficient, and the larger the coefficient, the larger the ring. Learners on explicit
    features have no support vectors.

    Parameters
    ----------
    model : OnlineClassifier
        A fitted classifier of two features.
    X, y : arrays
        The rows to show and their labels. They set the limits of the axes.
    ax : matplotlib axes, optional
        The axes to draw on; by default new ones.
    resolution : int
        The model is evaluated on a grid of resolution x resolution points.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from budgetron import Gaussian, OnlineClassifier, bpa_nn, plots
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> model = OnlineClassifier(bpa_nn(Gaussian(2.0), budget=20)).fit(X, y)
    >>> plots.decision_boundary(model, X, y).figure.savefig("boundary.png")  # doctest: +SKIP
    """
    caller = "plots.decision_boundary"
    X, y = rows(caller, X, y)
    view = View.around(X, check.count(caller, "resolution", resolution))
    shot = Shot.of(caller, model, view)
    if (unknown := ~np.isin(y, shot.classes)).any():
        label = y[unknown][0].tolist()
        raise ValueError(f"{caller}: y contains {label!r}, which is not a class of the model.")
    ax = set_up_axes(ax, view)
    points(ax, X, y, shot.classes)
    draw(ax, shot, view)
    return _with_legend(ax)


@dataclass(frozen=True)
class View:
    """The part of the plane that is shown, and the grid of points where a model is evaluated."""

    low: Floats
    high: Floats
    resolution: int

    @classmethod
    def around(cls, X: Floats, resolution: int) -> Self:
        """A view of all rows, with a margin of 8 percent."""
        low, high = X.min(axis=0), X.max(axis=0)
        room = np.where(high > low, 0.08 * (high - low), 1.0)
        return cls(low - room, high + room, resolution)

    def ticks(self) -> tuple[Floats, Floats]:
        """The coordinates of the grid along each axis: the centres of pixels."""
        middles = (np.arange(self.resolution) + 0.5) / self.resolution
        a, b = (low + middles * (high - low) for low, high in zip(self.low, self.high, strict=True))
        return a, b

    def points_of_grid(self) -> Floats:
        """All points of the grid; the first feature changes fastest."""
        return np.stack(np.meshgrid(*self.ticks()), axis=-1).reshape(-1, 2)

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """The limits (left, right, bottom, top), for matplotlib."""
        return float(self.low[0]), float(self.high[0]), float(self.low[1]), float(self.high[1])


@dataclass(frozen=True)
class Shot:
    """A model at one moment: its scores on the grid of a view, one per class, and its support vectors."""

    classes: npt.NDArray[Any]
    scores: Floats
    support_vectors: Floats
    coefficients: Floats

    @classmethod
    def of(cls, caller: str, model: Any, view: View) -> Self:
        """The present model. Raises an error if it cannot be drawn."""
        scores = fitted(caller, model).decision_function(view.points_of_grid())
        # Several experts have no support vectors in common.
        vectors: Any = getattr(model, "support_vectors_", np.empty((0, 2)))
        coefficients = getattr(model, "dual_coef_", np.empty((1, 0)))
        vectors = vectors.toarray() if sparse.issparse(vectors) else np.array(vectors)
        if scores.ndim == 1:  # two classes have the scores -f(x) and f(x)
            scores = np.stack([-scores, scores], axis=-1)
        if len(coefficients) == 1:
            coefficients = np.vstack([-coefficients, coefficients])
        scores = scores.reshape(view.resolution, view.resolution, -1)
        return cls(model.classes_, scores, vectors, coefficients)

    def lead(self, k: int) -> Floats:
        """The score of class k minus the highest other score; for two classes half of it, f(x) or -f(x)."""
        others = np.delete(self.scores, k, axis=2).max(axis=2)
        return np.asarray(self.scores[:, :, k] - others) / (2 if len(self.classes) == 2 else 1)

    def picture(self) -> Floats:
        n = len(self.classes)
        best = self.scores[:, :, 1] >= 0 if n == 2 else self.scores.argmax(axis=2)  # as in predict
        margin = np.max([self.lead(k) for k in range(n)], axis=0)
        strength = (FAINT + (FULL - FAINT) * np.clip(margin, 0, 1))[:, :, None]
        return np.asarray(1 - strength * (1 - colours(n)[best.astype(int)]))


def colours(n: int) -> Floats:
    """The colours of n classes; the eighth class has the first colour again."""
    hexadecimal = [style.COLOURS[k % len(style.COLOURS)].lstrip("#") for k in range(n)]
    return np.array([list(bytes.fromhex(each)) for each in hexadecimal]) / 255


def set_up_axes(ax: Any, view: View) -> Any:
    """Set the limits and labels of the axes of a view."""
    ax = style.axes(ax)
    ax.grid(False)
    ax.set(xlim=view.extent[:2], ylim=view.extent[2:], xlabel="first feature", ylabel="second feature")
    return ax


def points(
    ax: Any, X: Floats, y: npt.NDArray[Any], classes: npt.NDArray[Any], alpha: float = 0.45
) -> list[Any]:
    """Draw the rows as small points in the colours of their classes."""
    look = {"s": 9, "alpha": alpha, "linewidths": 0, "zorder": 2}
    return [
        ax.scatter(*X[y == label].T, color=colour, label=f"class {label}", **look)
        for label, colour in zip(classes.tolist(), colours(len(classes)), strict=True)
    ]


def draw(ax: Any, shot: Shot, view: View) -> list[Any]:
    """Draw the regions, their boundaries and the support vectors. Returns the artists."""
    where = {"extent": view.extent, "origin": "lower", "aspect": "auto"}
    drawn = [ax.imshow(shot.picture(), interpolation="bilinear", zorder=0, **where)]
    for k in range(1 if len(shot.classes) == 2 else len(shot.classes)):
        lead = shot.lead(k)
        if lead.min() < 0 < lead.max():
            look = {"colors": "#222222", "linewidths": 1.3, "zorder": 1}
            drawn.append(ax.contour(*view.ticks(), lead, levels=[0], **look))
    if len(shot.support_vectors):
        drawn.append(_draw_support_vectors(ax, shot))
    return drawn


def _with_legend(ax: Any) -> Any:
    """A legend with opaque points and a white ring for the support vectors."""
    for handle in style.with_legend(ax).get_legend().legend_handles:
        handle.set(alpha=1, sizes=[36])
        if handle.get_label() == "support vectors":
            handle.set(facecolor="white", sizes=[50])
    return ax


def _draw_support_vectors(ax: Any, shot: Shot) -> Any:
    size = np.abs(shot.coefficients).max(axis=0)
    face = colours(len(shot.classes))[shot.coefficients.argmax(axis=0)]
    return ax.scatter(
        *shot.support_vectors.T,
        s=16 + 54 * size / max(size.max(), np.finfo(float).tiny),
        c=face,
        edgecolors="black",
        linewidths=1.0,
        label="support vectors",
        zorder=3,
    )


def fitted(caller: str, model: Any) -> OnlineClassifier:
    """The model, if it is a fitted classifier of two features."""
    classifier: OnlineClassifier = check.instance(caller, "model", model, OnlineClassifier)
    if not hasattr(classifier, "classes_"):
        raise NotFittedError(f"{caller}: the model is not fitted yet; call fit or partial_fit first.")
    if classifier.n_features_in_ != 2:
        raise ValueError(f"{caller}: the model must have two features, got {classifier.n_features_in_}.")
    return classifier


def rows(caller: str, X: Any, y: Any) -> tuple[Floats, npt.NDArray[Any]]:
    """The rows as a dense array of two columns, and their labels."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2 or not len(X):
        raise ValueError(f"{caller}: X must have rows of two features, got shape {X.shape}.")
    if not (finite := np.isfinite(X)).all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(f"{caller}: X must be finite, got {X[row, column]} in row {row}, column {column}.")
    y = np.asarray(y)
    if y.shape != (len(X),):
        raise ValueError(f"{caller}: y must have a label for each of {len(X)} rows, got shape {y.shape}.")
    return X, y
