"""Detectors of drift in plain Python, from their definition. They keep all rows; native ones keep counts.

A cell has a share of the rows. Rows are tested for a change after each block. The candidates are splits
between blocks, of which few are old: rows are a list of groups, newest last, each of 2^level blocks, and if
more than ``per_level`` groups have a level, the two oldest of it become one. For a split into n1 and n2
rows, the ratio is

    sum over cells of  n1 KL(cell before | cell of all) + n2 KL(cell after | cell of all)

and it is a change if it is above f (h - log(min(k, g))) with  level = h - d/2 - d/2 log(h / (d/2)),  d
the number of cells that have a row, less one, and k the number of blocks after the split: of splits with
few rows after them, many are independent of each other. g is 1 where small changes may wait. Chernoff's
bound says that a chi-squared variable of d degrees exceeds 2h with probability e^-level.

f is 1 for independent rows. Rows that depend on those before make blocks that differ more. Groups that
follow each other are compared: whenever two of a level become one, and when a change is found, as then
the groups before it are forgotten. For groups of n rows together, Pearson's statistic of the table of
their counts, times (n - 1) / n, has a mean of d if every order of the rows is as probable. With S the
sum of these numbers, D that of the d, and N the number of pairs, of each level:

    seen = (S - D) / N,  certain = (S' - D - 2 sqrt(a D) - 2 a) / N,  f = 1 + min(max seen, 2 max certain)

but not below 1. In S' the largest number counts as twice the second at most, so that nothing is certain
because of one pair: a single change, or what a model learns first.

Of a column, groups are compared again with the ranges of numbers that are equally far from the middle as
one cell, and the greatest values are those of both. A chi-squared variable of D degrees exceeds
D + 2 sqrt(a D) + 2 a with a probability of e^-a at most (Laurent and Massart 2000). If all that is seen
is in one direction, the statistic is f times a chi-squared variable.
"""

import itertools
import math

import numpy as np


def limit(level, d):
    half, h = d / 2, level + d / 2
    for _ in range(200):
        h = level + half + half * math.log(max(1.0, h / half))
    return h


CERTAIN = 3.0
STRADDLING = 4  # levels at which the rows on both sides of a change are compared
MOST_PAIRS = 1024


class Pairs:
    """Groups that follow each other, compared: how much more they differ than those of independent rows."""

    def __init__(self, ranges):
        self.ranges = ranges
        self.sums = {}  # of each level: S, D, N

    def compare(self, level, one, other):
        table = np.array([np.bincount(codes, minlength=16) for codes in (one, other)], dtype=float)
        self.put((level, "all"), table)
        if half := self.ranges // 2:
            self.put((level, "folded"), table[:, :half] + table[:, half : self.ranges][:, ::-1])

    def put(self, level, table):
        table = table[:, table.sum(0) > 0]
        d, n = table.shape[1] - 1, table.sum()
        if d < 1 or not table.sum(1).all():
            return
        expected = np.outer(table.sum(1), table.sum(0)) / n
        pearson = ((table - expected) ** 2 / expected).sum()
        S, D, N, largest = self.sums.get(level, (0.0, 0, 0, []))
        if N >= MOST_PAIRS:  # old ones are forgotten
            S, D, N = S / 2, D // 2, N // 2
        statistic = pearson * (n - 1) / n
        self.sums[level] = S + statistic, D + d, N + 1, sorted([*largest, statistic])[-2:]

    def add(self, other):
        """Add those of other rows."""
        for level, (S, D, N, largest) in other.sums.items():
            mine = self.sums.get(level, (0.0, 0, 0, []))
            self.sums[level] = mine[0] + S, mine[1] + D, mine[2] + N, sorted(mine[3] + largest)[-2:]

    def factor(self):
        seen, certain = [0.0], [0.0]
        for S, D, N, largest in self.sums.values():
            second, first = [0.0, *largest][-2:]
            beyond = max(0.0, first - 2 * second)
            seen.append((S - D) / N)
            certain.append((S - beyond - D - 2 * math.sqrt(CERTAIN * D) - 2 * CERTAIN) / N)
        return 1 + min(max(seen), 2 * max(certain))


