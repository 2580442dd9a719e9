"""The formulas that fitted models consist of, with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from budgetron.parts.features.pieces import Features, Piece
from budgetron.parts.kernels import Kernel

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]


# ---- cells: one of each member, by its number below 2^64

NO_CELL = 2**64 - 1
"""The number of a cell that is not there."""


@dataclass(frozen=True, eq=False)
class Ferns:
    """first[m] plus the answers to x[tested[m, j]] > thresholds[m, j] read as a binary number."""

    tested: Whole
    thresholds: Floats
    first: Whole
    unscaled: ClassVar[bool] = True

    @property
    def members(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Bins of the columns, then of pairs of columns.

    The bin of a value is the number of ``edges`` that are not above it; that of NaN is ``bins``. Column j
    has the cell starts[-1] + (bins + 1) j + bin; none, if it is not among the ``first`` columns, and 0 or
    NaN. Pair p of i and j has the cell starts[p] + sides[j] bin_i + bin_j. There, bins are first put
    together, from edges + 1 to ``side``, and the bin of NaN is ``sides[j]`` - 1.

    If the edges of a column are ``codes``, the bin of a value v, rounded down, is the place of v among
    them, modulo b. If it is not among these k, it is k plus the remainder of v + FROM by b - k, or by b
    without k, if k is not below b. There are b = ``bins`` of a column, and b = sides[j] - 1 in pairs.
    """

    edges: tuple[Floats, ...]
    codes: tuple[bool, ...]
    sides: Whole
    pairs: tuple[tuple[int, int], ...]
    bins: int
    side: int
    first: int
    unscaled: ClassVar[bool] = True
    FROM: ClassVar[int] = 2**40

    @property
    def members(self) -> int:
        return len(self.edges) + len(self.pairs)

    @property
    def starts(self) -> Whole:
        """The first cell of each pair, and that of the columns."""
        sizes = [int(self.sides[i] * self.sides[j]) for i, j in self.pairs]
        return np.cumsum([0, *sizes], dtype=np.int64)

    @property
    def most(self) -> int:
        """The number of all cells."""
        return int(self.starts[-1]) + len(self.edges) * (self.bins + 1)


@dataclass(frozen=True, eq=False)
class Grids:
    """2^32 m plus the sum of the hashes of floor(x_j / pitches[j, m] + shifts[j, m]) over the columns j.

    Nothing is added for a value that is 0 or NaN, nor for bin 0. The hash of a bin, clipped to -2^62 ..
    2^62, is v ^ v >> 32 with v = (u ^ u >> 29) * MIX and u = bin * BIN ^ (j + 1) * COLUMN, modulo 2^64.
    """

    pitches: Floats
    shifts: Floats
    unscaled: ClassVar[bool] = False
    BIN: ClassVar[int] = 0x9E3779B97F4A7C15
    COLUMN: ClassVar[int] = 0xC2B2AE3D27D4EB4F
    MIX: ClassVar[int] = 0xBF58476D1CE4E5B9

    @property
    def members(self) -> int:
        return int(self.pitches.shape[1])


CellNumbers = Ferns | Quantiles | Grids


# ---- scores f(x)


@dataclass(frozen=True, eq=False)
class Expansion:
    """f_c(x) = sum_i coef[c, i] k(vectors[i], x). There is at least one vector."""

    kernel: Kernel
    vectors: Floats
    coef: Floats


@dataclass(frozen=True, eq=False)
class Weighted:
    """f_c(x) = coef[c]'z(x), divided by sqrt(1 + pi/8 z'P z) if there is a covariance P.

    P is the block ``full`` of the first features, and a variance for each of the others.
    """

    features: Features
    coef: Floats
    full: Floats | None = None
    variances: Floats | None = None


