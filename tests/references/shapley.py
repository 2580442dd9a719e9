"""Shapley values from their definition: the mean over all orders of the players."""

from itertools import permutations

import numpy as np


def shapley(score, x, background, groups):
    """What each group of columns adds to score(x), as a mean over all orders and rows of the background."""
    total, base = np.zeros(len(groups)), 0.0
    orders = list(permutations(range(len(groups))))
    for b in background:
        base += score(b) / len(background)
        for order in orders:
            row, before = b.copy(), score(b)
            for player in order:
                row[groups[player]] = x[groups[player]]
                now = score(row)
                total[player] += (now - before) / (len(orders) * len(background))
                before = now
    return total, base
