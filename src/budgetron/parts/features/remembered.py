"""Features that models share while they learn the same rows in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron.parts.features.feature_map import FeatureMap


class SharedFeatures:
    """The features of the last rows, for models with equal maps that are built while this is `in_use`.

    The models must be used by one thread. They learn as if they were alone, bit for bit. A map that learns
    shares nothing.
    """

    def __init__(self) -> None:
        self._known: list[tuple[object, _core.RememberedFeatures]] = []

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let the models that this thread builds share their features."""
        token = _in_use.set(self)
        try:
            yield
        finally:
            _in_use.reset(token)

    @property
    def seconds_saved(self) -> float:
        """The processor time that the models would have taken beyond what they took, each alone."""
        return sum(remembered.seconds_saved for _, remembered in self._known)

    def forget(self) -> None:
        """Forget the rows so far, which will not come again."""
        for _, remembered in self._known:
            remembered.forget()

    def build(
        self, features: FeatureMap, n_features: int, dtype: npt.DTypeLike, seed: int
    ) -> _core.FeatureMap:
        """The native map of a model."""
        own = features.build(n_features, dtype, seed)
        if own.learns:
            return own
        return _core.RememberingMap(own, self._remembered((features, n_features, np.dtype(dtype), seed)))

    def _remembered(self, key: object) -> _core.RememberedFeatures:
        for known, remembered in self._known:
            if known == key:
                return remembered
        self._known.append((key, _core.RememberedFeatures()))
        return self._known[-1][1]


_in_use: ContextVar[SharedFeatures | None] = ContextVar("shared features", default=None)


def shared_features() -> SharedFeatures | None:
    """Those in use, if any."""
    return _in_use.get()
