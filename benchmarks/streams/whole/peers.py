"""All peers whose package is installed, each with the number of rows that it gets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from benchmarks.streams.data import Stream
from benchmarks.streams.results import Run

RUNS: dict[str, Callable[[Stream, float], Run]] = {}
ALL_ROWS: set[str] = set()
"""The peers that get all rows."""

with contextlib.suppress(ImportError):
    from benchmarks.streams.whole import by_lightgbm

    RUNS |= by_lightgbm.RUNS
    ALL_ROWS |= set(by_lightgbm.RUNS)
with contextlib.suppress(ImportError):
    from benchmarks.streams.whole import by_capymoa

    RUNS |= {name: partial(by_capymoa.run, name) for name in by_capymoa.LEARNERS}
with contextlib.suppress(ImportError):
    from benchmarks.streams.whole import by_river

    RUNS |= {name: partial(by_river.run, make) for name, make in by_river.RUNS.items()}


def run(learner: str, stream: Stream, limit: float, rows: int) -> Run:
    """A run of a peer on the first rows of a stream, for at most about ``limit`` seconds."""
    if learner not in ALL_ROWS:
        stream = replace(stream, X=stream.X[:rows], y=stream.y[:rows])
    return RUNS[learner](stream, limit)
