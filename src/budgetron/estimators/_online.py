"""The base class of both estimators: the model, the checks of its input, and the fitted attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from budgetron import _check, model_files
from budgetron._rows import Matrix, aligned, canonical, first_too_large, refuse_too_large
from budgetron._tasks import Task
from budgetron._threads import learning_lock
from budgetron.learners import Floats, Learner, Model


@dataclass(frozen=True)
class Batch:
    """Rows that passed every check, with labels encoded as the core reads them."""

    X: Matrix
    y: Floats
    weights: Floats | None = None


class Online(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators.

    Threads: ``start``, ``fit``, ``partial_fit`` and ``progressive_predict`` run one at a time. All other
    methods may run at the same time as one of these. Each call sees the model, the labels and the column
    names of one fit, never a mixture of two.

    How: ``fit`` works on an unfitted copy, and `_install` replaces this estimator's ``__dict__`` in one
    assignment. Methods that read several attributes read them from a `_snapshot`.
    """

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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` also those of the learner (None: of the default)."""
        params: dict[str, Any] = super().get_params(deep)
        if deep and self.learner is None:
            default = self._default_learner().get_params()
            params |= {f"learner__{name}": value for name, value in default.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. To set one of the default's makes the default the learner."""
        inner = any(name.startswith("learner__") for name in params)
        if inner and params.get("learner", self.learner) is None:
            params = params | {"learner": self._default_learner()}
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Discard the model and learn the rows ``epochs`` times. A failed call changes nothing."""
        with learning_lock(self):
            fresh = self._unfitted_copy()
            try:
                batch = fresh._first_batch(X, y, sample_weight)
                fresh._run_epochs(batch)
            except BaseException as error:
                error.rows_learned = 0  # type: ignore[attr-defined]
                raise
            self._install(fresh)
        return self

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
        """The coefficients, oldest support vector first.

        The array has one row for two classes and for regression, else one row per class.
        """
        return self._fitted_model().dual_coef()

    @property
    def coef_(self) -> Floats:
        """The weights of the explicit features, one row per output; only for learners on a feature map."""
        return self._fitted_model().coef()

    @property
    def expert_weights_(self) -> Floats:
        """The weight of every expert; only for :class:`~budgetron.Stacked` learners."""
        return self._fitted_model().expert_weights()

    @property
    def expert_losses_(self) -> Floats:
        """The mean loss of every expert so far: log loss for labels, squared error for targets."""
        return self._fitted_model().expert_losses()

    @property
    def memory_bytes_(self) -> int:
        """The memory of the native model, in bytes."""
        return self._fitted_model().memory_bytes

    def save(self, path: model_files.Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write the estimator to a file that :func:`budgetron.load` reads.

        The file holds only data, in the safetensors format. Saving the same estimator twice writes the same
        bytes. An existing file is replaced atomically: after a failure it is still the old file. Failures
        raise :class:`~budgetron.SaveError`.

        Parameters
        ----------
        path : str or path
            The file to write.
        extra : dict, optional
            Your own data to store with the model: numbers, strings, None, arrays, and lists and dicts of
            these. ``budgetron.model_files.read(path).extra`` returns it.
        """
        snapshot = self._snapshot()
        snapshot._fitted_model()
        model_files.save(snapshot, path, extra)

    def _default_learner(self) -> Learner:
        raise NotImplementedError

    def _batch(self, X: Any, y: Any, sample_weight: Any, *, first: bool, **labels: Any) -> Batch:
        """Check the rows. The first batch sets the number of columns and the labels."""
        raise NotImplementedError

    def _task(self) -> Task:
        raise NotImplementedError

    def _labels_without_checks(self, y: Any, rows: int) -> Floats | None:
        """The encoded labels if y would pass every check unchanged; None if it might not."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _fitted_model(self) -> Model:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # raises
        model: Model = self._model
        return model

    def _snapshot(self) -> Self:
        """The estimator with its present attributes, which a ``fit`` in another thread does not replace."""
        snapshot = object.__new__(type(self))
        snapshot.__dict__ = self.__dict__
        return snapshot

    def _unfitted_copy(self) -> Self:
        """A copy with the parameters but no fitted attributes."""
        fresh = object.__new__(type(self))
        fresh.__dict__ = self.get_params(deep=False)
        return fresh

    def _install(self, fresh: Self) -> None:
        """Replace all fitted attributes by those of ``fresh``."""
        kept = {name: value for name, value in vars(self).items() if name not in model_files.ATTRIBUTES}
        self.__dict__ = vars(fresh) | kept

    def _start(self, X: Any, **labels: Any) -> Self:
        """Replace the model by a new one that has learned nothing; X sets its columns and ``gamma``."""
        with learning_lock(self):
            fresh = self._unfitted_copy()
            X = fresh._rows(X, reset=True)
            fresh.__dict__.update(labels)
            fresh._adopt(fresh._new_model(X, fresh._task(), None))
            self._install(fresh)
        return self

    def _first_batch(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> Batch:
        """Check the first batch and build the model for it."""
        batch = self._batch(X, y, sample_weight, first=True, **more)
        self._adopt(self._new_model(batch.X, self._task(), batch.weights))
        return batch

    def _learn(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> Floats:
        """Learn the rows in order and return the score of each before its update.

        The caller holds the `learning_lock`. If a row is refused, the rows before it stay learned. If a
        first call refuses its first row, the estimator stays unfitted.
        """
        if self.__sklearn_is_fitted__():
            if sample_weight is None and not more and self._needs_no_checks(X):
                labels = self._labels_without_checks(y, len(X))
                if labels is not None:
                    return self._model.learn(X, labels)
            batch = self._batch(X, y, sample_weight, first=False, **more)
            return self._model.learn(batch.X, batch.y, batch.weights)
        fresh = self._unfitted_copy()
        batch = fresh._first_batch(X, y, sample_weight, **more)
        try:
            scores = fresh._model.learn(batch.X, batch.y, batch.weights)
        except BaseException as error:
            if getattr(error, "rows_learned", 0) > 0:
                self._install(fresh)
            raise
        self._install(fresh)
        return scores

    def _seed(self) -> int:
        random = check_random_state(self.random_state)
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(random.randint(2**31 - 1))

    def _rows(self, X: Any, *, reset: bool, **more: Any) -> Any:
        """Check X (and y) and return it in the core's layout. Rows too large to square are refused."""
        with _check.in_range("X and y" if "y" in more else "X"):
            checked = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                ensure_all_finite=False,  # _first_too_large finds infinity, and NaN where it is no value
                **more,
            )
        X, y = checked if "y" in more else (checked, None)
        X = canonical(X)
        row = self._first_too_large(X, reset)
        if row < X.shape[0]:
            finite = "allow-nan" if self._accepts_missing(reset) else True
            check_array(
                X, accept_sparse="csr", dtype=None, input_name="X", estimator=self, ensure_all_finite=finite
            )
            refuse_too_large(X, row)
        return (X, y) if "y" in more else X

    def _first_too_large(self, X: Matrix, reset: bool) -> int:
        """The first row whose squared norm overflows in the model's precision; else the number of rows."""
        single = X.dtype == np.float32 or (not reset and self._model.dtype == np.float32)
        return first_too_large(X, np.float32 if single else np.float64, self._accepts_missing(reset))

    def _accepts_missing(self, reset: bool = True) -> bool:
        """Whether NaN is a missing value for the learner in use, or for the one to come."""
        if not reset:
            return self._model.learner.accepts_missing
        learner = self._default_learner() if self.learner is None else self.learner
        return isinstance(learner, Learner) and learner.accepts_missing

    def _needs_no_checks(self, X: Any) -> bool:
        """Whether X would pass every check unchanged, so that a fitted model may take it as it is.

        scikit-learn's checks of one row take ten times as long as learning it; this takes as long as
        learning it. If the answer is no, ``_rows`` converts X or raises the error.
        """
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in (np.float64, np.float32)
            and X.flags.c_contiguous
            and X.flags.aligned
            and self.__sklearn_is_fitted__()
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
            raise ValueError(f"Negative values in sample_weight: expected 0 or more, got {weights.min()}.")
        return weights

    def _new_model(self, X: Matrix, task: Task, weights: Floats | None) -> Model:
        learner = self._default_learner() if self.learner is None else self.learner
        weighted = X if weights is None or not weights.any() else X[weights > 0]
        learner = _check.instance(self, "learner", learner, Learner).resolved(weighted)
        return Model(learner, task, X.shape[1], X.dtype, self._seed())

    def _adopt(self, model: Model) -> None:
        self._model = model
        self.learner_ = model.learner
        self.__dict__.pop("gamma_", None)
        gamma = getattr(getattr(model.learner, "kernel", None), "gamma", None)
        if gamma is not None:
            self.gamma_ = gamma

    def _run_epochs(self, batch: Batch) -> None:
        """Learn the rows ``epochs`` times, each time in a new random order if ``shuffle``."""
        X, y, weights = batch.X, batch.y, batch.weights
        if weights is not None and not np.any(weights):
            raise ValueError("All sample weights are zero: at least one must be above 0.")
        random = check_random_state(self.random_state)
        for _ in range(_check.count(self, "epochs", self.epochs)):
            if self.shuffle:
                order = random.permutation(X.shape[0])
                self._model.learn(X[order], y[order], None if weights is None else weights[order])
            else:
                self._model.learn(X, y, weights)

    def _finite_scores(self, X: Any) -> Floats:
        model = self._fitted_model()
        scores = model.scores(X if self._needs_no_checks(X) else self._rows(X, reset=False))
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores).all(axis=1)))
            raise ValueError(f"Row {row} of X gives a score that is not finite: scale the features.")
        return scores

    def _deviations(self, X: Any) -> Floats:
        return self._fitted_model().deviations(
            X if self._needs_no_checks(X) else self._rows(X, reset=False)
        )

    def __sizeof__(self) -> int:
        own: int = object.__sizeof__(self)
        model = vars(self).get("_model")
        return own + (0 if model is None else model.memory_bytes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._accepts_missing()
        return tags