@dataclass(frozen=True, eq=False)
class Celled:
    """f_c(x) = constant[c] + sum of entries[place, c] over the cells of x, moderated as in `Weighted`.

    If it is ``moderated``, the last number of the constant and of each entry is its share of z'P z. The
    place of a cell is its number, if the table is ``direct`` and the number below ``full``; else it is
    (h >> 32) * full >> 32, with h = (u ^ u >> 29) * MIX and u = cell * CELL, modulo 2^64. Places are
    shifted to the right by ``halvings``. If ``cells.unscaled``, cells are those of the row before any
    scaling. ``unit`` is the factor of the entries, which are single precision; that of the last is
    ``unit_of_last``.
    """

    cells: CellNumbers
    entries: Singles
    constant: Floats
    unit: float
    unit_of_last: float
    moderated: bool
    direct: bool
    full: int
    halvings: int
    CELL: ClassVar[int] = 0x9E3779B97F4A7C15
    MIX: ClassVar[int] = 0xBF58476D1CE4E5B9

    @property
    def hashed(self) -> bool:
        """Whether any place is that of a hash."""
        return not self.direct or (isinstance(self.cells, Quantiles) and self.cells.most > self.full)

    @property
    def units(self) -> Floats:
        """The factor of each number of an entry."""
        outputs = self.entries.shape[1] - self.moderated
        return np.array([self.unit] * outputs + [self.unit_of_last] * self.moderated)


@dataclass(frozen=True, eq=False)
class Nearest:
    """Scores from the k rows that are nearest to x, of which the first counts where distances are equal.

    If it is ``unscaled``, x is the row before any scaling.

    Rows are single precision, and so are the numbers of x, clipped at 1e17, of which the first columns are
    taken, and squared distances d, which are added up column by column. A column with NaN adds nothing.
    With h = d_k, and d / h = 0 if h is 0, the vote of a row is v = weight / (d / h + softening):

        targets: f = sum v y / sum v
        labels:  L_c = log1p(sum of v y_c / (2 start));  two: f = L_1 - L_0;  more: f = L

    ``labels`` y has a column for each class, of 0 and 1. If two ``first`` classes became more, these have
    -f/2 and f/2, f the difference of their L, and the others max(0, L_c - the mean of these two).
    """

    k: int
    rows: Singles
    labels: Floats
    weights: Floats
    softening: float
    start: float = 0.0
    first: tuple[int, int] | None = None
    unscaled: bool = False

    CLIP: ClassVar[float] = float(np.float32(1e17))


@dataclass(frozen=True, eq=False)
class Scaled:
    """The scores of rows (x - shift) * factor, clipped to -clip .. clip; they are scaled back.

    A missing value (NaN) becomes 0, and so does a column whose factor is 0.
    """

    learner: Formula
    shift: Floats
    factor: Floats
    clip: float
    missing: bool
    mean: float = 0.0
    deviation: float = 1.0


@dataclass(frozen=True, eq=False)
class Narrow:
    """The scores of rows of the ``kept`` columns alone."""

    learner: Formula
    kept: Whole


@dataclass(frozen=True, eq=False)
class Mixture:
    """f_c(x) = biases[c] + sum_i weights[i] l_ic, l the scores of the experts.

    For labels, l is first centred over the first ``centred`` classes (if there are more than two),
    multiplied by ``factors`` and clipped to -clip .. clip. In the end f_c becomes the sum of ``slopes``
    times the parts of f_c between 0 and the ``bends``, and beyond the last, with the sign of f_c.
    """

    experts: tuple[Formula, ...]
    weights: Floats
    biases: Floats | None = None
    factors: Floats | None = None
    centred: int = 0
    clip: float = np.inf
    bends: tuple[float, ...] = ()
    slopes: tuple[float, ...] = (1.0,)

    @property
    def bent(self) -> list[tuple[float, float]]:
        """Pairs (m, b): m times f, clipped at b, is added to the last slope times f."""
        return list(zip((-np.diff(self.slopes)).tolist(), self.bends, strict=True))


Formula = Expansion | Weighted | Celled | Nearest | Scaled | Narrow | Mixture


def looks_at_rows(formula: Formula) -> bool:
    """Whether anything in the formula sees rows before they are scaled."""
    if isinstance(formula, Celled):
        return formula.cells.unscaled
    if isinstance(formula, Nearest):
        return formula.unscaled
    if isinstance(formula, Mixture):
        return any(looks_at_rows(expert) for expert in formula.experts)
    return isinstance(formula, Scaled | Narrow) and looks_at_rows(formula.learner)


# ---- their writers


class Writer:
    """Base of those who write formulas. A method writes each type; it has the type's name in lower case."""

    language: ClassVar[str]

    def write(self, part: Formula | Piece | CellNumbers | Kernel, *place: Any) -> str:
        """What the method of the part's type writes; a type without one is refused."""
        name = type(part).__name__
        if not hasattr(self, name.lower()):
            raise ValueError(f"{name} cannot be exported to {self.language}.")
        result: str = getattr(self, name.lower())(part, *place)
        return result
