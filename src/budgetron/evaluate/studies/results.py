"""The results of a study: a cell for each data set, budget and learner."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from budgetron._util.text import shown
from budgetron.evaluate.results import Comparison, Records, columns_of, records_of
from budgetron.evaluate.studies import tables
from budgetron.evaluate.studies.statistics import LEVEL, Pair, Ranks, warn_if_few, wilcoxon

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """A learner on a data set, at a budget.

    Attributes
    ----------
    dataset, learner : str
        Their names.
    budget : int or None
        The budget that was asked for.
    described : str
        How the learner prints, with the parameters that tuning found.
    task : str
        "classification" or "regression".
    rows : int
        The number of rows of each order.
    tuned : dict or None
        The parameters that tuning found; None without tuning.
    runs : tuple
        The records of each order. Order i has the seed ``seed + i``, and the estimator ``random_state=i``.
    failure : str or None
        Why there are no runs.

    Examples
    --------
    >>> from budgetron import Gaussian, datasets, evaluate, rbp
    >>> rows = datasets.synthetic(300, seed=0)
    >>> result = evaluate.study({"rbp": rbp(Gaussian(1.0), budget=20)}, {"made": rows}, 1)
    >>> [cell] = result.cells
    >>> cell.dataset, cell.rows, len(cell.errors), cell.support_vectors
    ('made', 300, 1, 20.0)
    """

    dataset: str
    learner: str
    budget: int | None
    described: str
    task: str
    rows: int
    tuned: Mapping[str, float] | None = field(default=None, hash=False)
    runs: tuple[Records, ...] = ()
    failure: str | None = None

    @property
    def errors(self) -> Floats:
        """The error of each order: mistakes per row, or the mean squared error."""
        return np.array([run[-1].rate for run in self.runs])

    @property
    def mean(self) -> float:
        """The mean of `errors`; NaN if the learner failed."""
        return float(self.errors.mean()) if self.runs else float("nan")

    @property
    def sd(self) -> float | None:
        """Their standard deviation (with n - 1); None for fewer than two orders."""
        return float(self.errors.std(ddof=1)) if len(self.runs) > 1 else None

    @property
    def support_vectors(self) -> float:
        """The mean number of support vectors at the end."""
        return float(np.mean([run[-1].support_vectors for run in self.runs])) if self.runs else float("nan")

    @property
    def seconds(self) -> float:
        """The mean processor time of a pass."""
        return float(np.mean([run[-1].seconds for run in self.runs])) if self.runs else float("nan")


@dataclass(frozen=True)
class Study:
    """The results of `study`.

    ``table()`` and ``markdown()``, ``latex()`` and ``csv()`` format the errors; ``ranks()`` has the tests
    over data sets; ``comparison(dataset)`` has the curves of a data set, for ``plots``. With several
    budgets these take one of them. ``save(path)`` writes everything, and ``Study.load(path)`` reads it
    back.

    Attributes
    ----------
    cells : tuple of Cell
        By data set, budget and learner.
    settings : dict
        What all cells share: the version of budgetron, the number of orders, seeds, tuning.

    Examples
    --------
    >>> from functools import partial
    >>> from budgetron import Gaussian, datasets, evaluate, rbp, stoptron
    >>> learners = {f.__name__: f(Gaussian(1.0), budget=10) for f in (rbp, stoptron)}
    >>> made = {f"draw {i}": partial(datasets.synthetic, 300, seed=i) for i in range(2)}
    >>> result = evaluate.study(learners, made, 1)
    >>> print(result.table())
    data set             rbp       stoptron
    ---------------------------------------
    draw 0           24.00 *          25.67
    draw 1             26.67        17.33 *
    mean rank           1.50           1.50
    ---------------------------------------
    Mistakes in percent of the rows: one order.
    * the best of the data set.
    """

    cells: tuple[Cell, ...]
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the data sets."""
        return tuple(dict.fromkeys(cell.dataset for cell in self.cells))

    @property
    def learners(self) -> tuple[str, ...]:
        """The names of the learners."""
        return tuple(dict.fromkeys(cell.learner for cell in self.cells))

    @property
    def budgets(self) -> tuple[int | None, ...]:
        """The budgets; None alone if none was given."""
        return tuple(dict.fromkeys(cell.budget for cell in self.cells))

    @property
    def failures(self) -> dict[tuple[str, str, int | None], str]:
        """Why cells have no result, by data set, learner and budget."""
        failed = (cell for cell in self.cells if cell.failure is not None)
        return {(cell.dataset, cell.learner, cell.budget): str(cell.failure) for cell in failed}

    def cell(self, dataset: str, learner: str, budget: int | None = None) -> Cell:
        """The cell of a data set and a learner."""
        budget = self._budget(budget)
        for cell in self.cells:
            if (cell.dataset, cell.learner, cell.budget) == (dataset, learner, budget):
                return cell
        raise ValueError(f"Study: there is no cell for {shown(dataset)} and {shown(learner)}.")

    def comparison(self, dataset: str, budget: int | None = None) -> Comparison:
        """The learners on one data set as a `Comparison`, for its table and for ``plots``."""
        budget = self._budget(budget)
        cells = [c for c in self.cells if (c.dataset, c.budget) == (dataset, budget) and c.runs]
        if not cells:
            raise ValueError(f"Study: there are no runs on {shown(dataset)}.")
        learners = {cell.learner: cell.described for cell in cells}
        seed = int(self.settings.get("seed", 0))
        return Comparison(cells[0].task, learners, {cell.learner: cell.runs for cell in cells}, seed)

    def by_budget(self, dataset: str) -> dict[int, Comparison]:
        """A comparison for each budget, for ``plots.error_against_budget``."""
        return {budget: self.comparison(dataset, budget) for budget in self.budgets if budget is not None}

    def ranks(self, budget: int | None = None) -> Ranks:
        """The ranks of the learners over the data sets on which none failed, and the tests of them."""
        budget = self._budget(budget)
        means = {(c.dataset, c.learner): c.mean for c in self.cells if c.budget == budget}
        errors = np.array([[means[d, name] for name in self.learners] for d in self.datasets])
        whole = np.isfinite(errors).all(axis=1)
        kept = tuple(name for name, all_there in zip(self.datasets, whole, strict=True) if all_there)
        return Ranks(self.learners, kept, errors[whole])

    def wilcoxon(self, dataset: str, budget: int | None = None, control: str | None = None) -> list[Pair]:
        """Wilcoxon's test over the orders of one data set, of every pair or against a control.

        The orders have the same rows, so this says how much the order matters, not how other data would
        turn out. It warns if there are fewer than 6 orders.
        """
        budget = self._budget(budget)
        cells = [c for c in self.cells if (c.dataset, c.budget) == (dataset, budget) and c.runs]
        warn_if_few("A test within a data set", len(cells[0].runs) if cells else 0, "orders")
        return wilcoxon({cell.learner: cell.errors for cell in cells}, control)

    def table(self, budget: int | None = None, bold: tables.Bold = "tied") -> str:
        """The errors as a text table.

        ``bold`` says which are marked: "best", the lowest mean of the data set, or "tied", also those that
        are not significantly worse by a paired t-test over the orders (p >= 0.05).
        """
        return tables.text(self._grid(budget, bold))

    def markdown(self, budget: int | None = None, bold: tables.Bold = "tied") -> str:
        """The errors as a Markdown table; ``bold`` as for `table`."""
        return tables.markdown(self._grid(budget, bold))

    def latex(self, budget: int | None = None, bold: tables.Bold = "tied", label: str = "tab:study") -> str:
        """The errors as a LaTeX table for the package booktabs; ``bold`` as for `table`."""
        return tables.latex(self._grid(budget, bold), label)

    def columns(self) -> dict[str, list[Any]]:
        """The cells as columns of plain values; ``pandas.DataFrame`` and ``polars.DataFrame`` take it."""
        names = ("dataset", "learner", "budget", "task", "rows", "mean", "sd", "support_vectors", "seconds")
        columns = {name: [getattr(cell, name) for cell in self.cells] for name in names}
        columns["orders"] = [len(cell.runs) for cell in self.cells]
        columns["seed"] = [self.settings.get("seed")] * len(self.cells)
        columns["tuned"] = [None if c.tuned is None else json.dumps(dict(c.tuned)) for c in self.cells]
        columns["described"] = [cell.described for cell in self.cells]
        columns["failure"] = [cell.failure for cell in self.cells]
        return columns

    def frame(self) -> Any:
        """The cells as a frame of pandas."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "frame() needs pandas: pip install pandas; columns() needs nothing, and any library of "
                "frames takes it."
            ) from None
        return pandas.DataFrame(self.columns())

    def csv(self) -> str:
        """A line for each cell, as text in CSV."""
        return tables.csv_text(self.columns())

    def tests(self, budget: int | None = None, level: float = LEVEL) -> str:
        """The ranks and the tests over data sets, as text."""
        return tables.tests(self.ranks(budget), level)

    def cite(self) -> str:
        """What to write about how the results were made."""
        return tables.cite(self)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON."""
        return {"settings": dict(self.settings), "cells": [_plain(cell) for cell in self.cells]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The study whose `as_dict` this is."""
        cells = [Cell(**{**cell, "runs": tuple(map(records_of, cell["runs"]))}) for cell in data["cells"]]
        return cls(tuple(cells), dict(data["settings"]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON."""
        Path(path).write_text(json.dumps(self.as_dict(), sort_keys=True), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The study that `save` has written."""
        return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))

    def _grid(self, budget: int | None, bold: tables.Bold) -> tables.Grid:
        budget, orders = self._budget(budget), int(self.settings.get("orders", 1))
        if bold == "tied" and orders > 1:
            warn_if_few("A test within a data set", orders, "orders")
        return tables.grid(self, budget, bold)

    def _budget(self, budget: int | None) -> int | None:
        """The budget asked for; by default the only one."""
        budgets: Sequence[int | None] = self.budgets
        if budget is None and len(budgets) == 1:
            return budgets[0]
        if budget not in budgets:
            known = ", ".join(map(str, budgets))
            raise ValueError(f"Study: budget must be one of {known}, got {shown(budget)}.")
        return budget


def _plain(cell: Cell) -> dict[str, Any]:
    plain = {name: getattr(cell, name) for name in Cell.__dataclass_fields__}
    tuned = None if cell.tuned is None else dict(cell.tuned)
    return plain | {"tuned": tuned, "runs": [columns_of(run) for run in cell.runs]}
