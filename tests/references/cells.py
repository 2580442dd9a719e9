"""Maps of cells, their table and the rules on them, written plainly from their definitions.

A row lies in one cell of each member of a map. z(x) has a constant 1 and one number for every cell of x.
Numbers in the table are in single precision; sums run over the members in their order, the constant last,
and steps over the constant first and then the members, in double precision. So the numbers are those of the
core bit by bit, but for the last bits of exponentials and of factors that weights are shrunk by.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import exp, floor, inf, isfinite, isnan, log, pi, sqrt
from typing import Any

import numpy as np

from tests.references.features import ball
from tests.references.features import slope as slope_of
from tests.references.step import Array, Loss, Question, Rule, Task, squared

WORD = 2**64
NO_CELL = WORD - 1


class Random:
    """The generator of the library: a seed and a stream."""

    def __init__(self, seed: int, stream: int = 0) -> None:
        self.generator = np.random.Generator(np.random.Philox(key=seed + (stream << 64)))

    def uniform(self) -> float:
        return float(self.generator.random())

    def below(self, n: int) -> int:
        return int(self.uniform() * n)


def present(rows: list[list[float]], column: int) -> list[float]:
    """The values of a column that are not missing, sorted."""
    return sorted(row[column] for row in rows if not isnan(row[column]))


def moved(known: tuple[float, float] | None, values: list[float]) -> bool:
    """Whether more than half of the values lie outside of the known range."""
    if known is None:
        return len(values) > 0
    return 2 * sum(known[0] <= v <= known[1] for v in values) < len(values)


# ---- maps


@dataclass(frozen=True)
class Above:
    """x[column] > threshold, and the share of the values that were not above the threshold."""

    column: int = 0
    threshold: float = inf
    rank: float = 1.0


class Tiles:
    """Member f has `depth` tests; generation[f] counts how often it was drawn anew."""

    draws = True

    def __init__(self, count: int, depth: int, narrow: float, columns: int, seed: int) -> None:
        self.members, self.depth, self.narrow, self.columns, self.seed = count, depth, narrow, columns, seed
        self.tests = [[Above()] * depth for _ in range(count)]
        self.generation = [0] * count
        self.known: dict[int, tuple[float, float]] = {}
        self.most_cells, self.keeps_numbers = float(count * 2**depth), False

    def cells(self, x: list[float]) -> list[int]:
        found = []
        for f, tests in enumerate(self.tests):
            code = 0
            for test in tests:
                code = 2 * code + (x[test.column] > test.threshold)
            found.append(self.first_cell(f) + code)
        return found

    def number(self, f: int) -> int:
        return self.generation[f] * self.members + f

    def first_cell(self, f: int) -> int:
        return (f if self.keeps_numbers else self.number(f)) * 2**self.depth

    def draw(self, rows: list[list[float]]) -> None:
        for j in range(self.columns):
            if values := present(rows, j):
                self.known[j] = values[0], values[-1]
        for f in range(self.members):
            self.draw_member(f, rows)

    def draw_member(self, f: int, rows: list[list[float]]) -> None:
        random = Random(self.seed, 1 + 2 * self.number(f))
        few = []
        if random.uniform() < self.narrow:
            few = [0] * (2 + random.below(2))
            few = [random.below(self.columns) for _ in few]
        for j in range(self.depth):
            column = few[random.below(len(few))] if few else random.below(self.columns)
            self.tests[f] = [*self.tests[f][:j], self.drawn(column, rows, random), *self.tests[f][j + 1 :]]

    def drawn(self, column: int, rows: list[list[float]], random: Random) -> Above:
        """A threshold half-way between two rows; after ten attempts, of any column."""
        first = column
        for attempt in range(30):
            if attempt >= 10:
                column = random.below(self.columns)
            a, b = rows[random.below(len(rows))][column], rows[random.below(len(rows))][column]
            if a < b or b < a:
                threshold, values = a / 2 + b / 2, present(rows, column)
                return Above(column, threshold, bisect_right(values, threshold) / len(values))
        return Above(first)

    def redraw(self, f: int, other: int, rows: list[list[float]]) -> None:
        """Draw member f anew; three of four tests are taken from another member, if there is one."""
        self.generation[f] += 1
        self.draw_member(f, rows)
        if other == f:
            return
        random = Random(self.seed, 2 + 2 * self.number(f))
        for j in range(self.depth):
            if random.uniform() >= 0.75:
                continue
            test = self.tests[other][random.below(self.depth)]
            if random.uniform() >= 0.5:
                test = self.drawn(test.column, rows, random)
            self.tests[f] = [*self.tests[f][:j], test, *self.tests[f][j + 1 :]]

    def follow(self, rows: list[list[float]]) -> None:
        """Thresholds of columns that have moved go to where their ranks are now."""
        for j in range(self.columns):
            values = present(rows, j)
            if not moved(self.known.get(j), values):
                continue
            if self.known.pop(j, None) is None:  # some of the values are from before; later all are new
                self.known[j] = values[0], values[-1]
            for f, tests in enumerate(self.tests):
                self.tests[f] = [self.followed(t, values) if t.column == j else t for t in tests]

    @staticmethod
    def followed(test: Above, values: list[float]) -> Above:
        if not isfinite(test.threshold):
            return test
        below = min(max(round(test.rank * len(values)), 1), max(len(values) - 1, 1))
        beside = values[below] if below < len(values) else values[below - 1]
        middle = values[below - 1] / 2 + beside / 2 if below < len(values) else values[below - 1]
        return Above(test.column, middle, test.rank)


class Bins:
    """A column is a list of edges, or a tuple of codes. Codes that come later share the bins that are left.

    Cells are numbered pair by pair, and then column by column. The last bin is that of missing values.
    """

    draws = True

    def __init__(self, bins: int, pairs: int, side: int, columns: int, seed: int) -> None:
        self.bins, self.side, self.first, self.columns = bins, side, columns, columns
        self.seed, self.count = seed, min(pairs, columns * (columns - 1) // 2)
        self.bits = dict.fromkeys(range(columns), 1)
        self.pairs = self.drawn_pairs()
        self.edges: dict[int, list[float] | tuple[float, ...]] = {}
        self.known: dict[int, tuple[float, float]] = {}
        self.members = columns + self.count
        self.sides = dict.fromkeys(range(columns), side + 1)

    @property
    def most_cells(self) -> float:
        return float(sum(self.sizes()) + self.columns * (self.bins + 1))

    def drawn_pairs(self) -> list[tuple[int, int]]:
        """All pairs of the first columns, or as many as asked for, of columns with many bits mostly."""
        every = [(i, j) for i in range(self.first) for j in range(i + 1, self.first)]
        if len(every) == self.count:
            return every
        random, found, attempts = Random(self.seed, 1), set(every[:0]), 0
        by_bits = [j for j in range(self.first) for _ in range(self.bits[j])]
        while len(found) < self.count:
            columns = by_bits if attempts < 20 * self.count else list(range(self.first))
            i, j = columns[random.below(len(columns))], columns[random.below(len(columns))]
            attempts += 1
            if i != j:
                found.add((min(i, j), max(i, j)))
        return sorted(found)

    def sizes(self) -> list[int]:
        """The number of cells of each pair."""
        return [self.sides[i] * self.sides[j] for i, j in self.pairs]

    def bin(self, j: int, v: float, paired: int = 0) -> int:
        edges = self.edges.get(j, [])
        if isnan(v):
            return (self.sides[j] - 1) if paired else self.bins
        if isinstance(edges, tuple):
            code, bins, known = floor(min(max(v, -(2.0**40)), 2.0**40)), self.bins, len(edges)
            if paired:
                bins = self.sides[j] - 1
            if code in edges:
                return edges.index(code) % bins
            return known + (code + 2**40) % (bins - known) if known < bins else (code + 2**40) % bins
        found = bisect_right(edges, v)
        return found * self.side // (len(edges) + 1) if paired else found

    def cells(self, x: list[float]) -> list[int]:
        found, starts = [], [0, *accumulate(self.sizes())]
        for j in range(self.columns):
            new = j >= self.first and (isnan(x[j]) or x[j] == 0)
            found.append(NO_CELL if new else starts[-1] + j * (self.bins + 1) + self.bin(j, x[j]))
        for (i, j), start in zip(self.pairs, starts, strict=False):
            found.append(start + self.bin(i, x[i], 1) * self.sides[j] + self.bin(j, x[j], 1))
        return found

    def draw(self, rows: list[list[float]]) -> None:
        for j in range(self.columns):
            self.draw_column(j, present(rows, j))
            codes = len(self.edges[j]) if isinstance(self.edges[j], tuple) else 0
            self.sides[j] = 1 + (self.side if codes <= self.side else min(5 * codes // 4, self.bins))
        self.pairs = self.drawn_pairs()

    def follow(self, rows: list[list[float]]) -> None:
        for j in range(self.columns):
            values = present(rows, j)
            if j not in self.known:
                self.draw_column(j, values)
            elif isinstance(self.edges[j], tuple):
                if values and not self.codes(values):
                    self.draw_column(j, values)
            elif moved(self.known[j], values):
                self.draw_column(j, values)
                del self.known[j]  # some of the values are from before; later all are new

    def codes(self, values: list[float]) -> bool:
        """Whether these are few whole numbers."""
        whole = all(v == floor(v) and abs(v) <= 2**31 for v in values)
        return whole and len(set(values)) <= self.bins and 2 * len(set(values)) <= len(values)

    def draw_column(self, j: int, values: list[float]) -> None:
        self.edges[j] = []
        single = sorted(set(values))
        self.bits[j] = min(max(len(single), 1), self.bins).bit_length()
        if not values:
            return
        self.known[j] = values[0], values[-1]
        if self.codes(values):
            self.edges[j] = tuple(single)
            return
        if len(single) <= self.bins:
            edges = [a / 2 + b / 2 for a, b in pairwise(single)]
        else:
            at = [q * len(values) // self.bins for q in range(1, self.bins)]
            edges = [values[i - 1] / 2 + values[i] / 2 for i in at if i > 0 and values[i] > values[i - 1]]
        self.edges[j] = sorted(set(edges))


class RandomBinning:
    """A grid of random pitch and shift for every member and column."""

    draws = False
    most_cells = inf

    def __init__(self, count: int, gamma: float, columns: int, seed: int) -> None:
        self.members, self.columns = count, columns
        self.pitch, self.shift = np.zeros((2, columns, count))
        for j in range(columns):
            random = Random(seed, j + 1)
            for f in range(count):
                u, v = 1 - random.uniform(), 1 - random.uniform()
                self.pitch[j, f] = -(log(u) + log(v)) / gamma
                self.shift[j, f] = random.uniform()

    def bins(self, x: list[float]) -> Array:
        """The bin of each column, one row per member."""
        bins = np.floor(np.nan_to_num(x)[:, None] / self.pitch + self.shift)
        return np.asarray(bins.T)

    def cells(self, x: list[float]) -> list[int]:
        found = []
        for f, bins in enumerate(self.bins(x)):
            number = f * 2**32
            for j, b in enumerate(bins):
                if b != 0:
                    v = (int(b) * 0x9E3779B97F4A7C15 % WORD) ^ ((j + 1) * 0xC2B2AE3D27D4EB4F % WORD)
                    v = (v ^ (v >> 29)) * 0xBF58476D1CE4E5B9 % WORD
                    number += v ^ (v >> 32)
            found.append(number % WORD)
        return found


# ---- rules: they change the entries of a row's cells


@dataclass
class StochasticGradient:
    """SGD without its factor (t - 1) / t: the divisor of all weights is t."""

    lam: float
    loss: Loss
    divisor: int = 0
    y_max: float = 0.0

    def __call__(self, q: Question, weight: float) -> tuple[float, float]:
        self.divisor += 1
        self.y_max = max(self.y_max, abs(q.y))
        return 1.0, -weight * self.loss.slope(q.fx, q.y) / self.lam

    @property
    def radius(self) -> float:
        return self.y_max / sqrt(self.lam) if self.loss is squared and self.lam <= 1 else inf


@dataclass
class Round:
    """The entries of a row's cells, its features there, w'z, the target, and the scalar question."""

    at: list[int]
    z: list[float]
    f: Array
    y: float
    weight: float
    q: Question


class CellRule:
    """Steps change the entries of a row's cells."""

    @property
    def factor(self) -> float:
        """What w'z is multiplied by."""
        return 1.0

    def kept(self, outputs: int) -> list[float]:
        """What an entry has beside the weights, at first."""
        return [][:outputs]

    def predict(self, learner: Cells, at: list[int], z: list[float], f: Array) -> Array:
        """The scores that are put out."""
        del learner, at, z
        return f

    def step(self, learner: Cells, now: Round) -> None:
        raise NotImplementedError


