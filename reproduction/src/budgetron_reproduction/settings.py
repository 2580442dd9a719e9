"""The settings of a cell: what its table states, what a search over the table's grid finds."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from budgetron import DivergedError
from budgetron_reproduction.cases import Case, Makes, Outcome, batch, online
from budgetron_reproduction.files import write
from budgetron_reproduction.preparation import Prepared, Rows
from budgetron_reproduction.printed import Cell, Table, found
from budgetron_reproduction.store import Job, Store

Setting = dict[str, Any]
Found = dict[str, dict[str, Setting]]
"""Data set to cell to what was found for it."""

HEAD = "# Found by `budgetron reproduce` over the tables' grids; --quick uses those in papers/."

SEED = 1000
"""The search has orders of its own, from this seed on."""


class NotSearched(ValueError):
    """Settings that are searched for, and were not yet."""


def stated(table: Table, cell: Cell) -> Setting:
    """What the table's file says: for all, for the cell's algorithm, for that on its data set."""
    whose = ("all", cell.algorithm, f"{cell.dataset}, {cell.algorithm}")
    return {name: value for who in whose for name, value in table.settings.get(who, {}).items()}


def stored(table: Table) -> Found:
    """What was found before, and is kept beside the tables."""
    kept: Found = found(table.key).get(f"table{table.number}", {})
    return kept


def setting(table: Table, cell: Cell, searched: Found) -> Setting:
    """All settings of a cell."""
    other = stand_in(table, cell)
    known = searched.get(cell.dataset, {}).get(label(other), {})
    if not known and other.algorithm in table.grid:
        raise NotSearched(
            f"{table.title}: no settings are stored for {cell.name} on {cell.dataset}; "
            "without --quick they are searched for."
        )
    return stated(table, cell) | known


def keep(table: Table, searched: Found, folder: Path) -> Path:
    """Write what a search found beside what other searches found; the file that has it now."""
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
    """What a file of settings has; ValueError for one that cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise ValueError(f"{path} is no file of settings ({error}); move it out of the way.") from error


def _inline(found: Setting) -> str:
    return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in found.items()) + " }"


def label(cell: Cell) -> str:
    """What a cell is called among the settings of its data set."""
    return cell.name + (f", B = {cell.budget}" if cell.budget is not None else "")


def stand_in(table: Table, cell: Cell) -> Cell:
    """The cell whose search serves this one: itself, or as the table's ``same`` says."""
    other = table.same.get(cell.algorithm)
    if other is None:
        return cell
    alike = (each for each in table.cells if (each.dataset, each.algorithm) == (cell.dataset, other))
    same_loss = [each for each in alike if each.loss == cell.loss]
    return same_loss[0] if same_loss else Cell(cell.dataset, other, loss=cell.loss)


def search(table: Table, cell: Cell, makes: Makes, rows: Prepared, store: Store, threads: int) -> Setting:
    """The point of the grid that is best on orders, or folds, of its own; no test row is among them."""
    grid = table.grid[cell.algorithm]
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    jobs = [list(_jobs(table, cell, makes, rows, point)) for point in points]
    outcomes = iter(
        store.outcomes([job for each in jobs for job in each], threads, f"{cell.dataset}: {label(cell)}")
    )
    values = np.array([np.mean([next(outcomes).value for _ in each]) for each in jobs])
    if not np.isfinite(values).any():
        raise ValueError(
            f"{table.title}: {cell.name} diverges on {cell.dataset} at every point of its grid."
        )
    return points[int(np.argmin(-values if table.more_is_better else values))]


def _jobs(
    table: Table, cell: Cell, makes: Makes, rows: Prepared, point: Mapping[str, Any]
) -> Iterator[Job]:
    """The runs of a point of the grid: over a few orders, or over the folds of the training rows."""
    chosen = stated(table, cell) | dict(point)
    nominal = makes(Case(cell, _most(table, cell), table.budget(cell), chosen))
    for i in range(table.search.get("folds") or table.search["orders"]):
        labels = {
            "search": {"table": table.number, **table.search},
            **cell.labels,
            "learner": repr(nominal),
            "rows": rows.labels,
            "i": i,
        }
        yield Job(labels, partial(_try, table, cell, makes, rows, chosen, i))


def _try(table: Table, cell: Cell, makes: Makes, rows: Prepared, chosen: Setting, i: int) -> Outcome:
    """One run; steps so large that f is no number any more make it the worst there can be."""
    worst = Outcome(-np.inf if table.more_is_better else np.inf, 0.0)
    try:
        outcome = (_fold if "folds" in table.search else _order)(table, cell, makes, rows, chosen, i)
    except DivergedError:
        return worst
    return outcome if np.isfinite(outcome.value) else worst


def _order(table: Table, cell: Cell, makes: Makes, rows: Prepared, chosen: Setting, i: int) -> Outcome:
    """Another order of the rows, online."""
    X, y = _first(rows, _most(table, cell), SEED + i)
    return online(table, makes(Case(cell, len(y), table.budget(cell), chosen)), (X, y), SEED + i)


def _fold(table: Table, cell: Cell, makes: Makes, rows: Prepared, chosen: Setting, i: int) -> Outcome:
    """Trained on all folds but one, tested on that one."""
    X, y = _first(rows, _most(table, cell), SEED)
    taught, held = list(KFold(table.search["folds"]).split(X))[i]
    model = makes(Case(cell, len(taught), table.budget(cell), chosen))
    outcome = batch(table, model, (X[taught], y[taught]), (X[held], y[held]), SEED + i)
    if table.protocol == "online":  # accuracy was measured; the table's measure is mistakes
        return replace(outcome, value=100 - outcome.value)
    return outcome


def _most(table: Table, cell: Cell) -> int:
    """How many rows a search runs over at most."""
    return table.search.get(f"{cell.algorithm} rows", table.search["rows"])


def _first(rows: Prepared, most: int, seed: int) -> Rows:
    """The first of the rows that may be searched on, in an order of their own."""
    X, y = rows.tuning or rows.training[0]
    order = np.random.default_rng(seed).permutation(len(y))[:most]
    return X[order], y[order]
