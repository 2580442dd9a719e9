"""Compare learners over the same random orders of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from budgetron._util import check, executors
from budgetron._util.jobs import run_jobs
from budgetron._util.progress import Progress
from budgetron._util.text import shown
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.evaluate import baselines
from budgetron.evaluate.metrics import Metrics
from budgetron.evaluate.protocol import prequential
from budgetron.evaluate.record import Record
from budgetron.evaluate.results import Comparison, Records
from budgetron.learners.learner import Learner
from budgetron.records.encoder import Encoder
from budgetron.streams import Block, from_arrays

POINTS = 25
"""The default number of records of a run ..."""
FEWEST = 100
"""... but at least this count rows lie between two records, since each takes half a millisecond."""
ROWS = 1000
"""The number of rows of a block."""
LABELS = 100
"""If y has more different whole numbers than this, the caller must say what they are."""

ESTIMATORS = {"classification": OnlineClassifier, "regression": OnlineRegressor}


def compare(
    learners: Mapping[str, Any] | Sequence[Any],
    data: tuple[Any, Any],
    *,
    permutations: int = 20,
    seed: int = 0,
    n_jobs: int = 1,
    every: int | None = None,
    task: str | None = None,
    metrics: Iterable[str] | None = None,
    window: int = 1000,
    delay: int = 0,
    classes: Any = None,
    sample_weight: Any = None,
    executor: Executor | None = None,
    encoder: Encoder | None = None,
) -> Comparison:
    """Run each learner over the same random orders of the rows: predict each row, then learn it.

    Permutation i comes from ``numpy.random.default_rng(seed + i)``. Its estimators have ``random_state=i``.

    Parameters
    ----------
    learners : dict of name to Learner, or list of Learner
        The learners. Those of a list are named by their repr. A baseline may be any scikit-learn estimator
        with ``partial_fit``, or a model with ``learn_one`` and ``predict_one``, as river's. They have no
        support vectors and no metrics of scores. scikit-learn's see encoded records, with 0 for missing
        numbers.
    data : pair (X, y)
        The rows and their labels or targets. X may be records.
    permutations : int
        The number of orders.
    seed : int
        The seed of the first order.
    n_jobs : int
        The number of threads; -1 means one per processor. It changes no result but ``seconds``, which may
        rise when threads compete for memory.
    every : int, optional
        The number of rows between two records. By default a run has 25 records, at least 100 rows apart. A
        record takes about half a millisecond, which is part of ``seconds``. To time fast learners on few
        rows, give the number of rows.
    task : "classification" or "regression", optional
        By default, strings and whole numbers are class labels, and other numbers are targets.
    metrics : list of str, optional
        The names of the `Metrics` in the records, see `Session`. ``Comparison.table(["kappa", "auc"])``
        shows some of them.
    window : int
        The number of last rows for the metrics over a window.
    delay, classes
        See `Session`. By default the classes are those of y.
    sample_weight : array, optional
        The weight of each row in learning.
    executor : concurrent.futures.Executor, optional
        Where the runs go instead of ``n_jobs`` threads, for example ``ProcessPoolExecutor()``, or Dask's
        ``client.get_executor()``. The results are the same, bit for bit, but for ``seconds``. The runs of a
        worker that is lost are run again.
    encoder : Encoder, optional
        How records become rows of numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from budgetron import Gaussian, evaluate, forgetron, rbp
    >>> k = Gaussian(1e-6)
    >>> learners = {"rbp": rbp(k, budget=50), "forgetron": forgetron(k, budget=50)}
    >>> result = evaluate.compare(learners, load_breast_cancer(return_X_y=True), permutations=5)
    >>> print(result.table())  # doctest: +ELLIPSIS
    learner        mistakes %       p  support vectors  seconds
    -----------------------------------------------------------
    rbp        13.74 ± 1.20 *                     50.0   0...
    forgetron  14.38 ± 0.81 *  0.3177             50.0   0...
    -----------------------------------------------------------
    Mean and standard deviation over 5 permutations; seconds of one pass.
    * the best, and those not significantly worse (paired t-test, p >= 0.05).
    """
    by_name = _by_name(learners)
    rows = _rows(data, sample_weight)
    seed, task = check.whole("compare", "seed", seed), task_of(rows.y, task)
    interval = max(FEWEST, -(-len(rows) // POINTS)) if every is None else every
    options = {
        "every": check.count("compare", "every", interval),
        "delay": check.whole("compare", "delay", delay),
        "metrics": Metrics(metrics, targets=task == "regression", window=window).names,
        "window": window,
    }
    orders = Orders(rows, task, seed, classes, options, encoder=encoder)
    permutations = check.count("compare", "permutations", permutations)
    pool = executors.checked("compare", executor)
    tasks = [(name, learner, i) for i in range(permutations) for name, learner in by_name.items()]
    with Progress(len(rows) * len(tasks), "comparing") as progress:
        if pool is None:
            jobs = [partial(orders.run, *each, progress.advance) for each in tasks]
            results = run_jobs("compare", jobs, n_jobs, orders.stop)
        else:
            results = executors.results(
                pool, Orders.run, orders, tasks, lambda _, records: progress.advance(records[-1].rows)
            )
    runs = {name: tuple(results[place :: len(by_name)]) for place, name in enumerate(by_name)}
    return Comparison(task, {name: repr(each) for name, each in by_name.items()}, runs, seed)


def _rows(data: Any, sample_weight: Any) -> Block:
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise TypeError(f"compare: data must be a pair (X, y), got {type(data).__name__}.")
    rows = from_arrays(*data)
    if rows.y is None or not len(rows.y):
        raise ValueError("compare: data must have rows and labels, got none.")
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights is not None and weights.shape != (len(rows.y),):
        raise ValueError(f"compare: sample_weight must have {len(rows.y)} weights, as y has labels.")
    return Block(rows.X, rows.y, 0, weights)


@dataclass
class Orders:
    """Random orders of the same rows; runs a learner over one of them."""

    rows: Block
    task: str
    seed: int
    classes: Any
    options: dict[str, Any]  # of every run
    stopped: bool = False
    encoder: Encoder | None = None

    def run(
        self, name: str, learner: Any, i: int, advance: Callable[[int], None] = lambda _: None
    ) -> Records:
        """Run a learner over the i-th order and return the records. Errors say its name."""
        order = np.random.default_rng(self.seed + i).permutation(len(self.rows))
        rows = self.rows.chosen(order, 0)
        records = list[Record]()
        try:
            for record in self._records(learner, i, rows):
                advance(record.rows - (records[-1].rows if records else 0))
                records.append(record)
                if self.stopped:
                    break
        except Exception as error:
            known = isinstance(error, ValueError)
            if isinstance(learner, Learner) and not known:
                raise
            what = str(error) if known else f"{type(error).__name__}: {error}"  # of other libraries
            raise ValueError(f"compare, {name} on permutation {i}: {what}") from error
        return tuple(records)

    def _records(self, learner: Any, i: int, rows: Block) -> Iterator[Record]:
        targets = self.task == "regression"
        if not isinstance(learner, Learner):
            return baselines.run(learner, rows, self.encoder, targets=targets, **self.options)
        classes = None if targets else rows.y if self.classes is None else self.classes
        estimator = ESTIMATORS[self.task](learner, random_state=i, encoder=self.encoder)
        blocks = (rows.part(start, start + ROWS) for start in range(0, len(rows), ROWS))
        return prequential(estimator, blocks, classes=classes, **self.options)

    def stop(self) -> None:
        """End all runs soon: after the next record."""
        self.stopped = True


def task_of(y: Any, task: str | None = None, who: str = "compare") -> str:
    """The given task, or else the one that fits y: "classification" or "regression"."""
    if task is not None:
        if task not in (*ESTIMATORS, "binary", "multiclass"):  # as the catalogue of data sets says it
            raise ValueError(f"{who}: task must be 'classification' or 'regression', got {task!r}.")
        return "regression" if task == "regression" else "classification"
    y = np.asarray(y)
    if y.dtype.kind == "f" and np.isfinite(y).all() and (y != np.round(y)).any():
        return "regression"
    if y.dtype.kind in "iuf" and (count := len(np.unique(y))) > LABELS:
        raise ValueError(
            f"{who}: y has {count} different whole numbers, which may be labels or targets: "
            "give task='classification' or 'regression'."
        )
    return "classification"


def _by_name(learners: Any) -> dict[str, Any]:
    if isinstance(learners, Learner) or baselines.is_baseline(learners):
        learners = [learners]
    pairs = learners.items() if isinstance(learners, Mapping) else [(repr(each), each) for each in learners]
    for name, each in pairs:
        if not isinstance(each, Learner) and not baselines.is_baseline(each):
            kinds = "a Learner, or a model with partial_fit, or with learn_one and predict_one"
            raise TypeError(f"compare: {name} must be {kinds}, got {shown(each)}.")
    by_name = {str(name): each for name, each in pairs}
    if not by_name:
        raise ValueError("compare: learners is empty: expected at least one.")
    if len(by_name) < len(pairs):
        raise ValueError("compare: two learners have the same name: give a dict of different names.")
    return by_name
