"""A loop over rows for peers that take one row at a time, with a limit of time; times to refit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time

import numpy as np

from benchmarks.streams.data import Stream

LOOK_AT_CLOCK = 50
"""The clock is read after so many rows."""
FIRST_FIT = 125
"""A learner that is refitted is fitted first after so many rows."""


def follow(
    stream: Stream,
    ask: Callable[[int], np.ndarray | float | None],
    learn: Callable[[int], None],
    limit: float,
) -> tuple[np.ndarray, np.ndarray | None, float]:
    """Ask about each row, then learn it, until ``limit`` seconds are used.

    ``ask(i)`` gives the probabilities of the classes or a target, or None if there is nothing to say yet.
    Returns predictions and probabilities of the rows done, and the seconds used.
    """
    predictions = np.full(stream.rows, -1.0 if stream.classes else 0.0)
    P = np.full((stream.rows, stream.classes), np.nan) if stream.classes else None
    seen: set[int] = set()
    done, began = stream.rows, process_time()
    for i in range(stream.rows):
        if i % LOOK_AT_CLOCK == 0 and process_time() - began > limit:
            done = i
            break
        said = ask(i)
        if said is not None and P is not None:
            predictions[i] = np.argmax(said)
            label = int(stream.y[i])
            if label in seen:  # the first row of a class counts as a guess: our learner is told the classes
                P[i] = said
            seen.add(label)
        elif said is not None:
            predictions[i] = said
        learn(i)
    return predictions[:done], P if P is None else P[:done], process_time() - began


class Scaler:
    """Standardises a row by the mean and spread of the rows so far, itself included."""

    def __init__(self, columns: int) -> None:
        self.count, self.mean, self.squares = 0, np.zeros(columns), np.zeros(columns)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Count a row and return it standardised."""
        self.count += 1
        step = x - self.mean
        self.mean += step / self.count
        self.squares += step * (x - self.mean)
        spread = np.sqrt(self.squares / self.count)
        return (x - self.mean) / np.where(spread > 0, spread, 1.0)


def cuts(rows: int, window: int | None) -> Iterator[tuple[int, int]]:
    """The stretches of rows that one fit predicts; the first is predicted without a fit.

    Fits are at doublings, and with a ``window`` at most that many rows apart.
    """
    start = 0
    while start < rows:
        stop = 2 * start or FIRST_FIT
        if window:
            stop = min(stop, start + window)
        yield start, min(stop, rows)
        start = stop
