"""Hashed columns in front of a map."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron.parts.features.feature_map import FeatureMap


@dataclass
class Hashed(FeatureMap):
    """A map on hashed columns, so that its memory does not grow with the number of columns.

    Rows with more columns than ``columns`` are first added up in that many, with random signs (Weinberger
    et al. 2009): inner products and distances are kept on average. Rows with fewer columns are not changed.

    Parameters
    ----------
    features : FeatureMap
        The map of the hashed rows.
    columns : int
        The number of hashed columns.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import Gaussian, Hashed, RandomFourier
    >>> Hashed(RandomFourier(Gaussian(1.0), 10), columns=64).fit_transform(np.eye(1000)).shape
    (1000, 20)
    """

    features: FeatureMap
    columns: int = 1024

    @property
    def kernel_(self) -> Any:
        """The kernel of the inner map."""
        return self.features.kernel_

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:
        features = check.instance(self, "features", self.features, FeatureMap)
        columns = check.count(self, "columns", self.columns)
        if columns > 2**20:
            raise ValueError(f"Hashed: columns must be at most 2^20, got {columns}.")
        if n_features <= columns:
            return features.build(n_features, dtype, seed)
        inner = features.build(columns, np.float64, seed)
        if inner.learns:
            raise ValueError(f"Hashed: needs a map that does not learn from rows, got {features!r}.")
        return _core.HashedMap(inner, columns)
