"""OnlineRegressor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from budgetron._util.errors import ROW, RefusedRow
from budgetron._util.rows import aligned
from budgetron._util.threads import learning_lock
from budgetron.estimators.input import known_rows
from budgetron.estimators.online import Coded, Online, checked_rows, progressive, scored, start
from budgetron.learners.learner import Floats
from budgetron.model.fitted import above_zero


class OnlineRegressor(RegressorMixin, Online):  # type: ignore[misc]
    """A scikit-learn regressor that learns row by row, with any learner of this package.

    Parameters
    ----------
    learner : Learner, optional
        The algorithm, for example ``nogd(Gaussian(), budget=100, rank=20, eta=0.1)``. The default is
        :func:`~budgetron.auto`, which needs no tuning and takes rows and targets as they are.
    epochs, shuffle, random_state, encoder, n_jobs, device, dtype
        As for :class:`OnlineClassifier`.
    coverage : float, optional
        The share of targets that `predict_interval` shall have inside, such as 0.9. It is learned along the
        stream, and followed after drifts. Rows are then learned one by one, at about three times the time.

    Attributes
    ----------
    learner_, gamma_, n_support_, support_vectors_, dual_coef_, memory_bytes_
        As for :class:`OnlineClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import minmax_scale
    >>> from budgetron import Gaussian, OnlineRegressor, Squared, nogd
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = minmax_scale(X), minmax_scale(y)
    >>> reg = OnlineRegressor(nogd(Gaussian.of_width(8), budget=30, rank=6, eta=0.1, loss=Squared()))
    >>> round(float(((reg.progressive_predict(X, y) - y) ** 2).mean()), 3)
    0.06
    """

    def start(self, X: Any) -> Self:
        """Discard the model and prepare a new one from sample rows, without learning them.

        The rows set the number of columns and parameters such as gamma="scale".

        Examples
        --------
        >>> from budgetron import OnlineRegressor
        >>> model = OnlineRegressor().start([[0.0], [1.0]])
        >>> model.predict([[0.5]])
        array([0.])
        """
        start(self, X)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows in order. Errors are raised as by :meth:`OnlineClassifier.partial_fit`."""
        with learning_lock(self):
            self._learn(X, y, sample_weight)
        return self

    def predict_one(self, x: Any) -> float:
        """The predicted target of one row: a dict, or a sequence of numbers; 0.0 before one is learned."""
        if self._known() is None:
            return 0.0
        return self._scores_one(x)[1][0]

    def progressive_predict(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Predict each row, then learn it (the online protocol); return the predictions."""
        predicted: Floats = progressive(self, X, y, sample_weight)[0]
        return predicted

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predicted target of each row; with ``return_std`` also the standard deviation of each.

        Deviations need a learner that knows them: :func:`~budgetron.auto`, :class:`~budgetron.Stacked` or
        :class:`~budgetron.Kalman`. With the first two they follow noise that depends on the row, and about
        95 % of the targets are within two; with the last the noise is one for all rows.
        """
        fitted, pieces = scored(self, X)
        predictions = fitted.answers.predictions(pieces)
        if not return_std:
            return predictions
        rows = checked_rows(self, fitted, X, known_rows(fitted, X))
        return predictions, fitted.model.deviations(rows, self._threads)

    def predict_interval(self, X: Any) -> Floats:
        """For each row the ends of an interval: a share of ``coverage`` of the targets is inside.

        Its width follows the deviation of the prediction, if the learner has deviations. Before 20 rows are
        learned, it has no ends. See :doc:`/howto/coverage`.
        """
        fitted, conformal = self._conformal("predict_interval")
        half: Any = conformal.limit
        if fitted.model.engine.has_deviations:
            predictions, deviations = self.predict(X, return_std=True)
            half = half * above_zero(deviations)
        else:
            predictions = self.predict(X)
        return np.stack([predictions - half, predictions + half], axis=1)

    _numeric = True

    def _coded(self, y: Any, weights: Floats | None, fitted: Any, classes: Any) -> Coded:  # noqa: ARG002
        try:
            targets = aligned(np.asarray(y, dtype=np.float64))
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers: {error}.") from error
        if not np.isfinite(targets).all():  # scikit-learn's checks accept None
            row = int(np.argmin(np.isfinite(targets)))
            raise RefusedRow(
                f"y must have a finite number in every row, got {targets[row]} in row {ROW}.", row
            )
        return Coded(targets)
