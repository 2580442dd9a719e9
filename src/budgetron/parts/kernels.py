"""Kernels: k(x, z), computed from one sum over the features (<x, z> or |x - z|_1) and the norms.

What an algorithm must know about a kernel beyond its values is a method here. A kernel without the property
returns None, and the algorithm refuses it.
"""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.rows import canonical, is_sparse, whole
from budgetron._util.spec import Ranges, Spec

Floats = npt.NDArray[np.float64]
LARGEST_RATIO = 1e12  # of the variances of two columns
Gamma = float | Literal["scale", "auto"] | str


def _scale(X: Any) -> float:
    """1 / (n_features * X.var()), as in scikit-learn; 1 if X is constant."""
    if X.shape[0] == 0:
        raise ValueError(
            'gamma="scale" is computed from rows, and there are none yet: give a number, or "auto".'
        )
    if is_sparse(X):
        X = X.astype(np.float64)
        variance = float(X.multiply(X).mean() - X.mean() ** 2)
    else:
        variance = float(np.var(X, dtype=np.float64))
    _warn_of_units(X)
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _warn_of_units(X: Any) -> None:
    """Warn if columns differ so much that the kernel sees only one of them."""
    if is_sparse(X) or X.shape[1] < 2:
        return
    spread = np.var(X, axis=0, dtype=np.float64)
    spread = spread[spread > 0]
    if len(spread) > 1 and spread.max() > LARGEST_RATIO * np.median(spread):
        warnings.warn(
            f'gamma="scale": the column with the largest variance, {spread.max():.2g}, hides the others, '
            f"whose median is {np.median(spread):.2g}: scale the columns, as Standardised(learner) does.",
            stacklevel=2,
        )


class Kernel(Spec):
    """Base of the kernels. ``kernel(X, Z)`` is the matrix of k(x, z).

    Examples
    --------
    >>> from budgetron import Gaussian, Kernel
    >>> isinstance(Gaussian(0.5), Kernel)
    True
    >>> Gaussian(0.5)([[0.0], [1.0]], [[0.0]]).round(2)
    array([[1.  ],
           [0.61]])
    """

    by_name: ClassVar[bool] = True

    @property
    def positive_semidefinite(self) -> bool:
        """Whether every Gram matrix of the kernel is positive semidefinite."""
        return True

    def gaussian_gamma(self) -> float | None:
        """Gamma, if the kernel is ``exp(-gamma |x - z|^2)``."""
        return None

    def at_distance(self, delta: float) -> float | None:  # noqa: ARG002
        """k(x, z) of rows at distance delta, if the kernel falls with a distance: Euclidean, or L1."""
        return None

    def frequencies(self, p: Floats) -> Floats | None:  # noqa: ARG002
        """Random frequencies, if the kernel is shift-invariant, as :meth:`Spectrum.frequencies`."""
        return None

    def native_frequencies(self, count: int, seed: int) -> _core.Frequencies | None:  # noqa: ARG002
        """The native generator of random frequencies, if there is one for the kernel."""
        return None

    def build(self) -> _core.Kernel:
        """The native kernel; checks the parameters."""
        raise NotImplementedError

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        """The matrix of k(x, z) for all rows x of X and z of Z; Z is X if it is not given."""
        from sklearn.utils import check_array

        with check.in_range("X and Z"):
            X = canonical(check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32)))
            Z = X if Z is None else canonical(check_array(Z, accept_sparse="csr", dtype=np.float64))
        if X.shape[1] != Z.shape[1]:
            raise ValueError(f"{type(self).__name__}: X has {X.shape[1]} features and Z has {Z.shape[1]}.")
        return self.resolved(X).build().matrix(whole(X), whole(Z), X.shape[1])


