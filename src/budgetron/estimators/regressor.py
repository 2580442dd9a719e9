"""The regressor."""

from __future__ import annotations

__all__ = ["OnlineRegressor"]

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from budgetron._rows import aligned
from budgetron._tasks import Targets
from budgetron._threads import turn
from budgetron.budgets.swapping import SwapProject
from budgetron.estimators._online import Batch, Online
from budgetron.kernels import Gaussian
from budgetron.learners import Floats, Kernelized, Learner
from budgetron.rules import OGD


class OnlineRegressor(RegressorMixin, Online):  # type: ignore[misc]
    """A regressor that learns from a stream, one example at a time, by any learner.

    Parameters
    ----------
    learner : Learner, optional
        What learns, for example ``nogd(Gaussian(), budget=100, rank=20, eta=0.1)``. The default suits
        standardised features: ``Kernelized(Gaussian(), OGD(eta=0.2), SwapProject(200))``.
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
        """Start afresh from rows that decide what is open, such as gamma="scale"; learn nothing.

        Examples
        --------
        >>> from budgetron import OnlineRegressor
        >>> model = OnlineRegressor().start([[0.0], [1.0]])
        >>> model.gamma_, model.predict([[0.5]])
        (4.0, array([0.]))
        """
        return self._start(X)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows in order; a row that is refused is treated as :class:`OnlineClassifier` does."""
        with turn(self):
            self._learn(X, y, sample_weight)
        return self

    def progressive_predict(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Predict each row, then learn it: the online protocol, in one native pass."""
        with turn(self):
            return self._learn(X, y, sample_weight).ravel()

    def predict(self, X: Any) -> Floats:
        """f(x) for every row."""
        return self._now()._finite_scores(X).ravel()

    def _default_learner(self) -> Learner:
        return Kernelized(Gaussian(), OGD(eta=0.2), SwapProject(200))

    def _batch(self, X: Any, y: Any, sample_weight: Any, *, first: bool, **_: Any) -> Batch:
        X, y = self._rows(X, y=y, y_numeric=True, reset=first)
        targets = aligned(np.asarray(y, dtype=np.float64))
        if not np.isfinite(targets).all():  # None, which scikit-learn lets pass
            row = int(np.argmin(np.isfinite(targets)))
            raise ValueError(f"y must hold a finite number for every row, got none in row {row}.")
        return Batch(X, targets, self._weights(X, sample_weight))

    def _task(self) -> Targets:
        return Targets()

    def _certain_labels(self, y: Any, rows: int) -> Floats | None:
        certain = (
            type(y) is np.ndarray
            and y.dtype == np.float64
            and y.shape == (rows,)
            and y.flags.c_contiguous
            and y.flags.aligned
            and bool(np.isfinite(y).all())
        )
        return y if certain else None
