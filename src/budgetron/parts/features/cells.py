"""Maps whose features are cells: a row is 1 in one cell of each member, and 0 in all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Spec
from budgetron.parts.kernels import Laplacian


class CellMap(Spec):
    """Base of the maps of cells, for :class:`~budgetron.Mapped`.

    A row has a constant 1, and the feature 1 / sqrt(members) for each of its cells. The weights of all
    cells lie in a table in single precision. If it has no room for all cells of the map, entries are
    hashed, and cells that meet share one. A rule changes the weights of the row's own cells only, so a step
    takes the same few microseconds for any number of cells.

    Examples
    --------
    >>> from budgetron import Bins, CellMap, Kalman, Mapped, OnlineClassifier
    >>> isinstance(Bins(), CellMap)
    True
    >>> model = OnlineClassifier(Mapped(Bins(), Kalman()), random_state=0)
    >>> model.fit([[0.0], [1.0], [2.0], [1.0]], [0, 1, 0, 1]).predict([[0.0], [1.0], [2.0]])
    array([0, 1, 0])
    """

    cells: int
    memory: int
    learns: ClassVar[bool] = True
    """Thresholds are drawn from rows, so that those of two models differ."""

    @property
    def is_drawn(self) -> bool:
        return True

    @property
    def cell_map(self) -> CellMap:
        """The map itself."""
        return self

    def build(self, n_features: int, seed: int) -> _core.CellMap:
        """The native map; checks the description."""
        raise NotImplementedError

    def recruiting(self, native: _core.CellMap, seed: int) -> _core.Recruiting | None:  # noqa: ARG002
        """What draws members anew, if anything does."""
        return None

    def table(self) -> tuple[int, int]:
        """The most cells and bytes of the table, checked."""
        return self._between("cells", 16, 2**28), self._between("memory", 1024, 2**31)

    def _between(self, name: str, least: int, most: int) -> int:
        number = check.whole(self, name, getattr(self, name))
        if not least <= number <= most:
            raise ValueError(f"{type(self).__name__}: {name} must be from {least} to {most}, got {number}.")
        return number


@dataclass
class Tiles(CellMap):
    """Random tiles: the cells of many small random trees, for rules over several columns.

    Each member is a fern: a list of tests "column > threshold", whose answers together name the cell.
    Columns are random; a threshold lies half-way between two random rows. Tests are drawn anew from all
    rows so far when 1, 2, 4, 8 ... rows were learned, up to 256 rows (fewer if there are more than 64
    columns), and these rows are learned again. Afterwards the last 256 rows are kept: when more than half
    of a column's values lie outside of the range that was known, its thresholds move to the same ranks
    among the kept rows.

    Tiles see rows as you give them, also inside :class:`~budgetron.Standardised`. A missing value is not
    above any threshold. Only the first 1024 columns are looked at.

    Parameters
    ----------
    count : int
        The number of members.
    depth : int
        The number of tests of a member, at most 24.
    narrow : float
        The share of members that look at two or three columns only.
    cells : int
        The cells that the table of weights has room for, at most.
    memory : int
        The bytes of the table, at most: many classes leave room for fewer cells.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import Kalman, Mapped, OnlineClassifier, Tiles
    >>> X = np.random.default_rng(0).random((5000, 4))
    >>> y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.3) ^ (X[:, 2] > 0.6)
    >>> model = OnlineClassifier(Mapped(Tiles(depth=6), Kalman(prior=6)), random_state=0)
    >>> bool(model.fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]) > 0.85)
    True
    """

    count: int = 100
    depth: int = 14
    narrow: float = 0.0
    cells: int = 2**16
    memory: int = 2**21

    def build(self, n_features: int, seed: int) -> _core.CellMap:
        count, depth = self._between("count", 1, 10_000), self._between("depth", 1, 24)
        return _core.Tiles(count, depth, check.share(self, "narrow", self.narrow), n_features, seed)


@dataclass
class Bins(CellMap):
    """Quantile bins of every column and of pairs of columns: rules on few columns, and codes of categories.

    The edges are quantiles of the first rows, and follow a column that moves, as those of
    :class:`~budgetron.Tiles` do. A column of few whole numbers has no edges: each value is a bin of its
    own, so that a code is learned as a category. A missing value is a bin of its own too. Codes that were
    not among the first rows may share the bin of another one.

    If there are more pairs than are drawn, a column is drawn the more often, the more bits there are in the
    number of its values.

    Parameters
    ----------
    columns : int
        The number of bins of a column, at most 256.
    pairs : int
        The number of pairs of columns, at most; 0 for single columns only.
    side : int
        The number of bins of each column of a pair.
    cells, memory : int
        The size of the table, as for :class:`Tiles`.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import Bins, Kalman, Mapped, OnlineRegressor
    >>> X = np.random.default_rng(0).integers(20, size=(5000, 1))
    >>> y = np.random.default_rng(1).normal(size=20)[X[:, 0]]  # a code, without order
    >>> model = OnlineRegressor(Mapped(Bins(pairs=0), Kalman()), random_state=0)
    >>> bool(model.fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]) > 0.99)
    True
    """

    columns: int = 64
    pairs: int = 200
    side: int = 16
    cells: int = 2**16
    memory: int = 2**21

    def build(self, n_features: int, seed: int) -> _core.CellMap:
        bins, pairs = self._between("columns", 2, 256), self._between("pairs", 0, 100_000)
        return _core.Bins(bins, pairs, self._between("side", 2, bins), n_features, seed)


@dataclass
class RandomBinning(CellMap):
    """Random binning: a Laplacian kernel as cells of random grids (Rahimi & Recht 2007).

    Each member is a grid of random pitch and shift in every column. The share of the members in which two
    rows lie in the same cell is k(x, x') on average. Tiles are the same idea with thresholds from the rows.

    Parameters
    ----------
    kernel : Laplacian
        The kernel that is approximated.
    count : int
        The number of members.
    cells, memory : int
        The size of the table, as for :class:`Tiles`.

    Departs from the paper
    ----------------------
    Not in the five papers. From its own paper, only the hashed table. Only the first 1024 columns are
    looked at, and a missing value counts as 0.

    Examples
    --------
    >>> from budgetron import Kalman, Laplacian, Mapped, OnlineClassifier, RandomBinning
    >>> model = OnlineClassifier(Mapped(RandomBinning(Laplacian(1.0)), Kalman()), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.1], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    """

    kernel: Laplacian
    count: int = 100
    cells: int = 2**16
    memory: int = 2**21
    learns: ClassVar[bool] = False

    @property
    def kernel_(self) -> Any:
        """The kernel that is approximated."""
        return self.kernel

    def build(self, n_features: int, seed: int) -> _core.CellMap:
        kernel = check.instance(self, "kernel", self.kernel, Laplacian)
        gamma = check.moderate(kernel, "gamma", kernel.gamma)
        return _core.RandomBinning(self._between("count", 1, 10_000), gamma, n_features, seed)