class Along(CellRule):
    """w <- shrink w + beta v z by a scalar rule. The table has w without a common factor."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.shrunk = rule, 1.0

    @property
    def factor(self) -> float:
        return self.shrunk / (getattr(self.rule, "divisor", 1) or 1)

    def step(self, learner: Cells, now: Round) -> None:
        shrink, beta = self.rule(now.q, now.weight)
        self.shrunk *= shrink
        if self.shrunk < 1e-6:
            learner.table = (learner.table * self.shrunk).astype(np.float32)
            self.shrunk = 1.0
        if beta == 0:
            return
        for i, e in enumerate(now.at):
            for c in np.flatnonzero(now.q.v):
                w = float(learner.table[e, c])
                learner.table[e, c] = w + beta * now.q.v[c] / self.shrunk * now.z[i]
        norm = sqrt(np.sum(np.square(learner.table, dtype=float))) * self.factor
        self.shrunk *= ball(self.rule, norm)


class AdaGrad(CellRule):
    """G += g^2, w -= eta g / (sqrt(G) + delta)."""

    def __init__(self, eta: float, delta: float, loss: Loss, epsilon: float | None) -> None:
        self.eta, self.delta, self.loss, self.epsilon = eta, delta, loss, epsilon

    def kept(self, outputs: int) -> list[float]:
        return [0.0] * outputs

    def step(self, learner: Cells, now: Round) -> None:
        slope = now.weight * slope_of(self.loss, self.epsilon, now.q)
        if slope == 0:
            return
        for c in np.flatnonzero(now.q.v):
            for i, e in enumerate(now.at):
                g = slope * now.q.v[c] * now.z[i]
                G = float(learner.table[e, learner.outputs + c]) + g * g
                learner.table[e, learner.outputs + c] = G
                learner.table[e, c] = float(learner.table[e, c]) - self.eta * g / (sqrt(G) + self.delta)


class AROW(CellRule):
    """Diagonal: beta = gap / (conf + r), w += beta v Sigma z, Sigma <- Sigma / (1 + z^2 Sigma / r)."""

    def __init__(self, r: float, epsilon: float | None) -> None:
        self.r, self.epsilon = r, epsilon

    def kept(self, outputs: int) -> list[float]:
        return [1.0] * outputs

    def step(self, learner: Cells, now: Round) -> None:
        gap, precision = now.q.y - now.q.fx, now.weight / self.r
        if self.epsilon is None:
            gap = now.q.y * max(0.0, 1 - now.q.y * now.q.fx)
        elif abs(gap) <= self.epsilon:
            return
        if gap == 0:
            return
        classes = sorted(np.flatnonzero(now.q.v), key=lambda c: -now.q.v[c])  # v = +1 first
        sigma = learner.table[:, learner.outputs :]
        confidence = 0.0
        for c in classes:
            for i, e in enumerate(now.at):
                confidence += now.z[i] * now.z[i] * float(sigma[e, c])
        beta = gap / (confidence + 1 / precision)
        for c in classes:
            for i, e in enumerate(now.at):
                s = float(sigma[e, c])
                learner.table[e, c] = float(learner.table[e, c]) + beta * now.q.v[c] * s * now.z[i]
                sigma[e, c] = s / (1 + precision * now.z[i] * now.z[i] * s)


class Kalman(CellRule):
    """A filter with a diagonal covariance, one variance per entry; it drifts when its cell is visited."""

    def __init__(self, prior: float, drift: float) -> None:
        self.prior, self.drift, self.noise, self.weights = prior, drift, 0.0, 0.0

    def kept(self, outputs: int) -> list[float]:
        return [self.prior][:outputs]

    def spread(self, learner: Cells, at: list[int], z: list[float]) -> float:
        P = learner.table[:, learner.outputs]
        total = 0.0
        for e in at[1:]:
            total += float(P[e])
        return float(P[0]) + (z[1] * z[1] * total if len(at) > 1 else 0.0)

    def predict(self, learner: Cells, at: list[int], z: list[float], f: Array) -> Array:
        if not learner.task.labels:
            return f
        return np.asarray(f * (1 / sqrt(1 + pi / 8 * self.spread(learner, at, z))))

    def step(self, learner: Cells, now: Round) -> None:
        f, S = now.f, self.spread(learner, now.at, now.z)
        if not learner.task.labels:
            h = 1.0
            steps = [now.weight * (now.y - f[0]) / (1 + now.weight * S)]
            self.weights += now.weight
            self.noise += now.weight / self.weights * ((now.y - f[0]) ** 2 / (1 + S) - self.noise)
        elif learner.outputs == 1:
            p = 1 / (1 + exp(-f[0]))
            h = p * (1 - p)
            steps = [2 * now.weight * ((now.y + 1) / 2 - p) / (1 + now.weight * h * S)]
        else:
            powers = [exp(v - max(f)) for v in f]
            shares = [v / sum(powers) for v in powers]
            h = max(shares) * (1 - max(shares))
            below = 1 + now.weight * h * S
            steps = [now.weight * ((c == now.y) - v) / below for c, v in enumerate(shares)]
        gain = now.weight * h / (1 + now.weight * h * S)
        for i, e in enumerate(now.at):
            P = float(learner.table[e, learner.outputs])
            for c, step in enumerate(steps):
                learner.table[e, c] = float(learner.table[e, c]) + step * (P * now.z[i])
            after = P - gain * (P * now.z[i]) * (P * now.z[i]) + self.drift
            learner.table[e, learner.outputs] = min(max(after, 0.0), self.prior)


# ---- the learner


class Recruiting:
    """Every `every` rows, the old member of least use leaves."""

    def __init__(self, members: int, every: int, patience: int, seed: int) -> None:
        self.every, self.patience, self.random = every, patience, Random(seed)
        self.use, self.born, self.rows = [0.0] * members, [0] * members, 0

    def restart(self) -> None:
        self.use, self.born, self.rows = [0.0] * len(self.use), [0] * len(self.born), 0

    def count(self, learner: Cells, now: Round) -> None:
        """A running mean of what the loss would gain without each member."""
        f, y = now.f, now.y
        if learner.outputs > 1:
            powers = [exp(v - max(f)) for v in f]
            shares = [v / sum(powers) for v in powers]
            h = max(shares) * (1 - max(shares))
            residual = [(c == y) - v for c, v in enumerate(shares)]
        elif learner.task.labels:
            q = 1 / (1 + exp(-f[0]))
            h, residual = q * (1 - q), [(y + 1) / 2 - q]
        else:
            h, residual = 1.0, [y - f[0]]
        for i in range(len(self.use)):
            use = 0.0
            for c, r in enumerate(residual):
                m = learner.rule.factor * now.z[1] * float(learner.table[now.at[1 + i], c])
                use += m * r + h / 2 * m * m
            self.use[i] += 0.001 * (use - self.use[i])

    def exchange(self) -> tuple[int, int] | None:
        """The member that leaves, and the one near which the new one is drawn, or the same one."""
        self.rows += 1
        if self.rows % self.every:
            return None
        old = [i for i, born in enumerate(self.born) if self.rows - born >= self.patience]
        if len(old) < 5:
            return None
        leaves = min(old, key=lambda i: self.use[i])
        best = max([old[self.random.below(len(old))] for _ in range(4)], key=lambda i: self.use[i])
        if best == leaves:
            return None
        self.use[leaves], self.born[leaves] = 0.0, self.rows
        return leaves, best if self.random.uniform() < 0.7 else leaves


class Cells:
    """f(x) = w'z(x). The table has at most so many entries and bytes."""

    def __init__(
        self,
        cells: Any,
        rule: Callable[[], Any],
        task: Task,
        cells_in_table: int = 2**16,
        memory: int = 2**21,
        recruiting: Recruiting | None = None,
    ) -> None:
        self.map, self.new_rule, self.task, self.recruiting = cells, rule, task, recruiting
        self.outputs, self.most, self.memory = task.outputs, cells_in_table, memory
        self.value = 1 / sqrt(cells.members)
        self.kept: list[list[float]] = []
        self.answers: list[tuple[float, float]] = []
        self.learned = 0
        self.capacity = 256 if cells.columns <= 64 else 128 if cells.columns <= 128 else 64
        self.begin()

    def begin(self) -> None:
        """Nothing is learned yet."""
        self.rule = self.new_rule()
        self.fresh = np.array([0.0] * self.outputs + self.rule.kept(self.outputs), np.float32)
        self.direct = self.map.most_cells <= self.most
        self.full = int(self.map.most_cells) if self.direct else self.most
        self.halvings = 0
        while self.room > 1 and self.room * 4 * len(self.fresh) > self.memory:
            self.halvings += 1
        self.table = np.tile(self.fresh, (self.room + 1, 1))
        self.map.keeps_numbers = self.direct

    @property
    def room(self) -> int:
        return -(-self.full // 2**self.halvings)

    def entry(self, cell: int) -> int:
        """The entry of its number, if there is room for all cells of the map; else that of its hash."""
        if not self.direct or cell >= self.full:
            cell = cell * 0x9E3779B97F4A7C15 % WORD
            cell = (cell ^ (cell >> 29)) * 0xBF58476D1CE4E5B9 % WORD
            cell = (cell >> 32) * self.full >> 32
        return 1 + (cell >> self.halvings)

    def forget(self, f: int) -> None:
        """The cells of a member are as before the first row."""
        first = self.map.first_cell(f)
        last = (first + 2**self.map.depth) >> self.halvings
        self.table[1 + (first >> self.halvings) : 1 + last] = self.fresh

    def look(self, x: Array) -> tuple[list[int], list[float], Array]:
        """The entries of a row, its features there, and w'z."""
        at = [0] + [self.entry(cell) for cell in self.map.cells([float(v) for v in x]) if cell != NO_CELL]
        z = [1.0] + [self.value] * (len(at) - 1)
        f = []
        for c in range(self.outputs):
            total = 0.0
            for e in at[1:]:
                total += float(self.table[e, c])
            f.append(self.rule.factor * (float(self.table[0, c]) + self.value * total))
        return at, z, np.array(f)

    def score(self, x: Array) -> Array:
        at, z, f = self.look(x)
        return np.asarray(self.rule.predict(self, at, z, f))

    def learn(self, x: Array, y: float, weight: float = 1.0) -> None:
        if weight == 0:
            return
        self.step(x, y, weight)
        if not self.map.draws:
            return
        self.kept = [*self.kept, [float(v) for v in x]][-self.capacity :]
        self.learned += 1
        if self.learned > self.capacity:
            if self.learned % self.capacity == 0:
                self.map.follow(self.kept)
            return
        self.answers.append((y, weight))
        if self.learned & (self.learned - 1):
            return
        self.map.draw(self.kept)
        self.begin()
        if self.recruiting:
            self.recruiting.restart()
        for row, answer in zip(self.kept, self.answers, strict=True):
            self.step(np.array(row), *answer)

    def step(self, x: Array, y: float, weight: float) -> None:
        at, z, f = self.look(x)
        norm = 1 + (len(at) - 1) * self.value * self.value
        now = Round(at, z, f, y, weight, self.task.ask(f, y, norm))
        if self.recruiting:
            self.recruiting.count(self, now)
        self.rule.step(self, now)
        change = self.recruiting.exchange() if self.recruiting else None
        if change:
            self.map.redraw(*change, self.kept_in_order())
            if self.direct:
                self.forget(change[0])

    def kept_in_order(self) -> list[list[float]]:
        """The kept rows as the core has them: the next one takes the place of the oldest."""
        first = self.learned % self.capacity if self.learned > self.capacity else 0
        return (
            self.kept[len(self.kept) - first :] + self.kept[: len(self.kept) - first]
            if first
            else self.kept
        )
