"""Dicts and frames as records, whose new columns come in the order of their names.

River's models must not depend on the order of the keys of a dict. Here a column gets its place in a row
when it first appears, so columns that appear together are sorted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetron._util.text import shown
from budgetron.records.encoder import Encoder
from budgetron.records.encoding import Encoding
from budgetron.records.reading import to_table
from budgetron.records.table import Table
from budgetron.river.frames import checked_frame, names_of


@dataclass
class AbsentIsZero(Encoder):
    """The encoder of a learner that takes no missing values: a number that a dict does not have is 0."""

    def build(self) -> Encoding:
        """An encoding that has seen no records."""
        encoding = super().build()
        encoding.absent = 0.0
        return encoding


def in_order(x: Any) -> dict[Any, Any]:
    """The record with its names sorted."""
    if not isinstance(x, Mapping):
        raise TypeError(f"x must be a dict of features, got {shown(x)}.")
    return {name: x[name] for name in sorted(x, key=str)}


def table_in_order(X: Any) -> Table:
    """The records of a frame, with columns that appear in the same row sorted."""
    table = to_table(checked_frame(X))
    return Table(len(table), {name: table.columns[name] for name in sorted(table.columns)}).normal()


def refuse_missing(x: Any, encoding: Encoding) -> None:
    """Refuse a number that is there and has no value, if the encoding takes absent ones as 0."""
    if np.isnan(encoding.absent) or not isinstance(x, Mapping):
        return
    for name, value in x.items():
        if encoding.lacks_value(name, value):
            raise _no_value(f"x has {value} for the feature {str(name)!r}")


def refuse_missing_cells(X: Any, table: Table, encoding: Encoding) -> None:
    """The same for a frame."""
    if np.isnan(encoding.absent) or not len(table):
        return
    for name in names_of(X):
        column = table.columns.get(name)
        if column is None:
            row = 0 if encoding.is_number(name) else None
        elif column.numbers is None and not encoding.is_number(name):
            row = None  # a text may be missing: all its indicators are 0
        else:
            present = column.present()
            row = None if present.all() else int(np.argmin(present))
        if row is not None:
            raise _no_value(f"Row {row} of X has no value for the feature {name!r}")


def _no_value(what: str) -> ValueError:
    return ValueError(
        f"{what}, and the learner needs all values: leave the feature out to have it count as 0, use "
        "river's StatImputer, or Standardised(learner), which takes missing values."
    )
