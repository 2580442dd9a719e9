"""Adaptive conformal inference (Gibbs and Candes 2021) on the last 500 misfits, row by row."""

import numpy as np


def limits(misfits, coverage):
    """For each row the largest misfit that is covered, from the rows before it.

    The level goes up by step * coverage after a row that was not covered, and down by
    step * (1 - coverage) after one that was, unless limit and misfit are 0.
    """
    level, step, found = coverage, 0.3 * min(coverage, 1 - coverage), []
    for t, misfit in enumerate(misfits):
        last = np.sort(misfits[max(0, t - 500) : t])
        n = len(last)
        place = int(np.ceil(min(level, 1.0) * (n + 1)))
        if n < 20:
            limit = np.inf
        elif place <= 0:
            limit = 0.0
        elif place <= n:
            limit = last[place - 1]
        else:
            limit = last[-1] * 2.0 ** ((max(level, 1.0) - 1) / step)
        found.append(limit)
        if n >= 20 and (misfit > 0 or limit > 0):
            level += step * (coverage - (misfit <= limit))
    return np.array(found)
