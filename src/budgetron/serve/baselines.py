"""How well two predictors that learn nothing do on the same rows."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.evaluate.progressive import ENOUGH

NAMES = ("last", "frequent")


class Baselines:
    """The label of the row before, and the most frequent label so far; of targets the mean so far.

    Their errors are mistakes, or squared errors. Rows are counted some at a time, with the same bits.
    """

    def __init__(self, targets: bool, window: int) -> None:
        self._targets, self._size = targets, window
        self._last: Any = None
        self._counts: Counter[Any] = Counter()
        self._frequent: Any = None
        self._sum = 0.0
        self._wrong = np.zeros(len(NAMES))
        self._window = np.zeros((0, len(NAMES)))  # the errors of the last rows
        self._waiting: list[npt.NDArray[Any]] = []
        self._waiting_rows = 0

    def add(self, y: npt.NDArray[Any]) -> None:
        """Count rows."""
        self._waiting.append(y)
        self._waiting_rows += len(y)
        if self._waiting_rows >= ENOUGH:
            self._measure()

    @property
    def window_rows(self) -> int:
        """How many of the last rows are counted."""
        self._measure()
        return len(self._window)

    def values(self, rows: int) -> dict[str, dict[str, float]]:
        """The error over so many rows, and over the last ones."""
        self._measure()
        recent = self._window.sum(axis=0) / max(len(self._window), 1)
        running = self._wrong / max(rows, 1)
        pairs = zip(NAMES, running.tolist(), recent.tolist(), strict=True)
        return {name: {"running": of_all, "window": of_last} for name, of_all, of_last in pairs}

    def state(self) -> dict[str, Any]:
        """Everything as plain data and arrays, for a snapshot."""
        self._measure()
        return {
            "last": self._last,
            "frequent": self._frequent,
            "counts": [[label, count] for label, count in self._counts.items()],
            "sum": self._sum,
            "wrong": self._wrong.tolist(),
            "window": self._window,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self._waiting, self._waiting_rows = [], 0
        self._last, self._frequent, self._sum = (state[name] for name in ("last", "frequent", "sum"))
        self._counts = Counter(dict(state["counts"]))
        self._wrong, self._window = np.array(state["wrong"]), state["window"]

    def _measure(self) -> None:
        """Count the rows that wait."""
        if not self._waiting:
            return
        y = np.concatenate(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        wrong = self._squares(y.astype(np.float64)) if self._targets else self._mistakes(y)
        self._last = y[-1].item()
        self._wrong = np.add.accumulate(np.vstack([self._wrong, wrong]))[-1]  # row by row, for the bits
        self._window = np.vstack([self._window, wrong])[-self._size :]

    def _squares(self, y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        before = self._counts["rows"] + np.arange(len(y))
        sums = np.add.accumulate(np.concatenate([[self._sum], y]))
        last = np.concatenate([[0.0 if self._last is None else self._last], y[:-1]])
        self._sum, self._counts["rows"] = float(sums[-1]), int(before[-1]) + 1
        with np.errstate(over="ignore"):
            return np.stack([last - y, sums[:-1] / np.maximum(before, 1) - y], axis=1) ** 2

    def _mistakes(self, y: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """A label is the most frequent from the row on that makes it more frequent than all others."""
        values, firsts, codes = np.unique(y, return_index=True, return_inverse=True)
        labels, rows, sizes = values.tolist(), np.arange(len(y)), np.bincount(codes)
        code = {label: i for i, label in enumerate(labels)}
        last, frequent = code.get(self._last, -1), code.get(self._frequent, -1)
        counts = np.empty(len(y), dtype=np.int64)  # of the label of each row, with the row
        counts[np.argsort(codes, kind="stable")] = rows - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        counts += np.array([self._counts[label] for label in labels])[codes]
        most = np.maximum.accumulate(np.concatenate([[self._counts.get(self._frequent, 0)], counts]))
        changes = np.maximum.accumulate(np.where(counts > most[:-1], rows, -1))
        expected = np.concatenate([[frequent], np.where(changes < 0, frequent, codes[changes])])
        before = np.concatenate([[last], codes[:-1]])
        for i in np.argsort(firsts):
            self._counts[labels[i]] += int(sizes[i])
        self._frequent = y[changes[-1]].item() if changes[-1] >= 0 else self._frequent
        return np.stack([before != codes, expected[:-1] != codes], axis=1).astype(np.float64)
