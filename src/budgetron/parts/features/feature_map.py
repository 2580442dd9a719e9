"""The base of the feature maps: the description, and the scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from budgetron import _core
from budgetron._util import check
from budgetron._util.rows import Matrix, canonical, first_too_large, refuse_too_large, whole
from budgetron._util.spec import Spec


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

    @property
    def kernel_(self) -> Any:
        """The kernel that z(x)'z(x') approximates, if there is one."""
        return getattr(self, "kernel", None)

    def resolved(self, X: Any) -> Self:  # noqa: ARG002
        """The map with a number for every parameter; open ones are computed from the rows X."""
        return self

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
        own = getattr(self, "random_state", None)
        if own is None and given is not None:
            return given
        if isinstance(own, (int, np.integer)) and not isinstance(own, bool):
            check_random_state(own)
            return int(own)
        return int(check_random_state(own).randint(2**31 - 1))

    def _own_seed(self) -> int | None:
        """The map's own seed as a number, if it has one; for resolved descriptions."""
        return None if getattr(self, "random_state", None) is None else self._seed(None)

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
