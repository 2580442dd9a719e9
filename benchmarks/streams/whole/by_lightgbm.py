"""LightGBM, refitted again and again: on all rows, or on the last ones.

Labels are ranked among those that a fit sees. ``LightGBM`` keeps all rows and is fitted after 125, 250,
500, ... of them. ``LightGBM, last 10,000`` keeps those, and is fitted after 125, 250, ..., 8,000, 16,000,
26,000, 36,000, ... rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import process_time

import lightgbm
import numpy as np

from benchmarks.streams.data import Stream
from benchmarks.streams.results import Run
from benchmarks.streams.whole.rows import cuts

WINDOW = 10_000
VERSION = f"LightGBM {lightgbm.__version__}"
SETTINGS = {"n_estimators": 100, "random_state": 0, "n_jobs": 1, "verbose": -1, "deterministic": True}


def run(window: int | None, stream: Stream, limit: float) -> Run:
    """A run with fits on all rows seen, or on the last ``window`` of them."""
    X, y, classes = stream.X, stream.y, stream.classes
    predictions = np.zeros(len(y))
    P = np.full((len(y), classes), np.nan) if classes else None
    began, size, done = process_time(), 0, len(y)
    for start, stop in cuts(len(y), window):
        if process_time() - began > limit:
            done = start
            break
        rows = slice(max(0, start - window) if window else 0, start)
        if start == 0:
            for i in range(stop):  # before the first fit: the commonest label or the mean so far
                predictions[i] = (np.bincount(y[:i]).argmax() if classes else y[:i].mean()) if i else 0
        elif P is None:
            fit = lightgbm.LGBMRegressor(**SETTINGS).fit(X[rows], y[rows])
            predictions[start:stop] = fit.predict(X[start:stop])
            size = len(fit.booster_.model_to_string())
        elif len(known := np.unique(y[rows])) == 1:
            predictions[start:stop] = known[0]
        else:
            fit = lightgbm.LGBMClassifier(**SETTINGS).fit(X[rows], np.searchsorted(known, y[rows]))
            said = np.zeros((stop - start, classes))
            said[:, known] = fit.predict_proba(X[start:stop])
            predictions[start:stop] = said.argmax(axis=1)
            said[~np.isin(y[start:stop], known)] = np.nan  # classes not seen yet count as guesses
            P[start:stop] = said
            size = len(fit.booster_.model_to_string())
    kept = min(done, window or done) * (X.shape[1] + 1) * X.itemsize
    seconds = process_time() - began
    return Run(predictions[:done], P if P is None else P[:done], seconds, size + kept, VERSION)


RUNS: dict[str, Callable[[Stream, float], Run]] = {
    "LightGBM": partial(run, None),
    "LightGBM, last 10,000": partial(run, WINDOW),
}
