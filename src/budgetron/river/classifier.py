"""BudgetClassifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from budgetron._util.text import shown
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.estimators.online import scored
from budgetron.learners.learner import Learner
from budgetron.records.encoder import Encoder
from budgetron.river.frames import frame_like, series_like
from budgetron.river.streaming import Streaming


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
    Accuracy: 91.51%
    """

    @property
    def _multiclass(self) -> bool:
        return self._checked_learner().multiclass

    def _estimator(self, learner: Learner, encoder: Encoder) -> OnlineClassifier:
        return OnlineClassifier(learner, random_state=self.seed, encoder=encoder)

    def _learn_new(self, x: Any, y: Any, w: float) -> None:
        try:
            hash(y)
        except TypeError:
            raise TypeError(
                f"y must be a label, such as a text, a number or a bool, got {shown(y)}."
            ) from None
        super()._learn_new(x, y, w)

    def predict_one(self, x: dict[Any, Any], **_: Any) -> Any:
        """The label of one row; None if none is known yet."""
        fitted = getattr(self._online, "fitted_", None)
        if fitted is None:
            return None
        return fitted.answers.prediction(fitted.scores_one(x) or self._scores(fitted, x))

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        """The probability of every label that is known."""
        fitted = self._fitted
        if fitted is None or fitted.labels is None:
            return {} if self._multiclass else {False: 0.5, True: 0.5}
        shares = fitted.labels.probabilities(fitted.scores_one(x) or self._scores(fitted, x))
        if len(shares) == 1 and type(next(iter(shares))) is bool and not self._multiclass:
            return {False: 0.0, True: 0.0} | shares
        return shares

    def predict_many(self, X: Any) -> Any:
        """The label of every row of a frame, as a series of the same library."""
        rows = self._rows(X)
        if rows is None:
            return series_like(X, [None] * len(X))
        fitted, pieces = scored(self._begun(), rows)
        return series_like(X, fitted.answers.predictions(pieces).tolist())

    def predict_proba_many(self, X: Any) -> Any:
        """The probability of every known label for every row of a frame, as a frame of the same library."""
        rows = self._rows(X)
        if rows is None:
            return frame_like(X, {})
        fitted, pieces = scored(self._begun(), rows)
        assert fitted.labels is not None
        shares = np.exp(fitted.labels.log_probabilities(pieces))
        return frame_like(X, dict(zip(fitted.labels.classes.tolist(), shares.T, strict=True)))
