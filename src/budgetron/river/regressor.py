"""BudgetRegressor."""

from __future__ import annotations

from typing import Any

from river import base

from budgetron._util import check
from budgetron._util.threads import learning_lock
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
    MAE: 0.317782
    """

    def _estimator(self, learner: Learner, encoder: Encoder) -> OnlineRegressor:
        return OnlineRegressor(learner, random_state=self.seed, encoder=encoder)

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn one row; the weight ``w`` multiplies its loss."""
        if w != 1.0 and (w := self._weight(w)) == 0:
            return
        with learning_lock(self):
            if not self._learn_known(x, float(y) if check.finite(y) else None, w):
                self._learn_new(x, y, w)

    def predict_one(self, x: dict[Any, Any], **_: Any) -> float:
        """The predicted target of one row; 0 if nothing was learned yet."""
        now = self._kept.now
        return 0.0 if now is None else now.scores(x)[0]

    def predict_many(self, X: Any) -> Any:
        """The predicted target of every row of a frame, as a series of the same library."""
        online, table = self._fitted(X)
        if table is None:
            return series_like(X, [0.0] * len(X))
        return series_like(X, online.predict(table).tolist())
