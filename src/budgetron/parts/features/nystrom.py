"""The Nystrom map: features from landmarks of the stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron.parts.features.feature_map import OfKernel
from budgetron.parts.kernels import Kernel


@dataclass
class Nystrom(OfKernel):
    """z(x) = D_r^(-1/2) V_r' k(x), K = V D V' the Gram matrix of the landmarks (Lu et al. 2016, Sec. 3.3).

    The landmarks come from the stream. Until all are chosen, a learner works in the exact span of the
    rows kept so far, with one coordinate for each. Then the map is computed once, and the model is
    projected on it. The adaptive state of a vector rule (for example a covariance) starts again there.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel that z(x)'z(x') estimates, positive semidefinite; None is ``Gaussian()``.
    landmarks : int
        The number of landmarks, B.
    rank : int, optional
        How many leading eigenvectors are kept, r; at most ``landmarks``, and all of them if None.
    selection : "first", "steps", "uniform" or "leverage"
        Which rows: the first ones; the first on which the rule makes a step, as in NOGD; a uniform sample
        of the first ``window`` rows, kept in a reservoir; or a sample of those by their ridge leverage
        scores.
    window : int, optional
        How many rows "uniform" and "leverage" choose from; None is 5 times ``landmarks``.
    random_state : int, optional
        The seed. None is that of the estimator, or, as a transformer, a new one.

    Departs from the paper
    ----------------------
    The paper takes the support vectors of the first updates as landmarks ("steps"); the other choices are
    ours, and skip rows in the span of earlier ones. Eigenvalues below 1e-10 of the largest are dropped.

    Examples
    --------
    >>> from budgetron import AdaGrad, Gaussian, Mapped, Nystrom, OnlineClassifier
    >>> model = OnlineClassifier(Mapped(Nystrom(Gaussian(1.0), landmarks=3, rank=2), AdaGrad()))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    3
    >>> Nystrom(Gaussian(1.0), landmarks=2).fit_transform([[0.0], [1.0]]).round(3)
    array([[ 0.827, -0.562],
           [ 0.827,  0.562]])
    """

    kernel: Kernel | None = None
    landmarks: int = 100
    rank: int | None = None
    selection: Literal["first", "steps", "uniform", "leverage"] = "first"
    window: int | None = None
    random_state: Any = None

    learns = True

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:  # noqa: ARG002
        """The native map; checks the description."""
        kernel = check.instance(self, "kernel", self.kernel_, Kernel)
        if not kernel.positive_semidefinite:
            raise ValueError(f"Nystrom: needs a positive semidefinite kernel, got {kernel!r}.")
        landmarks = check.count(self, "landmarks", self.landmarks)
        rank = landmarks if self.rank is None else check.count(self, "rank", self.rank)
        if rank > landmarks:
            raise ValueError(f"Nystrom: rank ({rank}) exceeds landmarks ({landmarks}).")
        return _core.Nystrom(
            kernel=kernel.build(),
            landmarks=landmarks,
            rank=rank,
            selection=self._selection(landmarks, rank, self._seed(seed)),
            features=n_features,
        )

    def _selection(self, landmarks: int, rank: int, seed: int) -> _core.LandmarkSelection:
        window = 5 * landmarks if self.window is None else check.count(self, "window", self.window)
        if window < landmarks:
            raise ValueError(f"Nystrom: window ({window}) is below landmarks ({landmarks}).")
        if self.selection == "first":
            return _core.FirstRows(landmarks)
        if self.selection == "steps":
            return _core.FirstSteps(landmarks)
        if self.selection == "uniform":
            return _core.Reservoir(landmarks, window, seed)
        if self.selection == "leverage":
            return _core.ByLeverage(landmarks, rank, window, seed)
        raise ValueError(
            f'Nystrom: selection must be "first", "steps", "uniform" or "leverage", got {self.selection!r}.'
        )
