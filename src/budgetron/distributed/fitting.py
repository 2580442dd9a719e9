"""distributed.fit: learn the parts of a Dask collection on workers and merge the models in a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from budgetron._util import check
from budgetron._util.extras import pip_install
from budgetron._util.text import shown
from budgetron.distributed import workers
from budgetron.distributed.collections import parts_of
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.estimators.online import seed_of, unfitted
from budgetron.learners.learner import Learner


def fit(
    model: Any, X: Any, y: Any = None, *, classes: Any = None, client: Any = None, fan_in: int = 8
) -> Any:
    """Learn every part of a Dask collection where it lies, and merge the models in a tree.

    Rows stay on the workers. What travels is a model for each part, from worker to worker, and the merged
    model to the client. One part is learned in one pass, in the order of its rows. The result depends on
    the parts, not on the number of workers; what is left of the error of a single pass depends on the
    learner, see :func:`~budgetron.merge`. If a worker is lost, Dask runs its tasks again.

    Labels, and the columns of records, must be known before the first row is learned. So they are collected
    in a pass of their own over the parts, unless X is an array and ``classes`` are given or it is a
    regression.

    Parameters
    ----------
    model : OnlineClassifier, OnlineRegressor or Learner
        What learns; it does not change. A learner means a classifier.
    X : dask.array.Array, dask.dataframe.DataFrame or dask.bag.Bag
        The rows: an array, a frame, or a bag of records (dicts).
    y : dask.array.Array, dask.dataframe.Series, str or None
        The labels or targets, cut as X is; or the name of the column or field that holds them. None for a
        bag of pairs (record, label).
    classes : array, optional
        All labels; others are refused.
    client : distributed.Client, optional
        Where to learn. By default Dask decides: the last client that was made, or else threads.
    fan_in : int
        How many models a worker merges at once.

    Returns
    -------
    OnlineClassifier or OnlineRegressor
        The merged model, fitted.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from budgetron import OnlineClassifier, distributed
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OnlineClassifier(random_state=0)
    >>> rows, labels = da.from_array(X[:400], chunks=(100, -1)), da.from_array(y[:400], chunks=100)
    >>> fitted = distributed.fit(model, rows, labels)
    >>> int((fitted.predict(X[400:]) != y[400:]).sum())
    1
    """
    estimator = _estimator(model)
    fan_in = check.count("distributed.fit", "fan_in", fan_in)
    if fan_in < 2:
        raise ValueError("distributed.fit: fan_in must be at least 2, got 1.")
    try:
        from dask.delayed import delayed
    except ImportError as error:
        raise ImportError(f"distributed.fit needs Dask: {pip_install('dask')}.") from error
    parts = parts_of(X, y)
    if not parts:
        raise ValueError("distributed.fit: X has no parts.")
    numbered = [(rows, labels, i) for i, (rows, labels) in enumerate(parts)]

    def run(task: Any) -> Any:
        return client.compute(task).result() if client else task.compute()

    survey = workers.Survey(first=_first_with_rows(X))
    needs_labels = isinstance(estimator, OnlineClassifier) and classes is None
    if survey.first is None or estimator.encoder is not None or needs_labels:
        surveys = [delayed(workers.survey)(estimator, *part) for part in numbered]
        survey = run(_tree(surveys, delayed(workers.survey_all), fan_in))
        if survey.first is None:
            raise ValueError("distributed.fit: no part has rows.")
    started = delayed(workers.started)(
        estimator, seed_of(estimator), survey, classes, *numbered[survey.first]
    )
    models = [delayed(workers.learned)(started, *part) for part in numbered]
    return run(_tree(models, delayed(workers.merged), fan_in))


def _tree(tasks: Sequence[Any], join: Callable[[Sequence[Any]], Any], fan_in: int) -> Any:
    """One task that joins all, ``fan_in`` at a time."""
    tasks = [join(tasks)] if len(tasks) == 1 else tasks
    while len(tasks) > 1:
        tasks = [join(tasks[i : i + fan_in]) for i in range(0, len(tasks), fan_in)]
    return tasks[0]


def _estimator(model: Any) -> workers.Estimator:
    if isinstance(model, Learner):
        return OnlineClassifier(model)
    if not isinstance(model, OnlineClassifier | OnlineRegressor):
        expected = "an OnlineClassifier, an OnlineRegressor or a Learner"
        raise TypeError(f"distributed.fit: model must be {expected}, got {shown(model)}.")
    if model.epochs != 1 or model.shuffle:
        raise ValueError(
            "distributed.fit makes one pass in the order of the rows: epochs must be 1, and shuffle False."
        )
    return unfitted(model)


def _first_with_rows(X: Any) -> int | None:
    """The number of the first part of an array that has rows; None if that is not known."""
    sizes = X.chunks[0] if hasattr(X, "chunks") else ()
    return next((i for i, size in enumerate(sizes) if size > 0), None)  # an unknown size is NaN
