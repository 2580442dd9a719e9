"""Compare learners over the same random orders of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Self

import numpy as np

from budgetron._util import check, executors
from budgetron._util.jobs import run_jobs
from budgetron._util.progress import Progress
from budgetron._util.rows import Matrix
from budgetron._util.text import shown
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.evaluate import baselines, sharing
from budgetron.evaluate.comparison import Comparison, Run
from budgetron.evaluate.metrics import Metrics
from budgetron.evaluate.records import Record
from budgetron.evaluate.session import Session
from budgetron.learners.learner import Learner
from budgetron.parts.features.remembered import SharedFeatures
from budgetron.streams import Block, from_arrays

POINTS = 25
"""The default number of records of a run ..."""
FEWEST = 100
"""... but at least this count rows lie between two records, since each takes half a millisecond."""
ALONE = 1000
"""The number of rows of a block, for a learner that runs alone ..."""
IN_TURN = 400
"""... and for learners that take turns, so that the features they share stay in the cache."""
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
) -> Comparison:
    """Run each learner over the same random orders of the rows: predict each row, then learn it.

    Permutation i comes from ``numpy.random.default_rng(seed + i)``. Its estimators have ``random_state=i``.

    On dense rows, learners with equal feature maps share the features, for example a grid over the ``eta``
    of `fogd`. The results are the same, and ``seconds`` are those that each learner would take alone.

    Parameters
    ----------
    learners : dict of name to Learner, or list of Learner
        The learners. Those of a list are named by their repr. A baseline may be any scikit-learn estimator
        with ``partial_fit``, or a model with ``learn_one`` and ``predict_one``, as river's. They have no
        support vectors and no metrics of scores. scikit-learn's see records encoded by ``Encoder()``, with
        0 for missing numbers.
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
    orders = Orders.of(data, check.whole("compare", "seed", seed), task, every)
    measured = Metrics(metrics, targets=orders.task == "regression", window=window)  # checks the names
    orders.metrics, orders.window = measured.names, measured.window
    orders.delay, orders.classes = check.whole("compare", "delay", delay), classes
    if sample_weight is not None:
        orders.weights = np.asarray(sample_weight, dtype=np.float64)
        if orders.weights.shape != (len(orders.y),):
            raise ValueError(f"compare: sample_weight must have {len(orders.y)} weights, as y has labels.")
    permutations = check.count("compare", "permutations", permutations)
    pool = executors.checked("compare", executor)
    groups = [{name: learner} for name, learner in by_name.items()]
    if pool is None:
        shared = sharing.groups(by_name, orders.X)
        if len(shared) * permutations >= check.threads("compare", n_jobs):
            groups = shared  # or else threads would have nothing to do
    tasks = [(group, i) for i in range(permutations) for group in groups]
    with Progress(len(orders.y) * len(by_name) * permutations, "comparing") as progress:
        if pool is None:
            jobs = [partial(orders.run, group, i, progress.advance) for group, i in tasks]
            results = run_jobs("compare", jobs, n_jobs, orders.stop)
        else:

            def finished(_: int, runs: dict[str, Run]) -> None:
                progress.advance(sum(run[-1].rows for run in runs.values()))

            results = executors.results(pool, Orders.run, orders, tasks, finished)
    runs = {
        (name, i): run for (_, i), each in zip(tasks, results, strict=True) for name, run in each.items()
    }
    records = {name: tuple(runs[name, i] for i in range(permutations)) for name in by_name}
    return Comparison(orders.task, {name: repr(by_name[name]) for name in by_name}, records, orders.seed)


@dataclass(frozen=True)
class Ordered:
    """All rows in one order."""

    X: Matrix
    y: Any
    weights: Any
    at_once: int

    def blocks(self) -> Iterator[Block]:
        for block in from_arrays(self.X, self.y, rows=self.at_once):
            weights = None if self.weights is None else self.weights[block.start : block.stop]
            yield replace(block, weights=weights)


