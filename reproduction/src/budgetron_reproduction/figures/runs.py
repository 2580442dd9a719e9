"""Runs of a table's algorithms for figures: comparisons, and the recipes that identify them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from budgetron.evaluate import Comparison, compare
from budgetron.learners.learner import Learner
from budgetron.plots import Line
from budgetron_reproduction import settings
from budgetron_reproduction.cases import Case
from budgetron_reproduction.preparation import Prepared, Rows, prepared
from budgetron_reproduction.printed import Cell, Table, table
from budgetron_reproduction.reproduction import maker
from budgetron_reproduction.store import Store


@dataclass(frozen=True)
class Plan:
    """Which runs: a table, a data set, algorithms, and the number of orders.

    ``rows`` limits the stream to this many random rows. ``budget=None`` is the budget of the data set.
    ``points`` is the number of records of a run.
    """

    key: str
    number: int
    dataset: str
    algorithms: tuple[str, ...]
    permutations: int
    budget: int | None = None
    rows: int | None = None
    points: int = 25


@lru_cache(maxsize=32)
def compared(plan: Plan, n_jobs: int = 1) -> Comparison:
    """Run the algorithms of the plan that the table has for the data set. Figures share the result."""
    what = table(plan.key, plan.number)
    rows = stream(plan)
    learners = {name: _learner(what, plan, name, len(rows[1])) for name in _names(what, plan)}
    return run(learners, rows, plan, n_jobs)


def recipe(plan: Plan) -> object:
    """Everything that the runs depend on except the rows."""
    what = table(plan.key, plan.number)
    learners = {name: _described(what, plan, name) for name in _names(what, plan)}
    return plan, what.task, what.sources[plan.dataset], learners


def _names(what: Table, plan: Plan) -> list[str]:
    have = {cell.algorithm for cell in what.of(plan.dataset)}
    return [name for name in plan.algorithms if name in have]


def run(learners: Mapping[str, Learner], rows: Rows, plan: Plan, n_jobs: int) -> Comparison:
    """Run learners over random orders of the rows, each in one thread."""
    task = "regression" if table(plan.key, plan.number).task == "regression" else "classification"
    every = -(-len(rows[1]) // plan.points)
    with threadpool_limits(1):
        return compare(
            learners,
            rows,
            permutations=plan.permutations,
            n_jobs=n_jobs,
            every=every,
            task=task,
            metrics=(),
        )


def stream(plan: Plan) -> Rows:
    """The rows of a plan."""
    return _stream(plan.key, plan.number, plan.dataset, plan.rows)


@lru_cache(maxsize=2)
def _stream(key: str, number: int, dataset: str, most: int | None) -> Rows:
    X, y = _prepared(table(key, number), dataset).training[0]
    if most is None or most >= len(y):
        return X, y
    chosen = np.random.default_rng(0).permutation(len(y))[:most]
    return X[chosen], y[chosen]


def _prepared(what: Table, dataset: str) -> Prepared:
    return prepared(what, what.sources[dataset])


def _learner(what: Table, plan: Plan, algorithm: str, n: int) -> Any:
    cell = Cell(plan.dataset, algorithm, budget=plan.budget)
    return maker(what, cell)(Case(cell, n, what.budget(cell), _setting(what, cell)))


def _described(what: Table, plan: Plan, algorithm: str) -> object:
    """The settings of a learner and its code, for the printed number of rows.

    If the settings are searched for: the search, and the code for the first point of the grid.
    """
    cell = Cell(plan.dataset, algorithm, budget=plan.budget)
    other = settings.stand_in(what, cell)
    search, first = None, {}
    if _is_searched(what, other):
        grid = what.grid[other.algorithm]
        search, first = (grid, what.search), {name: values[0] for name, values in grid.items()}
    setting = settings.stated(what, cell) | first if search else _setting(what, cell)
    n = what.sources[plan.dataset].rows or 1000
    return search, setting, repr(maker(what, cell)(Case(cell, n, what.budget(cell), setting)))


def _is_searched(what: Table, cell: Cell) -> bool:
    """Whether the settings are neither in the table's file nor stored from an earlier search."""
    return cell.algorithm in what.grid and settings.label(cell) not in settings.stored(what).get(
        cell.dataset, {}
    )


def _setting(what: Table, cell: Cell) -> settings.Setting:
    """The settings: from the table's file or an earlier search, else from a search now."""
    other = settings.stand_in(what, cell)
    if _is_searched(what, other):
        return settings.stated(what, cell) | _searched(what.key, what.number, other)
    return settings.setting(what, cell, settings.stored(what))


@lru_cache(maxsize=32)
def _searched(key: str, number: int, cell: Cell) -> settings.Setting:
    what = table(key, number)
    rows = _prepared(what, cell.dataset)
    return settings.search(what, cell, maker(what, cell), rows, Store(None), workers=1)


def last(comparison: Comparison, scale: float = 100.0) -> dict[str, float]:
    """The error at the end of the pass, by algorithm; by default in percent."""
    return {row.name: scale * row.mean for row in comparison.rows}


def seconds(comparison: Comparison) -> dict[str, float]:
    """The seconds of a pass, by algorithm."""
    return {row.name: row.seconds for row in comparison.rows}


UNITS: dict[Any, str] = {last: "%", seconds: "seconds"}


def least(values: Mapping[str, float], among: Iterable[str]) -> str:
    """The name with the smallest value, among some."""
    return min((name for name in among if name in values), key=lambda name: values[name])


Numbers = Callable[[Comparison], dict[str, float]]


def over_sizes(sizes: Mapping[Any, Comparison], name: str, of: Numbers, label: str) -> Line:
    """A line of an algorithm's numbers against the sizes of which there is a comparison each."""
    values = np.array([of(comparison)[name] for comparison in sizes.values()])
    return Line(label, np.array(list(sizes), dtype=float), values, np.zeros(len(values)))
