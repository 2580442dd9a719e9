"""How well rows were predicted before they were learned, beside two baselines that do not learn."""

import threading
from collections import Counter, deque
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np

from budgetron.estimators import OnlineRegressor
from budgetron.evaluate.metrics import Metrics
from budgetron.model.labels import Scored
from budgetron.serve.learning import Estimator, Learned

WINDOW = 1000
ENOUGH = 1000  # rows that are measured together, since single rows are slow
LABELS = ("accuracy", "balanced_accuracy", "kappa", "kappa_temporal", "log_loss")
TARGETS = ("mae", "rmse", "r2")


class Tally:
    """Metrics over all rows and over the last 1000, for a model and for the baselines.

    The baselines are "last", the label of the row before, and "frequent", the most frequent label so far
    (of targets the mean so far). Their errors are rates of mistakes, or mean squared errors.

    Snapshots carry all of this, and a replay of the log adds what came after. Only counts of late labels
    since the last snapshot are not in the log.
    """

    def __init__(self, estimator: Estimator) -> None:
        self.targets = targets = isinstance(estimator, OnlineRegressor)
        self._probable = hasattr(estimator, "predict_proba")
        self._lock = threading.Lock()  # the writer adds rows while others ask for values
        self.metrics = Metrics(TARGETS if targets else LABELS, targets=targets, window=WINDOW)
        self.rows = 0
        self.mistakes = 0
        self.late_rows = 0  # labels that came later, and the mistakes of what was predicted then
        self.late_mistakes = 0
        self._last: Any = None
        self._counts: Counter[Any] = Counter()
        self._frequent: Any = None
        self._sum = 0.0
        self._wrong = {"last": 0.0, "frequent": 0.0}
        self._window: deque[tuple[float, float]] = deque(maxlen=WINDOW)
        self._waiting: list[tuple[Learned, Any]] = []
        self._unmeasured = 0

    def add(self, learned: Learned, estimator: Estimator) -> None:
        """Count rows that are learned."""
        with self._lock:
            self._add(learned, estimator.fitted_.labels)

    def _add(self, learned: Learned, known: Any) -> None:
        y = learned.y.tolist()
        for label in y:
            self._add_baselines(label)
        self.rows += len(y)
        if not self.targets:
            self.mistakes += int(np.count_nonzero(learned.predicted != learned.y))
        if self._waiting and self._waiting[0][1] is not known:
            self._measure()
        self._waiting.append((learned, known))
        self._unmeasured += len(y)
        if self._unmeasured >= ENOUGH:
            self._measure()

    def add_late(self, predicted: Any, y: Any) -> None:
        """Count the prediction that was made before the label came."""
        self.late_rows += 1
        self.late_mistakes += predicted != y

    def values(self) -> dict[str, Any]:
        """All metrics, as plain data."""
        with self._lock:
            return self._values()

    def _values(self) -> dict[str, Any]:
        self._measure()
        n, window = max(self.rows, 1), max(len(self._window), 1)
        recent = np.array(self._window).reshape(-1, 2).sum(axis=0) / window
        baselines = {
            name: {"running": self._wrong[name] / n, "window": float(recent[i])}
            for i, name in enumerate(("last", "frequent"))
        }
        found: dict[str, Any] = {
            "rows": self.rows,
            "mistakes": None if self.targets else self.mistakes,
            "running": self.metrics.running(),
            "window": {"rows": len(self._window)} | self.metrics.windowed(),
            "baselines": baselines,
            "late": {"rows": self.late_rows, "mistakes": None if self.targets else self.late_mistakes},
        }
        if not self.targets:
            matrix = self.metrics.confusion()
            found["classes"] = list(self.metrics.recall())
            found["confusion"] = None if matrix is None else matrix.tolist()
        return found

    def state(self) -> dict[str, Any]:
        """Everything as plain data and arrays, for a snapshot."""
        with self._lock:
            self._measure()
            return self._state()

    def _state(self) -> dict[str, Any]:
        return {
            "metrics": self.metrics.state(),
            "rows": self.rows,
            "mistakes": self.mistakes,
            "late": [self.late_rows, self.late_mistakes],
            "last": self._last,
            "frequent": self._frequent,
            "counts": [[label, count] for label, count in self._counts.items()],
            "sum": self._sum,
            "wrong": [self._wrong["last"], self._wrong["frequent"]],
            "window": np.array(self._window, dtype=np.float64).reshape(-1, 2),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.metrics.restore(state["metrics"])
        self.rows, self.mistakes, self._last = state["rows"], state["mistakes"], state["last"]
        self.late_rows, self.late_mistakes = state["late"]
        self._counts = Counter(dict(state["counts"]))
        self._frequent = state["frequent"]
        self._sum = state["sum"]
        self._wrong = dict(zip(("last", "frequent"), state["wrong"], strict=True))
        self._window = deque(map(tuple, state["window"].tolist()), maxlen=WINDOW)

    def _add_baselines(self, label: Any) -> None:
        if self.targets:
            mean = self._sum / max(self._counts["rows"], 1)
            last = (0.0 if self._last is None else self._last) - label
            pair = (last * last, (mean - label) * (mean - label))
            self._counts["rows"] += 1
            self._sum += label
        else:
            pair = (float(self._last != label), float(self._frequent != label))
            self._counts[label] += 1
            if self._counts[label] > self._counts.get(self._frequent, 0):
                self._frequent = label
        self._last = label
        self._wrong["last"] += pair[0]
        self._wrong["frequent"] += pair[1]
        self._window.append(pair)

    def _measure(self) -> None:
        """Add the waiting rows to the metrics."""
        if not self._waiting:
            return
        waiting, self._waiting, self._unmeasured = self._waiting, [], 0
        parts, known = [learned for learned, _ in waiting], waiting[0][1]
        y = np.concatenate([part.y for part in parts])
        predicted = np.concatenate([part.predicted for part in parts])
        if self.targets:
            self.metrics.update(y, predicted)
            return
        pieces = merged([piece for part in parts for piece in part.pieces])
        self.metrics.update(
            y,
            predicted,
            classes=known.classes,
            scores=known.score_table(pieces),
            proba=np.exp(known.log_probabilities(pieces)) if self._probable else None,
        )


def merged(pieces: list[Scored]) -> list[Scored]:
    """The pieces, of which neighbours made with the same labels are one."""
    runs = (list(run) for _, run in groupby(pieces, key=lambda piece: (piece.known, piece.scores.shape[1])))
    return [Scored(np.concatenate([scores for scores, _ in run]), run[0].known) for run in runs]
