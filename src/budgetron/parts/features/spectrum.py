"""Shift-invariant kernels by their spectral density, from which Fourier maps draw frequencies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron._util import check
from budgetron._util.spec import Spec

Floats = npt.NDArray[np.float64]
Quantile = Callable[[Floats], Any]


@dataclass
class Law(Spec):
    """A distribution of ``scipy.stats`` by its name, raised to a power.

    Parameters
    ----------
    name : str
        As in ``scipy.stats``: "norm", "cauchy", "t", "gamma" ...
    parameters : tuple
        Its shape parameters, location and scale, in the order of ``scipy.stats``.
    power : float
        The exponent: a number of the distribution is raised to it.

    Departs from the paper
    ----------------------
    Nowhere.

    Examples
    --------
    >>> from budgetron import Law
    >>> Law("norm", (0.0, 2.0))(0.5)
    array(0.)
    """

    name: str = "norm"
    parameters: tuple[float, ...] = ()
    power: float = 1.0

    def __call__(self, p: Any) -> Floats:
        """The quantile of p in (0, 1)."""
        from scipy import stats  # not above: it takes longer to import than all else here

        family = getattr(stats, str(self.name), None)
        if not isinstance(family, stats.rv_continuous):
            raise ValueError(f"Law: name must be that of a distribution in scipy.stats, got {self.name!r}.")
        parameters = [check.number(self, "parameters", v) for v in self.parameters]
        return np.asarray(family(*parameters).ppf(p) ** check.number(self, "power", self.power))


@dataclass
class Spectrum(Spec):
    """The distribution of a frequency u: any shift-invariant kernel k(x, z) = E[cos(u'(x - z))] (Bochner).

    The coordinates of u are independent with one distribution, and all are multiplied by one random
    radius. Both are given by their quantile functions. Normal coordinates give every radial kernel, and a
    radius of 1 gives every product of one-dimensional kernels.

    Parameters
    ----------
    coordinate : Law or callable, optional
        The quantile function of a coordinate, from an array of numbers in (0, 1), such as a
        :class:`Law`; None is the standard normal distribution.
    radius : Law or callable, optional
        The quantile function of the common factor; None is 1.

    Departs from the paper
    ----------------------
    Nowhere: Rahimi & Recht 2007, Theorem 1, by inversion of the distribution.

    Examples
    --------
    A Matern kernel of smoothness 3/2 has normal coordinates over the root of a gamma variable:

    >>> import numpy as np
    >>> from budgetron import Law, RandomFourier, Spectrum
    >>> matern = Spectrum(Law("norm"), radius=Law("gamma", (1.5, 0, 1 / 1.5), power=-0.5))
    >>> Z = RandomFourier(matern, components=4000, random_state=0).fit_transform([[0.0], [1.0]])
    >>> abs(Z[0] @ Z[1] - (1 + np.sqrt(3)) * np.exp(-np.sqrt(3))) < 0.02
    np.True_
    """

    coordinate: Law | Quantile | None = None
    radius: Law | Quantile | None = None

    def native_frequencies(self, count: int, seed: int) -> None:
        """None: there is no native generator of these frequencies."""

    def frequencies(self, p: Floats) -> Floats:
        """One frequency for each row of p, numbers in (0, 1); the last column is for the radius."""
        u = self._finite("coordinate", Law() if self.coordinate is None else self.coordinate, p[:, :-1])
        if self.radius is None:
            return u
        return u * self._finite("radius", self.radius, p[:, -1:])

    def _finite(self, name: str, quantile: Quantile, p: Floats) -> Floats:
        if not callable(quantile):
            raise TypeError(f"Spectrum: {name} must be a function of numbers in (0, 1), got {quantile!r}.")
        u = np.asarray(quantile(p), dtype=np.float64)
        if u.shape != p.shape or not np.isfinite(u).all():
            raise ValueError(f"Spectrum: {name} must give a finite number for every number in (0, 1).")
        return u
