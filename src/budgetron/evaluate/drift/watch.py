"""Everything of a stream that is watched: errors, inputs, labels, predictions, weights of experts."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron.evaluate.drift.alarms import Silence, as_column, as_error, as_risen, as_share
from budgetron.evaluate.drift.experts import Experts, Sample
from budgetron.records.table import Table

ERRORS, LABELS, PREDICTIONS, INPUTS, EXPERTS = WATCHED = (
    *("errors", "labels", "predictions"),
    *("inputs", "experts"),
)
"""What is watched."""
CODES = 16
"""Labels with a rate of their own; the last is that of all others."""
COLUMNS = 512
"""Input columns that are watched: the first."""
SAID = 20
"""Columns of an alarm that are described."""
FIRST = 1000
"""Rows in which a new model may change without an alarm; its inputs may not."""
LEVELS = {ERRORS: 11.0, LABELS: 12.0, PREDICTIONS: 25.0, INPUTS: 10.0}
"""The higher, the fewer false alarms: benchmarks/drift.py has those of these levels, and the delays."""
GROWING = {ERRORS: 64, LABELS: 1, PREDICTIONS: 1}
"""Blocks after a change up to which the limit falls: then small changes are found sooner."""
BLOCKS = {ERRORS: 8, LABELS: 32, PREDICTIONS: 32, INPUTS: 20}
"""Rows between two tests."""
KEPT = {ERRORS: 4, LABELS: 3, PREDICTIONS: 3, INPUTS: 3}
"""Blocks of each size; each size is twice the one before."""
Arrays = tuple[Any, Any]


class Alarm(NamedTuple):
    """A change that was found: after how many rows, of what, and what is known of it."""

    row: int
    of: str
    more: dict[str, Any]


class Watch:
    """Tells of drift in the rows of a model. However the rows are cut into calls, it tells the same.

    Parameters
    ----------
    targets : bool
        Whether targets are learned, not labels.
    """

    def __init__(self, targets: bool) -> None:
        self.targets, self.rows = targets, 0
        self._inputs = _columns(INPUTS, COLUMNS)
        self._values = _columns(ERRORS, 3) if targets else None
        watched = () if targets else (ERRORS, LABELS, PREDICTIONS)
        self._rates = {name: _rates(name, 2 if name == ERRORS else CODES) for name in watched}
        self._codes: dict[Any, int] = {}
        self._experts = Experts()
        self._silence = Silence()

    def tell(
        self, X: Any, y: npt.NDArray[Any], predicted: npt.NDArray[Any], weights: Sequence[Sample] = ()
    ) -> list[Alarm]:
        """Tell of rows that were predicted, then learned; returns the alarms.

        ``X`` is None if another watch has the rows and their labels: then both are not watched here.
        ``weights`` are those of the experts after so many of these rows, see `sampled`.
        """
        alarms = [] if X is None else list(self._of_inputs(X))
        alarms += self._of_values(y, predicted) if self.targets else self._of_codes(y, predicted)
        alarms += (Alarm(self.rows + row, EXPERTS, more) for row, more in self._experts.tell(weights))
        self.rows += len(y)
        alarms = [alarm for alarm in alarms if X is not None or alarm.of != LABELS]
        return sorted(alarms, key=lambda alarm: (alarm.row, WATCHED.index(alarm.of)))

    def _of_inputs(self, X: Any) -> Iterable[Alarm]:
        """Columns that change at the same row are one alarm."""
        for row, changes in groupby(_tell(self._inputs, X), key=lambda change: change.row):
            said = ((each, as_column(self._inputs.names[each.column], each)) for each in changes)
            columns = [more for each, more in said if more is not None and self._may(INPUTS, each)]
            if columns:
                yield Alarm(row, INPUTS, {"n_columns": len(columns), "columns": columns[:SAID]})

    def _of_values(self, y: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> Iterable[Alarm]:
        assert self._values is not None
        values = np.column_stack([np.abs(y - predicted), y, predicted]).astype(np.float64)
        for change in self._values.tell_rows([ERRORS, LABELS, PREDICTIONS], values):
            of = self._values.names[change.column]
            more = as_risen(change) if of == ERRORS else as_column(of, change)
            if change.row > FIRST and more is not None and self._may(of, change):
                yield Alarm(change.row, of, more)

    def _of_codes(self, y: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> Iterable[Alarm]:
        (errors, labels, predictions), codes = self._rates.values(), self._codes
        told = _core.tell_predicted(errors, labels, predictions, y.tolist(), predicted.tolist(), codes)
        for of, changes in zip(self._rates, told, strict=True):
            for change in changes:
                more = as_error(change) if of == ERRORS else as_share(change, list(codes))
                if change.row > FIRST and more is not None and self._may(of, change):
                    yield Alarm(change.row, of, more)

    def _may(self, of: str, change: Any) -> bool:
        return self._silence.may_tell((of, change.column), change.row)

    # ---- snapshots

    def state(self) -> dict[str, Any]:
        """Everything as plain data and arrays."""
        values = [] if self._values is None else self._values.names
        return {
            "rows": self.rows,
            "codes": list(self._codes),
            "inputs": [self._inputs.names, *self._inputs.state()],
            "values": None if self._values is None else [values, *self._values.state()],
            "rates": {name: list(each.state()) for name, each in self._rates.items()},
            "experts": self._experts.state(),
            "silence": self._silence.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.rows = state["rows"]
        self._codes = {label: code for code, label in enumerate(state["codes"])}
        _restore(self._inputs, state["inputs"])
        if self._values is not None:
            _restore(self._values, state["values"])
        for name, each in self._rates.items():
            each.restore(*map(np.array, state["rates"][name]))
        self._experts.restore(state["experts"])
        self._silence.restore(state["silence"])


def _rates(of: str, cells: int) -> _core.Rates:
    return _core.Rates(cells, BLOCKS[of], KEPT[of], LEVELS[of], GROWING[of])


def _columns(of: str, most: int) -> _core.Columns:
    return _core.Columns(BLOCKS[of] if of == INPUTS else 16, KEPT[of], LEVELS[INPUTS], most)


def _restore(columns: _core.Columns, state: Sequence[Any]) -> None:
    names, numbers, counters = state
    columns.restore(list(names), np.array(numbers, np.float64), np.array(counters, np.uint64))


def _tell(columns: _core.Columns, X: Any) -> Sequence[Any]:
    """Tell of rows in any form."""
    if isinstance(X, np.ndarray):
        return columns.tell_rows([], np.ascontiguousarray(X, dtype=np.float64))
    if not isinstance(X, Table):
        return columns.tell_records(X)
    numbers = [column.numbers for column in X.columns.values() if column.codes is None]
    known = [column for column in numbers if column is not None]
    if not known or len(known) < X.shape[1]:
        return columns.tell_records([dict(record) for record in X.records()])
    return columns.tell_rows(list(X.columns), np.column_stack(known).astype(np.float64))
