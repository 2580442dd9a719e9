"""Times of several runs that take turns, so that a noisy machine treats them alike.

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
    """The least seconds of every run, and what it returned."""

    seconds: dict[str, float]
    results: dict[str, Any]

    def ratio(self, slow: str, fast: str) -> float:
        """How many times one run takes the time of another."""
        return self.seconds[slow] / self.seconds[fast]


def take_turns(
    runs: Mapping[str, Callable[[], Any]],
    seconds: float = 1.0,
    clock: Callable[[], float] = process_time,
) -> Times:
    """Every run once, then every run again, until each had three turns and so many seconds, or 40 turns."""
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
