"""Run several estimators over the same rows in parallel."""

from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util.jobs import run_jobs

Order = npt.NDArray[np.intp] | None


def progressive_predict_many(
    estimators: Sequence[Any],
    X: Any,
    y: Any,
    *,
    orders: Sequence[npt.ArrayLike] | None = None,
    n_jobs: int | None = -1,
) -> list[npt.NDArray[Any]]:
    """Call ``progressive_predict`` of each estimator on the same rows, in parallel threads.

    The native code releases the interpreter lock, so on two cores two models take the time of one. X is
    shared by all threads, except that each estimator with an order gets a reordered copy.

    Parameters
    ----------
    estimators : sequence of OnlineClassifier or OnlineRegressor
        Each learns the rows in place. The results do not depend on ``n_jobs``.
    X, y
        The rows (an array, a DataFrame or a CSR matrix), and the labels or targets.
    orders : sequence of permutations, optional
        The order of the rows for each estimator. By default all learn the rows in their given order.
    n_jobs : int or None
        The number of threads. -1 means one per processor, None means 1.

    Returns
    -------
    list of arrays
        The predictions of each estimator. They are in the order of the rows in X even if ``orders`` is
        given, so ``(predictions != y).mean()`` is the rate of mistakes.

    Raises
    ------
    Exception
        The first error of an estimator. The other estimators may have learned some or all of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetron import Gaussian, OnlineClassifier, progressive_predict_many, rbp
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = [OnlineClassifier(rbp(Gaussian(0.02), budget=30), random_state=i) for i in range(3)]
    >>> orders = [np.random.default_rng(i).permutation(len(X)) for i in range(3)]
    >>> results = progressive_predict_many(models, scale(X), y, orders=orders)
    >>> [int((predictions != y).sum()) for predictions in results]
    [55, 49, 53]
    """
    estimators, X, y = list(estimators), X if hasattr(X, "shape") else np.asarray(X), np.asarray(y)
    if X.shape[0] != len(y):
        raise ValueError(f"progressive_predict_many: X has {X.shape[0]} rows, y has {len(y)}.")
    _refuse_shared("are the same object", estimators)
    _refuse_shared("share one random_state", [estimator.random_state for estimator in estimators])
    models = len(estimators)
    row_orders = [None] * models if orders is None else _permutations(orders, models, len(y))
    pairs = zip(estimators, row_orders, strict=True)
    jobs = [partial(_predict_in_order, estimator, order, X, y) for estimator, order in pairs]
    return run_jobs("progressive_predict_many", jobs, n_jobs)


def _predict_in_order(estimator: Any, order: Order, X: Any, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if order is None:
        predictions: npt.NDArray[Any] = estimator.progressive_predict(X, y)
        return predictions
    ordered = estimator.progressive_predict(X.iloc[order] if hasattr(X, "iloc") else X[order], y[order])
    predictions = np.empty_like(ordered)
    predictions[order] = ordered
    return predictions


def _refuse_shared(how: str, parts: list[Any]) -> None:
    """Refuse estimators that share a model or generator, since the threads would use it in random order."""
    seen: dict[int, int] = {}
    for i, part in enumerate(parts):
        if part is None or isinstance(part, Integral):
            continue
        if (j := seen.setdefault(id(part), i)) != i:
            raise ValueError(f"progressive_predict_many: estimators {j} and {i} {how}; give each its own.")


def _permutations(orders: Sequence[npt.ArrayLike], models: int, rows: int) -> Sequence[Order]:
    if len(orders) != models:
        raise ValueError(f"progressive_predict_many: {len(orders)} orders for {models} estimators.")
    arrays = [np.asarray(order) for order in orders]
    for i, order in enumerate(arrays):
        if order.shape != (rows,) or not np.array_equal(np.sort(order), np.arange(rows)):
            raise ValueError(
                f"progressive_predict_many: orders[{i}] must hold every number from 0 to {rows - 1} once."
            )
    return arrays
