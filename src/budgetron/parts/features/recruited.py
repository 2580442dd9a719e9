"""A budget for features: members of a map that are of little use are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import seed_of_part
from budgetron.parts.features.cells import CellMap, Tiles
from budgetron.parts.features.feature_map import FeatureMap
from budgetron.parts.features.fourier import RandomFourier, SparseFourier

PATIENCE = 3000
"""The rows for which a new member stays."""


@dataclass
class Recruited(FeatureMap):
    """A budget for features: the members of a map that are of little use are drawn anew.

    A member is one of the :class:`Tiles`, or a frequency with its sine and cosine. Its use is what the loss
    would gain without it, to second order, as a running mean: with m_c its share of score c, the residual
    r_c = [c = y] - p_c and the curvature h, sum_c m_c r_c + h m_c^2 / 2. Every ``every`` rows the member of
    least use that is older than 3000 rows leaves, and its weights are forgotten.

    In 7 of 10 cases the new member is drawn near a useful one. Tiles share some of the tests, and their
    thresholds come from the rows kept last. Components of :class:`SparseFourier` share the columns; their
    width and direction are new. Frequencies of :class:`RandomFourier` are alike: nine tenths of one is
    common to all that are near each other.

    Parameters
    ----------
    features : Tiles, RandomFourier or SparseFourier
        The map. A RandomFourier needs a Gaussian or a Laplacian.
    every : int
        The rows between two exchanges.
    share : float
        The share of the members that may leave.

    Departs from the paper
    ----------------------
    Not in the five papers, which keep a budget of support vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import Kalman, Mapped, OnlineClassifier, Recruited, SparseFourier, Tiles
    >>> X = np.random.default_rng(0).normal(size=(20_000, 20))
    >>> def errors(features, y):
    ...     model = OnlineClassifier(Mapped(features, Kalman(prior=6)), random_state=0)
    ...     return (model.progressive_predict(X, y) != y)[10_000:].mean()
    >>> edges, band = (X[:, 2] > 0) ^ (X[:, 7] > 0), np.abs(X[:, 2]) > 0.67
    >>> tiles, waves = Tiles(depth=8, narrow=0.5), SparseFourier(20)
    >>> bool(errors(Recruited(tiles), edges) < 0.7 * errors(tiles, edges))
    True
    >>> bool(errors(Recruited(waves), band) < 0.7 * errors(waves, band))
    True
    """

    features: Tiles | RandomFourier | SparseFourier
    every: int = 50
    share: float = 0.8

    learns = True

    @property
    def cell_map(self) -> CellMap | None:
        return _RecruitedTiles(self, self.features) if isinstance(self.features, Tiles) else None

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:
        """The native map; checks the description."""
        if isinstance(self.features, Tiles):
            raise TypeError("Recruited: tiles are cells, not features: give them to Mapped alone.")
        if not isinstance(self.features, (RandomFourier, SparseFourier)):
            raise TypeError(
                "Recruited: needs Tiles, RandomFourier or SparseFourier, whose members are drawn singly, "
                f"got {self.features!r}."
            )
        native = self.features.build(n_features, dtype, seed)
        if not native.members:
            raise ValueError(
                f"Recruited: needs a Gaussian or a Laplacian kernel, got {self.features.kernel_!r}."
            )
        return _core.RecruitedMap(native, self.recruiting(native.members, seed_of_part(seed, 0)))

    def recruiting(self, members: int, seed: int) -> _core.Recruiting:
        """What chooses the members that leave."""
        count = int(check.share(self, "share", self.share) * members)
        return _core.Recruiting(count, check.count(self, "every", self.every), PATIENCE, seed)


class _RecruitedTiles(CellMap):
    def __init__(self, recruited: Recruited, tiles: Tiles) -> None:
        self._recruited, self._tiles = recruited, tiles

    def build(self, n_features: int, seed: int) -> _core.CellMap:
        return self._tiles.build(n_features, seed)

    def recruiting(self, native: _core.CellMap, seed: int) -> _core.Recruiting:
        return self._recruited.recruiting(native.members, seed)

    def table(self) -> tuple[int, int]:
        return self._tiles.table()
