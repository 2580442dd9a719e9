"""Shapley values of a score: what each player adds to it, from a row to compare with to the row explained.

A *player* is a set of slots that change together, from their numbers in the row ``b`` to compare with to
those in the row ``x``. A *coalition* is a set of players that have changed. The Shapley value of a player
is the mean, over all orders of the players, of what its change adds to the score. The values of all players
add up to f(x) - f(b), for each order, and so for the mean over any of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Score = Callable[[Floats], Floats]
"""Takes rows, and returns a score for each."""

MOST_EXACT = 14
"""The largest number of players of which all coalitions are scored."""
CELLS = 1 << 22
"""Numbers in rows that are scored at once: 32 MiB."""


class Values(NamedTuple):
    """The Shapley value of each player, its standard error, and the scores of both ends.

    All come from the same calls, so they add up also while the model learns.
    """

    values: Floats
    errors: Floats
    baseline: float  # the mean score of the rows compared with
    score: float


def exact(score: Score, x: Floats, background: Floats, players: Sequence[Sequence[int]]) -> Values:
    """The mean over the background of the exact values, from the scores of all coalitions."""
    count, place = len(players), _places(players, len(x))
    masks = np.arange(1 << count)
    member = (masks[:, None] >> np.arange(count)) & 1 == 1
    rows = (_mixed(x, b, place, member) for b in background)
    scores = np.array([score_in_pieces(score, each) for each in rows])
    mean = scores.mean(axis=0)
    sizes = member.sum(axis=1)
    share = np.array([1 / (max(count, 1) * math.comb(max(count - 1, 0), s)) for s in range(max(count, 1))])
    values = np.empty(count)
    for j in range(count):
        without = masks[~member[:, j]]
        values[j] = (share[sizes[without]] * (mean[without | 1 << j] - mean[without])).sum()
    return Values(values, np.zeros(count), float(mean[0]), float(mean[-1]))


def sampled(
    score: Score, x: Floats, background: Floats, players: Sequence[Sequence[int]], pairs: int, seed: int
) -> Values:
    """Estimates from so many pairs of orders for each row of the background: one order, and its reverse.

    An order gives an interaction of two players to the later one, and its reverse to the other: half each
    is what the Shapley values say. So only interactions of three or more players have errors. The standard
    errors are those of the orders; the background counts as given. There must be two pairs or more.
    """
    count, place = len(players), _places(players, len(x))
    random = np.random.default_rng([seed, count])
    adds, ends = np.empty((len(background), pairs, count)), np.empty((len(background), 2))
    steps = np.arange(count + 1)
    for i, b in enumerate(background):
        ranks = np.array([random.permutation(count) for _ in range(pairs)]).reshape(pairs, count)
        ranks = np.stack([ranks, count - 1 - ranks], axis=1)  # of a pair: an order, and its reverse
        member = ranks.reshape(-1, 1, count) < steps[:, None]  # orders x steps x players
        scores = score_in_pieces(score, _mixed(x, b, place, member.reshape(-1, count)))
        walks = scores.reshape(2 * pairs, count + 1)
        ordered = np.take_along_axis(np.diff(walks, axis=1), ranks.reshape(2 * pairs, count), axis=1)
        adds[i] = ordered.reshape(pairs, 2, count).mean(axis=1)
        ends[i] = walks[:, [0, -1]].mean(axis=0)
    baseline, score_of_x = ends.mean(axis=0).tolist()
    return Values(adds.mean(axis=(0, 1)), _errors(adds), baseline, score_of_x)


def score_in_pieces(score: Score, rows: Iterator[Floats]) -> Floats:
    """The scores of pieces of rows, as one array."""
    return np.concatenate([score(piece) for piece in rows])


def _errors(adds: Floats) -> Floats:
    """The standard errors of the mean over the pairs (rows of the background x pairs x players)."""
    rows, pairs, _ = adds.shape
    variance = adds.var(axis=1, ddof=1).mean(axis=0)
    noise = 1e-12 * np.abs(adds).max(axis=(0, 1))  # what rounding leaves where all orders add the same
    errors: Floats = np.sqrt(variance / (rows * pairs))
    return np.where(errors <= noise, 0.0, errors)


def _places(players: Sequence[Sequence[int]], columns: int) -> npt.NDArray[np.intp]:
    """The player of each slot; -1 where the slot belongs to none."""
    place = np.full(columns, -1)
    for player, slots in enumerate(players):
        place[list(slots)] = player
    return place


def _mixed(
    x: Floats, b: Floats, place: npt.NDArray[np.intp], member: npt.NDArray[np.bool_]
) -> Iterator[Floats]:
    """Rows with the slots of the members from x, and all others from b; slots of no player are from x."""
    always = np.ones((len(member), 1), dtype=bool)
    padded = np.hstack([member, always])  # place -1 is the last
    size = max(1, CELLS // max(len(x), 1))
    for start in range(0, len(padded), size):
        yield np.where(padded[start : start + size][:, place], x, b)
