"""BudgetClassifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from budgetron._util.threads import learning_lock
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.learners.learner import Learner
from budgetron.parts.tasks import Labels
from budgetron.records.encoder import Encoder
from budgetron.river.frames import frame_like, series_like
from budgetron.river.streaming import Streaming, unknown_label


class BudgetClassifier(Streaming, base.MiniBatchClassifier):  # type: ignore[misc]
    """A river classifier with any learner of this package.

    Features and labels may appear and disappear at any time. Features are numbers, texts (one indicator for
    each value) or dates. A number that a dict does not have is missing if the learner accepts missing
    values, as the default does, else it is 0. Probabilities are those of the learner; a learner without any
    gives the softmax of its scores.

    Parameters
    ----------
    learner : Learner, optional
        The algorithm, for example ``forgetron(Gaussian("1/d"), budget=100)``. The default is
        :func:`~budgetron.auto`, which needs no tuning and no scaler. Parameters that are computed from a
        batch, such as ``gamma="scale"``, are refused.
    encoder : Encoder, optional
        How features become columns, and how many there may be: 256 without it, those that come later are
        hashed.
    seed : int, optional
        The seed of the learner's random choices.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from budgetron.river import BudgetClassifier
    >>> model = BudgetClassifier(seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 90.95%
    """

    @property
    def _multiclass(self) -> bool:
        learner = self._checked_learner()
        try:
            learner.check(Labels(3))
        except (TypeError, ValueError) as refusal:
            return "defined for two classes" not in str(refusal)
        return True

    def _estimator(self, learner: Learner, encoder: Encoder) -> OnlineClassifier:
        return OnlineClassifier(learner, random_state=self.seed, encoder=encoder)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row; the weight ``w`` multiplies its loss."""
        if w != 1.0 and (w := self._weight(w)) == 0:
            return
        with learning_lock(self):
            now = self._kept.now
            try:
                number = None if now is None else now.core_numbers.get(y)
            except TypeError:
                raise unknown_label(y) from None
            if not self._learn_known(x, number, w):
                self._learn_new(x, y, w)

    def predict_one(self, x: dict[Any, Any], **_: Any) -> Any:
        """The label of one row; None if none is known yet."""
        now = self._kept.now
        if now is None or now.labels is None:
            return None
        return now.labels.prediction(now.scores(x))

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        """The probability of every label that is known."""
        now = self._kept.now
        if now is None or now.labels is None:
            return {} if self._multiclass else {False: 0.5, True: 0.5}
        found = now.labels.probabilities(now.scores(x))
        if len(found) == 1 and type(next(iter(found))) is bool and not self._multiclass:
            return {False: 0.0, True: 0.0} | found
        return found

    def predict_many(self, X: Any) -> Any:
        """The label of every row of a frame, as a series of the same library."""
        online, table = self._fitted(X)
        if table is None:
            return series_like(X, [None] * len(X))
        return series_like(X, online.predict(table).tolist())

    def predict_proba_many(self, X: Any) -> Any:
        """The probability of every known label for every row of a frame, as a frame of the same library."""
        online, table = self._fitted(X)
        if table is None:
            return frame_like(X, {})
        probabilities = np.exp(online.fitted_.labels.log_probabilities(online._scored(table)))
        return frame_like(X, dict(zip(online.classes_.tolist(), probabilities.T, strict=True)))
