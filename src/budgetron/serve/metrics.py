"""Counters of a service, and all numbers in the text format of Prometheus."""

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
MEDIA = "text/plain; version=0.0.4; charset=utf-8"
OF_A_MODEL = {
    "rows_learned_total": ("counter", "Rows learned since the model was created, or the challenger added."),
    "mistakes_total": ("counter", "Rows that were predicted wrongly before they were learned."),
    "error_window": ("gauge", "Rate of mistakes (targets: mean squared error) over the last 1000 rows."),
    "error_running": ("gauge", "The same over all rows."),
    "support_vectors": ("gauge", "Support vectors of the model."),
    "model_bytes": ("gauge", "Memory of the model."),
    "covered": ("gauge", "Share of the last 500 rows that their sets or intervals covered."),
}
OF_A_STREAM = {
    "queue_rows": ("gauge", "Rows that wait to be learned."),
    "queue_bytes": ("gauge", "Bytes that wait to be learned."),
    "log_bytes": ("gauge", "Size of the log on disk."),
    "kept_rows": ("gauge", "Predicted rows that are kept for a label."),
    "kept_bytes": ("gauge", "Their bytes."),
    "kept_dropped_total": (
        "counter",
        "Kept rows that were dropped, since their labels did not come in time.",
    ),
    "snapshot_age_seconds": ("gauge", "Seconds since the last snapshot, or since the start."),
    "learning": ("gauge", "1 if the model learns, 0 if learning has stopped."),
}
"""What a model has once for itself and its challengers."""
OF_A_CLASS = {
    "precision": "Share of the predictions of a rare class that were right.",
    "recall": "Share of the rows of a rare class that were found.",
    "average_precision": "Mean precision over the rows of a rare class, by their probability.",
    "precision_at:100": "Share of a rare class among the 100 rows with its highest probabilities.",
}
"""Each over all rows and over the last 1000."""


class Histogram:
    """How often a duration fell into each range of seconds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds

    @property
    def count(self) -> int:
        """The number of durations."""
        return sum(self.counts)

    def quantile(self, share: float) -> float | None:
        """The upper bound of the range that has this share of the durations below it."""
        left = share * self.count
        for bound, count in zip((*BOUNDS, float("inf")), self.counts, strict=True):
            left -= count
            if left <= 0 and self.count:
                return bound
        return None

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterable[str]:
        """The lines of Prometheus."""
        total = 0
        for bound, count in zip((*BOUNDS, "+Inf"), self.counts, strict=True):
            total += count
            yield f"{name}_bucket{_labels({**labels, 'le': str(bound)})} {total}"
        yield f"{name}_sum{_labels(labels)} {self.sum!r}"
        yield f"{name}_count{_labels(labels)} {total}"


class Counters:
    """What a service has done since it started."""

    def __init__(self) -> None:
        self.started = time.time()
        self.predictions: Counter[str] = Counter()  # by model
        self.rejected: Counter[tuple[str, str]] = Counter()  # by model and problem
        self.predict_seconds = Histogram()


def memory() -> int:
    """The resident memory of the process in bytes; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def text(counters: Counters, models: Mapping[str, Any]) -> str:
    """All metrics; ``models`` has a dict of numbers for each model, as `ServedModel.numbers` gives it."""
    lines = list[str]()
    for name, (kind, meaning) in (OF_A_MODEL | OF_A_STREAM).items():
        lines += _head(name, kind, meaning)
        lines += [_line(name, numbers.get(name), model=model) for model, numbers in models.items()]
    for name, meaning in OF_A_CLASS.items():
        lines += _head(f"class_{_word(name)}", "gauge", meaning)
        lines += _of_classes(name, models)
    lines += _head("events_total", "counter", "Events since the start; for drift also of what.")
    for model, numbers in models.items():
        for (what, of), count in sorted(numbers["told"].items()):
            lines.append(_line("events_total", count, model=model, what=what, of=of))
    lines += _head("predictions_total", "counter", "Rows predicted since the start.")
    for model, count in sorted(counters.predictions.items()):
        lines.append(_line("predictions_total", count, model=model))
    lines += _head("rejected_total", "counter", "Requests refused since the start, by problem.")
    for (model, reason), count in sorted(counters.rejected.items()):
        lines.append(_line("rejected_total", count, model=model, reason=reason))
    lines += _head("commit_seconds", "histogram", "Time to write a group of requests to the log.")
    for model, numbers in models.items():
        if "commits" in numbers:
            lines += numbers["commits"].lines("budgetron_commit_seconds", {"model": model})
    lines += _head("predict_seconds", "histogram", "Time of predict requests, without waiting for bodies.")
    lines += counters.predict_seconds.lines("budgetron_predict_seconds", {})
    lines += _head("resident_memory_bytes", "gauge", "Memory of the process.")
    lines.append(_line("resident_memory_bytes", memory()))
    return "\n".join(line for line in lines if line) + "\n"


def _of_classes(name: str, models: Mapping[str, Any]) -> Iterable[str]:
    for model, numbers in models.items():
        for each in numbers["rare"]:
            for over in ("running", "window"):
                labels = {"model": model, "class": str(each["label"]), "over": over}
                yield _line(f"class_{_word(name)}", each[over][name], **labels)


def _word(name: str) -> str:
    return name.replace(":", "_")


def _line(name: str, value: float | None, **labels: str) -> str:
    """The line of a number; none if there is no such number."""
    return "" if value is None else f"budgetron_{name}{_labels(labels)} {value!r}"


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP budgetron_{name} {meaning}", f"# TYPE budgetron_{name} {kind}"]


def _labels(pairs: Mapping[str, str]) -> str:
    texts = (f'{name}="{_escaped(value)}"' for name, value in pairs.items())
    return "{" + ",".join(texts) + "}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
