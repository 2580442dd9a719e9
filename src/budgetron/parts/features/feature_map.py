"""The base of the feature maps: the description, and the scikit-learn transformer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from budgetron import _core
from budgetron._util import check
from budgetron._util.rows import Matrix, canonical, first_too_large, refuse_too_large, whole
from budgetron._util.spec import Spec
from budgetron.parts.features.cells import CellMap
from budgetron.parts.kernels import Gaussian


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Spec, BaseEstimator):  # type: ignore[misc]
    """Base of the feature maps.

    A map is a description, which :class:`~budgetron.Mapped` builds and learns on, and a transformer:
    ``fit(X).transform(X)`` gives z(x) for every row. Fitting does not change what the description says.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import FeatureMap, Gaussian, RandomFourier
    >>> z = RandomFourier(Gaussian(0.5), components=2000).fit(np.zeros((1, 2)))
    >>> isinstance(z, FeatureMap), z.transform([[0.0, 1.0]]).shape
    (True, (1, 4000))
    """

    draws: ClassVar[bool] = False
    """Whether the features are random, if there is a seed."""

    @property
    def kernel_(self) -> Any:
        """The kernel that z(x)'z(x') approximates, if there is one."""
        return getattr(self, "kernel", None)

    @property
    def is_drawn(self) -> bool:
        seeded = getattr(self, "random_state", None) is not None
        return not seeded and (self.draws or super().is_drawn)

    @property
    def cell_map(self) -> CellMap | None:
        """The map of cells that this one is, if its features are cells."""
        return None

    @property
    def moves_with_steps(self) -> bool:
        """Whether the map is changed by the steps of a scalar rule, so that f has no average."""
        return any(part.moves_with_steps for part in self.parts().values() if isinstance(part, FeatureMap))

    @property
    def learns(self) -> bool:
        """Whether the features are learned from rows, so that those of two models differ."""
        return any(part.learns for part in self.parts().values() if isinstance(part, FeatureMap))

    def resolved(self, X: Any) -> Self:
        """The map with a number for every parameter; open ones are computed from the rows X."""
        if getattr(self, "random_state", None) is None:
            return super().resolved(X)
        seed = self._seed(None)
        return replace(super().resolved(X), random_state=seed)

    def build(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:
        """The native map; checks the description. The seed is for a map that has none of its own."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Make the map for rows like those of X."""
        X = self._rows(X, reset=True)
        fitted, seed = self.resolved(X), self._seed(None)
        native = fitted.build(X.shape[1], X.dtype, seed)
        native.fit(whole(X))
        self._n_features, self._dtype, self._seed_used = X.shape[1], X.dtype, seed
        self.map_ = fitted
        self.native_: Any = native  # set last: other threads may be using the old one
        return self

    def transform(self, X: Any) -> npt.NDArray[np.floating[Any]]:
        """z(x) for every row of X."""
        check_is_fitted(self, "map_")
        X = self._rows(X, reset=False)
        Z: npt.NDArray[np.float64] = self.native_.transform(whole(X))
        return Z.astype(X.dtype, copy=False)

    def _build(self) -> _core.FeatureMap:
        return self.map_.build(self._n_features, self._dtype, self._seed_used)

    def _rows(self, X: Any, *, reset: bool) -> Matrix:
        with check.in_range("X"):
            X = canonical(
                validate_data(self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32))
            )
        refuse_too_large(X, first_too_large(X, X.dtype))
        return X

    def _seed(self, given: int | None) -> int:
        """The map's own seed if it has one, else the one given, else a new one."""
        state = getattr(self, "random_state", None)
        if state is None and given is not None:
            return given
        if isinstance(state, (int, np.integer)) and not isinstance(state, bool):
            check_random_state(state)
            return int(state)
        return int(check_random_state(state).randint(2**31 - 1))

    @property
    def _n_features_out(self) -> int:
        return int(self.native_.size)

    def __getstate__(self) -> dict[str, Any]:
        described = {k: v for k, v in super().__getstate__().items() if k != "native_"}
        return described | ({"_state": self.native_.state()} if hasattr(self, "native_") else {})

    def __setstate__(self, described: dict[str, Any]) -> None:
        state = described.pop("_state", None)
        super().__setstate__(described)
        if state is not None:
            self.native_ = self._build()
            self.native_.restore(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class OfKernel(FeatureMap):
    """Base of the maps that approximate a kernel; None is ``Gaussian()``."""

    kernel: Any

    @property
    def kernel_(self) -> Any:
        """The kernel that z(x)'z(x') approximates."""
        return Gaussian() if self.kernel is None else self.kernel

    @property
    def needs_rows(self) -> bool:
        return self.kernel is None or super().needs_rows

    def resolved(self, X: Any) -> Self:
        """The map with a number for every parameter; open ones are computed from the rows X."""
        if self.kernel is None:
            return replace(self, kernel=Gaussian()).resolved(X)
        return super().resolved(X)
