"""What a built feature map computes, in pieces with their numbers, for those who compute it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron.parts.features.feature_map import FeatureMap
from budgetron.parts.features.hashing import Hashed as HashedMap
from budgetron.parts.features.nystrom import Nystrom as NystromMap
from budgetron.parts.features.stack import Identity, Stack
from budgetron.parts.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid

Floats = npt.NDArray[np.float64]
KERNELS = (Gaussian, Laplacian, Linear, Polynomial, Sigmoid)


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


def known_kernel(kernel: Any) -> Kernel:
    """The kernel, if its formula is known."""
    if type(kernel) not in KERNELS:
        raise ValueError(f"The kernel {type(kernel).__name__} cannot be exported.")
    return kernel  # type: ignore[no-any-return]


def features_of(description: FeatureMap, native: Any, n_features: int) -> Features:
    """The features of a native map for rows of this many columns."""
    return _Pieces(n_features).features(description, native)


class _Pieces:
    """The pieces of a map. Those of columns that came later are behind those of the first columns."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def features(self, description: FeatureMap, native: Any) -> Features:
        later: list[Inputs] = []
        first = [piece for piece in self._pieces(description, native, later) if piece.size]
        if not later:
            return Features(tuple(first))
        columns = range(later[0].start, later[0].stop)
        tail = [Inputs(j, j + 1, piece.scale) for j in columns for piece in later]
        return Features((*first, *tail))

    def _pieces(self, description: FeatureMap, native: Any, later: list[Inputs]) -> Iterator[Piece]:
        if isinstance(native, _core.SharedMap):
            native = native.inner
        if isinstance(description, HashedMap):
            if isinstance(native, _core.HashedMap):
                yield self._hashed(description, native)
            else:
                yield from self._pieces(description.features, native, later)
        elif isinstance(description, Stack):
            for part, inner in zip(description.maps, native.maps, strict=True):
                yield from self._pieces(part, inner, later)
        elif isinstance(description, Identity):
            yield from self._inputs(description, native, later)
        elif isinstance(description, NystromMap):
            points = native.landmarks(self.n_features)
            yield Nystrom(known_kernel(description.kernel_), points, native.from_kernel_row())
        else:
            frequencies = native.frequencies(self.n_features)
            if not frequencies.size:
                raise ValueError(f"The feature map {type(description).__name__} cannot be exported.")
            yield Fourier(frequencies)

    def _inputs(self, description: Identity, native: Any, later: list[Inputs]) -> Iterator[Piece]:
        first = self.n_features - native.tail
        scale = first**-0.5 if description.scale == "1/sqrt(d)" else float(description.scale)
        yield Inputs(0, first, scale)
        if description.constant:
            yield Constant()
        if native.tail:
            later.append(Inputs(first, self.n_features, scale))

    def _hashed(self, description: HashedMap, native: Any) -> Hashed:
        places, signs = native.places(self.n_features)
        inner = features_of(description.features, native.inner, native.columns)
        return Hashed(places.astype(np.intp), signs, native.columns, inner)
