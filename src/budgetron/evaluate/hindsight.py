"""regret: what learning online costs against the best function in hindsight."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from budgetron._util import check
from budgetron._util.text import shown
from budgetron.estimators.online import progressive
from budgetron.evaluate.ball import Losses, best_in_ball
from budgetron.evaluate.comparison import ESTIMATORS, task_of
from budgetron.evaluate.progressive import HEAD, Estimator, start
from budgetron.learners.learner import Learner
from budgetron.parts.kernels import Kernel
from budgetron.parts.losses import Hinge, Loss, Squared
from budgetron.records.table import Table
from budgetron.streams import Block, from_arrays

Floats = npt.NDArray[np.float64]

LARGEST = 10_000
"""The largest number of functions that span the competitors: their Gram matrix is decomposed."""
FLAT = 1e-12
"""Eigenvalues of the Gram matrix below this share of the largest are dropped."""


@dataclass(frozen=True)
class Regret:
    """A run of a learner beside the best function g in hindsight.

    Attributes
    ----------
    losses : array
        The loss of every row before it was learned.
    best_losses : array
        The losses of g.
    mistakes : array of bool
        Whether the prediction of a row was wrong; for targets, all False.
    norm : float
        The norm of g.
    coefficients : array
        g = sum c_j k(s_j,.), where s_j are the rows of ``span``, or all rows.
    gap : float
        No function that was allowed has a sum of losses below that of g by more than this.

    Examples
    --------
    >>> from budgetron import Gaussian, evaluate, ogd
    >>> found = evaluate.regret(ogd(Gaussian(1.0)), ([[0.0], [1.0]], [0, 1]), radius=1.0)
    >>> isinstance(found, evaluate.Regret), len(found.curve())
    (True, 2)
    """

    losses: Floats
    best_losses: Floats
    mistakes: npt.NDArray[np.bool_]
    norm: float
    coefficients: Floats
    gap: float

    @property
    def total(self) -> float:
        """The sum of the losses less that of g; the exact regret is at most ``gap`` larger."""
        return float(self.losses.sum() - self.best_losses.sum())

    def curve(self) -> Floats:
        """The regret after every row, against the same g."""
        return np.cumsum(self.losses - self.best_losses)


def regret(
    learner: Learner,
    data: tuple[Any, Any],
    *,
    radius: float,
    span: Any = None,
    loss: Loss | None = None,
    kernel: Kernel | None = None,
    task: str | None = None,
    seed: int = 0,
) -> Regret:
    """Run a learner over rows, and compare its losses with those of the best function in hindsight.

    The best function g has the least sum of losses over all rows, among the functions of norm at most
    ``radius`` in the space of the kernel, or among those in a span. It is found by a barrier method, which
    also bounds how far it is from the best (`Regret.gap`). Time grows with the cube of the rows, or
    with ``rows * m**2`` for a span of m rows.

    Parameters
    ----------
    learner : Learner
        What is run, for two labels or targets.
    data : pair (X, y)
        The rows and their labels or targets, in the order of the stream.
    radius : float
        The largest norm of g.
    span : array, optional
        Rows s_j: g is of the form sum c_j k(s_j,.). For example, ``model.support_vectors_``. By default,
        g is any function of the space.
    loss : Loss, optional
        By default that of the learner's rule. If it has none, `Hinge` for labels and `Squared` for targets.
    kernel : Kernel, optional
        By default that of the learner.
    task : "classification" or "regression", optional
        See `compare`.
    seed : int
        ``random_state`` of the run.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from budgetron import Gaussian, evaluate, ogd
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> against = evaluate.regret(ogd(Gaussian(2.0), eta=0.2), (X, y), radius=3.0)
    >>> print(f"{against.losses.sum():.1f} - {against.best_losses.sum():.1f} = {against.total:.1f}")
    54.1 - 33.0 = 21.1
    """
    rows, task = _rows(data), task_of(data[1], task, "regret")
    radius = check.moderate("regret", "radius", radius)
    labels = None if task == "regression" else _two(rows.y)
    codes = np.asarray(rows.y, np.float64) if labels is None else np.where(rows.y == labels[1], 1.0, -1.0)
    kernel, loss = _kernel(learner, kernel, rows.X), _loss(learner, loss, task)
    G, back = _features(kernel, rows.X, rows.X if span is None else span)
    f = _scores(ESTIMATORS[task](learner, random_state=seed), rows, labels)
    best = best_in_ball(G, codes, loss, radius)
    wrong = np.zeros(len(f), bool) if labels is None else (f >= 0) != (codes > 0)
    norm, losses = float(np.linalg.norm(best.w)), Losses(loss, codes).value(f)
    return Regret(losses, best.losses, wrong, norm, back @ best.w, best.gap)


def _rows(data: Any) -> Block:
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise TypeError(f"regret: data must be a pair (X, y), got {type(data).__name__}.")
    rows = from_arrays(*data)
    if rows.y is None or not len(rows.y):
        raise ValueError("regret: data has no rows.")
    if isinstance(rows.X, Table):
        raise TypeError("regret: X must be rows of numbers, got records.")
    return Block(rows.X, rows.y, 0, None)


def _two(y: Any) -> Any:
    """The labels."""
    labels = np.unique(y)
    if len(labels) != 2:
        raise ValueError(f"regret: is defined for two labels or targets, got {len(labels)} labels.")
    return labels


def _kernel(learner: Any, kernel: Kernel | None, X: Any) -> Kernel:
    kernel = getattr(learner, "kernel", None) if kernel is None else kernel
    if not isinstance(kernel, Kernel):
        raise ValueError(f"regret: give kernel=, since {shown(learner)} has none.")
    if not kernel.positive_semidefinite:
        raise ValueError(f"regret: needs a positive semidefinite kernel, got {kernel!r}.")
    return kernel.resolved(X[:HEAD])


def _loss(learner: Any, loss: Loss | None, task: str) -> Loss:
    loss = getattr(getattr(learner, "rule", None), "loss", None) if loss is None else loss
    loss = (Hinge() if task == "classification" else Squared()) if loss is None else loss
    if loss.of_margin and task == "regression":
        raise ValueError(f"regret: {loss!r} is a loss of labels, and y has targets.")
    return loss


def _features(kernel: Kernel, X: Any, span: Any) -> tuple[Floats, Floats]:
    """G with G G' = K projected on the span, and what turns w into coefficients of the rows of the span."""
    m = span.shape[0] if hasattr(span, "shape") else len(span)
    if not 0 < m <= LARGEST:
        raise ValueError(
            f"regret: 1 to {LARGEST} rows may span the competitors, got {m}: give other rows as span."
        )
    D, V = eigh(kernel(span))
    keep = FLAT * D[-1] < D
    back = V[:, keep] / np.sqrt(D[keep])
    return kernel(X, span) @ back, back


def _scores(estimator: Estimator, rows: Block, labels: Any) -> Floats:
    """F of every row before it was learned."""
    start(estimator, rows.X, rows.y, labels)
    _, pieces = progressive(estimator, rows.X, rows.y)
    return np.concatenate([piece.scores[:, 0] for piece in pieces])