class _WithGamma(Kernel):
    gamma: Gamma
    ranges: ClassVar[Ranges] = {"gamma": (1 / 32, 32.0)}
    """In multiples of gamma="scale", whose width is half the root mean square distance of two rows."""

    @property
    def needs_rows(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "scale"

    def resolved(self, X: Any) -> Self:
        if self.gamma == "scale":
            return replace(self, gamma=_scale(X))
        if self.gamma == "auto":
            return replace(self, gamma=1.0 / X.shape[1])
        if isinstance(self.gamma, str) and self.gamma.endswith("/d"):
            return replace(self, gamma=self._per_column() / X.shape[1])
        return self

    def _per_column(self) -> float:
        try:
            return check.positive(self, "gamma", float(str(self.gamma).removesuffix("/d")))
        except ValueError:
            return self._gamma()  # raises

    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise ValueError(
                f'{type(self).__name__}: gamma must be a number, "scale", "auto" or a number per column '
                f'such as "0.25/d", got {self.gamma!r}.'
            )
        return check.positive(self, "gamma", self.gamma)


@dataclass
class Gaussian(_WithGamma):
    """``k(x, z) = exp(-gamma |x - z|^2)``.

    The papers write a width sigma: gamma = 1 / (2 sigma^2), see :meth:`of_width`. Distances are computed
    from dot products, as in scikit-learn. Centre a feature whose mean is large compared with its spread.

    Parameters
    ----------
    gamma : float, "scale", "auto" or a text such as "0.25/d"
        "scale" is 1 / (n_features * X.var()) and "auto" is 1 / n_features, as in scikit-learn. "0.25/d" is
        0.25 / n_features. "scale" is computed from the first batch and does not change afterwards.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Gaussian
    >>> Gaussian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.36787944]])
    >>> Gaussian.of_width(8)
    Gaussian(gamma=0.0078125)
    """

    gamma: Gamma = "scale"
    also: ClassVar[tuple[str, ...]] = ("rbf", "normal", "squared-exponential")

    @classmethod
    def of_width(cls, sigma: float) -> Self:
        """The kernel of width sigma, ``exp(-|x - z|^2 / (2 sigma^2))``."""
        sigma = check.positive(cls.__name__, "sigma", sigma)
        if not 1e-150 <= sigma <= 1e150:
            raise ValueError(f"{cls.__name__}: sigma must lie between 1e-150 and 1e150, got {sigma!r}.")
        return cls(gamma=1 / (2 * sigma**2))

    def build(self) -> _core.Kernel:
        return _core.Gaussian(self._gamma())

    def gaussian_gamma(self) -> float:
        return self._gamma()

    def at_distance(self, delta: float) -> float:
        """k(x, z) of rows at the Euclidean distance delta."""
        return math.exp(-self._gamma() * delta * delta)

    def frequencies(self, p: Floats) -> Floats:
        """Random frequencies: each coordinate is normal with variance 2 gamma."""
        from scipy.special import ndtri

        return np.asarray(np.sqrt(2 * self._gamma()) * ndtri(p[:, :-1]))

    def native_frequencies(self, count: int, seed: int) -> _core.Frequencies:
        return _core.NormalFrequencies(count, np.sqrt(2 * self._gamma()), seed)


@dataclass
class Laplacian(_WithGamma):
    """``k(x, z) = exp(-gamma |x - z|_1)``.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        As for :class:`Gaussian`.

    Departs from the paper
    ----------------------
    The papers write ``exp(-|x - z|_1 / sigma)``: gamma = 1 / sigma.

    Examples
    --------
    >>> from budgetron import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.36787944]])
    """

    gamma: Gamma = "scale"

    def build(self) -> _core.Kernel:
        return _core.Laplacian(self._gamma())

    def at_distance(self, delta: float) -> float:
        """k(x, z) of rows at the L1 distance delta."""
        return math.exp(-self._gamma() * delta)

    def frequencies(self, p: Floats) -> Floats:
        """Random frequencies: each coordinate has the Cauchy distribution of scale gamma."""
        return np.asarray(self._gamma() * np.tan(np.pi * (p[:, :-1] - 0.5)))

    def native_frequencies(self, count: int, seed: int) -> _core.Frequencies:
        return _core.CauchyFrequencies(count, self._gamma(), seed)


@dataclass
class Polynomial(_WithGamma):
    """k(x, z) = (gamma <x, z> + coef0)^degree.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        As for :class:`Gaussian`.
    coef0 : float
        The kernel is positive semidefinite if this is at least 0.
    degree : int
        A whole number above 0.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Polynomial
    >>> Polynomial(gamma=1.0, coef0=1.0, degree=2)([[1.0, 2.0]], [[3.0, 1.0]])
    array([[36.]])
    """

    gamma: Gamma = "scale"
    coef0: float = 1.0
    degree: int = 3
    also: ClassVar[tuple[str, ...]] = ("poly",)

    @property
    def positive_semidefinite(self) -> bool:
        return self.coef0 >= 0

    def build(self) -> _core.Kernel:
        coef0 = check.number(self, "coef0", self.coef0)
        return _core.Polynomial(self._gamma(), coef0, check.count(self, "degree", self.degree))


@dataclass
class Linear(Kernel):
    """k(x, z) = <x, z>.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 1.0]])
    array([[5.]])
    """

    def build(self) -> _core.Kernel:
        return _core.Linear()


@dataclass
class Sigmoid(_WithGamma):
    """k(x, z) = tanh(gamma <x, z> + coef0).

    The kernel is not positive semidefinite: budgets that project, swap or sample by weight refuse it.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        As for :class:`Gaussian`.
    coef0 : float
        The shift.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Sigmoid
    >>> Sigmoid(gamma=0.1, coef0=0.0)([[1.0, 2.0]], [[3.0, 1.0]])
    array([[0.46211716]])
    """

    gamma: Gamma = "scale"
    coef0: float = 1.0

    positive_semidefinite = False  # some Gram matrices have negative eigenvalues

    def build(self) -> _core.Kernel:
        return _core.Sigmoid(self._gamma(), check.number(self, "coef0", self.coef0))