class Groups:
    """The codes of rows, in groups that grow with age."""

    def __init__(self, cells, per_level, pairs, growing=1):
        self.growing = growing
        self.cells, self.per_level = cells, per_level
        self.groups = []  # (level, codes), oldest first
        self.pairs = pairs

    def add(self, codes, level=0):
        self.groups.append((level, list(codes)))
        while True:
            same = [i for i, (each, _) in enumerate(self.groups) if each == level]
            if len(same) <= self.per_level:
                return
            i = same[0]
            self.pairs.compare(level, self.groups[i][1], self.groups[i + 1][1])
            self.groups[i : i + 2] = [(level + 1, self.groups[i][1] + self.groups[i + 1][1])]
            level += 1

    def changed(self, level):
        """The best split, as (groups after it, counts before, counts after); None if there is no change."""
        codes = [code for _, group in self.groups for code in group]
        counts = np.bincount(codes, minlength=self.cells) if codes else np.zeros(self.cells)
        d = np.count_nonzero(counts) - 1
        if d < 1:
            return None
        factor, size = self.pairs.factor(), 0
        best = (factor * limit(level, d), None)
        for first in range(len(self.groups) - 1, 0, -1):
            after = np.bincount([c for _, g in self.groups[first:] for c in g], minlength=self.cells)
            size += 2 ** self.groups[first][0]
            ratio = divergence(counts - after, counts) + divergence(after, counts)
            ratio += factor * math.log(min(size, self.growing))
            if ratio > best[0]:
                best = (ratio, (len(self.groups) - first, (counts - after).tolist(), after.tolist()))
        if best[1] is not None:
            self.compare(len(self.groups) - best[1][0])
        return best[1]

    def compare(self, first):
        """Compare groups before a change, which comes before that group, and rows on both sides of it."""
        before, after = self.groups[:first], self.groups[first:]
        for level in range(STRADDLING):
            one, other = nearest(before[::-1], level), nearest(after, level)
            if one and other:
                self.pairs.compare(level, one, other)
        older = Groups(self.cells, 1, Pairs(self.pairs.ranges))
        for level, codes in before:
            older.add(codes, level)
        self.pairs.add(older.pairs)


def nearest(groups, level):
    """The rows of the first groups that have the size of that level together; None if there are none."""
    rows, size = [], 0
    for each, codes in groups:
        rows, size = rows + codes, size + 2**each
        if size >= 2**level:
            break
    return rows if size == 2**level else None


def compared(codes, block):
    """All pairs of neighbours among codes: blocks of so many, of twice as many, and so on."""
    pairs = Pairs(RANGES)
    blocks = [codes[end - block : end] for end in range(block, len(codes) + 1, block)]
    level = 0
    while len(blocks) > 1:
        for one, other in itertools.pairwise(blocks):
            pairs.compare(level, one, other)
        blocks = [a + b for a, b in zip(blocks[::2], blocks[1::2], strict=False)]
        level += 1
    return pairs


def divergence(part, whole):
    n, all_rows = part.sum(), whole.sum()
    return sum(a * math.log(a / n / (t / all_rows)) for a, t in zip(part, whole, strict=True) if a)


def rates(codes, cells, block, per_level, level, growing=1):
    """The changes of a stream of codes: (row, counts before, counts after)."""
    groups, found = Groups(cells, per_level, Pairs(0), growing), []
    for end in range(block, len(codes) + 1, block):
        groups.add(codes[end - block : end])
        if (change := groups.changed(level)) is not None:
            found.append((end, change[1], change[2]))
            groups.groups = groups.groups[-change[0] :]
    return found


RANGES, UNSEEN, MISSING, CELLS = 6, 6, 7, 8


