"""Fourier features: z(x) = (sin(u_1'x) .. sin(u_D'x), cos(u_1'x) .. cos(u_D'x)) / sqrt(D).

The maps differ in how the frequencies u_i are drawn from the spectral density of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

from budgetron import _core
from budgetron._util import check
from budgetron._util.rows import precision
from budgetron.parts.features.feature_map import FeatureMap, OfKernel
from budgetron.parts.features.spectrum import Spectrum
from budgetron.parts.kernels import Gaussian, Kernel

Floats = npt.NDArray[np.float64]
CACHE_BYTES = 64 << 20
"""What a map keeps of the frequencies of sparse columns; others are drawn again when they are needed."""


@dataclass
class _Fourier(OfKernel):
    kernel: Kernel | Spectrum | None = None
    components: int = 100
    random_state: Any = None
    draws: ClassVar[bool] = True

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:
        """The native map; checks the description."""
        components = _components(self)
        frequencies = self._frequencies(components, n_features, self._seed(seed))
        return _core.fourier(n_features, frequencies, precision(dtype), CACHE_BYTES)

    def _frequencies(self, D: int, d: int, seed: int) -> _core.Frequencies:
        raise NotImplementedError

    def _law(self) -> Kernel | Spectrum:
        """The kernel, checked: it must have random frequencies."""
        kernel: Kernel | Spectrum = self.kernel_
        if not isinstance(kernel, Spectrum):
            check.instance(self, "kernel", kernel, Kernel).build()
        if kernel.frequencies(np.full((1, 2), 0.5)) is None:
            raise ValueError(
                f"{type(self).__name__}: needs a shift-invariant kernel (Gaussian, Laplacian or a "
                f"Spectrum), got {kernel!r}."
            )
        return kernel

    def _frequencies_at(self, p: Floats) -> Floats:
        """The frequencies of the kernel for uniform numbers p, one column each."""
        return np.ascontiguousarray(self.kernel_.frequencies(p).T)

    def _later(self, D: int, seed: int, radii: Callable[[], Floats]) -> Callable[[int], Floats]:
        """The frequencies of one column that is new since the map was built, as those of RandomFourier."""

        def later(j: int) -> Floats:
            return self._frequencies_at(
                _inside(np.column_stack([_core.uniforms(seed, D, stream=j + 1), radii()]))
            )

        return later

    def _gamma(self) -> float:
        """Gamma of the kernel, which must be Gaussian."""
        gamma = self.kernel_.gaussian_gamma() if isinstance(self.kernel_, Kernel) else None
        if gamma is None:
            raise ValueError(f"{type(self).__name__}: needs a Gaussian kernel, got {self.kernel_!r}.")
        return gamma


@dataclass
class RandomFourier(_Fourier):
    """Independent frequencies (Rahimi & Recht 2007; Lu et al. 2016, Sec. 3.2).

    The frequencies of an input column come from a generator keyed by the seed and the column, when the
    column first appears: columns that never appear in a sparse stream take no memory, and the order in
    which columns appear does not change the map.

    Parameters
    ----------
    kernel : Gaussian, Laplacian or Spectrum, optional
        The kernel that z(x)'z(x') estimates; None is ``Gaussian()``. The frequencies of a Spectrum are
        made for all input columns at once.
    components : int
        The number of frequencies, D, at most 10 million; there are 2 D features.
    random_state : int, optional
        The seed. None is that of the estimator, or, as a transformer, a new one.

    Departs from the paper
    ----------------------
    The paper leaves out 1/sqrt(D): a step eta there is eta D here.

    Examples
    --------
    >>> from budgetron import AROW, Gaussian, Mapped, OnlineClassifier, RandomFourier
    >>> features = RandomFourier(Gaussian(1.0), components=50)
    >>> model = OnlineClassifier(Mapped(features, AROW()), random_state=0)
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).predict([[0.0], [1.0]])
    array([0, 1])
    >>> RandomFourier(Gaussian(1.0), components=3, random_state=0).fit_transform([[0.0], [1.0]]).shape
    (2, 6)
    """

    def _frequencies(self, D: int, d: int, seed: int) -> _core.Frequencies:
        if (native := self._law().native_frequencies(D, seed)) is not None:
            return native

        def radii() -> Floats:
            uniforms: Floats = _core.uniforms(seed, D)
            return uniforms

        def make() -> Floats:
            columns = [_core.uniforms(seed, D, stream=j + 1) for j in range(d)]
            return self._frequencies_at(_inside(np.column_stack([*columns, radii()])))

        return _core.given_frequencies(d, D, make, self._later(D, seed, radii))


@dataclass
class OrthogonalFourier(_Fourier):
    """Frequencies in orthogonal blocks, of lower variance (Yu et al. 2016, "Orthogonal random features").

    Each block of d frequencies is a random orthogonal matrix with rescaled rows. A single frequency has the
    same distribution as in :class:`RandomFourier`.

    Parameters
    ----------
    kernel : Gaussian, optional
        The kernel that z(x)'z(x') estimates; None is ``Gaussian()``.
    components, random_state
        As for :class:`RandomFourier`.

    Departs from the paper
    ----------------------
    Not in the five papers. From its own paper, nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian, OrthogonalFourier
    >>> Z = OrthogonalFourier(Gaussian(0.5), components=500, random_state=0).fit_transform([[0.0], [1.0]])
    >>> abs(Z[0] @ Z[1] - Gaussian(0.5)([[0.0]], [[1.0]])[0, 0]) < 0.1
    np.True_
    """

    kernel: Gaussian | None = None

    def _frequencies(self, D: int, d: int, seed: int) -> _core.Frequencies:
        scale = np.sqrt(2 * self._gamma())

        def make() -> Floats:
            random, blocks = np.random.Generator(np.random.Philox(key=seed)), []
            for start in range(0, D, d):
                k = min(d, D - start)
                Q, R = np.linalg.qr(random.standard_normal((d, k)))
                Q *= np.where(np.diagonal(R) < 0, -1.0, 1.0)  # else the law of Q would not be uniform
                blocks.append(Q * np.sqrt(random.chisquare(d, k)))
            return np.ascontiguousarray(scale * np.hstack(blocks))

        return _core.given_frequencies(d, D, make, self._later(D, seed, lambda: np.full(D, 0.5)))


@dataclass
class SobolFourier(_Fourier):
    """Quasi-random frequencies from a scrambled Sobol sequence (Avron et al. 2016).

    They fill the spectral density more evenly than independent ones. With few input columns, the error
    falls faster with D.

    Parameters
    ----------
    kernel, components, random_state
        As for :class:`RandomFourier`. At most 21,200 input columns.

    Departs from the paper
    ----------------------
    Not in the five papers. From its own paper, nowhere.

    Examples
    --------
    >>> from budgetron import Laplacian, SobolFourier
    >>> Z = SobolFourier(Laplacian(0.5), components=512, random_state=0).fit_transform([[0.0], [1.0]])
    >>> abs(Z[0] @ Z[1] - Laplacian(0.5)([[0.0]], [[1.0]])[0, 0]) < 0.01
    np.True_
    """

    def _frequencies(self, D: int, d: int, seed: int) -> _core.Frequencies:
        if d >= qmc.Sobol.MAXDIM:
            raise ValueError(
                f"SobolFourier: at most {qmc.Sobol.MAXDIM - 1} input columns, got {d}; take RandomFourier."
            )
        self._law()  # raises if the kernel has no frequencies

        def points() -> Floats:
            points = qmc.Sobol(d + 1, rng=np.random.default_rng(seed))
            p: Floats = points.random_base2(max(1, int(np.ceil(np.log2(D)))))[:D]
            return p.clip(2.0**-54, 1 - 2.0**-53)

        later = self._later(D, seed, lambda: points()[:, -1])
        return _core.given_frequencies(d, D, lambda: self._frequencies_at(points()), later)


@dataclass
class HadamardFourier(_Fourier):
    """Structured frequencies for wide inputs, O(D log d) instead of O(D d) (Le, Sarlos & Smola 2013).

    Blocks of Walsh-Hadamard transforms and random diagonals, whose width is d rounded up to a power of 2,
    stand for the matrix of frequencies ("Fastfood"); a single frequency has the same distribution as in
    :class:`RandomFourier`.

    Parameters
    ----------
    kernel : Gaussian, optional
        The kernel that z(x)'z(x') estimates; None is ``Gaussian()``.
    components, random_state
        As for :class:`RandomFourier`.

    Departs from the paper
    ----------------------
    Not in the five papers. From its own paper, nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import Gaussian, HadamardFourier
    >>> X = np.random.default_rng(0).normal(size=(2, 300)) / 20
    >>> Z = HadamardFourier(Gaussian(0.5), components=2000, random_state=0).fit_transform(X)
    >>> abs(Z[0] @ Z[1] - Gaussian(0.5)(X)[0, 1]) < 0.05
    np.True_
    """

    kernel: Gaussian | None = None

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:  # noqa: ARG002
        """The native map; checks the description."""
        D, key, gamma = _components(self), self._seed(seed), self._gamma()
        width = 1 << max(0, n_features - 1).bit_length()

        def make(k: int) -> tuple[npt.NDArray[Any], ...]:
            d = width << max(0, k - 1)  # of the blocks of columns that were added later: k > 0
            random, shape = np.random.Generator(np.random.Philox(key=key + (k << 64))), (-(-D // d), d)
            G = random.standard_normal(shape)
            lengths = np.sqrt(2 * gamma * random.chisquare(d, shape))
            B = random.choice([-1.0, 1.0], shape)
            P = random.permuted(np.tile(np.arange(d, dtype=np.uint64), (shape[0], 1)), axis=1)
            S = lengths / (np.sqrt(d) * np.linalg.norm(G, axis=1, keepdims=True))
            return B.ravel(), P.ravel(), G.ravel(), S.ravel()

        return _core.HadamardFourier(components=D, width=width, make=make)


@dataclass
class SparseFourier(FeatureMap):
    """Frequencies that look at one or two columns each: an additive kernel with pairs.

    A component is a sine and a cosine of x_i / width, or of (a x_i + b x_j) / width with a^2 + b^2 = 1.
    Columns and pairs take turns in a random order. Widths are spread evenly between two limits, on a
    logarithmic scale. A Gaussian of all columns cannot see a rule over few of many columns; this map can.
    The columns must have about unit variance, as inside :class:`~budgetron.Standardised`.

    Parameters
    ----------
    components : int
        The number of frequencies, D, at most 10 million; there are 2 D features.
    narrowest, widest : float
        The limits of the widths.
    random_state : int, optional
        As for :class:`RandomFourier`.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> from budgetron import SparseFourier
    >>> Z = SparseFourier(components=200, random_state=0).fit_transform([[0.0, 0.0], [0.0, 1.0]])
    >>> (Z @ Z.T).round(1)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    components: int = 100
    narrowest: float = 0.1
    widest: float = 4.0
    random_state: Any = None
    draws: ClassVar[bool] = True

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:
        components = _components(self)
        narrowest = check.moderate(self, "narrowest", self.narrowest)
        widest = check.moderate(self, "widest", self.widest)
        if widest < narrowest:
            raise ValueError(
                f"SparseFourier: widest must be at least narrowest, got {widest} < {narrowest}."
            )
        frequencies = _core.SparseFrequencies(components, n_features, narrowest, widest, self._seed(seed))
        return _core.fourier(n_features, frequencies, precision(dtype), CACHE_BYTES)


def _inside(p: Floats) -> Floats:
    """Uniform numbers on [0, 1), moved into (0, 1)."""
    return np.minimum(p + 2.0**-54, 1 - 2.0**-53)


def _components(owner: Any) -> int:
    components = check.count(owner, "components", owner.components)
    if components > 10_000_000:
        raise ValueError(f"{type(owner).__name__}: components must be at most 10000000, got {components}.")
    return components
