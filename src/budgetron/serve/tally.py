"""How well rows were predicted before they were learned, beside two baselines that do not learn."""

import threading
from collections.abc import Mapping
from typing import Any

from budgetron._util.text import shown
from budgetron.estimators import OnlineRegressor
from budgetron.evaluate.drift.watch import Alarm, Watch
from budgetron.evaluate.metrics import Metrics
from budgetron.evaluate.metrics.one_class import place_of
from budgetron.evaluate.progressive import Estimator, Learned, ProgressiveMetrics
from budgetron.serve.baselines import Baselines
from budgetron.serve.rows import Rows

WINDOW = 1000
LABELS = ("accuracy", "balanced_accuracy", "kappa", "kappa_temporal", "log_loss", "average_precision")
TARGETS = ("mae", "rmse", "r2")
MOST_RANKED = 50
"""With more classes than these, rows are not ranked: it takes 25 kB for each class."""
RARE, MOST_RARE = 0.1, 10
"""A class is rare below this share of the rows. So many, the rarest, have metrics of their own."""
POINTS = 200
"""The most points of a curve."""
BRANCHES = 1000
"""The branches left by roll-backs that are remembered: the newest."""


class Tally:
    """Metrics over all rows and over the last 1000, for a model and for the baselines; and drift.

    Snapshots carry all of this, and a replay of the log adds what came after. Only counts of late labels
    since the last snapshot are not in the log.
    """

    def __init__(self, estimator: Estimator) -> None:
        self.targets = targets = isinstance(estimator, OnlineRegressor)
        self._lock = threading.Lock()  # the writer adds rows while others ask for values
        names = TARGETS if targets else LABELS
        metrics = Metrics(names, targets=targets, window=WINDOW, most_ranked=MOST_RANKED)
        self._measured = ProgressiveMetrics(metrics, probable=hasattr(estimator, "predict_proba"))
        self.late_rows = 0  # labels that came later, and the mistakes of what was predicted then
        self.late_mistakes = 0
        self.left: list[list[int]] = []  # versions of branches: after the first, up to the second
        self._baselines = Baselines(targets, WINDOW)
        self._watch = Watch(targets)

    def add(self, learned: Learned, estimator: Estimator) -> None:
        """Count rows that are learned."""
        with self._lock:
            self._baselines.add(learned.y)
            self._measured.add(learned, estimator.fitted_.labels)

    @property
    def watched(self) -> int:
        """How many rows were looked at."""
        return self._watch.rows

    def watch(self, rows: Rows | None, learned: Learned, first: int) -> list[Alarm]:
        """Look for drift in rows that are learned; returns what is found, by the numbers of the rows.

        ``rows`` is None if another model has them. ``first`` is the number of the first of them. Each alarm
        has that of the row after the last one that was looked at: the version of the model.
        """
        before = self._watch.rows
        X = None if rows is None else rows.X
        alarms = self._watch.tell(X, learned.y, learned.predicted, learned.weights)
        return [alarm._replace(row=first + alarm.row - before) for alarm in alarms]

    def leave(self, after: int, until: int) -> None:
        """Count no labels of what was predicted after a version: a roll-back has left that branch."""
        self.left = [*self.left, [after, until]][-BRANCHES:]

    def add_late(self, predicted: Any, version: int, y: Any) -> None:
        """Count the prediction of a version that was made before the label came."""
        if not any(after < version <= until for after, until in self.left):
            self.late_rows += 1
            self.late_mistakes += predicted != y

    def values(self) -> dict[str, Any]:
        """All metrics, as plain data."""
        with self._lock:
            metrics = self._measured.metrics
            return {
                "rows": metrics.rows,
                "mistakes": metrics.mistakes,
                "running": metrics.running(),
                "window": {"rows": self._baselines.window_rows} | metrics.windowed(),
                "baselines": self._baselines.values(metrics.rows),
                "late": {"rows": self.late_rows, "mistakes": None if self.targets else self.late_mistakes},
            } | ({} if self.targets else _by_class(metrics))

    def curve(self, label: str, windowed: bool) -> dict[str, Any]:
        """Precision and recall of a class, by threshold; a ValueError if there is no such class."""
        with self._lock:
            metrics = self._measured.metrics
            classes = [] if self.targets else list(metrics.recall())
            if (place := place_of(label, classes)) is None:
                raise ValueError(f"no row has the label {shown(label)}.")
            if not metrics.ranked:
                why = f"more than {MOST_RANKED} classes, or a learner without scores"
                raise ValueError(f"the model has no curves: it has {why}.")
            curve = metrics.precision_recall(classes[place], windowed=windowed, most=POINTS)
        return {"label": classes[place]} | {name: column.tolist() for name, column in curve.items()}

    def state(self) -> dict[str, Any]:
        """Everything as plain data and arrays, for a snapshot."""
        with self._lock:
            return {
                "metrics": self._measured.metrics.state(),
                "late": [self.late_rows, self.late_mistakes],
                "left": self.left,
                "watch": self._watch.state(),
                **self._baselines.state(),
            }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self._measured.restore(state["metrics"])
        self.late_rows, self.late_mistakes = state["late"]
        self.left = list(state.get("left", ()))
        self._baselines.restore(state)
        self._watch.restore(state["watch"])


def _by_class(metrics: Metrics) -> dict[str, Any]:
    matrix = metrics.confusion()
    return {
        "classes": list(metrics.recall()),
        "confusion": None if matrix is None else matrix.tolist(),
        "rare": _rare(metrics),
    }


def _rare(metrics: Metrics) -> list[dict[str, Any]]:
    """The metrics of each rare class, the rarest first. A class is rare beside others that are not."""
    running = metrics.of_classes()
    shares = {label: values["share"] or 0.0 for label, values in running.items()}
    rare = [label for label in sorted(shares, key=lambda label: shares[label]) if shares[label] < RARE]
    if not rare or max(shares.values()) <= 2 * RARE:
        return []
    windowed = metrics.of_classes(windowed=True)
    return [
        {"label": label, "running": running[label], "window": windowed[label]} for label in rare[:MOST_RARE]
    ]
