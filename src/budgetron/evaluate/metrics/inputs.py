"""Checks the arguments of `Metrics.update` and brings them into one form."""

from itertools import pairwise
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron.evaluate.metrics.sums import Array

EMPTY = {"proba": 0.0, "scores": -np.inf}
"""What a class without a column has."""


def labels(given: Array) -> Array:
    """Labels as an array of strings or of numbers."""
    if given.dtype.kind == "O":
        check.one_kind("Metrics: y", given)
        given = np.array(given.tolist())
    if given.dtype.kind not in "biufU" or (given.dtype.kind == "f" and np.isnan(given).any()):
        raise ValueError("Metrics: every row must have a label that is a number or a string.")
    return given


def places(classes: list[Any], given: Array | list[Any]) -> Array:
    """The places of labels among sorted classes."""
    return np.searchsorted(np.array(classes), given) if len(given) else np.zeros(0, dtype=np.intp)


def are_known(classes: list[Any], given: Array) -> bool:
    """Whether all labels are among sorted classes."""
    if not len(given) or not classes or (type(classes[0]) is str) != (given.dtype.kind == "U"):
        return not len(given)
    known = np.array(classes)
    return bool((known[np.minimum(np.searchsorted(known, given), len(known) - 1)] == given).all())


def weights(given: Any, rows: int) -> Array:
    if given is None:
        return np.ones(rows)
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (rows,) or not ((weights >= 0) & np.isfinite(weights)).all():
        raise ValueError(f"Metrics: weights must be {rows} finite numbers of at least 0.")
    return weights


def table(name: str, given: Any, labels: list[Any], rows: int) -> Array:
    """Scores or probabilities, checked, with a column for each label."""
    table = np.asarray(given, dtype=np.float64)
    if name == "scores" and len(labels) == 2 and table.size == rows:
        table = np.stack([-table.ravel(), table.ravel()], axis=1)
    if table.shape != (rows, len(labels)):
        raise ValueError(f"Metrics: {name} has shape {table.shape}, expected {(rows, len(labels))}.")
    low, high = (0.0, 1.0) if name == "proba" else (-np.inf, np.inf)
    if not ((table >= low) & (table <= high)).all():
        raise ValueError(f"Metrics: {name} has a value that is not between {low:g} and {high:g}.")
    return table


def widened(table: Array, places: Array, classes: int, empty: float) -> Array:
    """The table with a column for every class."""
    if len(places) == classes and (places == np.arange(classes)).all():
        return table
    wide = np.full((len(table), classes), empty, dtype=table.dtype)
    wide[:, places] = table
    return wide


def are_classes(given: Any) -> bool:
    """Whether this is a list of labels, all strings or all numbers, sorted, each once."""
    if not isinstance(given, list) or {type(label) for label in given} - {str, int, float, bool}:
        return False
    if len({type(label) is str for label in given}) > 1:
        return False
    return all(a < b for a, b in pairwise(given))
