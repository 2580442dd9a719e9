"""The inner step of every online loop: predict rows, learn them, and measure the predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.estimators.online import answers_of, progressive
from budgetron.estimators.online import begin as begin_row
from budgetron.evaluate.drift.experts import Sample
from budgetron.evaluate.metrics import Metrics
from budgetron.evaluate.metrics.calibration import EPSILON
from budgetron.evaluate.record import Record
from budgetron.model.labels import KnownLabels, Scored
from budgetron.streams import Block

Estimator = OnlineClassifier | OnlineRegressor
Labels = npt.NDArray[Any]

HEAD = 1000
"""The number of rows from which parameters such as gamma="scale" are computed."""
ENOUGH = 1000
"""The number of rows that are measured together, since single rows are slow."""


@dataclass(frozen=True)
class Learned:
    """The predictions of rows before they were learned, the scores behind them, and the labels.

    ``weights`` are those of the experts after some of the rows, if they were asked for.
    """

    predicted: Labels
    pieces: list[Scored]
    y: Labels
    weights: Sequence[Sample] = ()


def start(estimator: Estimator, X: Any, y: Any, classes: Any = None, *, begin: bool = False) -> None:
    """Prepare an estimator for the first rows, without learning them.

    ``begin`` is for a first row that may be predicted, but not learned.
    """
    from_rows = needs_rows(estimator)
    if classes is not None or from_rows:
        estimator.start(X[: HEAD if from_rows else 1], **({} if classes is None else {"classes": classes}))
    if begin:
        begin_row(estimator, X[:1], y[:1])


def needs_rows(estimator: Estimator) -> bool:
    """Whether a parameter of the learner is computed from the first rows."""
    return bool(getattr(estimator.learner, "needs_rows", False))


def predict_learn(estimator: Estimator, block: Block) -> Learned:
    """Predict each row, then learn it."""
    predicted, pieces = progressive(estimator, block.X, block.y, block.weights)
    return Learned(predicted, pieces, np.array(block.y))


def learned_before(estimator: Estimator, error: Any, block: Block) -> Learned | None:
    """The rows of a block that were learned before one made the learner diverge."""
    pieces = getattr(error, "scored", [])
    if not pieces:
        return None
    predicted = answers_of(estimator, estimator.fitted_).predictions(pieces)
    return Learned(predicted, pieces, np.array(block.y[: len(predicted)]))


def losses(parts: Sequence[Learned], labels: KnownLabels | None, *, probable: bool) -> tuple[Any, Any]:
    """The loss of each row, and its log loss, which is None if there are no probabilities.

    The loss is 1 for a mistake and 0 otherwise; of a target it is the absolute error. ``labels`` are those
    that the model knows now; None for targets.
    """
    y = np.concatenate([part.y for part in parts])
    predicted = np.concatenate([part.predicted for part in parts])
    if labels is None:
        with np.errstate(all="ignore"):
            return np.abs(predicted.astype(float) - y.astype(float)), None
    wrong = (predicted != y).astype(float)
    if not probable:
        return wrong, None
    shares = np.exp(labels.log_probabilities(_merged([piece for part in parts for piece in part.pieces])))
    right = shares[np.arange(len(y)), np.searchsorted(labels.classes, y)]
    return wrong, -np.log(np.clip(right, EPSILON, 1 - EPSILON))


class ProgressiveMetrics:
    """Metrics of predictions that were made before their rows were learned. Few rows are kept for later.

    Parameters
    ----------
    metrics : Metrics
        The metrics, which have seen no rows.
    probable : bool
        Whether the scores can be read as probabilities.
    """

    def __init__(self, metrics: Metrics, *, probable: bool = False) -> None:
        self._metrics = metrics
        self._probable = probable
        self._waiting: list[Learned] = []
        self._labels: KnownLabels | None = None  # those of the rows that wait
        self._waiting_rows = 0

    def add(self, learned: Learned, labels: KnownLabels | None) -> None:
        """Count rows. ``labels`` are those that the model knows now; None for targets."""
        if labels is not self._labels:
            self._measure()
            self._labels = labels
        self._waiting.append(learned)
        self._waiting_rows += len(learned.y)
        if self._waiting_rows >= ENOUGH:
            self._measure()

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return self._metrics.rows + self._waiting_rows

    @property
    def metrics(self) -> Metrics:
        """The metrics of all rows so far."""
        self._measure()
        return self._metrics

    def restore(self, state: Any) -> None:
        """Continue from a state of the metrics."""
        self._waiting, self._waiting_rows = [], 0
        self._metrics.restore(state)

    def record(
        self, seconds: float, support_vectors: int = 0, memory_bytes: int = 0, time: float | None = None
    ) -> Record:
        """The present counts and metrics."""
        measured = self.metrics
        window = {"rows": min(measured.rows, measured.window)} | measured.windowed()
        metrics = {"running": measured.running(), "window": window}
        counts = (measured.rows, measured.mistakes, measured.loss)
        return Record(*counts, support_vectors, seconds, memory_bytes, metrics, time)

    def _measure(self) -> None:
        """Add the rows that wait to the metrics."""
        if not self._waiting:
            return
        parts, self._waiting, self._waiting_rows = self._waiting, [], 0
        y = np.concatenate([part.y for part in parts])
        predicted = np.concatenate([part.predicted for part in parts])
        labels = self._labels
        if labels is None or not self._metrics.needs_scores:
            self._metrics.update(y, predicted)
            return
        pieces = _merged([piece for part in parts for piece in part.pieces])
        self._metrics.update(
            y,
            predicted,
            classes=labels.classes,
            scores=labels.score_table(pieces),
            proba=np.exp(labels.log_probabilities(pieces)) if self._probable else None,
        )


def _merged(pieces: list[Scored]) -> list[Scored]:
    """The pieces, of which neighbours made with the same labels are one."""
    runs = (list(run) for _, run in groupby(pieces, key=lambda piece: (piece.known, piece.scores.shape[1])))
    return [Scored(np.concatenate([scores for scores, _ in run]), run[0].known) for run in runs]
