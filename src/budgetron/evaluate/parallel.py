"""Run several estimators over the same rows in parallel."""

from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util.jobs import run_jobs
from budgetron._util.threads import learning_lock
from budgetron.estimators.online import begun, concluded
from budgetron.learners.cuda.rows import on_host
from budgetron.model.batch import Batch
from budgetron.model.fitted import Fitted, learn_together

Order = npt.NDArray[np.intp] | None


def progressive_predict_many(
    estimators: Sequence[Any],
    X: Any,
    y: Any,
    *,
    orders: Sequence[npt.ArrayLike] | None = None,
    sample_weight: Any = None,
    n_jobs: int | None = -1,
) -> list[npt.NDArray[Any]]:
    """Call ``progressive_predict`` of each estimator on the same rows.

    On a processor they learn in parallel threads. The native code releases the interpreter lock, so on two
    cores two models take the time of one. X is shared by all threads, except that each estimator with an
    order gets a reordered copy. Nothing else is shared, and results are those of single calls to the bit.

    Estimators with ``device="cuda"`` and no orders learn side by side, and the features of a block of rows
    and their products are computed once for all whose maps are equal: many step sizes on one map take
    little longer than one. Those alone whose rows bring new columns or labels, or which have ``coverage``,
    ``class_weight`` or parts in Python, learn one after the other. Readers of an estimator see what it has
    learned when the call ends. Results are those of single calls up to rounding.

    Parameters
    ----------
    estimators : sequence of OnlineClassifier or OnlineRegressor
        Each learns the rows in place. The results do not depend on ``n_jobs``.
    X, y
        The rows (an array, a DataFrame or a CSR matrix), and the labels or targets.
    orders : sequence of permutations, optional
        The order of the rows for each estimator. By default all learn the rows in their given order.
    sample_weight : array, optional
        The weight of each row.
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
        The first error of an estimator. The other estimators may have learned some or all of the rows. If
        the card fails, those on it have learned nothing.

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
    estimators, X, y = list(estimators), X if hasattr(X, "shape") else np.asarray(X), np.asarray(on_host(y))
    weights = None if sample_weight is None else np.asarray(sample_weight)
    for name, each in (("y", y), ("sample_weight", y if weights is None else weights)):
        if each.shape[:1] != X.shape[:1]:
            raise ValueError(f"progressive_predict_many: X has {X.shape[0]} rows, {name} has {each.size}.")
    _refuse_shared("are the same object", estimators)
    _refuse_shared("share one random_state", [estimator.random_state for estimator in estimators])
    models = len(estimators)
    row_orders = [None] * models if orders is None else _permutations(orders, models, len(y))
    on_card = [i for i in range(models) if orders is None and estimators[i].device != "cpu"]
    others = [i for i in range(models) if i not in on_card]
    jobs = [partial(_in_order, estimators[i], row_orders[i], X, y, weights) for i in others]
    if on_card:
        jobs.append(partial(_side_by_side, [estimators[i] for i in on_card], X, y, weights))
    results = chain.from_iterable(run_jobs("progressive_predict_many", jobs, n_jobs))
    found = dict(zip(others + on_card, results, strict=True))
    return [found[i] for i in range(models)]


def _in_order(
    estimator: Any, order: Order, X: Any, y: npt.NDArray[Any], weights: Any
) -> list[npt.NDArray[Any]]:
    if order is None:
        return [estimator.progressive_predict(X, y, sample_weight=weights)]
    rows, w = X.iloc[order] if hasattr(X, "iloc") else X[order], None if weights is None else weights[order]
    ordered = estimator.progressive_predict(rows, y[order], sample_weight=w)
    predictions = np.empty_like(ordered)
    predictions[order] = ordered
    return [predictions]


def _side_by_side(
    estimators: list[Any], X: Any, y: npt.NDArray[Any], weights: Any
) -> list[npt.NDArray[Any]]:
    """Predictions of estimators on a card, where those that learn the same numbers learn together."""
    with ExitStack() as held:
        for estimator in sorted(estimators, key=id):  # so that two calls do not wait for each other
            held.enter_context(learning_lock(estimator))
        ready = [begun(estimator, X, y, weights) for estimator in estimators]
        groups, found = dict[Hashable, list[int]](), dict[int, Any]()
        for i, pair in enumerate(ready):
            groups.setdefault(i if pair is None else _numbers(*pair), []).append(i)
        for places in groups.values():
            members, pairs = [estimators[i] for i in places], [pair for i in places if (pair := ready[i])]
            if pairs:
                predictions = concluded(members, learn_together(pairs))
            else:
                predictions = _in_order(members[0], None, X, y, weights)
            found |= zip(places, predictions, strict=True)
        return [found[i] for i in range(len(estimators))]


def _numbers(fitted: Fitted, batch: Batch) -> Hashable:
    """What is equal for models that learn the same numbers from a batch."""
    engine: Any = fitted.model.engine
    return engine.alike, batch.y.tobytes(), None if batch.encoded is None else batch.X.tobytes()


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
