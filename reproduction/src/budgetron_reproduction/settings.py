"""The settings of a cell: fixed by its table's file, or found by a search over the table's grid."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from budgetron import DivergedError
from budgetron_reproduction.cases import Case, MakeLearner, Outcome, batch, online
from budgetron_reproduction.files import write
from budgetron_reproduction.preparation import Prepared, Rows
from budgetron_reproduction.printed import Cell, Table, found
from budgetron_reproduction.store import Job, Store

Setting = dict[str, Any]
Found = dict[str, dict[str, Setting]]
"""Data set to cell to the settings found."""

HEAD = "# Found by `budgetron-reproduce` over the tables' grids; --quick uses those in tables/."

SEED = 1000
"""The first seed of the orders in a search; the results of a table are over other orders."""


class NotSearched(ValueError):
    """The settings of a cell must be searched for, and no search has been run."""


def stated(table: Table, cell: Cell) -> Setting:
    """The settings in the table's file: for all, for the algorithm, for the algorithm on the data set."""
    whose = ("all", cell.algorithm, f"{cell.dataset}, {cell.algorithm}")
    return {name: value for who in whose for name, value in table.settings.get(who, {}).items()}


def stored(table: Table) -> Found:
    """The settings found by earlier searches, which are stored with the tables."""
    kept: Found = found(table.key).get(f"table{table.number}", {})
    return kept


def is_searched(table: Table, cell: Cell) -> bool:
    """Whether settings of a cell are searched for: its grid has some that the table's file does not fix."""
    return bool(table.grid.get(cell.algorithm, {}).keys() - stated(table, cell).keys())


def setting(table: Table, cell: Cell, searched: Found) -> Setting:
    """All settings of a cell."""
    other = stand_in(table, cell)
    known = searched.get(cell.dataset, {}).get(label(other), {})
    if not known and is_searched(table, other):
        raise NotSearched(
            f"{table.title}: no settings are stored for {cell.name} on {cell.dataset}; "
            "without --quick they are searched for."
        )
    return stated(table, cell) | known


def keep(table: Table, searched: Found, folder: Path) -> Path:
    """Add the settings found to the file of the paper in a folder; the path of the file."""
    path = folder / f"{table.key}.settings.toml"
    known = kept(path)
    there = {name: cells for name, cells in searched.items() if cells}
    known.setdefault(f"table{table.number}", {}).update(there)
    lines = [HEAD]
    for number in sorted(known):
        for dataset, cells in known[number].items():
            lines += ["", f"[{number}.{dataset}]"]
            lines += [f"{json.dumps(name)} = {_inline(found)}" for name, found in cells.items()]
    write(path, "\n".join([*lines, ""]).encode())
    return path


def kept(path: Path) -> dict[str, Any]:
    """Read a file of settings; ValueError if it is not one."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise ValueError(f"{path} is not a file of settings ({error}); move it out of the way.") from error


def _inline(found: Setting) -> str:
    return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in found.items()) + " }"


def label(cell: Cell) -> str:
    """The name of a cell among the settings of its data set."""
    return cell.name + (f", B = {cell.budget}" if cell.budget is not None else "")


def stand_in(table: Table, cell: Cell) -> Cell:
    """The cell whose settings this one uses: itself, or the one named in the table's ``same``."""
    other = table.same.get(cell.algorithm)
    if other is None:
        return cell
    alike = (each for each in table.cells if (each.dataset, each.algorithm) == (cell.dataset, other))
    same_loss = [each for each in alike if each.loss == cell.loss]
    return same_loss[0] if same_loss else Cell(cell.dataset, other, loss=cell.loss)


def search(
    table: Table, cell: Cell, make: MakeLearner, rows: Prepared, store: Store, workers: int | Executor
) -> Setting:
    """The best point of the grid, on orders or folds that the results do not use; never on test rows."""
    grid = table.grid[cell.algorithm]
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    jobs = [list(_jobs(table, cell, make, rows, point)) for point in points]
    outcomes = iter(
        store.outcomes([job for each in jobs for job in each], workers, f"{cell.dataset}: {label(cell)}")
    )
    values = np.array([np.mean([next(outcomes).value for _ in each]) for each in jobs])
    if not np.isfinite(values).any():
        raise ValueError(
            f"{table.title}: {cell.name} diverges on {cell.dataset} at every point of its grid."
        )
    return points[int(np.argmin(-values if table.more_is_better else values))]


def _jobs(
    table: Table, cell: Cell, make: MakeLearner, rows: Prepared, point: Mapping[str, Any]
) -> Iterator[Job]:
    """The runs of a point of the grid, one for each order or fold."""
    chosen = stated(table, cell) | dict(point)
    nominal = make(Case(cell, _most(table, cell), table.budget(cell), chosen))
    for i in range(table.search.get("folds") or table.search["orders"]):
        labels = {
            "search": {"table": table.number, **table.search},
            **cell.labels,
            "learner": repr(nominal),
            "rows": rows.labels,
            "i": i,
        }
        yield Job(labels, partial(_try, table, cell, make, rows, chosen, i))


def _try(table: Table, cell: Cell, make: MakeLearner, rows: Prepared, chosen: Setting, i: int) -> Outcome:
    """One run. If the learner diverges, the outcome is the worst possible one."""
    worst = Outcome(-np.inf if table.more_is_better else np.inf, 0.0)
    try:
        outcome = (_fold if "folds" in table.search else _order)(table, cell, make, rows, chosen, i)
    except DivergedError:
        return worst
    return outcome if np.isfinite(outcome.value) else worst


def _order(table: Table, cell: Cell, make: MakeLearner, rows: Prepared, chosen: Setting, i: int) -> Outcome:
    """An online pass over the rows in an order of the search."""
    X, y = _first(rows, _most(table, cell), SEED + i)
    return online(table, make(Case(cell, len(y), table.budget(cell), chosen)), (X, y), SEED + i)


def _fold(table: Table, cell: Cell, make: MakeLearner, rows: Prepared, chosen: Setting, i: int) -> Outcome:
    """Train on all folds but one, test on that one."""
    X, y = _first(rows, _most(table, cell), SEED)
    taught, held = list(KFold(table.search["folds"]).split(X))[i]
    model = make(Case(cell, len(taught), table.budget(cell), chosen))
    outcome = batch(table, model, (X[taught], y[taught]), (X[held], y[held]), SEED + i)
    if table.protocol == "online":  # accuracy was measured; the table's measure is mistakes
        return replace(outcome, value=100 - outcome.value)
    return outcome


def _most(table: Table, cell: Cell) -> int:
    """The largest number of rows in a search."""
    return table.search.get(f"{cell.algorithm} rows", table.search["rows"])


def _first(rows: Prepared, most: int, seed: int) -> Rows:
    """At most ``most`` random rows of those that a search may use."""
    X, y = rows.tuning or rows.training[0]
    order = np.random.default_rng(seed).permutation(len(y))[:most]
    return X[order], y[order]
