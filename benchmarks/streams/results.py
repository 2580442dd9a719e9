"""Results: how they are computed from predictions, and the file in which they are kept."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.streams.data import NAMES, Stream

FILE = Path(__file__).with_name("results.jsonl")
WINDOWS = 50
BINS = 10
LEAST = 1e-6
"""The least probability that counts in the log loss. Trees often say 0."""


@dataclass(frozen=True)
class Result:
    """One learner on one stream.

    ``error`` is the percentage of mistakes, or for targets the squared error in percent of the variance of
    the targets. ``windows`` are the errors of 50 equal parts of the stream. ``bins`` are the number of
    rows, their mean confidence and their share of right predictions, by confidence in the predicted class.
    """

    stream: str
    learner: str
    rows: int
    error: float
    log_loss: float | None
    us: float
    kib: float
    version: str
    setting: str = ""
    windows: list[float] = field(default_factory=list)
    bins: list[tuple[int, float, float]] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, int]:
        """What the result is of."""
        return self.stream, self.learner, self.rows


@dataclass(frozen=True)
class Run:
    """What a learner said about a stream, and what that cost. Each row was predicted before it was learned.

    ``probabilities`` has a column for every class, or is None. A row of NaN is a prediction without one.
    """

    predictions: np.ndarray
    probabilities: np.ndarray | None
    seconds: float
    bytes: float
    version: str
    setting: str = ""


def measured(stream: Stream, learner: str, run: Run) -> Result:
    """The result of a run."""
    if stream.classes:
        losses = 100.0 * (run.predictions != stream.y)
    else:
        variance = max(float(np.var(stream.y)), np.finfo(float).tiny)
        losses = 100.0 * (run.predictions - stream.y) ** 2 / variance
    log_loss, bins = None, []
    if run.probabilities is not None:
        P = np.where(np.isnan(run.probabilities), 1 / stream.classes, run.probabilities)
        log_loss = float(-np.mean(np.log(np.clip(P[np.arange(len(P)), stream.y], LEAST, 1))))
        bins = _bins(P.max(axis=1), run.predictions == stream.y)
    parts = np.array_split(losses, min(WINDOWS, len(losses)))
    return Result(
        stream.name,
        learner,
        stream.rows,
        _short(losses.mean()),
        None if log_loss is None else _short(log_loss),
        _short(1e6 * run.seconds / stream.rows),
        _short(run.bytes / 1024),
        run.version,
        run.setting,
        [_short(part.mean()) for part in parts],
        bins,
    )


def calibration_error(results: Iterable[Result]) -> float:
    """The expected calibration error: the mean distance of confidence and share of right predictions."""
    bins = [each for result in results for each in result.bins]
    return sum(n * abs(said - right) for n, said, right in bins) / sum(n for n, _, _ in bins)


def _bins(confidence: np.ndarray, right: np.ndarray) -> list[tuple[int, float, float]]:
    places = np.minimum((BINS * confidence).astype(int), BINS - 1)
    inside = [places == i for i in range(BINS)]
    return [
        (int(each.sum()), _short(confidence[each].mean()), _short(right[each].mean()))
        for each in inside
        if each.any()
    ]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def read(path: Path = FILE) -> dict[tuple[str, str, int], Result]:
    """All results by stream, learner and rows. Of several lines for the same, the last one counts."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        values = json.loads(line)
        result = Result(**{**values, "bins": [tuple(each) for each in values["bins"]]})
        found[result.key] = result
    return found


def add(result: Result, path: Path = FILE) -> None:
    """Append a result."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def tidy(path: Path = FILE) -> None:
    """Write the file again, sorted and with one line for each key."""
    places = {name: i for i, name in enumerate(NAMES)}
    found = sorted(read(path).values(), key=lambda r: (places.get(r.stream, -1), r.learner, r.rows))
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(json.dumps(asdict(each)) + "\n" for each in found), encoding="utf-8")
    fresh.replace(path)
