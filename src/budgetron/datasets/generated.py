"""Data sets that are drawn, not read: the papers print how."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from budgetron._util.rows import Matrix

Rows = tuple[Matrix, npt.NDArray[np.float64]]
Hands = npt.NDArray[Any]
"""One row for each hand of cards, one column for each card."""


def synthetic(rows: int = 10_000, seed: int = 0) -> Rows:
    """Random rows from two Gaussians, as in Orabona et al. 2008, Section 6, after Dekel et al. 2007.

    >>> from budgetron import datasets
    >>> X, y = datasets.synthetic(rows=500, seed=3)
    >>> X.shape, y.shape
    ((500, 2), (500,))
    """
    random = np.random.default_rng(seed)
    y = random.choice([-1.0, 1.0], rows)
    X = y[:, None] + random.standard_normal((rows, 2)) * np.sqrt([0.2, 2.0])
    flipped = random.random(rows) < 0.1
    return sparse.csr_matrix(X), np.where(flipped, -y, y)


def poker_hands(rows: int = 1_000_000, seed: int = 0) -> Rows:
    """Random hands of five cards and their value, as in the test part of UCI's Poker Hand.

    A row has the suit (1 to 4) and the rank (1, the ace, to 13) of each card. The class is 0 for nothing,
    1 for a pair, 2 for two pairs, 3 for three of a kind, 4 for a straight, 5 for a flush, 6 for a full
    house, 7 for four of a kind, 8 for a straight flush and 9 for a royal flush.

    >>> from budgetron import datasets
    >>> X, y = datasets.poker_hands(rows=1000, seed=0)
    >>> X.shape, int((y == 0).sum()), int((y == 1).sum())
    ((1000, 10), 510, 414)
    """
    cards = _dealt(rows, np.random.default_rng(seed))
    suits, ranks = cards // 13, cards % 13
    X = np.stack([suits + 1, ranks + 1], axis=2).reshape(rows, 10).astype(np.float64)
    return sparse.csr_matrix(X), values(suits, ranks)


def _dealt(rows: int, random: np.random.Generator) -> Hands:
    """Hands of five different cards. A hand with the same card twice is dealt again."""
    cards = random.integers(52, size=(rows, 5))
    while (again := _has_twice(cards)).any():
        cards[again] = random.integers(52, size=(int(again.sum()), 5))
    return cards


def _has_twice(hands: Hands) -> npt.NDArray[np.bool_]:
    return np.asarray((np.diff(np.sort(hands, axis=1), axis=1) == 0).any(axis=1))


def values(suits: Hands, ranks: Hands) -> npt.NDArray[np.float64]:
    """The class of each hand of poker; ranks are 0, the ace, to 12."""
    ordered = np.sort(ranks, axis=1)
    alike = (ordered[:, :, None] == ordered[:, None, :]).sum(axis=(1, 2)) - 5  # 2 for each pair of cards
    royal = (ordered == [0, 9, 10, 11, 12]).all(axis=1)
    straight = (np.diff(ordered, axis=1) == 1).all(axis=1) | royal
    flush = (suits == suits[:, :1]).all(axis=1)
    by_ranks = np.select([alike == n for n in PAIRED], list(PAIRED.values()), 0)
    cases = [straight & flush & royal, straight & flush, flush, straight]
    return np.select(cases, [9, 8, 5, 4], by_ranks).astype(np.float64)


PAIRED = {2: 1, 4: 2, 6: 3, 8: 6, 12: 7}
"""Twice the pairs of cards of the same rank, and the class: a pair, two pairs, three, full house, four."""
