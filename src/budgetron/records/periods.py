"""Where a moment lies in the day, the week and the year, as sine and cosine."""

from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron import _core

DAY = 86400.0
PERIODS = {"day": (DAY, 0.0), "week": (7 * DAY, 3 * DAY), "year": (365.2425 * DAY, 0.0)}
"""Length of each period, and the place of 1970-01-01 in it: a Thursday, where weeks begin on Monday."""

SEEN = {"day": 0, "week": 1, "year": 2}
"""How often a period has passed before the place in it is used, so that no place is new for long."""

NEAR = 0.01  # places of a period that are nearer are the same


def place_in_period(moments: npt.NDArray[np.float64], part: str) -> npt.NDArray[np.float64]:
    """Sines, and below them cosines, of the place of each moment in a period."""
    waves: npt.NDArray[np.float64] = _core.places_in_period(moments, *PERIODS[part])
    return waves


def first_of_period(moments: npt.NDArray[Any], first: float, part: str) -> int | None:
    """The first moment from which on the place in a period is used.

    The place is another than that of the first: dates without a time of day have none.
    """
    length, _ = PERIODS[part]
    if not len(moments) or max(moments.max() - first, first - moments.min()) < SEEN[part] * length:
        return None
    away = np.abs(moments - first)
    place = np.mod(away, length) / length
    found = np.flatnonzero((away >= SEEN[part] * length) & (np.minimum(place, 1 - place) > NEAR))
    return int(found[0]) if len(found) else None


def names_of_places(name: str, part: str) -> list[str]:
    """The names of the columns of `place_in_period`."""
    return [f"{name} ({wave} of {part})" for wave in ("sine", "cosine")]


def said(part: str, sine: float, cosine: float) -> str:
    """The place in a period in words, such as "14:30", "Tue" or "May"."""
    if not np.isfinite(sine + cosine):
        return ""
    share = np.mod(np.arctan2(sine, cosine) / (2 * np.pi), 1.0)
    if part == "day":
        minutes = round(share * 1440) % 1440
        return f"{minutes // 60:02}:{minutes % 60:02}"
    names = _SAID[part]
    return names[int(share * len(names) + 1e-9) % len(names)]


_SAID = {
    "week": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "year": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
}
