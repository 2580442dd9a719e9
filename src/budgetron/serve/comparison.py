"""Models that learn the same rows, side by side: by window of rows, and with a test of each two."""

import threading
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from budgetron.evaluate.progressive import Estimator, Learned, losses
from budgetron.model.labels import KnownLabels
from budgetron.serve.sequential import ALPHA, Sequential, relative

WINDOW, MOST = 1000, 200
"""The rows of a window at first, and the windows that are kept: then each two become one."""
ENOUGH = 1000
"""Rows that are measured together."""
HIGHEST = 5.0
"""A log loss above this counts as this in the test, which needs bounded losses."""
ROWS, ERROR, LOG_LOSS, SECONDS, BYTES = range(5)
Floats = npt.NDArray[np.float64]


class Taken(NamedTuple):
    """Rows that a model learned: what it predicted before, its labels then, and the processor seconds."""

    learned: Learned
    labels: KnownLabels | None
    probable: bool
    seconds: float


class Lesson(NamedTuple):
    """Rows that all models were given, from the number of the first one on. Some may have refused them."""

    first: int
    rows: int
    by: dict[str, Taken]


class Comparison:
    """The models of one stream by their names. Rows are counted since it began, for all of them alike."""

    def __init__(self, since: int, targets: bool) -> None:
        self.since, self.rows, self.width, self.targets = since, 0, WINDOW, targets
        self._measures = ("error",) if targets else ("error", "log_loss")
        self._ends: list[int] = []  # of the windows: how many rows the model had learned then
        self._sums: dict[str, Floats] = {}  # by model: a row for each window
        self._joined: dict[str, tuple[int, int]] = {}  # the number of the row, and how many were counted
        self._tests: dict[tuple[str, str, str], Sequential] = {}
        self._estimators: dict[str, Estimator] = {}
        self._waiting: list[Lesson] = []
        self._lock = threading.RLock()  # the writer adds rows while others ask

    # ---- which models

    def join(self, name: str, row: int) -> None:
        """Compare one more model, from a row on, which is the next one."""
        with self._lock:
            self._measure()
            for other in self._sums:
                for measure in self._measures:
                    self._tests[other, name, measure] = Sequential()
            self._sums[name] = np.zeros((len(self._ends), 5))
            self._joined[name] = row, self.rows

    def leave(self, name: str) -> None:
        """Forget a model."""
        with self._lock:
            self._measure()
            del self._sums[name], self._joined[name]
            self._estimators.pop(name, None)
            self._tests = {key: test for key, test in self._tests.items() if name not in key[:2]}

    def rename(self, name: str, to: str) -> None:
        """Give a model another name."""
        with self._lock:
            self._measure()
            named = {name: to}
            self._sums = {named.get(key, key): sums for key, sums in self._sums.items()}
            self._joined = {named.get(key, key): place for key, place in self._joined.items()}
            self._estimators = {named.get(key, key): each for key, each in self._estimators.items()}
            self._tests = {
                (named.get(one, one), named.get(other, other), measure): test
                for (one, other, measure), test in self._tests.items()
            }

    # ---- rows

    def add(self, lessons: Iterable[Lesson], estimators: Mapping[str, Estimator]) -> None:
        """Count rows; the estimators have learned them."""
        with self._lock:
            self._waiting += lessons
            self._estimators |= estimators
            if sum(each.rows for each in self._waiting) >= ENOUGH:
                self._measure()

    def _measure(self) -> None:
        """Add the rows that wait to the windows and tests."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        versions = np.concatenate([each.first + np.arange(1, each.rows + 1) for each in waiting])
        windows = (self.rows + np.arange(len(versions))) // self.width
        self.rows += len(versions)
        for window in range(windows[0], windows[-1] + 1):
            self._ends[window:] = [int(versions[np.searchsorted(windows, window, "right") - 1])]
        found = {name: _losses(name, waiting) for name in self._sums}
        for name, table in found.items():
            self._sums[name] = self._added(name, windows, table)
        for (one, other, measure), test in self._tests.items():
            test.add(self._differences(found[one], found[other], measure))
        while len(self._ends) > MOST:
            self._halve()

    def _added(self, name: str, windows: npt.NDArray[Any], table: Floats) -> Floats:
        """The sums of a model with more rows, which it may have refused: then their error is nan."""
        sums = np.concatenate([self._sums[name], np.zeros((len(self._ends) - len(self._sums[name]), 5))])
        taken = ~np.isnan(table[:, ERROR])
        for column in (ROWS, ERROR, LOG_LOSS, SECONDS):
            np.add.at(sums[:, column], windows[taken], table[taken, column])  # row by row, for the bits
        if name in self._estimators:
            sums[windows[0] :, BYTES] = float(self._estimators[name].memory_bytes_)
        return sums

    def _differences(self, one: Floats, other: Floats, measure: str) -> Floats:
        """How much larger the losses of the one are, from -1 to 1, in the rows that both learned."""
        column = ERROR if measure == "error" else LOG_LOSS
        both = ~np.isnan(one[:, column]) & ~np.isnan(other[:, column])
        a, b = one[both, column], other[both, column]
        if measure == "log_loss":
            found: Floats = (np.minimum(a, HIGHEST) - np.minimum(b, HIGHEST)) / HIGHEST
            return found
        return relative(a, b) if self.targets else a - b

    def _halve(self) -> None:
        """Make one window of each two."""
        self.width *= 2
        self._ends = [*self._ends[1::2], *self._ends[len(self._ends) // 2 * 2 :]]
        for name, sums in self._sums.items():
            halved = np.zeros((len(self._ends), 5))
            for half in (sums[::2], sums[1::2]):
                halved[: len(half), :BYTES] += half[:, :BYTES]
                halved[: len(half), BYTES] = half[:, BYTES]
            self._sums[name] = halved

    # ---- what is known

    def values(self) -> dict[str, Any]:
        """All figures, curves and tests, as plain data."""
        with self._lock:
            self._measure()
            return {
                "since": self.since,
                "rows": self.rows,
                "error": "mean absolute error" if self.targets else "rate of mistakes",
                "windows": {"rows": self.width, "ends": list(self._ends)},
                "models": {name: self._figures(name) for name in self._sums},
                "tests": [self._result(*key, test) for key, test in self._tests.items()],
                "alpha": ALPHA,
            }

    def _figures(self, name: str) -> dict[str, Any]:
        """The means over all windows, and of each window; None where the model learned nothing."""
        sums, (row, counted) = self._sums[name], self._joined[name]
        means = _means(sums.sum(axis=0), self.targets)
        windows = [_means(window, self.targets) | {"bytes": int(window[BYTES]) or None} for window in sums]
        return {
            "since": row,
            **means,
            "refused": self.rows - counted - means["rows"],
            "bytes": windows[-1]["bytes"] if windows else None,
            "windows": {key: [each[key] for each in windows] for key in (windows or [{}])[0]},
        }

    def _result(self, one: str, other: str, measure: str, test: Sequential) -> dict[str, Any]:
        scale = HIGHEST if measure == "log_loss" else 1.0
        low, high = (scale * bound for bound in test.interval())
        return {
            "models": [one, other],
            "measure": measure if measure == "log_loss" or not self.targets else "relative error",
            "rows": test.rows,
            "difference": scale * test.mean,
            "interval": [low, high],
            "evidence": test.evidence,
            "better": None if not test.decided else other if test.sum > 0 else one,
            "decided_after": test.decided or None,
        }

    # ---- snapshots

    def state(self) -> dict[str, Any]:
        """Everything as plain data and arrays."""
        with self._lock:
            self._measure()
            return {
                "since": self.since,
                "rows": self.rows,
                "width": self.width,
                "targets": self.targets,
                "ends": list(self._ends),
                "names": list(self._sums),
                "sums": list(self._sums.values()),
                "joined": [list(self._joined[name]) for name in self._sums],
                "tests": [[*key, test.state()] for key, test in self._tests.items()],
            }

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Comparison":
        """The comparison of a state."""
        made = cls(state["since"], state["targets"])
        made.rows, made.width, made._ends = state["rows"], state["width"], list(state["ends"])
        made._sums = dict(zip(state["names"], state["sums"], strict=True))
        made._joined = dict(zip(state["names"], map(tuple, state["joined"]), strict=True))
        made._tests = {tuple(key): Sequential.of(test) for *key, test in state["tests"]}
        return made


def _losses(name: str, lessons: list[Lesson]) -> Floats:
    """A row for each row of the lessons: 1, its loss, its log loss, its seconds; nan if it was refused."""
    table, start = np.full((sum(each.rows for each in lessons), BYTES), np.nan), 0
    for refused, run in groupby(lessons, lambda each: _labels(name, each)):
        part = list(run)
        end = start + sum(each.rows for each in part)
        if refused != REFUSED:
            taken = [each.by[name] for each in part]
            _, labels, probable, _ = taken[0]
            error, log_loss = losses([each.learned for each in taken], labels, probable=probable)
            seconds = [each.seconds / lesson.rows for each, lesson in zip(taken, part, strict=True)]
            table[start:end, ROWS], table[start:end, ERROR] = 1.0, error
            table[start:end, LOG_LOSS] = np.nan if log_loss is None else log_loss
            table[start:end, SECONDS] = np.repeat(seconds, [lesson.rows for lesson in part])
        start = end
    return table


REFUSED = -1


def _labels(name: str, lesson: Lesson) -> int:
    """What tells the labels that a model knew then from others."""
    return id(lesson.by[name].labels) if name in lesson.by else REFUSED


def _means(sums: Floats, targets: bool) -> dict[str, Any]:
    rows = int(sums[ROWS])
    if not rows:
        return {"rows": 0, "error": None, "log_loss": None, "seconds": None}
    log_loss = sums[LOG_LOSS] / rows
    return {
        "rows": rows,
        "error": _finite(sums[ERROR] / rows),
        "log_loss": None if targets else _finite(log_loss),
        "seconds": _finite(sums[SECONDS] / rows),
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
