"""Read the file of a study: learners, data sets and settings in TOML."""

from __future__ import annotations

import tomllib
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import sklearn.datasets

from budgetron import datasets
from budgetron._util.text import nearest, shown
from budgetron.cli import learners
from budgetron.cli.input import NamedRows
from budgetron.cli.process import UsageError
from budgetron.learners.learner import Learner
from budgetron.learners.scaled import Ranged, Standardised
from budgetron.streams import DataError

TOP = ("study", "learner", "learners", "datasets")
SETTINGS = {
    "orders": int,
    "seed": int,
    "budgets": list,
    "tune_rows": int,
    "candidates": int,
    "every": int,
    "metrics": list,
    "window": int,
    "delay": int,
}
OF_FILES = ("target", "drop", "only", "time", "format", "delimiter", "features", "zero_based", "regression")
KINDS = ("data", "file", "sklearn")
SCALINGS: dict[str, Callable[[Learner], Learner]] = {
    "standardise": Standardised,
    "min-max": Ranged,
    "none": lambda learner: learner,
}
Flags = Mapping[str, Any]


@dataclass(frozen=True)
class StudyFile:
    """What the file of a study says, checked."""

    settings: Mapping[str, Any]
    learners: Mapping[str, Callable[[str, int | None], Learner]]
    datasets: Mapping[str, Any]
    tasks: Mapping[str, str]


def read(path: Path) -> StudyFile:
    """Read the file. Every learner is built once, and every file looked for, before anything runs."""
    content = _parsed(path)
    _known(f"{path}", content, TOP)
    settings = _settings(path, _table(path, content, "study"))
    named = _table(path, content, "learners")
    sets = {name: _as_table(f"{path}, datasets.{name}", each) for name, each in _sets(path, content)}
    for name, each in sets.items():
        _known(f"{path}, datasets.{name}", each, (*KINDS, "arguments", "learner", *OF_FILES))
    if not named or not sets:
        raise UsageError(f"{path}: expected at least one entry in [learners] and in [datasets].")
    data = {name: _data(f"{path}, datasets.{name}", name, each, path.parent) for name, each in sets.items()}
    scaled = {name for name, rows in data.items() if _is_table(rows)}
    built = _built(path, content, named, sets, settings, scaled)
    tasks = {name: "regression" for name, each in sets.items() if each.get("regression")}
    tasks |= {name: task for name, each in sets.items() if (task := _task(name, each))}
    return StudyFile(settings, built, data, tasks)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is not TOML: {error}.") from None


