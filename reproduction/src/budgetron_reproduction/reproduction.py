"""Running a table again, and comparing the results with the printed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from budgetron import executors
from budgetron.learners.learner import Learner
from budgetron.streams import DataError
from budgetron_reproduction import settings
from budgetron_reproduction.cases import Case, MakeLearner, Outcome, batch, online
from budgetron_reproduction.preparation import Prepared, prepared
from budgetron_reproduction.printed import Cell, Table, table
from budgetron_reproduction.store import Job, Store
from budgetron_reproduction.threads import threads


@dataclass(frozen=True)
class Result:
    """A cell run again.

    Attributes
    ----------
    cell : Cell
        The printed cell.
    setting : dict
        The settings of the run.
    value, sd, seconds, support
        Means over the permutations. ``sd`` is the sample deviation, None for one permutation.
    test_seconds : float or None
        Seconds of testing, in batch tables.
    permutations, rows : int
        The number of orders, and of rows in a pass.
    ours : bool
        Whether the learner is budgetron's, not a batch learner of scikit-learn.
    """

    table: Table
    cell: Cell
    setting: Mapping[str, Any]
    value: float
    sd: float | None
    seconds: float
    support: float | None
    test_seconds: float | None
    permutations: int
    rows: int
    ours: bool = True

    @property
    def deviations(self) -> float | None:
        """Our value minus the printed one, in printed standard deviations; positive is worse.

        A printed deviation of 0.0 is anything below half of its last digit, and counts as that.
        """
        if self.cell.value is None or self.cell.sd is None:
            return None
        sd = self.cell.sd or 0.5 * 10.0 ** -self.table.digits(self.cell)
        sign = -1 if self.table.more_is_better else 1
        return sign * (self.value - self.cell.value) / sd

    @property
    def faster(self) -> float | None:
        """Printed seconds divided by ours; per row if we run over a part of the paper's rows."""
        if self.cell.seconds is None or not self.ours:
            return None
        whole = self.table.sources[self.cell.dataset].part_of
        share = self.rows / whole if whole else 1.0
        return share * self.cell.seconds / self.seconds


@dataclass(frozen=True)
class Reproduction:
    """The results of a table, the data sets left out with the reason, and the settings found."""

    table: Table
    results: tuple[Result, ...]
    missing: Mapping[str, str]
    found: settings.Found
    quick: bool = True

    def count(self, most: float, or_better: bool = False) -> tuple[int, int]:
        """How many cells are within ``most`` printed deviations (or better), and how many there are."""
        far = [each.deviations for each in self.results if each.deviations is not None]
        return sum(z <= most if or_better else abs(z) <= most for z in far), len(far)


def reproduce(
    key: str,
    number: int,
    *,
    dataset: str | None = None,
    permutations: int | None = None,
    quick: bool = True,
    n_jobs: int = 1,
    store: Store | None = None,
    executor: Executor | None = None,
) -> Reproduction:
    """Run a table of a paper again.

    Parameters
    ----------
    key : str
        The paper: "orabona2008", "zhao2012", "zhao2012b", "lu2016" or "le2016".
    number : int
        The number of the table.
    dataset : str, optional
        Only this data set, by the paper's name or ours.
    permutations : int, optional
        At most this many orders; by default as many as in the paper.
    quick : bool
        Whether to use the settings stored with the tables. Otherwise they are searched for again, over the
        grid of the table.
    n_jobs : int
        The number of threads; -1 is one for each processor.
    store : Store, optional
        Where finished runs are saved. Runs that are in it already are not run again.
    executor : concurrent.futures.Executor, optional
        Where the runs go instead of ``n_jobs`` threads; see `budgetron.evaluate.compare`.

    Examples
    --------
    >>> from budgetron_reproduction import reproduce
    >>> one = reproduce("orabona2008", 3, permutations=2)
    >>> perceptron = one.results[0]
    >>> perceptron.cell.algorithm, perceptron.cell.value, abs(perceptron.value - 18.8) < 1
    ('perceptron', 18.8, True)
    """
    what = table(key, number)
    kept, workers = store or Store(None), executors.checked("reproduce", executor) or threads(n_jobs)
    results: list[Result] = []
    missing: dict[str, str] = {}
    searched: settings.Found = {}
    for name in dict.fromkeys(cell.dataset for cell in what.of(dataset)):
        cells = what.of(name)
        try:
            rows = prepared(what, what.sources[name])
            searched[name] = _searched(what, cells, rows, kept, quick, workers)
            results += _results(what, cells, rows, searched, kept, permutations, workers)
        except (DataError, settings.NotSearched) as error:
            if dataset is not None:
                raise
            missing[name] = str(error)
    return Reproduction(what, tuple(results), missing, searched, quick)


