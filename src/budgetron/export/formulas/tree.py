"""The formulas that fitted models consist of, with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from budgetron.parts.kernels import Kernel

Floats = npt.NDArray[np.float64]


# ---- features z(x)


@dataclass(frozen=True, eq=False)
class Inputs:
    """scale * x_j of the columns start .. stop - 1."""

    start: int
    stop: int
    scale: float

    @property
    def size(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Constant:
    """The number 1."""

    size = 1


@dataclass(frozen=True, eq=False)
class Fourier:
    """sin(U'x) and cos(U'x), divided by sqrt(D); U has one row per column and D columns."""

    frequencies: Floats

    @property
    def size(self) -> int:
        return 2 * int(self.frequencies.shape[1])


@dataclass(frozen=True, eq=False)
class Nystrom:
    """A k(x), k(x) the kernel of x with these points."""

    kernel: Kernel
    points: Floats
    matrix: Floats

    @property
    def size(self) -> int:
        return len(self.matrix)


@dataclass(frozen=True, eq=False)
class Hashed:
    """The features of rows whose column j is added to ``places[j]``, with a sign."""

    places: npt.NDArray[np.intp]
    signs: Floats
    columns: int
    features: Features

    @property
    def size(self) -> int:
        return self.features.size


Piece = Inputs | Constant | Fourier | Nystrom | Hashed


@dataclass(frozen=True, eq=False)
class Features:
    """z(x): the pieces one after the other."""

    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)


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
class Mixture:
    """f_c(x) = biases[c] + sum_i weights[i] l_ic, l the scores of the experts.

    For labels, l is first centred over the first ``centred`` classes (if there are more than two),
    multiplied by ``factors`` and clipped to -clip .. clip.
    """

    experts: tuple[Formula, ...]
    weights: Floats
    biases: Floats | None = None
    factors: Floats | None = None
    centred: int = 0
    clip: float = np.inf


Formula = Expansion | Weighted | Scaled | Mixture


# ---- their writers


class Writer:
    """Base of those who write formulas. A method writes each type; it has the type's name in lower case."""

    language: ClassVar[str]

    def write(self, part: Formula | Piece | Kernel, *place: Any) -> str:
        """What the method of the part's type writes; a type without one is refused."""
        name = type(part).__name__
        if not hasattr(self, name.lower()):
            raise ValueError(f"{name} cannot be exported to {self.language}.")
        result: str = getattr(self, name.lower())(part, *place)
        return result