def _sets(path: Path, content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    given = content.get("datasets", {})
    if isinstance(given, list):
        given = {str(name): {} for name in given}
    return list(_as_table(f"{path}, datasets", given).items())


def _table(path: Path, content: Mapping[str, Any], name: str) -> dict[str, Any]:
    return _as_table(f"{path}, {name}", content.get(name, {}))


def _as_table(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: expected a table, got {shown(value)}.")
    return value


def _known(where: str, table: Mapping[str, Any], names: Any) -> None:
    for name in table:
        if name not in names:
            raise UsageError(f"{where}: there is no {name!r}; {nearest(name, list(names))}")


def _settings(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    _known(f"{path}, study", given, SETTINGS)
    for name, value in given.items():
        kind = SETTINGS[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            what = "a list" if kind is list else "a whole number"
            raise UsageError(f"{path}, study.{name}: expected {what}, got {shown(value)}.")
    return given


# ---- learners


def _built(
    path: Path,
    content: Mapping[str, Any],
    named: Mapping[str, Any],
    sets: Mapping[str, Any],
    settings: Mapping[str, Any],
    scaled: set[str],
) -> dict[str, Callable[[str, int | None], Learner]]:
    common, budgets = _table(path, content, "learner"), settings.get("budgets") or [None]
    entries = {name: _as_table(f"{path}, learners.{name}", each) for name, each in named.items()}
    algorithms = {name: _algorithm(path, name, each) for name, each in entries.items()}
    takes = {flag for each in algorithms.values() for flag in learners.takes(each)} | {"scaling"}
    _known(f"{path}, learner", common, takes)
    makers: dict[str, Callable[[str, int | None], Learner]] = {}
    for name, algorithm in algorithms.items():
        own = {key: value for key, value in entries[name].items() if key != "algorithm"}
        made: dict[tuple[str, int | None], Learner] = {}
        for dataset, each in sets.items():
            there = _as_table(f"{path}, datasets.{dataset}.learner", each.get("learner", {}))
            _known(f"{path}, datasets.{dataset}.learner", there, takes)
            for budget in budgets:
                where = f"{path}, learners.{name}, on {dataset}"
                default = {"scaling": "standardise"} if dataset in scaled and algorithm != "auto" else {}
                flags = [default, _of(algorithm, common), own, _of(algorithm, there)]
                made[dataset, budget] = _learner(where, algorithm, flags, budget)
        makers[name] = partial(_made, made)
    return makers


def _made(made: Mapping[tuple[str, int | None], Learner], dataset: str, budget: int | None) -> Learner:
    return made[dataset, budget]


def _algorithm(path: Path, name: str, entry: Mapping[str, Any]) -> str:
    given = entry.get("algorithm", name)
    try:
        return learners.algorithm_name(str(given))
    except UsageError as error:
        raise UsageError(f"{path}, learners.{name}: {error}") from None


def _of(algorithm: str, flags: Flags) -> Flags:
    """Those of common flags that an algorithm has."""
    takes = {*learners.takes(algorithm), "scaling"}
    return {name: value for name, value in flags.items() if name in takes}


def _learner(where: str, algorithm: str, flags: list[Flags], budget: int | None) -> Learner:
    values = {name: value for each in flags for name, value in each.items()}
    if budget is not None and "budget" in learners.takes(algorithm):
        values["budget"] = budget
    scaling = values.pop("scaling", "none")
    if scaling not in SCALINGS:
        known = ", ".join(map(repr, SCALINGS))
        raise UsageError(f"{where}: scaling must be one of {known}, got {shown(scaling)}.")
    texts = {name: _text(where, name, value) for name, value in values.items()}
    try:
        learner = learners.build([algorithm], texts)[algorithm]
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    return SCALINGS[scaling](learner)


def _text(where: str, name: str, value: Any) -> str:
    """A value as it would be written behind its flag."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str | int | float):
        raise UsageError(f"{where}: {name} must be a number, a text or a boolean, got {shown(value)}.")
    return str(value)


# ---- data sets


def _task(name: str, entry: Mapping[str, Any]) -> str | None:
    """The task of a data set in the catalogue."""
    if entry.keys() & {"file", "sklearn"}:
        return None
    return datasets.describe(str(entry.get("data", name))).task


def _data(where: str, name: str, entry: Mapping[str, Any], folder: Path) -> Any:
    """What `study` takes for a data set."""
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) > 1:
        raise UsageError(f"{where}: {' and '.join(kinds)} exclude each other: give one of them.")
    kind = kinds[0] if kinds else "data"
    for key in entry:
        if (key in OF_FILES and kind != "file") or (key == "arguments" and kind != "sklearn"):
            raise UsageError(f"{where}: {key} is only for {'file' if key in OF_FILES else 'sklearn'}.")
    if kind == "sklearn":
        return _of_sklearn(where, entry)
    if kind == "file":
        return _of_file(where, entry, folder)
    return _of_catalogue(where, str(entry.get("data", name)))


def _of_catalogue(where: str, name: str) -> Any:
    try:
        if datasets.describe(name).is_read:
            datasets.files(name)
    except DataError as error:
        raise UsageError(f"{where}: {error}") from None
    return name


def _of_sklearn(where: str, entry: Mapping[str, Any]) -> Any:
    """A data set that scikit-learn has or makes, without a download: load_NAME or make_NAME."""
    name, arguments = entry["sklearn"], _as_table(f"{where}.arguments", entry.get("arguments", {}))
    had = ("breast_cancer", "diabetes", "digits", "iris", "wine")
    known = [f"load_{each}" for each in had]
    known += [each for each in dir(sklearn.datasets) if each.startswith("make_")]
    if name not in known:
        raise UsageError(
            f"{where}: scikit-learn has no {shown(name)} for a study; {nearest(str(name), known)}"
        )
    made = {"return_X_y": True} if name.startswith("load_") else {}
    load = partial(getattr(sklearn.datasets, name), **arguments, **made)
    try:
        pair = load()
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: {name}: {error}.") from None
    if not isinstance(pair, tuple) or len(pair) != 2 or getattr(pair[1], "ndim", 0) != 1:
        raise UsageError(f"{where}: {name} does not give rows and one label for each.")
    return load


def _of_file(where: str, entry: Mapping[str, Any], folder: Path) -> Any:
    file = folder / str(entry["file"])
    if not file.is_file():
        raise UsageError(f"{where}: there is no file {file}.")
    given = {key: value for key, value in entry.items() if key in OF_FILES}
    absent = dict.fromkeys(("target", "drop", "only", "weight", "time", "id", "format", "delimiter"))
    flags = Namespace(**(absent | {"features": None, "zero_based": False, "on_error": "stop"} | given))
    for name in ("drop", "only"):
        value = getattr(flags, name)
        setattr(flags, name, [value] if isinstance(value, str) else value)
    return partial(_loaded, NamedRows.of(str(file), flags))


def _is_table(rows: Any) -> bool:
    """Whether data are a file whose columns have names; those are scaled by default."""
    return isinstance(rows, partial) and rows.func is _loaded and rows.args[0].is_table


def _loaded(source: NamedRows) -> tuple[Any, Any]:
    rows, _ = source.load([])
    return rows.X, rows.y
