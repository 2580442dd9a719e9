"""The results of a report, kept beside it: a report can be written again, or in part, without all its runs.

``results/<key>_table<n>.json`` has one entry for each cell.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from budgetron_reproduction.files import write
from budgetron_reproduction.printed import Cell, Table, table
from budgetron_reproduction.reproduction import Reproduction, Result

FOLDER = "results"
"""The folder of the results, next to the report."""
NOT_RUN = "there are no results of it"


def keep(done: Reproduction, folder: Path) -> None:
    """Add the results of a table to those in a folder; a cell that was run again is replaced."""
    what = done.table
    known = {each.cell: each for each in kept(what.key, what.number, folder).results}
    known |= {each.cell: each for each in done.results}
    if not known:
        return
    in_order = [known[cell] for cell in what.cells if cell in known]
    path = _path(folder, what)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(" " + json.dumps(_entry(each), ensure_ascii=False) for each in in_order)
    write(path, f"[\n{lines}\n]\n".encode())


def kept(key: str, number: int, folder: Path) -> Reproduction:
    """The results of a table that a folder has. Cells that the table no longer has are left out."""
    what = table(key, number)
    entries = _read(_path(folder, what))
    cells = {_name(cell.labels): cell for cell in what.cells}
    results = tuple(_result(what, cells[name], each) for name, each in entries.items() if name in cells)
    there = {each.cell.dataset for each in results}
    missing = dict.fromkeys((cell.dataset for cell in what.cells if cell.dataset not in there), NOT_RUN)
    return Reproduction(what, results, missing, {})


def _path(folder: Path, what: Table) -> Path:
    return folder / FOLDER / f"{what.key}_table{what.number}.json"


def _read(path: Path) -> dict[str, Any]:
    """The entries of a file by the labels of their cells; ValueError if it is not a file of results."""
    if not path.exists():
        return {}
    try:
        return {_name(each["cell"]): each for each in json.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a file of results ({error}); move it out of the way.") from error


def _name(labels: dict[str, Any]) -> str:
    return json.dumps(labels, sort_keys=True)


def _entry(result: Result) -> dict[str, Any]:
    values = {each.name: getattr(result, each.name) for each in fields(result) if each.name != "table"}
    there = {name: value for name, value in values.items() if value is not None}
    return there | {"cell": result.cell.labels}


def _result(what: Table, cell: Cell, entry: dict[str, Any]) -> Result:
    absent: dict[str, Any] = dict.fromkeys(("sd", "support", "test_seconds"))
    return Result(what, **(absent | entry | {"cell": cell}))
