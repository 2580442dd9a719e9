"""Maps side by side, and the inputs themselves as one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Parts, seed_of_part
from budgetron.parts.features.feature_map import FeatureMap


@dataclass
class Identity(FeatureMap):
    """The inputs themselves, times a scale, and a constant 1: z(x) = (scale x, 1).

    In a :class:`Stack` with few random features it lowers the error a lot.

    Parameters
    ----------
    scale : float or "1/sqrt(d)"
        The factor of the inputs; "1/sqrt(d)" is 1 / sqrt(n_features).
    constant : bool
        Whether there is a constant 1 behind the inputs.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> from budgetron import Identity
    >>> Identity(scale=0.5).fit_transform([[2.0, 3.0]])
    array([[1. , 1.5, 1. ]])
    """

    scale: float | Literal["1/sqrt(d)"] = 1.0
    constant: bool = True

    def resolved(self, X: Any) -> Self:
        return replace(super().resolved(X), scale=self._factor(X.shape[1]))

    def _factor(self, n_features: int) -> float:
        return n_features**-0.5 if self.scale == "1/sqrt(d)" else check.number(self, "scale", self.scale)

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:  # noqa: ARG002
        """The native map; checks the description."""
        scale = self._factor(n_features)
        return _core.Identity(n_features, scale, check.instance(self, "constant", self.constant, bool))


@dataclass(init=False, repr=False)
class Stack(Parts, FeatureMap):
    """Maps side by side: z(x) is their features one after the other, its kernel the sum of theirs.

    Parameters
    ----------
    *maps : FeatureMap
        The maps, one after the other (or as a sequence under the name ``maps``). To ``set_params`` they
        are known by their numbers: ``0__components``.
    random_state : int, optional
        The seed, from which every map without one of its own gets one. None is that of the estimator, or,
        as a transformer, a new one.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> from budgetron import Gaussian, Identity, RandomFourier, Stack
    >>> both = Stack(RandomFourier(Gaussian(1.0), components=100), Identity())
    >>> both.fit([[0.0, 1.0]]).get_feature_names_out().shape
    (203,)
    """

    maps: Sequence[FeatureMap]
    random_state: Any

    _kind = FeatureMap

    def __init__(
        self, *each: FeatureMap, maps: Sequence[FeatureMap] = (), random_state: Any = None
    ) -> None:
        self.maps = self._given(each, maps)
        self.random_state = random_state

    @property
    def kernel_(self) -> Any:
        """The kernel of the first map that has one."""
        return next((m.kernel_ for m in self.maps if m.kernel_ is not None), None)

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:
        """The native map; checks the description. Every map gets a seed of its own."""
        seed = self._seed(seed)
        return _core.Stack(
            [m.build(n_features, dtype, seed_of_part(seed, i)) for i, m in enumerate(self.members())]
        )
