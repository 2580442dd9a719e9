"""When the error of a stream has risen: its last 1000 rows beside the 1000 rows before."""

from collections import deque
from collections.abc import Mapping
from math import sqrt
from typing import Any

DEVIATIONS = 5.0
"""Mistakes: standard deviations between the two rates."""
RATIO = 1.5
"""Targets: the ratio of the two mean absolute errors."""


class Drift:
    """Watches the points of the curves. After an alarm it is silent for two windows: same drift."""

    def __init__(self) -> None:
        self._points: deque[tuple[int, float]] = deque()
        self._silent_until = 0

    def seen(self, point: Mapping[str, Any]) -> tuple[float, float] | None:
        """The error before and now if it has risen, else None. A point is a value of `Model.point`."""
        version, window = point["version"], point.get("window") or {}
        rows, mistakes = window.get("rows", 0), "mae" not in window
        error = window.get("rate") if mistakes else window["mae"]
        if not rows or error is None or version < self._silent_until:
            return None
        if self._points and version < self._points[-1][0]:  # another stream
            self._points.clear()
        self._points.append((version, error))
        while len(self._points) > 1 and self._points[1][0] <= version - rows:
            self._points.popleft()
        first, before = self._points[0]
        if first > version - rows or not _risen(before, error, rows, mistakes):
            return None
        self._points.clear()
        self._silent_until = version + rows  # and as much again until there is something to compare with
        return before, error


def _risen(before: float, now: float, rows: int, mistakes: bool) -> bool:
    if not mistakes:
        return now > RATIO * before > 0.0
    both = (before + now) / 2
    return now - before > DEVIATIONS * sqrt(2 * both * (1 - both) / rows)
