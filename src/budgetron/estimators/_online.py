"""What both estimators share: the model, the rows it is given, and its attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from budgetron import _check, model_files
from budgetron._rows import Matrix, aligned, canonical, first_too_large, refuse_too_large
from budgetron._tasks import Task
from budgetron.learners import Floats, Learner, Model


class Online(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators."""

    learner: Learner | None
    epochs: int
    shuffle: bool
    random_state: Any

    def __init__(
        self,
        learner: Learner | None = None,
        *,
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    @property
    def n_support_(self) -> int:
        """The number of support vectors."""
        return self._fitted_model().size

    @property
    def support_vectors_(self) -> Matrix:
        """The support vectors, oldest first."""
        return self._fitted_model().support_vectors()

    @property
    def dual_coef_(self) -> Floats:
        """The coefficients: one row (binary, regression) or one per class, oldest vector first."""
        return self._fitted_model().dual_coef()

    @property
    def coef_(self) -> Floats:
        """The weights of the explicit features, one row per output, where the learner has such."""
        model = self._fitted_model()
        if not model.has_features:
            raise AttributeError(f"coef_ needs a learner on explicit features, not {model.learner!r}.")
        return model.coef()

    @property
    def memory_bytes_(self) -> int:
        """The native memory that the model holds, in bytes."""
        return self._fitted_model().memory_bytes

    def save(self, path: model_files.Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write everything the estimator is to a file, from which :func:`budgetron.load` takes it up again.

        The file is data alone, in the layout of safetensors, and the same estimator always gives the same
        bytes. A file that is there already is replaced in one step: whatever fails, it is the old one or
        the new one in full, and a failure is a :class:`~budgetron.SaveError`.

        Parameters
        ----------
        path : str or path
            Where to.
        extra : dict, optional
            What a run wants to keep beside the model: numbers, texts, None, arrays, and lists and dicts of
            these. ``budgetron.model_files.read(path).extra`` gives it back.
        """
        self._fitted_model()
        model_files.save(self, path, extra)

    def _default_learner(self) -> Learner:
        raise NotImplementedError

    def _fitted_model(self) -> Model:
        if not self._started():
            check_is_fitted(self, "_model")  # says so
        model: Model = self._model
        return model

    def _started(self) -> bool:
        return hasattr(self, "_model")

    def _seed(self) -> int:
        random = check_random_state(self.random_state)
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(random.randint(2**31 - 1))

    @contextmanager
    def _or_as_before(self) -> Iterator[None]:
        """Whatever fails inside leaves the attributes as they were."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            for name in set(vars(self)) - set(before):
                delattr(self, name)
            self.__dict__.update(before)
            raise

    def _rows(self, X: Any, *, reset: bool, **more: Any) -> Any:
        """X (and y) checked, in the core's layout; rows too large to square are refused."""
        with _check.in_range("X and y" if "y" in more else "X"):
            checked = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                ensure_all_finite=False,  # a row that is not finite has no finite norm
                **more,
            )
        X, y = checked if "y" in more else (checked, None)
        X = canonical(X)
        row = self._first_too_large(X, reset)
        if row < X.shape[0]:
            check_array(X, accept_sparse="csr", dtype=None, input_name="X", estimator=self)
            refuse_too_large(X, row)
        return (X, y) if "y" in more else X

    def _first_too_large(self, X: Matrix, reset: bool) -> int:
        """The first row whose squared norm overflows in the model's precision; else the number of rows."""
        single = X.dtype == np.float32 or (not reset and self._model.dtype == np.float32)
        return first_too_large(X, np.float32 if single else np.float64)

    def _certain(self, X: Any) -> bool:
        """Whether rows for a model in mid-stream would pass every check as they are.

        The checks take ten times as long as a step; this takes as long as one. Where it says no, ``_rows``
        finds out why, or makes the rows suit. A row that is not finite has no finite norm.
        """
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in (np.float64, np.float32)
            and X.flags.c_contiguous
            and X.flags.aligned
            and self._started()
            and X.shape[1] == self._model.n_features == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and 0 < X.shape[0] == self._first_too_large(X, reset=False)
        )

    def _weights(self, X: Matrix, sample_weight: Any) -> Floats | None:
        if sample_weight is None:
            return None
        if isinstance(sample_weight, Real):
            sample_weight = np.full(X.shape[0], sample_weight)
        with _check.in_range("sample_weight"):
            weights: Floats = aligned(
                check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
            )
        if weights.shape != (X.shape[0],):
            raise ValueError(f"sample_weight has shape {weights.shape}, expected ({X.shape[0]},).")
        if (weights < 0).any():
            raise ValueError(f"Negative values in sample_weight: {weights.min()}.")
        return weights

    def _new_model(self, X: Matrix, task: Task, weights: Floats | None) -> Model:
        learner = self._default_learner() if self.learner is None else self.learner
        seen = X if weights is None or not weights.any() else X[weights > 0]
        learner = _check.instance(self, "learner", learner, Learner).fitted(seen)
        return Model(learner, task, X.shape[1], X.dtype, self._seed())

    def _adopt(self, model: Model) -> None:
        self._model = model
        self.learner_ = model.learner
        self.__dict__.pop("gamma_", None)
        gamma = getattr(getattr(model.learner, "kernel", None), "gamma", None)
        if gamma is not None:
            self.gamma_ = gamma

    def _passes(self, model: Model, X: Matrix, y: Floats, weights: Floats | None) -> None:
        """``epochs`` passes over the rows, each in a new order if ``shuffle``."""
        if weights is not None and not np.any(weights):
            raise ValueError("Sample weights are all zero: there is nothing to fit.")
        random = check_random_state(self.random_state)
        for _ in range(_check.count(self, "epochs", self.epochs)):
            if self.shuffle:
                order = random.permutation(X.shape[0])
                model.learn(X[order], y[order], None if weights is None else weights[order])
            else:
                model.learn(X, y, weights)

    def _finite_scores(self, X: Any) -> Floats:
        model = self._fitted_model()
        scores = model.scores(X if self._certain(X) else self._rows(X, reset=False))
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores).all(axis=1)))
            raise ValueError(f"Row {row} of X gives a score that is not finite: scale the features.")
        return scores

    def __sizeof__(self) -> int:
        own: int = object.__sizeof__(self)
        return own + (self._model.memory_bytes if self._started() else 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
