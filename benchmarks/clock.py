"""Measure several runs in turns, so that noise of the machine affects all of them.

Processor time: on one thread and an idle machine it is the time of the clock, and on a busy one it leaves
out what others use. Only threads are measured by the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import process_time
from typing import Any


@dataclass(frozen=True)
class Times:
    """The least seconds of each run, and its result."""

    seconds: dict[str, float]
    results: dict[str, Any]

    def ratio(self, slow: str, fast: str) -> float:
        """The time of one run divided by that of another."""
        return self.seconds[slow] / self.seconds[fast]


def take_turns(
    runs: Mapping[str, Callable[[], Any]],
    seconds: float = 1.0,
    clock: Callable[[], float] = process_time,
) -> Times:
    """Repeat all runs in turns: at least 3 turns and ``seconds`` for each run, at most 40 turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    results = {}
    for turn in range(40):
        for name, run in runs.items():
            if turn >= 3 and sum(times[name]) >= seconds:
                continue
            began = clock()
            results[name] = run()
            times[name].append(clock() - began)
    return Times({name: min(taken) for name, taken in times.items()}, results)
