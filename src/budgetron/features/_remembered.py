"""Maps that remember features, for models that learn the same rows in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron.features._map import FeatureMap


class RememberedMaps:
    """Native maps by their descriptions. While they are `in_use`, models of equal maps are built on one.

    The models must be used by one thread, and must not get more columns. What they learn does not change by
    a bit. A map that learns is not shared.
    """

    def __init__(self) -> None:
        self._known: list[tuple[object, _core.RememberedMap]] = []

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Build models on these maps, in this thread."""
        token = _in_use.set(self)
        try:
            yield
        finally:
            _in_use.reset(token)

    @property
    def seconds(self) -> float:
        """The processor time that the maps have taken."""
        return sum(native.seconds for _, native in self._known)

    def forget(self) -> None:
        """Forget the rows so far, which will not come again."""
        for _, native in self._known:
            native.forget()

    def build(
        self, features: FeatureMap, n_features: int, dtype: npt.DTypeLike, seed: int
    ) -> _core.FeatureMap:
        """The native map of a description: one that is there, or a new one."""
        key = (features, n_features, np.dtype(dtype), seed)
        for known, native in self._known:
            if known == key:
                return native
        own = features.build(n_features, dtype, seed)
        if own.learns:
            return own
        remembered = _core.RememberedMap(own)
        self._known.append((key, remembered))
        return remembered


_in_use: ContextVar[RememberedMaps | None] = ContextVar("remembered maps", default=None)


def remembered_maps() -> RememberedMaps | None:
    """Those in use, if any."""
    return _in_use.get()