class NumberCells:
    """Six ranges between the sextiles of the first values; a value that is several is a range alone."""

    def __init__(self, values):
        ordered, self.limits, last = sorted(values), [], -math.inf
        for k in range(1, 6):
            sextile = ordered[k * len(ordered) // 6]
            limit = sextile if sextile > last else np.nextafter(last, math.inf)
            if not self.limits or limit > self.limits[-1]:
                self.limits.append(limit)
            last = sextile

    def of(self, value):
        return UNSEEN if isinstance(value, str) else sum(value >= limit for limit in self.limits)


class TextCells:
    """The five most frequent texts of some values, all others that came before, and those that did not."""

    def __init__(self, texts, seen):
        self.seen = seen
        counts = {}
        for text in texts:
            counts[text] = counts.get(text, 0) + 1
            seen.add(text)
        self.frequent = sorted(counts, key=lambda text: -counts[text])[:5]

    def of(self, text):
        if text in self.frequent:
            return self.frequent.index(text)
        new = text not in self.seen
        self.seen.add(text)
        return UNSEEN if new else 5


WINDOW, FAR = 8, 4


def gross(numbers, level):
    """Those of the last eight numbers that are far, if the newest is one, and if that is improbable.

    A number is far if it is outside the range of those before by four times that range. If all orders are
    as probable, k of the last w are outside that range with a probability of C(w, k) (k + 1)! n! / (n + k)!
    at most: for k given ones, each is the next to the lowest or highest in (k + 1)! of (n + k)! / n! cases.
    """
    earlier, last = numbers[:-WINDOW], numbers[-WINDOW:]
    if not earlier:
        return []
    low, high = min(earlier), max(earlier)
    margin = FAR * (high - low)
    far = [value for value in last if margin > 0 and not low - margin <= value <= high + margin]
    if not far or far[-1] != last[-1]:
        return []
    n, k = len(earlier), len(far)
    evidence = sum(math.log(n + i) for i in range(1, k + 1))
    evidence -= math.log(math.comb(WINDOW, k) * math.factorial(k + 1))
    return far if evidence > level else []


def column(values, block, per_level, level):
    """The changes of a column, whose first value is that of the first row; None is missing."""
    found, groups, cells, first, seen = [], Groups(CELLS, per_level, Pairs(RANGES)), None, [], set()
    numbers, part = [], []  # the numbers since the last change, the values of this block since then
    for row, value in enumerate(values, 1):
        part.append(value)
        if isinstance(value, float):
            numbers.append(value)
            far = gross(numbers, level * groups.pairs.factor())
            if far and isinstance(cells, NumberCells):
                counted = [code for _, codes in groups.groups for code in codes]
                counted += [cells.of(value) for value in part if value is not None]
                after = np.bincount([cells.of(value) for value in far], minlength=CELLS)
                before = np.bincount(counted, minlength=CELLS) - after
                found.append((row, before.tolist(), after.tolist()))
                groups = Groups(CELLS, per_level, groups.pairs)
                cells, first, numbers, part = None, [], [], []
        if row % block:
            continue
        part, whole = [], part
        if cells is not None:
            groups.add([MISSING if value is None else cells.of(value) for value in whole])
            if (change := groups.changed(level)) is not None:
                found.append((row, change[1], change[2]))
                groups = Groups(CELLS, per_level, groups.pairs)
                cells, first, numbers = None, [], []
            continue
        first += whole
        there = [value for value in first if value is not None]
        if len(first) < 150 or (len(there) < 100 and len(first) < 1200):
            continue
        if not there:
            first = []
            continue
        texts = sum(isinstance(value, str) for value in there)
        missing = len(first) - len(there)
        if 2 * texts > len(there):
            half = len(there) // 2
            cells, rest = TextCells(there[:half], seen), there[half:]
            missing = missing * len(rest) // len(there)
        else:
            cells, rest = NumberCells([value for value in there if not isinstance(value, str)]), there
        codes = [cells.of(value) for value in rest]
        own = [code for code in codes if code != UNSEEN] if isinstance(cells, NumberCells) else codes
        groups.pairs.add(compared(own, block))
        groups.add(
            codes + [MISSING] * missing,
            (len(first) // block).bit_length() - 1,
        )
    return found
