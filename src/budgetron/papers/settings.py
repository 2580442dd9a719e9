"""The settings of a cell: what its table states, what a search over the paper's grid finds."""

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

from budgetron._durable import write
from budgetron.papers.cases import Case, Makes, Outcome, batch, online
from budgetron.papers.preparation import Prepared, Rows
from budgetron.papers.printed import Cell, Table, found
from budgetron.papers.store import Job, Store

Setting = dict[str, Any]
Found = dict[str, dict[str, Setting]]
"""Data set to cell to what was found for it."""

SEED = 1000
"""The search has orders of its own, from this seed on."""


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
        raise LookupError(f"{table.title}: no settings are stored for {cell.name} on {cell.dataset}.")
    return stated(table, cell) | known


def keep(table: Table, searched: Found, folder: Path) -> Path:
    """Write what a search found beside what other searches found; the file that has it now."""
    path = folder / f"{table.key}.settings.toml"
    known = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    there = {name: cells for name, cells in searched.items() if cells}
    known.setdefault(f"table{table.number}", {}).update(there)
    lines = ["# Found by `budgetron reproduce` over the grids of the tables' files; --quick uses them."]
    for number in sorted(known):
        for dataset, cells in known[number].items():
            lines += ["", f"[{number}.{dataset}]"]
            lines += [f"{json.dumps(name)} = {_inline(found)}" for name, found in cells.items()]
    write(str(path), ["\n".join([*lines, ""]).encode()])
    return path


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
    """The point of the grid that is best on rows and orders of its own."""
    grid = table.grid[cell.algorithm]
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    jobs = [list(_jobs(table, cell, makes, rows, point)) for point in points]
    outcomes = iter(
        store.outcomes([job for each in jobs for job in each], threads, f"{cell.dataset}: {label(cell)}")
    )
    values = [np.mean([next(outcomes).value for _ in each]) for each in jobs]
    sign = -1 if table.more_is_better else 1
    return points[int(np.argmin(sign * np.array(values)))]


def _jobs(
    table: Table, cell: Cell, makes: Makes, rows: Prepared, point: Mapping[str, Any]
) -> Iterator[Job]:
    """The runs of a point of the grid: over a few orders, or over the folds of the training rows."""
    chosen = stated(table, cell) | dict(point)
    for i in range(table.search.get("folds") or table.search["orders"]):
        labels = {
            "search": table.number,
            **cell.labels,
            "setting": chosen,
            "rows": table.search["rows"],
            "i": i,
        }
        yield Job(labels, partial(_try, table, cell, makes, rows, chosen, i))


def _try(table: Table, cell: Cell, makes: Makes, rows: Prepared, chosen: Setting, i: int) -> Outcome:
    worst = Outcome(-np.inf if table.more_is_better else np.inf, 0.0)
    try:
        if table.protocol == "batch" or rows.tuning is not None:
            outcome = _fold(table, cell, makes, rows, chosen, i)
        else:
            X, y = (each[: table.search["rows"]] for each in _order(rows, SEED + i))
            outcome = online(table, makes(_case(table, cell, len(y), chosen)), (X, y), SEED + i)
    except ValueError:  # steps so large that f is no number any more
        return worst
    return outcome if np.isfinite(outcome.value) else worst


def _order(rows: Prepared, seed: int) -> Rows:
    X, y = rows.training[0]
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def _fold(table: Table, cell: Cell, makes: Makes, rows: Prepared, chosen: Setting, i: int) -> Outcome:
    """Trained on all folds but one, tested on that one."""
    most = table.search["rows"]
    if rows.tuning is not None:
        X, y = (each[:most] for each in rows.tuning)
    elif rows.testing is not None:
        X, y = (each[:most] for each in _order(rows, SEED))
    else:
        X, y = (each[:most] for each in rows.batch(SEED)[0])
    kept, held = list(KFold(table.search["folds"]).split(X))[i]
    model = makes(_case(table, cell, len(kept), chosen))
    outcome = batch(table, model, (X[kept], y[kept]), (X[held], y[held]), SEED + i)
    if table.protocol == "online":  # accuracy was measured; the table's measure is mistakes
        return replace(outcome, value=100 - outcome.value)
    return outcome


def _case(table: Table, cell: Cell, n: int, chosen: Setting) -> Case:
    return Case(cell, n, table.budget(cell), chosen)
