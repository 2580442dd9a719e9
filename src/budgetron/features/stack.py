"""Maps side by side, and the inputs themselves as one of them."""

from __future__ import annotations

__all__ = ["Identity", "Stack"]

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from budgetron import _check, _core
from budgetron.features._map import FeatureMap


@dataclass
class Identity(FeatureMap):
    """The inputs themselves, times a scale, and a constant 1: z(x) = (scale x, 1).

    In a :class:`Stack` with few random features it lowers the error a lot.

    Parameters
    ----------
    scale : float
        What the inputs are multiplied by.
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

    scale: float = 1.0
    constant: bool = True

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:  # noqa: ARG002
        """The native map; checks the description."""
        scale = _check.number(self, "scale", self.scale)
        return _core.Identity(n_features, scale, _check.instance(self, "constant", self.constant, bool))


@dataclass(init=False, repr=False)
class Stack(FeatureMap):
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

    def __init__(
        self, *each: FeatureMap, maps: Sequence[FeatureMap] = (), random_state: Any = None
    ) -> None:
        if each and maps:
            raise TypeError("Stack: give the maps one after the other, or as maps=, not both.")
        self.maps = each or maps
        self.random_state = random_state

    def __repr__(self) -> str:
        if not isinstance(self.maps, (list, tuple)):
            return f"Stack(maps={self.maps!r}, random_state={self.random_state!r})"
        seed = [] if self.random_state is None else [f"random_state={self.random_state!r}"]
        return f"Stack({', '.join([*map(repr, self.maps), *seed])})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The maps; with ``deep`` also every parameter of each, under its number."""
        own: dict[str, Any] = {"maps": self.maps, "random_state": self.random_state}
        if deep:
            for i, part in enumerate(self.maps if isinstance(self.maps, (list, tuple)) else ()):
                if not isinstance(part, FeatureMap):
                    continue
                own |= {f"{i}__{name}": value for name, value in part.get_params().items()}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set the maps, or parameters of one: ``0__components=50``."""
        maps = params.pop("maps", self.maps)
        seed = params.pop("random_state", self.random_state)
        inner: dict[int, dict[str, Any]] = {}
        for name, value in params.items():
            number, _, rest = name.partition("__")
            if not (number.isdecimal() and int(number) < len(maps) and rest):
                raise ValueError(
                    f"Stack has no parameter {name!r}; it has: maps, random_state, 0__..., 1__..."
                )
            inner.setdefault(int(number), {})[rest] = value
        self.maps, self.random_state = maps, seed
        for i, values in inner.items():
            maps[i].set_params(**values)
        return self

    @property
    def kernel_(self) -> Any:
        """The kernel of the first map that has one."""
        return next((m.kernel_ for m in self.maps if m.kernel_ is not None), None)

    def resolved(self, X: Any) -> Self:
        """The maps with a number for every parameter; open ones are computed from the rows X."""
        maps = tuple(m.resolved(X) for m in self._maps())
        return type(self)(*maps, random_state=self._own_seed())

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:
        """The native map; checks the description. Every map gets a seed of its own."""
        seed = self._seed(seed)
        return _core.Stack(
            [m.build(n_features, dtype, _seed_of_part(seed, i)) for i, m in enumerate(self._maps())]
        )

    def _maps(self) -> tuple[FeatureMap, ...]:
        if not isinstance(self.maps, (list, tuple)):
            raise TypeError(f"Stack: maps must be a sequence of feature maps, got {self.maps!r}.")
        if not self.maps:
            raise ValueError("Stack: needs at least one map, got none.")
        return tuple(_check.instance(self, f"maps[{i}]", m, FeatureMap) for i, m in enumerate(self.maps))


def _seed_of_part(seed: int, i: int) -> int:
    return int(np.random.SeedSequence([seed, i]).generate_state(1, np.uint64)[0] >> 1)
