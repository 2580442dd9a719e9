"""OnlineRegressor."""

from __future__ import annotations

from math import isfinite
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from budgetron._util import check
from budgetron._util.errors import RefusedRow
from budgetron._util.rows import aligned
from budgetron._util.threads import learning_lock
from budgetron.estimators.online import Online
from budgetron.learners.automatic import Auto
from budgetron.learners.learner import Floats, Learner
from budgetron.model.batch import Batch, Growth, growths
from budgetron.model.labels import KnownLabels, Scored
from budgetron.parts.tasks import Targets


class OnlineRegressor(RegressorMixin, Online):  # type: ignore[misc]
    """A scikit-learn regressor that learns row by row, with any learner of this package.

    Parameters
    ----------
    learner : Learner, optional
        The algorithm, for example ``nogd(Gaussian(), budget=100, rank=20, eta=0.1)``. The default is
        :func:`~budgetron.auto`, which needs no tuning and takes rows and targets as they are.
    epochs, shuffle, random_state
        As for :class:`OnlineClassifier`.

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
        return self._start(X)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows in order. Errors are raised as by :meth:`OnlineClassifier.partial_fit`."""
        with learning_lock(self):
            self._learn(X, y, sample_weight)
        return self

    def learn_one(self, x: Any, y: float) -> Self:
        """Learn one row: a dict, or a sequence of numbers."""
        with learning_lock(self):
            if not self._learn_known(x, y):
                self._learn([self._one(x)], [y], None)
        return self

    def _learn_known(self, x: Any, y: Any) -> bool:
        """Learn a row without anything new in it. Returns False, with nothing changed, for any other."""
        if "fitted_" not in self.__dict__ or not check.finite(y):
            return False
        row = self.fitted_.row_of(x)
        return row is not None and self.fitted_.model.learn_row(row, float(y)) is not None

    def predict_one(self, x: Any) -> float:
        """The predicted target of one row: a dict, or a sequence of numbers."""
        [prediction] = self._snapshot()._scores_of_one(x)
        return prediction

    def progressive_predict(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Predict each row, then learn it (the online protocol); return the predictions."""
        return self._progressive(X, y, sample_weight)[0]

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predicted target of each row; with ``return_std`` also the standard deviation of each.

        Deviations need a learner that knows them: :func:`~budgetron.auto`, :class:`~budgetron.Stacked` or
        :class:`~budgetron.Kalman`.
        """
        snapshot = self._snapshot()
        predictions = snapshot._finite_scores(X).ravel()
        return (predictions, snapshot._deviations(X)) if return_std else predictions

    def _progressive(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Floats, list[Scored]]:
        """Predict each row, then learn it; the predictions, and the scores, which are the same."""
        with learning_lock(self):
            pieces = self._learn(X, y, sample_weight)
            return self._predicted(pieces), pieces

    def _predicted(self, pieces: list[Scored]) -> Floats:
        scores = [piece.scores.ravel() for piece in pieces]
        return scores[0] if len(scores) == 1 else np.concatenate(scores)

    def _default_learner(self) -> Learner:
        return Auto()

    def _batch(self, X: Any, y: Any, sample_weight: Any, *, first: bool, **_: Any) -> Batch:
        X, y, weights, encoded = self._checked(X, y, sample_weight, first, y_numeric=True)
        try:
            targets = aligned(np.asarray(y, dtype=np.float64))
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers: {error}.") from error
        if not np.isfinite(targets).all():  # scikit-learn's checks accept None
            row = int(np.argmin(np.isfinite(targets)))
            raise RefusedRow(
                f"y must have a finite number in every row, got {targets[row]} in row {row}.", row
            )
        columns = [] if encoded is None else list(encoded.growth)
        now = Growth(0, X.shape[1] if first else self.n_features_in_)
        if first and encoded is not None:
            width, columns = encoded.at_first()
            now = Growth(0, width)
        growth = growths(now, columns, [])
        growth = (now, *growth) if first else growth
        return Batch(X, targets, weights, growth, None, encoded)

    def _task(self, labels: KnownLabels | None) -> Targets:  # noqa: ARG002
        return Targets()

    def _labels_without_checks(self, y: Any, rows: int) -> Floats | None:
        valid = (
            type(y) is np.ndarray
            and y.dtype == np.float64
            and y.shape == (rows,)
            and y.flags.c_contiguous
            and y.flags.aligned
            and bool(np.isfinite(y).all())
        )
        return y if valid else None

    def _core_number(self, y: Any) -> float | None:
        if type(y) is not np.ndarray or y.dtype != np.float64 or y.shape != (1,):
            return None
        number: float = y.item()
        return number if isfinite(number) else None
