"""FourierFeatures."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np
from river import base

from budgetron._util import check
from budgetron._util.rows import whole
from budgetron._util.threads import learning_lock
from budgetron.learners.learner import Floats
from budgetron.parts.features.fourier import RandomFourier
from budgetron.parts.features.spectrum import Spectrum
from budgetron.parts.kernels import Gaussian, Kernel
from budgetron.records.encoding import Encoding
from budgetron.river.frames import checked_frame, frame_like
from budgetron.river.records import (
    AbsentIsZero,
    in_order,
    refuse_missing,
    refuse_missing_cells,
    table_in_order,
)


class _Built:
    """The known columns, and the map of rows of that width. Copies and pickles make the map anew."""

    def __init__(self, encoding: Encoding, description: RandomFourier, seed: int) -> None:
        self.encoding = encoding
        self.description = description
        self.seed = seed
        width = max(1, encoding.width)
        self.native: Any = description.build(width, np.float64, seed)
        self.native.fit(whole(np.zeros((1, width))))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Built, (self.encoding, self.description, self.seed)


class FourierFeatures(base.MiniBatchTransformer):  # type: ignore[misc]
    """Fourier features of a kernel, for river's linear models: with them these learn what is not linear.

    Every row becomes 2 ``components`` numbers, the sines and cosines of random projections. Features that
    a row does not have count as 0; texts are indicators. Scale numbers first, for example with river's
    StandardScaler. Features get their frequencies in ``learn_one``, which river's pipelines call; others
    are ignored. Frequencies that were given do not change when a feature comes later.

    Parameters
    ----------
    kernel : Gaussian, Laplacian or Spectrum, optional
        The kernel that the features approximate; ``Gaussian("1/d")`` without it, where d is the number of
        features of the first row.
    components : int
        The number of frequencies.
    seed : int, optional
        The seed of the frequencies.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, optim, preprocessing
    >>> from budgetron.river import FourierFeatures
    >>> linear = preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(0.3))
    >>> evaluate.progressive_val_score(datasets.Bananas().take(2000), linear, metrics.Accuracy())
    Accuracy: 49.45%
    >>> curved = FourierFeatures(seed=0) | linear_model.LogisticRegression(optim.SGD(0.3))
    >>> curved = preprocessing.StandardScaler() | curved
    >>> evaluate.progressive_val_score(datasets.Bananas().take(2000), curved, metrics.Accuracy())
    Accuracy: 80.20%
    """

    def __init__(
        self, kernel: Kernel | Spectrum | None = None, components: int = 100, seed: int | None = None
    ) -> None:
        self.kernel = kernel
        self.components = components
        self.seed = seed
        self._built: _Built | None = None

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Give frequencies to features that are new."""
        with learning_lock(self):
            built = self._built
            if built is None or built.encoding.known_one(x) is None:
                encoding = self._next_encoding()
                refuse_missing(x, encoding)
                encoding.encode_one(in_order(x))
                self._grow(encoding)

    def learn_many(self, X: Any) -> None:
        """Give frequencies to columns of a frame that are new."""
        with learning_lock(self):
            encoding, table = self._next_encoding(), table_in_order(X)
            refuse_missing_cells(X, table, encoding)
            if not len(table):
                return
            if self._built is None:  # the first row decides what d is
                encoding.encode(table[:1])
                self._grow(encoding)
            encoding.encode(table)
            self._grow(encoding)

    def transform_one(self, x: dict[Any, Any]) -> dict[str, float]:
        """The features of one row."""
        built = self._built
        if built is None:
            return dict(zip(self._names(), self._of_nothing(1)[0].tolist(), strict=True))
        row = built.encoding.known_one(x) if isinstance(x, Mapping) else None
        if row is None:
            refuse_missing(x, built.encoding)
            row = built.encoding.encode_one(in_order(x), grow=False)
        return dict(zip(self._names(), self._features(built, row.reshape(1, -1))[0].tolist(), strict=True))

    def transform_many(self, X: Any) -> Any:
        """The features of every row of a frame, as a frame of the same library."""
        built, table = self._built, table_in_order(checked_frame(X))
        if built is None:
            return self._frame(X, self._of_nothing(len(table)))
        refuse_missing_cells(X, table, built.encoding)
        return self._frame(X, self._features(built, built.encoding.encode(table, grow=False)[0]))

    def _features(self, built: _Built, rows: Floats) -> Floats:
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            name = built.encoding.columns[column]
            raise ValueError(
                f"The feature {name!r} of row {row} is {rows[row, column]}, expected a finite number."
            )
        wide = rows if rows.shape[1] else np.zeros((len(rows), 1))
        features: Floats = built.native.transform(whole(np.ascontiguousarray(wide)))
        return features

    def _of_nothing(self, rows: int) -> Floats:
        """The features of rows without a feature: sines of 0 and cosines of 0."""
        components = check.count(self, "components", self.components)
        return np.repeat([[0.0, 1 / sqrt(components)]], components, axis=1).repeat(rows, axis=0)

    def _frame(self, X: Any, features: Floats) -> Any:
        return frame_like(X, dict(zip(self._names(), features.T, strict=True)))

    def _names(self) -> list[str]:
        return [f"fourier {i}" for i in range(2 * self.components)]

    def _next_encoding(self) -> Encoding:
        return AbsentIsZero().build() if self._built is None else self._built.encoding.copy()

    def _grow(self, encoding: Encoding) -> None:
        """Continue with a map for the columns of the encoding."""
        built = self._built
        if built is None:
            kernel = Gaussian("1/d") if self.kernel is None else self.kernel
            no_rows = np.empty((0, max(1, encoding.width)))
            described = RandomFourier(kernel, self.components).resolved(no_rows)
            new = self.seed is None
            seed = secrets.randbelow(2**31) if new else check.natural(self, "seed", self.seed)
        else:
            described, seed = built.description, built.seed
        self._built = _Built(encoding, described, seed)
