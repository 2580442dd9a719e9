"""Kinds of labels. True, 1 and 1.0 are one label: the kind of the first decides what it is called."""

from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util.errors import ROW, RefusedRow
from budgetron._util.label_rules import EXACT

Array = npt.NDArray[Any]
BOOL, INTEGER, FLOAT, TEXT, OBJECT = "b", "i", "f", "U", "O"
_KINDS = ((bool | np.bool_, BOOL), (int | np.integer, INTEGER), (float | np.floating, FLOAT))


def kind_of(labels: Array) -> str:
    """The kind of the first label. Texts in an array of objects are objects."""
    if labels.dtype != object or not len(labels):
        return {"u": INTEGER}.get(labels.dtype.kind, labels.dtype.kind)
    return next((kind for types, kind in _KINDS if isinstance(labels[0], types)), OBJECT)


def of_kind(kind: str, y: Array) -> Array:
    """The labels as labels of a kind, where that loses nothing; others are left for the checks."""
    given = y.dtype.kind
    if (given == "u" and kind == INTEGER) or given == kind:
        return y
    if kind == TEXT and given == "O" and all(isinstance(label, str) for label in y):
        return np.array(y.tolist())
    if kind == OBJECT and given == "U":
        return y.astype(object)
    if kind not in (BOOL, INTEGER, FLOAT) or not are_numbers(y):
        return y
    return {BOOL: _bools, INTEGER: _integers, FLOAT: _floats}[kind](y)


def are_numbers(y: Array) -> bool:
    """Whether all labels are numbers or bools."""
    if y.dtype != object:
        return y.dtype.kind in "biuf"
    return all(isinstance(label, bool | int | float | np.number | np.bool_) for label in y)


def _bools(y: Array) -> Array:
    if (other := (y != 0) & (y != 1)).any():
        row = int(np.argmax(other))
        raise RefusedRow(f"y contains {y[row]} in row {ROW}, but the labels are True and False.", row)
    return np.asarray(y == 1, dtype=np.bool_)


def _integers(y: Array) -> Array:
    if y.dtype.kind == "b":
        return y.astype(np.int64)
    if y.dtype.kind == "f":
        return y.astype(np.int64) if ((np.rint(y) == y) & (abs(y) < EXACT)).all() else y
    values = y.tolist()
    exact = all(isinstance(v, int | np.bool_) or (v == np.rint(v) and abs(v) < EXACT) for v in values)
    return np.array([int(v) for v in values]) if exact else np.array(values)


def _floats(y: Array) -> Array:
    return y.astype(np.float64) if y.dtype != object else np.array([float(v) for v in y.tolist()])


def joined(labels: Array, new: Array) -> Array:
    """All labels; integers stay integers, which NumPy does not promise for signed and unsigned ones."""
    if {labels.dtype.kind, new.dtype.kind} != {"i", "u"}:
        return np.concatenate([labels, new])
    both = np.array(labels.tolist() + new.tolist())
    if both.dtype.kind not in "iu":
        raise ValueError("y must hold integer labels that fit into 64 bits together, got larger ones.")
    return both
