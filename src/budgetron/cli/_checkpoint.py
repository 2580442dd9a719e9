"""A run as a file: the model, and beside it all that is needed to go on as if nothing had happened.

Times are not in it, so that a run that was stopped ends with the same bytes as one that was not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from budgetron import ModelFileError
from budgetron.cli import _origin
from budgetron.cli._exits import Usage
from budgetron.cli._learning import Learning, Waiting
from budgetron.cli._source import stacked
from budgetron.cli._steps import described, revived
from budgetron.model_files import ModelFile
from budgetron.streams import ShuffleBuffer, Step

COUNTS = ("entered", "drained", "rows", "mistakes", "loss", "delay")


def save(learning: Learning, path: str) -> None:
    """Write the run; what was there before stays if that fails."""
    learning.estimator.save(path, extra={"run": _said(learning)})


def _said(learning: Learning) -> dict[str, Any]:
    tally, labels = learning.tally, learning.labels
    waiting = labels.pieces() if isinstance(labels, Waiting) else []
    return {
        "entered": learning.entered,
        "drained": learning.drained,
        "rows": tally.rows,
        "mistakes": tally.mistakes,
        "loss": tally.loss,
        "delay": learning.delay,
        "source": learning.origin.said() if learning.origin else None,
        "steps": [
            {"what": described(step), "state": _coded(_state(learning, step), learning.classes)}
            for step in learning.steps
        ],
        "waiting": _coded(_rows(waiting), learning.classes),
    }


def _state(learning: Learning, step: Step) -> dict[str, Any]:
    drains = learning.drained and isinstance(step, ShuffleBuffer) and learning.buffered is not None
    return dict(learning.buffered or {}) if drains else step.state()


def restore(learning: Learning, file: ModelFile) -> None:
    """Take up the run that a model file holds; it must be the one that is asked for."""
    said = _run_of(file)
    estimator = file.estimator()
    _same("an", type(estimator).__name__, type(learning.estimator).__name__, file)
    _same("the learner", estimator.learner, learning.estimator.learner, file)
    _same("the seed", estimator.random_state, learning.estimator.random_state, file)
    _same("the delay", said["delay"], learning.delay, file)
    _same("steps", [step["what"] for step in said["steps"]], list(map(described, learning.steps)), file)
    there, asked = _origin_of(said, file), learning.origin
    if asked is not None:
        _same("the format", there.form, asked.form, file)
        _same("the target", there.target, asked.target, file)
        _same("--zero-based", there.zero_based, asked.zero_based, file)
    learning.origin = there
    classes = getattr(estimator, "classes_", None)
    learning.estimator = learning.labels.estimator = learning.tally.estimator = estimator
    learning.classes = None if classes is None else classes.tolist()
    try:
        _take_up(learning, said, estimator.n_features_in_)
    except Exception as error:  # whatever a forged file can lead to
        why = str(error).rstrip(".") or type(error).__name__
        raise ModelFileError(f"{file.path}: holds no run that can go on: {why}.") from error


def columns_of(file: ModelFile) -> list[str] | None:
    """The names of the columns that the model in a file has learned from, if they had some."""
    run = file.extra.get("run")
    return _origin_of(run, file).columns if isinstance(run, dict) and "source" in run else None


def _origin_of(said: dict[str, Any], file: ModelFile) -> _origin.Origin:
    try:
        return _origin.revived(said.get("source"))
    except ValueError as error:
        raise ModelFileError(f"{file.path}: holds no run that can go on: {error}.") from error


def steps_of(file: ModelFile) -> list[Step]:
    """The steps that rows went through before the model in a file learned them, as they are now."""
    if "run" not in file.extra:
        return []
    said = _run_of(file)
    try:
        steps = [revived(step["what"]) for step in said["steps"]]
        kept = [(step, part["state"]) for step, part in zip(steps, said["steps"], strict=True)]
        scaling = [(step, state) for step, state in kept if not isinstance(step, ShuffleBuffer)]
        for step, state in scaling:
            step.restore(state)
    except Exception as error:
        why = str(error).rstrip(".") or type(error).__name__
        raise ModelFileError(f"{file.path}: its steps cannot be read: {why}.") from error
    return [step for step, _ in scaling]


def _run_of(file: ModelFile) -> dict[str, Any]:
    said = file.extra.get("run")
    if not isinstance(said, dict):
        raise ModelFileError(f"{file.path}: holds a model, but no run of budgetron run that could go on.")
    numbers = {name: said.get(name) for name in COUNTS}
    for name, value in numbers.items():
        natural = type(value) is int and value >= 0
        if not natural and not (name in ("mistakes", "loss") and (value is None or type(value) is float)):
            raise ModelFileError(f"{file.path}: its run has {name} {value!r}, expected a count.")
    if not isinstance(said.get("steps"), list) or not all(isinstance(s, dict) for s in said["steps"]):
        raise ModelFileError(f"{file.path}: its run has no list of steps.")
    return said


def _take_up(learning: Learning, said: dict[str, Any], columns: int) -> None:
    learning.entered, learning.drained = said["entered"], said["drained"]
    tally = learning.tally
    if (type(said["mistakes"]), type(said["loss"])) != (type(tally.mistakes), type(tally.loss)):
        raise ValueError("it counts mistakes where there are targets, or the other way round")
    tally.rows, tally.mistakes, tally.loss = said["rows"], said["mistakes"], said["loss"]
    for step, part in zip(learning.steps, said["steps"], strict=True):
        state = _decoded(part["state"], learning.classes)
        if isinstance(step, ShuffleBuffer):
            _check_buffer(step, state, columns)
        step.restore(state)
    waiting = _decoded(said["waiting"], learning.classes)
    if waiting and isinstance(learning.labels, Waiting):
        learning.labels.put_back(_matrix(waiting, columns), waiting["y"])


def _check_buffer(step: ShuffleBuffer, state: dict[str, Any], columns: int) -> None:
    X = _matrix(state, columns)
    if X is not None and X.shape[0] > step.size:
        raise ValueError("its buffer holds more rows than there is room for")
    if state["counts"].shape != (3,) or (state["counts"] < 0).any():
        raise ValueError("its buffer has no counts")


def _same(what: str, there: Any, asked: Any, file: ModelFile) -> None:
    if there != asked:
        raise Usage(
            f"{file.path} cannot go on with other flags: it has {what} {there}, and asked for is {asked}; "
            "repeat those of its run, or do without --resume."
        )


# ---- rows as arrays


def _rows(pieces: list[tuple[Any, Any]]) -> dict[str, Any]:
    if not pieces:
        return {}
    X, y = stacked(pieces)
    if not sparse.issparse(X):
        return {"X": X, "y": y}
    columns = np.array([X.shape[1]])
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "columns": columns, "y": y}


def _matrix(rows: dict[str, Any], columns: int) -> Any:
    """The rows, if there are some; checked, since native code will follow their indices."""
    X = rows.get("X")
    if "data" in rows:
        shape = (len(rows["indptr"]) - 1, int(rows["columns"][0]))
        X = sparse.csr_matrix((rows["data"], rows["indices"], rows["indptr"]), shape=shape)
        X.check_format(full_check=True)
    if X is not None and (X.shape[1] != columns or rows["y"].shape != (X.shape[0],)):
        raise ValueError("its rows have another number of columns, or of labels")
    return X


def _coded(rows: dict[str, Any], classes: Any) -> dict[str, Any]:
    """Texts have no place among arrays: labels that are some become their places among the classes."""
    if "y" not in rows or rows["y"].dtype.kind not in "OU":
        return rows
    codes = np.searchsorted(np.array(classes, dtype=object), rows["y"].astype(object))
    return {name: array for name, array in rows.items() if name != "y"} | {"codes": codes}


def _decoded(rows: dict[str, Any], classes: Any) -> dict[str, Any]:
    if "codes" not in rows:
        return rows
    labels = np.array(classes, dtype=object)[rows["codes"]]
    return {name: array for name, array in rows.items() if name != "codes"} | {"y": labels}
