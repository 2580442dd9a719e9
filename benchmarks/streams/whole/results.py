"""Results on whole streams: computed from runs, and kept in a file. Errors are kept by 2,500 rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.streams.data import Stream
from benchmarks.streams.results import LEAST, Run

FILE = Path(__file__).with_name("results.jsonl")
PART = 2500
WINDOWS = {
    "0-5k": (0, 5_000),
    "5-20k": (5_000, 20_000),
    "20-50k": (20_000, 50_000),
    "50-100k": (50_000, 100_000),
    "100-200k": (100_000, 200_000),
    "200k-": (200_000, 10**9),
}
"""The windows of rows seen. Their ends are multiples of `PART`."""


@dataclass(frozen=True)
class Result:
    """One learner on one stream of ``of`` rows, of which it has done ``rows`` in its time.

    ``errors`` has the percentage of mistakes in each part of 2,500 rows, or for targets the squared error
    in percent of the variance of all targets; ``log_losses`` the mean log loss there, if there is one.
    """

    stream: str
    learner: str
    rows: int
    of: int
    us: float
    kib: float
    version: str
    errors: list[float] = field(default_factory=list)
    log_losses: list[float] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """What the result is of."""
        return self.stream, self.learner

    @property
    def parts(self) -> np.ndarray:
        """The number of rows of each part."""
        starts = np.arange(0, self.rows, PART)
        return np.minimum(starts + PART, self.rows) - starts

    def error(self, first: int = 0, end: int | None = None) -> float | None:
        """The error on rows from ``first`` to ``end``, or those of them that were done."""
        return self._mean(self.errors, first, end)

    def log_loss(self, first: int = 0, end: int | None = None) -> float | None:
        """The log loss on these rows."""
        return self._mean(self.log_losses, first, end)

    def _mean(self, values: list[float], first: int, end: int | None) -> float | None:
        chosen = slice(first // PART, None if end is None else -(-end // PART))
        if not values[chosen]:
            return None
        return float(np.average(values[chosen], weights=self.parts[chosen]))


def measured(stream: Stream, learner: str, run: Run) -> Result:
    """The result of a run. A run that ended early counts up to its last whole part."""
    rows = len(run.predictions)
    if rows < stream.rows:
        rows = rows // PART * PART
    y, said = stream.y[:rows], run.predictions[:rows]
    if stream.classes:
        losses = 100.0 * (said != y)
    else:
        losses = 100.0 * (said - y) ** 2 / max(float(np.var(stream.y)), np.finfo(float).tiny)
    logs = np.empty(0)
    if run.probabilities is not None:
        P = run.probabilities[:rows]
        P = np.where(np.isnan(P), 1 / stream.classes, P)
        logs = -np.log(np.clip(P[np.arange(rows), y], LEAST, 1))
    return Result(
        stream.name,
        learner,
        rows,
        stream.rows,
        _short(1e6 * run.seconds / max(len(run.predictions), 1)),
        _short(run.bytes / 1024),
        run.version,
        _by_part(losses),
        _by_part(logs),
    )


def _by_part(values: np.ndarray) -> list[float]:
    return [_short(values[i : i + PART].mean()) for i in range(0, len(values), PART)]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def read(path: Path = FILE) -> dict[tuple[str, str], Result]:
    """All results by stream and learner. Of several lines for the same, the last one counts."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
    found = [Result(**json.loads(line)) for line in lines]
    return {result.key: result for result in found}


def add(result: Result, path: Path = FILE) -> None:
    """Append a result."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def tidy(streams: Iterable[str], path: Path = FILE) -> None:
    """Write the file again, in the order of the streams and with one line for each key."""
    places = {name: i for i, name in enumerate(streams)}
    found = sorted(read(path).values(), key=lambda r: (places.get(r.stream, len(places)), r.learner))
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(json.dumps(asdict(each)) + "\n" for each in found), encoding="utf-8")
    fresh.replace(path)