@dataclass
class Orders:
    """Random orders of the same rows; runs learners over one of them."""

    X: Matrix
    y: Any
    task: str
    seed: int
    every: int
    metrics: tuple[str, ...] = ()
    window: int = 1000
    delay: int = 0
    classes: Any = None
    weights: Any = None
    stopped: bool = False

    @classmethod
    def of(cls, data: tuple[Any, Any], seed: int, task: str | None, every: int | None) -> Self:
        """Check the arguments of `compare`."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise TypeError(f"compare: data must be a pair (X, y), got {type(data).__name__}.")
        rows = from_arrays(*data)
        X, y = rows.X, rows.y
        if y is None or not len(y):
            raise ValueError("compare: data must have rows and labels, got none.")
        interval = max(FEWEST, -(-len(y) // POINTS)) if every is None else every
        return cls(X, y, task_of(y, task), seed, check.count("compare", "every", interval))

    def run(
        self, learners: Mapping[str, Any], i: int, advance: Callable[[int], None] = lambda _: None
    ) -> dict[str, Run]:
        """Run learners over the i-th order, block by block in turn, and return the records of each.

        Learners with equal feature maps share the features. Their time is counted for each of them.
        """
        order = np.random.default_rng(self.seed + i).permutation(len(self.y))
        weights = None if self.weights is None else self.weights[order]
        rows = Ordered(self.X[order], self.y[order], weights, ALONE if len(learners) == 1 else IN_TURN)
        shared, found = SharedFeatures(), {name: list[Record]() for name in learners}
        turns = [self._named(name, learner, i, rows, shared) for name, learner in learners.items()]
        with shared.in_use() if len(learners) > 1 else nullcontext():
            for parts in zip(*turns, strict=True):
                for records, part in zip(found.values(), parts, strict=True):
                    before = records[-1].rows if records else 0
                    records.extend(part)
                    advance((records[-1].rows if records else 0) - before)
                shared.forget()
                if self.stopped:
                    break
        return {name: tuple(records) for name, records in found.items()}

    def _named(
        self, name: str, learner: Any, i: int, rows: Ordered, shared: SharedFeatures
    ) -> Iterator[list[Record]]:
        """The turns of a learner, whose errors say its name."""
        try:
            yield from self._turns(learner, i, rows, shared)
        except ValueError as error:
            raise ValueError(f"compare, {name} on permutation {i}: {error}") from error
        except Exception as error:
            if isinstance(learner, Learner):
                raise
            what = f"{type(error).__name__}: {error}"  # other libraries raise what they like
            raise ValueError(f"compare, {name} on permutation {i}: {what}") from error

    def _turns(self, learner: Any, i: int, rows: Ordered, shared: SharedFeatures) -> Iterator[list[Record]]:
        """The records of each block of rows."""
        targets = self.task == "regression"
        options: dict[str, Any] = {"every": self.every, "metrics": self.metrics, "window": self.window}
        options["delay"] = self.delay
        if not isinstance(learner, Learner):
            found = baselines.records(
                learner, rows.X, rows.y, targets=targets, weights=rows.weights, **options
            )
            yield from ([record] for record in found)
            return
        classes = None if targets else rows.y if self.classes is None else self.classes
        estimator = ESTIMATORS[self.task](learner, random_state=i)
        session = Session(estimator, classes=classes, name="prequential", **options)
        saved = 0.0  # by this learner
        feeds: Iterator[Callable[[], list[Record]]] = (
            partial(session.feed, block) for block in rows.blocks()
        )
        for turn in chain(feeds, [session.finish]):
            before = shared.seconds_saved
            records = turn()
            saved += shared.seconds_saved - before
            yield [replace(record, seconds=record.seconds + saved) for record in records]

    def stop(self) -> None:
        """End all runs soon: after the next block of rows, or the next record of a baseline."""
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


def _learner(name: str, value: Any) -> Learner:
    if not isinstance(value, Learner):
        kinds = "a Learner, or a model with partial_fit, or with learn_one and predict_one"
        raise TypeError(f"compare: {name} must be {kinds}, got {shown(value)}.")
    return value


def _by_name(learners: Any) -> dict[str, Any]:
    if isinstance(learners, Learner) or baselines.is_baseline(learners):
        learners = [learners]
    pairs = learners.items() if isinstance(learners, Mapping) else [(repr(each), each) for each in learners]
    by_name = {
        str(name): each if baselines.is_baseline(each) else _learner(str(name), each)
        for name, each in pairs
    }
    if not by_name:
        raise ValueError("compare: learners is empty: expected at least one.")
    if len(by_name) < len(pairs):
        raise ValueError("compare: two learners have the same name: give a dict of different names.")
    return by_name
