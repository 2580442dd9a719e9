"""The learner that needs no tuning, as a description."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron.learners.dated import Dated
from budgetron.learners.kernelized import Kernelized
from budgetron.learners.learner import Learner
from budgetron.learners.mapped import Mapped
from budgetron.learners.neighbours import Neighbours
from budgetron.learners.scaled import Standardised
from budgetron.learners.stacked import Stacked
from budgetron.parts.budgets.swapping import SwapNearest
from budgetron.parts.features.cells import Bins, Tiles
from budgetron.parts.features.feature_map import FeatureMap
from budgetron.parts.features.fourier import RandomFourier, SparseFourier
from budgetron.parts.features.hashing import Hashed
from budgetron.parts.features.recruited import Recruited
from budgetron.parts.features.stack import Identity, Stack
from budgetron.parts.kernels import Gaussian
from budgetron.parts.rules import OGD, PA
from budgetron.parts.tasks import Task
from budgetron.parts.vector_rules import Kalman

KERNELS = 200  # the size from which on the kernel machine does not grow
LOCAL = 50  # the size from which on cells and neighbours do not grow
REMEMBERED = 2**18  # numbers in the window of neighbours beside wide maps


@dataclass
class Auto(Learner):
    """The default learner: raw rows in, calibrated probabilities out, nothing to tune.

    Twelve experts learn side by side from rows that are standardised along the stream. A filter on top
    learns how far to trust each (:class:`~budgetron.Stacked`). What would be tuned, the width of a kernel,
    the depth of a tree and the speed of forgetting, is covered by experts that differ in it.

    Smooth functions of all columns:

    * the inputs alone, with a :class:`~budgetron.Kalman` filter that never forgets, one that forgets
      slowly, and one that forgets fast;
    * Fourier features of three widths, never forgetting;
    * :class:`~budgetron.SparseFourier` features, for rules over few of many columns;
    * :func:`~budgetron.bpa_nn`, a kernel machine on a budget, which moves at once.

    Local rules, which go on learning where smooth functions have nothing more to learn:

    * :class:`~budgetron.Tiles`, the cells of random trees;
    * :class:`~budgetron.Recruited` tiles, which look for the columns that matter;
    * :class:`~budgetron.Bins` of columns and of pairs of columns, for thresholds and codes of categories;
    * bins of single columns, forgetting fast;
    * :class:`~budgetron.Neighbours` among the last rows, of scaled columns and of columns as they are.

    Widths need no data: standardised rows are sqrt(2 d) apart on average, d the number of columns. In
    regression the targets are standardised as well. Rows may have NaN for missing values.

    Parameters
    ----------
    size : int
        The one knob for memory and time against error: the number of Fourier components of each map, at
        most 5000, and up to 200 half the number of support vectors. Below 50 there are fewer cells and
        neighbours too.
        The page "The default" has figures.
    drift : bool
        Whether the world may change. False takes the experts that never forget only, and a filter that does
        not forget either: a little better where nothing changes.
    wide : int
        The number of components of each of two wide maps of narrow Fourier features, on which three step
        sizes learn side by side; 0 for none. Two filters join them: one on ``size`` narrow features, and
        one that forgets slowly. Neighbours then look further back: over 262,144 / columns rows, from 1,000
        to 65,536. For long streams: with ``device="cuda"`` 32768 costs little.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from budgetron import Auto, OnlineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = OnlineClassifier(Auto(size=50), random_state=0)
    >>> int((clf.progressive_predict(X, y) != y).sum())
    21
    """

    size: int = 50
    drift: bool = True
    wide: int = 0

    probabilistic = True  # scores are logits
    accepts_missing = True  # NaN is a missing value
    has_average = False

    def composition(self, n_features: int = 1) -> Standardised:
        """The learner in parts, to look at or to change; checks the parameters.

        With more than 12 columns, up to 48, the table of tiles has room for more cells.
        """
        size = check.count(self, "size", self.size)
        if size > 5000:
            raise ValueError(f"Auto: size must be at most 5000, got {size}: memory grows with its square.")
        third = max(1, size // 3)
        widths = {"4/d": third + size % 3, "1/d": third, "0.25/d": third}
        three_widths = [RandomFourier(Gaussian(gamma), components) for gamma, components in widths.items()]
        local = min(size, LOCAL)
        members, cells, window = 2 * local, 100 * local * min(max(n_features, 12), 48), 20 * local
        steady = [
            Mapped(_inputs(), Kalman(prior=1)),
            Mapped(_beside_inputs(*three_widths), Kalman(prior=10)),
            Mapped(_beside_inputs(SparseFourier(size)), Kalman(prior=3, covariance=500)),
            Kernelized(Gaussian("1/d"), PA(C=0.1), SwapNearest(2 * min(size, KERNELS))),
            Mapped(Tiles(members, cells=cells, memory=2**23), Kalman(prior=6)),
            Mapped(Recruited(Tiles(members, depth=8, narrow=0.5, memory=2**22)), Kalman(prior=6)),
            Mapped(Bins(cells=2**17, memory=2**22), Kalman(prior=10)),
        ]
        wide = check.natural(self, "wide", self.wide)
        if wide:
            steady += self._wide(size)
            window = max(window, min(REMEMBERED // n_features, 2**16))
        if not check.instance(self, "drift", self.drift, bool):
            dated = Stacked(*_dated(size)[:4], drift=0.0)
            return Standardised(Dated(Stacked(*steady, drift=0.0), dated))
        moving = [
            Mapped(_inputs(), Kalman(prior=10, drift=0.02)),
            Mapped(Bins(pairs=0), Kalman(prior=3, drift=0.01)),
            Neighbours(window, min(3, window), shortens=True),
            Mapped(_inputs(), Kalman(prior=10, drift=0.001)),
            Neighbours(window, min(3, window), raw=True),
        ]
        if wide:
            moving.append(Mapped(_beside_inputs(RandomFourier(Gaussian("1/d"), size)), Kalman(10, 0.001)))
        dated = Stacked(*_dated(size), drift=1e-5)
        return Standardised(Dated(Stacked(*steady, *moving, drift=1e-5), dated))

    def _wide(self, size: int) -> list[Learner]:
        """A filter on narrow maps; and three step sizes on each of two wide ones, which they share."""
        narrow = "64/d", "16/d"
        few = [RandomFourier(Gaussian(gamma), max(1, size // 2)) for gamma in narrow]
        maps = [Hashed(RandomFourier(Gaussian(gamma), self.wide)) for gamma in narrow]
        steps = [Mapped(features, OGD(eta)) for features in maps for eta in (0.1, 0.3, 1.0)]
        return [Mapped(_beside_inputs(*few), Kalman(prior=10)), *steps]

    def resolved(self, X: Any) -> Any:
        """The learner in parts, with a number for every parameter."""
        return self.composition(X.shape[1]).resolved(X)

    def check_parts(self, task: Task, n_features: int) -> None:
        self.composition(n_features).check_parts(task, n_features)

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        return self.composition(n_features).build(task, n_features, dtype, seed)


def _dated(size: int) -> list[Learner]:
    """The experts that see columns of dates: four that never forget, and one that does."""
    local = min(size, LOCAL)
    members = 2 * local
    return [
        Mapped(_beside_inputs(SparseFourier(size)), Kalman(prior=3, covariance=500)),
        Mapped(Recruited(Tiles(members, depth=8, narrow=0.5, memory=2**22)), Kalman(prior=6)),
        Mapped(Tiles(members, cells=1200 * local), Kalman(prior=6)),
        Mapped(Bins(cells=2**17, memory=2**22), Kalman(prior=10)),
        Mapped(Bins(pairs=0), Kalman(prior=3, drift=0.01)),
    ]


def _inputs() -> Identity:
    """The inputs, of length about 1, and a constant."""
    return Identity(scale="1/sqrt(d)")


def _beside_inputs(*maps: FeatureMap) -> Stack:
    return Stack(*map(Hashed, maps), _inputs())