@dataclass(frozen=True)
class Maker:
    """Makes the learner of a cell, as the module of its paper in ``learners`` says; it can be pickled."""

    key: str
    number: int
    algorithm: str

    def __call__(self, case: Case) -> Any:
        tables = import_module(f"budgetron_reproduction.learners.{self.key}").TABLES
        return tables[self.number][self.algorithm](case)


def maker(what: Table, cell: Cell) -> MakeLearner:
    """What makes the learner of a cell."""
    return Maker(what.key, what.number, cell.algorithm)


def _searched(
    what: Table,
    cells: Sequence[Cell],
    rows: Prepared,
    kept: Store,
    quick: bool,
    workers: int | Executor,
) -> dict[str, settings.Setting]:
    """The settings of a data set's cells that the table's file does not fix."""
    if quick:
        return settings.stored(what).get(cells[0].dataset, {})
    searching = {settings.label(each): each for each in (settings.stand_in(what, cell) for cell in cells)}
    return {
        name: settings.search(what, cell, maker(what, cell), rows, kept, workers)
        for name, cell in searching.items()
        if settings.is_searched(what, cell)
    }


def _results(
    what: Table,
    cells: Sequence[Cell],
    rows: Prepared,
    searched: settings.Found,
    kept: Store,
    permutations: int | None,
    workers: int | Executor,
) -> list[Result]:
    chosen = [settings.setting(what, cell, searched) for cell in cells]
    jobs = [
        list(_jobs(what, cell, setting, rows, permutations))
        for cell, setting in zip(cells, chosen, strict=True)
    ]
    everything = [job for each in jobs for job in each]
    outcomes = iter(kept.outcomes(everything, workers, f"{what.title}: {cells[0].dataset}"))
    return [
        _result(what, cell, setting, [next(outcomes) for _ in each], rows.n)
        for cell, setting, each in zip(cells, chosen, jobs, strict=True)
    ]


def _jobs(
    what: Table, cell: Cell, setting: settings.Setting, rows: Prepared, permutations: int | None
) -> Iterator[Job]:
    """The runs of a cell. The labels of a run contain everything that its outcome depends on."""
    model = maker(what, cell)(Case(cell, rows.n, what.budget(cell), setting))
    for i in range(what.orders(cell, permutations)):
        labels = {
            "table": what.number,
            **cell.labels,
            "learner": repr(model),
            "rows": rows.labels,
            "permutation": i,
        }
        yield Job(labels, partial(_run, what, model, rows, i))


def _run(what: Table, model: Any, rows: Prepared, i: int) -> Outcome:
    if what.protocol == "online":
        return online(what, model, rows.order(i), i)
    assert rows.testing is not None
    return batch(what, model, rows.order(i), rows.testing, i)


def _result(
    what: Table, cell: Cell, setting: settings.Setting, outcomes: list[Outcome], rows: int
) -> Result:
    values = [outcome.value for outcome in outcomes]
    return Result(
        what,
        cell,
        setting,
        value=float(np.mean(values)),
        sd=float(np.std(values, ddof=1)) if len(values) > 1 else None,
        seconds=float(np.mean([outcome.seconds for outcome in outcomes])),
        support=_mean(outcome.support for outcome in outcomes),
        test_seconds=_mean(outcome.test_seconds for outcome in outcomes),
        permutations=len(values),
        rows=rows,
        ours=isinstance(maker(what, cell)(Case(cell, rows, what.budget(cell), setting)), Learner),
    )


def _mean(values: Iterator[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None
