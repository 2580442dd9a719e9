"""BudgetRegressor."""

from __future__ import annotations

from typing import Any

from river import base

from budgetron.estimators.regressor import OnlineRegressor
from budgetron.learners.learner import Learner
from budgetron.records.encoder import Encoder
from budgetron.river.frames import series_like
from budgetron.river.streaming import Streaming


class BudgetRegressor(Streaming, base.MiniBatchRegressor):  # type: ignore[misc]
    """A river regressor with any learner of this package.

    Parameters
    ----------
    learner, encoder, seed
        As for :class:`BudgetClassifier`. The default learner takes targets in any unit.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from budgetron.river import BudgetRegressor
    >>> model = BudgetRegressor(seed=0)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.228458
    """

    def _estimator(self, learner: Learner, encoder: Encoder) -> OnlineRegressor:
        return OnlineRegressor(learner, random_state=self.seed, encoder=encoder)

    def predict_one(self, x: dict[Any, Any], **_: Any) -> float:
        """The predicted target of one row; 0 if nothing was learned yet."""
        fitted = getattr(self._online, "fitted_", None)
        return 0.0 if fitted is None else (fitted.scores_one(x) or self._scores(fitted, x))[0]

    def predict_many(self, X: Any) -> Any:
        """The predicted target of every row of a frame, as a series of the same library."""
        rows = self._rows(X)
        return series_like(X, [0.0] * len(X) if rows is None else self._begun().predict(rows).tolist())
