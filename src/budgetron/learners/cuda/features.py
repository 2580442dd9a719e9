"""The features of a block of rows, from the pieces of a native map: Z', one row for each feature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from budgetron import _core
from budgetron.learners.cuda.arrays import Arrays
from budgetron.parts.features import pieces
from budgetron.parts.features.hashing import Hashed
from budgetron.parts.features.nystrom import Nystrom
from budgetron.parts.features.stack import Identity, Stack
from budgetron.parts.kernels import Gaussian, Laplacian, Linear, Polynomial


class Features:
    """A map on the card."""

    def __init__(self, arrays: Arrays, features: pieces.Features) -> None:
        self.arrays, self.size = arrays, features.size
        self._parts, at = list[tuple[int, Any, Any]](), 0
        for piece in features.pieces:
            self._parts.append((at, piece, self._numbers(piece)))
            at += piece.size
        fourier = [isinstance(piece, pieces.Fourier) for _, piece, _ in self._parts]
        self.ones = float(sum(fourier))  # z'z of the Fourier maps, as the core counts it
        spans = [slice(at, at + piece.size) for at, piece, _ in self._parts]
        self._others = [span for span, known in zip(spans, fourier, strict=True) if not known]

    def _numbers(self, piece: pieces.Piece) -> Any:
        arrays = self.arrays
        if isinstance(piece, pieces.Fourier):
            return arrays.array(np.ascontiguousarray(piece.frequencies.T))
        if isinstance(piece, pieces.Nystrom):
            return arrays.array(piece.points), arrays.array(piece.matrix)
        if isinstance(piece, pieces.Hashed):
            inner = Features(arrays, piece.features)
            return inner, arrays.array(piece.places, np.intp), arrays.array(piece.signs)
        return None

    def __call__(self, X: Any, out: Any) -> None:
        """Write z(x) of every row of X into the columns of ``out``."""
        for at, piece, numbers in self._parts:
            self._write(piece, numbers, X, out[at : at + piece.size])

    def squared_norms(self, Z: Any) -> Any:
        """|z|^2 of every column; that of a Fourier map is 1."""
        sums = self.arrays.xp.full(Z.shape[1], self.ones, dtype=np.float64)
        for span in self._others:
            sums += (Z[span].astype(np.float64) ** 2).sum(axis=0)
        return sums

    def _write(self, piece: pieces.Piece, numbers: Any, X: Any, out: Any) -> None:
        if isinstance(piece, pieces.Inputs):
            out[:] = X[:, piece.start : piece.stop].T * piece.scale
        elif isinstance(piece, pieces.Constant):
            out[:] = 1
        elif isinstance(piece, pieces.Fourier):
            D = len(numbers)
            self.arrays.add_product(out[D:], numbers, X, of_B="T")
            self.arrays.turn(out[D:], D**-0.5, out[:D], out[D:])
        elif isinstance(piece, pieces.Nystrom):
            points, matrix = numbers
            self.arrays.add_product(out, matrix, _kernel(self.arrays, piece.kernel, points, X))
        else:
            inner, places, signs = numbers
            sums = self.arrays.zeros(piece.columns, len(X))
            self.arrays.xp.add.at(sums, places, (X * signs).T)
            inner(self.arrays.xp.ascontiguousarray(sums.T), out)


class Needs(NamedTuple):
    """Counts of a map: features, those not Fourier, numbers kept, and numbers for a while for a row."""

    size: int
    others: int
    kept: int
    work: int

    @classmethod
    def of(cls, description: Any, native: Any, n_features: int) -> Needs:
        native = native.inner if isinstance(native, _core.SharedMap) else native
        if isinstance(description, Stack):
            pairs = zip(description.maps, native.maps, strict=True)
            return cls(*map(sum, zip(*(cls.of(*pair, n_features) for pair in pairs), strict=True)))
        if isinstance(description, Hashed):
            if not isinstance(native, _core.HashedMap):
                return cls.of(description.features, native, n_features)
            inner, columns = cls.of(description.features, native.inner, native.columns), native.columns
            kept, work = inner.kept + 2 * n_features, inner.work + n_features + 2 * columns
            return cls(inner.size, inner.size, kept, work)
        if isinstance(description, Nystrom):
            points = description.landmarks  # the most that there may be
            size = max(native.size, points)
            return cls(size, size, points * (n_features + size), 6 * points)
        if isinstance(description, Identity):
            return cls(native.size, native.size, 0, n_features)
        return cls(native.size, 0, native.size // 2 * n_features, 0)


def _kernel(arrays: Arrays, description: Any, points: Any, X: Any) -> Any:
    """k(s, x) for all points s and rows x."""
    kernel: Any = description
    xp = arrays.xp
    if isinstance(description, Laplacian):
        distances = xp.zeros((len(points), len(X)), dtype=X.dtype)
        for j in range(X.shape[1]):
            distances += abs(points[:, j, None] - X[None, :, j])
        return xp.exp(-kernel.gamma * distances)
    products = arrays.times(points, X, of_B="T")
    if isinstance(description, Gaussian):
        squares = (points**2).sum(axis=1)[:, None] + (X**2).sum(axis=1)[None] - 2 * products
        return xp.exp(-kernel.gamma * xp.maximum(squares, 0))
    if isinstance(description, Linear):
        return products
    inside = kernel.gamma * products + kernel.coef0
    return inside**kernel.degree if isinstance(description, Polynomial) else xp.tanh(inside)
