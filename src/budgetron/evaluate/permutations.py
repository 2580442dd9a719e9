"""Learners over the same random orders of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from budgetron import _check, _jobs
from budgetron._rows import Matrix
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.evaluate.comparison import Comparison, Run
from budgetron.evaluate.protocol import prequential
from budgetron.evaluate.records import Record
from budgetron.learners import Learner
from budgetron.progress import Progress
from budgetron.streams import from_arrays

POINTS = 25
"""How many records a run has where nothing else is asked for ..."""
FEWEST = 100
"""... but not more often than after so many rows: each takes about half a millisecond."""
LABELS = 100
"""More different whole numbers than this are not taken for labels without being told so."""

TASKS = {
    "classification": "classification",
    "binary": "classification",
    "multiclass": "classification",
    "regression": "regression",
}
ESTIMATORS = {"classification": OnlineClassifier, "regression": OnlineRegressor}


def compare(
    learners: Mapping[str, Learner] | Sequence[Learner],
    data: tuple[Any, Any],
    *,
    permutations: int = 20,
    seed: int = 0,
    n_jobs: int = 1,
    every: int | None = None,
    task: str | None = None,
) -> Comparison:
    """Run learners over the same random orders of the rows, in the online protocol.

    Permutation i is that of ``numpy.random.default_rng(seed + i)``, and the estimators on it have
    ``random_state=i``.

    Parameters
    ----------
    learners : dict of name to Learner, or list of Learner
        What competes; those of a list are called by their code.
    data : pair (X, y)
        All rows and their labels or targets.
    permutations : int
        How many orders.
    seed : int
        The first of the seeds of the orders.
    n_jobs : int
        How many threads; -1 is one for each processor. The results are the same, only ``seconds`` may
        suffer where threads wait for memory.
    every : int, optional
        The rows between two points of the curves; by default there are 25 points, 100 rows apart or more.
        Each costs about half a millisecond, which counts: to measure the speed of fast learners on few
        rows, give the number of rows.
    task : "classification" or "regression", optional
        What y is. By default texts and whole numbers are labels and other numbers are targets.

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
    * the best, and what a paired t-test does not tell from it (p >= 0.05).
    """
    named = _named(learners)
    orders = Orders.of(data, _check.whole("compare", "seed", seed), task, every)
    permutations = _check.count("compare", "permutations", permutations)
    pairs = [(name, i) for i in range(permutations) for name in named]
    with Progress(len(orders.y) * len(pairs), "comparing") as progress:
        jobs = [partial(orders.run, name, named[name], i, progress.advance) for name, i in pairs]
        runs = dict(zip(pairs, _jobs.results("compare", jobs, n_jobs, orders.stop), strict=True))
    records = {name: tuple(runs[name, i] for i in range(permutations)) for name in named}
    return Comparison(orders.task, {name: repr(named[name]) for name in named}, records, orders.seed)


@dataclass
class Orders:
    """Random orders of the same rows, and the runs of learners over them."""

    X: Matrix
    y: Any
    task: str
    seed: int
    every: int
    stopped: bool = False

    @classmethod
    def of(cls, data: tuple[Any, Any], seed: int, task: str | None, every: int | None) -> Orders:
        """The orders of a pair (X, y)."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise TypeError(f"compare: data must be a pair (X, y), got {type(data).__name__}.")
        rows = from_arrays(*data)
        X, y = rows.X, rows.y
        if y is None or not len(y):
            raise ValueError("compare: data must have rows and labels, got none.")
        often = max(FEWEST, -(-len(y) // POINTS)) if every is None else every
        return cls(X, y, task_of(y, task), seed, _check.count("compare", "every", often))

    def run(self, name: str, learner: Learner, i: int, advance: Callable[[int], None]) -> Run:
        """The records of a learner over the i-th order."""
        order = np.random.default_rng(self.seed + i).permutation(len(self.y))
        estimator = ESTIMATORS[self.task](learner, random_state=i)
        records: list[Record] = []
        try:
            for record in prequential(estimator, (self.X[order], self.y[order]), every=self.every):
                if self.stopped:
                    break
                advance(record.rows - (records[-1].rows if records else 0))
                records.append(record)
        except ValueError as error:
            raise ValueError(f"compare, {name} on permutation {i}: {error}") from error
        return tuple(records)

    def stop(self) -> None:
        """End all runs at their next record."""
        self.stopped = True


def task_of(y: Any, task: str | None = None) -> str:
    """What y is, "classification" or "regression": as told, else as it looks.

    >>> from budgetron.evaluate.permutations import task_of
    >>> task_of([0, 1, 1]), task_of([0.5, 1.0, 2.0]), task_of([1, 2, 3], "regression")
    ('classification', 'regression', 'regression')
    """
    if task is not None:
        if task not in TASKS:
            raise ValueError(f"compare: task must be 'classification' or 'regression', got {task!r}.")
        return TASKS[task]
    y = np.asarray(y)
    if y.dtype.kind == "f" and np.isfinite(y).all() and (y != np.round(y)).any():
        return "regression"
    if y.dtype.kind in "iuf" and (many := len(np.unique(y))) > LABELS:
        raise ValueError(
            f"compare: y has {many} different whole numbers; give task='regression' or 'classification'."
        )
    return "classification"


def _named(learners: Mapping[str, Learner] | Sequence[Learner]) -> dict[str, Learner]:
    if isinstance(learners, Learner):
        learners = [learners]
    pairs = learners.items() if isinstance(learners, Mapping) else [(repr(each), each) for each in learners]
    named = {str(name): _check.instance("compare", str(name), each, Learner) for name, each in pairs}
    if not named:
        raise ValueError("compare: learners is empty; give at least one.")
    if len(named) < len(pairs):
        raise ValueError("compare: two learners have the same name; give a dict of different names.")
    return named
