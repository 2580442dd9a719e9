"""study: many learners on many data sets, in one run that can be stopped and goes on."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from budgetron._util import check, executors
from budgetron._util.version import __version__
from budgetron.evaluate.candidates import is_searched
from budgetron.evaluate.comparison import FEWEST, POINTS, Orders, task_of
from budgetron.evaluate.metrics import Metrics
from budgetron.evaluate.studies import learners as named
from budgetron.evaluate.studies.results import Cell, Study
from budgetron.evaluate.studies.rows import Source, StudyRows, known_tasks, sources
from budgetron.evaluate.studies.runs import Job, RunStore
from budgetron.evaluate.studies.tasks import Failed, OneOrder, OneTuning, Ran, Result, Tuned, revive
from budgetron.learners.learner import Learner


def study(
    learners: Mapping[str, Any] | Sequence[Any],
    datasets: Mapping[str, Any] | Sequence[str],
    orders: int = 10,
    *,
    budgets: Iterable[int] | None = None,
    tune_rows: int = 0,
    candidates: int = 32,
    seed: int = 0,
    every: int | None = None,
    metrics: Iterable[str] = (),
    window: int = 1000,
    delay: int = 0,
    tasks: Mapping[str, str] | None = None,
    n_jobs: int = 1,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
) -> Study:
    """Run learners over random orders of several data sets: predict each row, then learn it.

    Order i of a data set comes from ``numpy.random.default_rng(seed + i)``, and every estimator has
    ``random_state=i`` there, as in `compare`. A learner that cannot run on a data set is left out there,
    and ``Study.failures`` says why; the others go on.

    Parameters
    ----------
    learners : dict of name to learner, or list of learners
        A learner is a ``Learner``, a baseline as in `compare`, or a function of the name of a data set and
        a budget that returns one.
    datasets : list of names, or dict of name to data
        Data are the name of a data set, a pair (X, y), or a function that returns a pair. One data set is
        in memory at a time.
    orders : int
        The number of orders of each data set.
    budgets : list of int, optional
        The budgets. Every parameter ``budget`` of a learner is set to each of them. A learner without one
        runs once.
    tune_rows : int
        If above 0, so many random rows of each data set, at most a third, are for `tune`, which chooses the
        parameters of each learner. No order has them.
    candidates : int
        The number of candidates of `tune`.
    seed : int
        The seed of the first order, and of the tuning.
    every, metrics, window, delay
        As in `compare`, but without further metrics by default.
    tasks : dict of data set to task, optional
        "classification" or "regression", where neither the catalogue nor the labels tell.
    n_jobs, executor
        The number of threads, or where the runs go instead, as in `compare`. The runs of a worker that is
        lost are run again.
    store : path, optional
        A file in which each run is kept when it ends. Runs that are in it are not run again, so a study
        that was stopped goes on where it was.
    say : function, optional
        Is called with a sentence when a data set is done.

    Examples
    --------
    >>> from functools import partial
    >>> from budgetron import Gaussian, datasets, evaluate, forgetron, rbp, stoptron
    >>> learners = {f.__name__: f(Gaussian(1.0), budget=10) for f in (rbp, forgetron, stoptron)}
    >>> made = {f"draw {i}": partial(datasets.synthetic, 300, seed=i) for i in range(6)}
    >>> result = evaluate.study(learners, made, 6, budgets=[10, 30])
    >>> len(result.cells), result.budgets
    (36, (10, 30))
    >>> result.ranks(30).mean
    {'rbp': 2.5, 'forgetron': 2.0, 'stoptron': 1.5}
    """
    plan = Plan(
        named.by_name(learners),
        sources(datasets),
        check.count("study", "orders", orders),
        _budgets(budgets),
        check.whole("study", "tune_rows", tune_rows),
        check.count("study", "candidates", candidates),
        check.whole("study", "seed", seed),
        None if every is None else check.count("study", "every", every),
        tuple(metrics),
        check.count("study", "window", window),
        check.whole("study", "delay", delay),
        known_tasks(datasets) | dict(tasks or {}),
    )
    workers = executors.checked("study", executor) or check.threads("study", n_jobs)
    return Running(plan, RunStore(store, revive), workers, say or (lambda _: None)).result()


def _budgets(given: Iterable[int] | None) -> tuple[int | None, ...]:
    if given is None:
        return (None,)
    budgets = [check.count("study", "budgets", budget) for budget in given]
    if not budgets or len(set(budgets)) < len(budgets):
        raise ValueError(f"study: budgets must be one or more different numbers, got {budgets}.")
    return tuple(budgets)


@dataclass(frozen=True)
class Plan:
    """The arguments of `study`, checked."""

    learners: Mapping[str, Any]
    sources: Mapping[str, Source]
    orders: int
    budgets: tuple[int | None, ...]
    tune_rows: int
    candidates: int
    seed: int
    every: int | None
    metrics: tuple[str, ...]
    window: int
    delay: int
    tasks: Mapping[str, str]

    def settings(self) -> dict[str, Any]:
        """Those that all cells share, for the result."""
        names = ("orders", "seed", "tune_rows", "candidates", "delay")
        return {"budgetron": __version__} | {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Entry:
    """A learner for a budget on a data set; or why there is none."""

    name: str
    budget: int | None
    learner: Any
    tuned: Mapping[str, float] | None = None
    failure: str | None = None


@dataclass(frozen=True)
class Running:
    """A study while it runs, data set by data set."""

    plan: Plan
    store: RunStore[Result]
    workers: int | Executor
    say: Callable[[str], None]

    def result(self) -> Study:
        """All cells."""
        cells: list[Cell] = []
        for place, (name, source) in enumerate(self.plan.sources.items()):
            label = f"{name}, {place + 1} of {len(self.plan.sources)}"
            rows = StudyRows.loaded(name, source, self.plan.tune_rows, self.plan.seed)
            cells += self._cells(rows, label)
        return Study(tuple(cells), self.plan.settings())

    def _cells(self, rows: StudyRows, label: str) -> list[Cell]:
        """The cells of a data set."""
        orders = self._orders(rows)
        entries = self._tuned(rows, orders.task, label)
        jobs = [list(self._jobs(entry, rows, orders)) for entry in entries]
        flat = [job for each in jobs for job in each]
        before = sum(self.store.knows(job) for job in flat)
        outcomes = iter(self.store.outcomes(flat, self.workers, label, orders.stop))
        self.say(f"{label}: {len(flat)} runs, {before} of them from before.")
        done = [[next(outcomes) for _ in each] for each in jobs]
        return [self._cell(*each, rows, orders.task) for each in zip(entries, done, strict=True)]

    def _orders(self, rows: StudyRows) -> Orders:
        plan, stream = self.plan, rows.stream
        task = task_of(stream.y, plan.tasks.get(rows.name), f"study, {rows.name}")
        names = Metrics(plan.metrics, targets=task == "regression", window=plan.window).names
        every = max(FEWEST, -(-len(stream) // POINTS)) if plan.every is None else plan.every
        options = {"every": every, "delay": plan.delay, "metrics": names, "window": plan.window}
        return Orders(stream, task, plan.seed, None, options)

    def _entries(self, dataset: str) -> Iterator[Entry]:
        for budget in self.plan.budgets:
            for name, given in self.plan.learners.items():
                try:
                    yield Entry(name, budget, named.learner_of(given, name, dataset, budget))
                except ValueError as error:
                    yield Entry(name, budget, None, failure=str(error))

    def _tuned(self, rows: StudyRows, task: str, label: str) -> list[Entry]:
        """The learners, each with the parameters that tuning found, if that is asked for."""
        entries = list(self._entries(rows.name))
        if rows.tuning is None:
            return entries
        jobs = {i: self._tuning(entry, rows, task) for i, entry in enumerate(entries) if _has(entry, task)}
        done = self.store.outcomes(list(jobs.values()), self.workers, f"tuning on {label}")
        for i, outcome in zip(jobs, done, strict=True):
            entries[i] = _with(entries[i], outcome)
        return entries

    def _tuning(self, entry: Entry, rows: StudyRows, task: str) -> Job[Result]:
        plan = self.plan
        labels = {
            "tuning": {"candidates": plan.candidates, "seed": plan.seed, "task": task},
            **rows.tuning_labels,
            **named.labels_of(entry.learner),
        }
        return Job(labels, OneTuning(rows, entry.learner, task, plan.candidates, plan.seed))

    def _jobs(self, entry: Entry, rows: StudyRows, orders: Orders) -> Iterator[Job[Result]]:
        """The runs of a cell. Their labels contain everything that the outcome depends on."""
        if entry.failure is not None:
            return
        learner = named.labels_of(entry.learner)
        for i in range(self.plan.orders):
            labels = {"task": orders.task, **rows.labels, **learner, "order": i, "seed": orders.seed}
            options = {"options": orders.options | {"metrics": list(orders.options["metrics"])}}
            yield Job(labels | options, OneOrder(orders, entry.name, entry.learner, i))

    def _cell(self, entry: Entry, outcomes: list[Result], rows: StudyRows, task: str) -> Cell:
        why = [entry.failure] if entry.failure is not None else []
        why += [outcome.why for outcome in outcomes if isinstance(outcome, Failed)]
        return Cell(
            dataset=rows.name,
            learner=entry.name,
            budget=entry.budget,
            described="" if entry.learner is None else named.described(entry.learner),
            task=task,
            rows=len(rows.stream),
            tuned=entry.tuned,
            runs=() if why else tuple(each.records for each in outcomes if isinstance(each, Ran)),
            failure=why[0] if why else None,
        )


def _has(entry: Entry, task: str) -> bool:
    """Whether there is something to tune."""
    return isinstance(entry.learner, Learner) and is_searched(entry.learner, task == "regression")


def _with(entry: Entry, outcome: Result) -> Entry:
    """The learner with the parameters that tuning found."""
    if isinstance(outcome, Failed):
        return Entry(entry.name, entry.budget, entry.learner, failure=outcome.why)
    assert isinstance(outcome, Tuned)
    learner = copy.deepcopy(entry.learner).set_params(**outcome.parameters)
    return Entry(entry.name, entry.budget, learner, outcome.parameters)
