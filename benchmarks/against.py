"""Compare the table of ``make bench`` with that of an earlier run, as ratios to the NumPy loop of each run.

So a slower machine is no loss, and neither is a faster one a gain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

BASE = "NumPy loop, rbp, B=100"
LOSS = 0.15


@dataclass(frozen=True)
class Change:
    """How many times faster than the NumPy loop a learner was, and is."""

    name: str
    before: float
    now: float

    @property
    def lost(self) -> bool:
        """Whether it lost more than 15 %."""
        return self.now < (1 - LOSS) * self.before


def changes(before: Iterable[Mapping[str, Any]], now: Iterable[Mapping[str, Any]]) -> list[Change]:
    """The learners of this library that both runs have. Lines are those of ``contest`` in bench.json."""
    then, new = _ratios(before), _ratios(now)
    return [Change(name, then[name], new[name]) for name in new if name in then]


def _ratios(lines: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    times = {line["name"]: line for line in lines}
    if BASE not in times:
        raise SystemExit(f"The run has no line {BASE!r}, which is what the others are compared with.")
    return {name: times[BASE]["us"] / line["us"] for name, line in times.items() if line["ours"]}


def report(found: list[Change]) -> int:
    """Print the comparison. Returns 1 if a learner lost, or if there was nothing to compare, else 0."""
    print(f"\n{'times as fast as the NumPy loop':<40}{'before':>10}{'now':>10}")
    for change in found:
        print(
            f"{change.name:<40}{change.before:>10.1f}{change.now:>10.1f}{'  lost' if change.lost else ''}"
        )
    if not found:
        print("No learner is in both runs.")
    return int(not found or any(change.lost for change in found))
