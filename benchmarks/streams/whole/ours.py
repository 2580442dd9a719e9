"""Our learners on whole streams: the default in three sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.streams.data import Stream
from benchmarks.streams.ours import follow, name
from benchmarks.streams.results import Run
from benchmarks.streams.whole.heads import SIZES
from budgetron import auto

RUNS: dict[str, Callable[[Stream], Run]] = {name(size): partial(follow, auto(size)) for size in SIZES}
