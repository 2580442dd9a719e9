"""Detectors of drift in plain Python, from their definition. They keep all rows; native ones keep counts.

A cell has a share of the rows. Rows are tested for a change after each block. The candidates are splits
between blocks, of which few are old: rows are a list of groups, newest last, each of 2^level blocks, and if
more than ``per_level`` groups have a level, the two oldest of it become one. For a split into n1 and n2
rows, the ratio is

    sum over cells of  n1 KL(cell before | cell of all) + n2 KL(cell after | cell of all)

and it is a change if it is above h with  level = h - d/2 - d/2 log(h / (d/2)),  d the number of cells that
have a row, less one. Chernoff's bound says that a chi-squared variable of d degrees exceeds 2h with
probability e^-level.
"""

import math

import numpy as np


def limit(level, d):
    half, h = d / 2, level + d / 2
    for _ in range(200):
        h = level + half + half * math.log(max(1.0, h / half))
    return h


class Groups:
    """The codes of rows, in groups that grow with age."""

    def __init__(self, cells, per_level):
        self.cells, self.per_level = cells, per_level
        self.groups = []  # (level, codes), oldest first

    def add(self, codes, level=0):
        self.groups.append((level, list(codes)))
        while True:
            same = [i for i, (each, _) in enumerate(self.groups) if each == level]
            if len(same) <= self.per_level:
                return
            i = same[0]
            self.groups[i : i + 2] = [(level + 1, self.groups[i][1] + self.groups[i + 1][1])]
            level += 1

    def changed(self, level):
        """The best split, as (groups after it, counts before, counts after); None if there is no change."""
        codes = [code for _, group in self.groups for code in group]
        counts = np.bincount(codes, minlength=self.cells) if codes else np.zeros(self.cells)
        d = np.count_nonzero(counts) - 1
        if d < 1:
            return None
        best = (limit(level, d), None)
        for first in range(len(self.groups) - 1, 0, -1):
            after = np.bincount([c for _, g in self.groups[first:] for c in g], minlength=self.cells)
            ratio = divergence(counts - after, counts) + divergence(after, counts)
            if ratio > best[0]:
                best = (ratio, (len(self.groups) - first, (counts - after).tolist(), after.tolist()))
        return best[1]


def divergence(part, whole):
    n, all_rows = part.sum(), whole.sum()
    return sum(a * math.log(a / n / (t / all_rows)) for a, t in zip(part, whole, strict=True) if a)


def rates(codes, cells, block, per_level, level):
    """The changes of a stream of codes: (row, counts before, counts after)."""
    groups, found = Groups(cells, per_level), []
    for end in range(block, len(codes) + 1, block):
        groups.add(codes[end - block : end])
        if (change := groups.changed(level)) is not None:
            found.append((end, change[1], change[2]))
            groups.groups = groups.groups[-change[0] :]
    return found


UNSEEN, MISSING, CELLS = 6, 7, 8


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
    found, groups, cells, first, seen = [], Groups(CELLS, per_level), None, [], set()
    numbers, part = [], []  # the numbers since the last change, the values of this block since then
    for row, value in enumerate(values, 1):
        part.append(value)
        if isinstance(value, float):
            numbers.append(value)
            far = gross(numbers, level)
            if far and isinstance(cells, NumberCells):
                counted = [code for _, codes in groups.groups for code in codes]
                counted += [cells.of(value) for value in part if value is not None]
                after = np.bincount([cells.of(value) for value in far], minlength=CELLS)
                before = np.bincount(counted, minlength=CELLS) - after
                found.append((row, before.tolist(), after.tolist()))
                groups, cells, first, numbers, part = Groups(CELLS, per_level), None, [], [], []
        if row % block:
            continue
        part, whole = [], part
        if cells is not None:
            groups.add([MISSING if value is None else cells.of(value) for value in whole])
            if (change := groups.changed(level)) is not None:
                found.append((row, change[1], change[2]))
                groups, cells, first, numbers = Groups(CELLS, per_level), None, [], []
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
        groups.add(
            [cells.of(value) for value in rest] + [MISSING] * missing,
            (len(first) // block).bit_length() - 1,
        )
    return found
