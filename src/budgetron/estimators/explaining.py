"""What both estimators say about a prediction: why, which columns matter, and how unlike the row is."""

from __future__ import annotations

from typing import Any

from budgetron._util.rows import Matrix
from budgetron.estimators.attributes import fitted_of
from budgetron.estimators.explain.explaining import Explainer
from budgetron.estimators.explain.explanation import Explanation
from budgetron.estimators.explain.importance import importances
from budgetron.estimators.explain.novelty import novelty
from budgetron.estimators.input import Input, are_learnable, known_rows, one_row
from budgetron.learners.learner import Floats
from budgetron.model.fitted import Fitted


class Explaining:
    """Methods of the estimators. None of them learns."""

    def _answers(self, fitted: Fitted) -> Any:
        """What turns scores into predictions."""
        raise NotImplementedError

    @property
    def _threads(self) -> int:
        """How many threads a call with many rows may use."""
        raise NotImplementedError

    def explain(
        self,
        X: Any,
        *,
        label: Any = None,
        background: Any = None,
        samples: int | str | None = None,
        neighbours: int = 3,
    ) -> list[Explanation]:
        """Why each row got its score: what each column adds to it, and which experts and neighbours spoke.

        Contributions are Shapley values: what changing a column adds to the score, from its value in a row
        to compare with to its value in the row explained, as a mean over orders in which the columns
        change, and over such rows. They add up to the score minus the mean score of those rows. They are
        exact for linear and additive models, for those in which columns act in pairs, and for rows with few
        columns. Others are estimated, with their standard errors. All slots of a column of records change
        together.

        Parameters
        ----------
        X : rows
            As for ``predict``.
        label : object, optional
            The label whose score is explained; default the predicted one.
        background : rows, optional
            Rows to compare with; of many, some that are evenly spaced. The default takes rows that the
            model keeps: the last ones, its support vectors, or the mean. Sparse rows are compared with a
            row of 0.
        samples : int, "exact" or None
            How many orders of the columns are tried for a row; None chooses, "exact" tries all, for at most
            14 columns.
        neighbours : int
            How many of the nearest kept rows, or support vectors, are returned.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from budgetron import OnlineClassifier
        >>> data = load_breast_cancer(as_frame=True)
        >>> model = OnlineClassifier(random_state=0).partial_fit(data.data, data.target)
        >>> why = model.explain(data.data[:1])[0]
        >>> rest = why.score - why.baseline - why.contributions.sum()
        >>> why.label, len(why.columns), bool(abs(rest) < 1e-9)
        (0, 30, True)
        """
        fitted = fitted_of(self)
        rows = None if background is None else _rows(self, fitted, background)
        how = Explainer(fitted, self._answers(fitted), rows, samples, label, neighbours, self._threads)
        return how.explain(_rows(self, fitted, X))

    def explain_one(self, x: Any, **how: Any) -> Explanation:
        """The same for one row: a dict, or a sequence of numbers.

        Examples
        --------
        >>> from budgetron import OnlineClassifier
        >>> rows = [{"amount": a, "country": c} for a, c in [(5, "DE"), (900, "FR"), (7, "DE")] * 20]
        >>> model = OnlineClassifier(random_state=0).partial_fit(rows, ["ok", "fraud", "ok"] * 20)
        >>> why = model.explain_one({"amount": 900, "country": "FR"})
        >>> why.label, why.columns, why.values
        ('fraud', ['amount', 'country'], [900.0, 'FR'])
        """
        return self.explain([one_row(fitted_of(self), x)], **how)[0]

    def novelty(self, X: Any, background: Any = None) -> Floats:
        """How unlike the rows learned each row is: 0 for the most usual, towards 1 for "nothing like this".

        It is the rank among the last 256 rows that the model keeps: of rows like these, about one in twenty
        is above 0.95. With the default it ranks the mean distance to the 32 nearest of the last 1,000
        rows. Kernel learners have the distance to the nearest support vector, and filters the variance of
        the score. ``background`` are rows to rank among, for learners that keep none.

        Examples
        --------
        >>> import numpy as np
        >>> from budgetron import OnlineClassifier
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> model = OnlineClassifier(random_state=0).partial_fit(X, X[:, 0] > 0)
        >>> (model.novelty([[0.0, 0.0], [9.0, -9.0]]) > 0.95).tolist()
        [False, True]
        """
        fitted = fitted_of(self)
        rows = None if background is None else _rows(self, fitted, background)
        return novelty(fitted, _rows(self, fitted, X), rows, self._threads)

    def novelty_one(self, x: Any) -> float:
        """The same for one row: a dict, or a sequence of numbers."""
        return float(self.novelty([one_row(fitted_of(self), x)])[0])

    @property
    def feature_importances_(self) -> Floats:
        """How much each column matters to the model now; they sum to 1.

        Computed from the rows that the model keeps, at most the last 256, so it follows a drift: how much
        the loss grows if a column is shuffled among these rows. The default also keeps their labels or
        targets; without them, it is the loss to be expected if the model were right. For records there is a
        number for each of ``encoding_.names``, and one more if some values are hashed.
        """
        found = importances(fitted_of(self))
        if found is None:
            raise AttributeError(
                "feature_importances_ needs the rows that a model keeps, and this one keeps fewer than "
                "two: auto() keeps rows; for others sklearn.inspection.permutation_importance takes yours."
            )
        return found


def _rows(host: Any, fitted: Fitted, X: Any) -> Matrix:
    """Checked rows in a form that can be sliced."""
    known = known_rows(fitted, X)
    if known is not None and not hasattr(known, "indptr") and are_learnable(fitted, known):
        return known
    return Input(host, fitted).rows(X)
