"""Fourier features whose width is learned, one for each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Ranges
from budgetron._util.text import shown
from budgetron.parts.features.feature_map import OfKernel
from budgetron.parts.kernels import Gaussian

_MOST = 2**26  # numbers of frequencies, 512 MiB


@dataclass
class LearnedWidths(OfKernel):
    """Random Fourier features whose widths follow the gradient of the loss (RRF; Nguyen et al. 2017).

    The frequencies are u_ij = exp(g_j) e_ij for column j, with e_ij drawn once and g_j = 0 at the start, so
    the map begins as :class:`RandomFourier`. A step beta z(x) of the weights is followed by
    g_j += rate beta df(x)/dg_j, with f from before the step. So every column has a width of its own, and
    one that does not help gets a wide one. Scalar rules only, such as :class:`~budgetron.OGD`, where
    rate eta is the paper's step size of the widths.

    Parameters
    ----------
    kernel : Gaussian, optional
        The kernel at the start; None is ``Gaussian()``.
    components : int
        The number of frequencies, D; there are 2 D features.
    rate : float
        The step size of the widths, in units of that of the weights; 0 learns no width.
    random_state : int, optional
        The seed. None is that of the estimator, or, as a transformer, a new one.

    Departs from the paper
    ----------------------
    The features are divided by sqrt(D), which the authors' program leaves out. Weights are 0 at the start;
    the program draws them. abs(g_j) is at most 30. As a transformer, ``fit`` learns no width.

    Examples
    --------
    >>> from budgetron import Gaussian, LearnedWidths, Mapped, OGD, OnlineClassifier
    >>> features = LearnedWidths(Gaussian(1.0), components=50, rate=0.01)
    >>> model = OnlineClassifier(Mapped(features, OGD(eta=0.5)), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    """

    kernel: Gaussian | None = None
    components: int = 100
    rate: float = 0.001
    random_state: Any = None
    draws: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    ranges: ClassVar[Ranges] = {"rate": (1e-4, 0.1)}
    moves_with_steps: ClassVar[bool] = True

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:  # noqa: ARG002
        """The native map; checks the description."""
        components = check.count(self, "components", self.components)
        if components * n_features > _MOST:
            raise ValueError(
                f"LearnedWidths: components times columns must be at most {_MOST}, got "
                f"{components} * {n_features}."
            )
        kernel = self.kernel_
        if not isinstance(kernel, Gaussian):
            raise ValueError(f"LearnedWidths: needs a kernel that is Gaussian, got {shown(kernel)}.")
        kernel.build()
        frequencies = kernel.native_frequencies(components, self._seed(seed))
        return _core.LearnedWidths(n_features, frequencies, check.non_negative(self, "rate", self.rate))
