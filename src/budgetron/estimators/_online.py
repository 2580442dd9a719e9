"""What both estimators share: the model, the rows it is given, and its attributes."""

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
from budgetron._threads import turn
from budgetron.learners import Floats, Learner, Model


@dataclass(frozen=True)
class Batch:
    """Rows that passed every check, with labels as the core reads them."""

    X: Matrix
    y: Floats
    weights: Floats | None = None


class Online(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators.

    Threads: calls that start or learn (``start``, ``fit``, ``partial_fit``, ``progressive_predict``) take
    turns. All others may run beside them. Each sees the model, the labels and the column names of one fit,
    never of two.

    To keep that promise, a fit works on a copy without fitted attributes, and `_install` replaces the
    ``__dict__`` of this one in one assignment. Methods that read several attributes begin with `_now`.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start afresh and learn the rows, ``epochs`` times; if that fails, nothing has changed."""
        with turn(self):
            fresh = self._unfitted()
            try:
                batch = fresh._first_batch(X, y, sample_weight)
                fresh._passes(batch)
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
        now = self._now()
        now._fitted_model()
        model_files.save(now, path, extra)

    def _default_learner(self) -> Learner:
        raise NotImplementedError

    def _batch(self, X: Any, y: Any, sample_weight: Any, *, first: bool, **labels: Any) -> Batch:
        """The rows, checked; those of a first batch decide the columns and labels."""
        raise NotImplementedError

    def _task(self) -> Task:
        raise NotImplementedError

    def _certain_labels(self, y: Any, rows: int) -> Floats | None:
        """Labels as the core reads them, if they would pass every check as they are."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _fitted_model(self) -> Model:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # raises
        model: Model = self._model
        return model

    def _now(self) -> Self:
        """A view of the state as it is now, which a ``fit`` in another thread does not change."""
        now = object.__new__(type(self))
        now.__dict__ = self.__dict__
        return now

    def _unfitted(self) -> Self:
        """A copy that has the parameters alone."""
        fresh = object.__new__(type(self))
        fresh.__dict__ = self.get_params(deep=False)
        return fresh

    def _install(self, fresh: Self) -> None:
        """Replace everything that was learned by what ``fresh`` has learned."""
        kept = {name: value for name, value in vars(self).items() if name not in model_files.ATTRIBUTES}
        self.__dict__ = vars(fresh) | kept

    def _start(self, X: Any, **labels: Any) -> Self:
        """A new model for rows like these, which has learned nothing."""
        with turn(self):
            fresh = self._unfitted()
            X = fresh._rows(X, reset=True)
            fresh.__dict__.update(labels)
            fresh._adopt(fresh._new_model(X, fresh._task(), None))
            self._install(fresh)
        return self

    def _first_batch(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> Batch:
        """What is to be learned first, with a new model for it."""
        batch = self._batch(X, y, sample_weight, first=True, **more)
        self._adopt(self._new_model(batch.X, self._task(), batch.weights))
        return batch

    def _learn(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> Floats:
        """Learn the rows in order; the scores made before each update. The caller holds the turn.

        If a row is refused, the rows before it are learned, as if only they had been given. If there are
        none, a first call leaves the estimator unfitted.
        """
        if self.__sklearn_is_fitted__():
            if sample_weight is None and not more and self._certain(X):
                labels = self._certain_labels(y, len(X))
                if labels is not None:
                    return self._model.learn(X, labels)
            batch = self._batch(X, y, sample_weight, first=False, **more)
            return self._model.learn(batch.X, batch.y, batch.weights)
        fresh = self._unfitted()
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
            raise ValueError(f"Negative values in sample_weight: {weights.min()}.")
        return weights

    def _new_model(self, X: Matrix, task: Task, weights: Floats | None) -> Model:
        learner = self._default_learner() if self.learner is None else self.learner
        seen = X if weights is None or not weights.any() else X[weights > 0]
        learner = _check.instance(self, "learner", learner, Learner).resolved(seen)
        return Model(learner, task, X.shape[1], X.dtype, self._seed())

    def _adopt(self, model: Model) -> None:
        self._model = model
        self.learner_ = model.learner
        self.__dict__.pop("gamma_", None)
        gamma = getattr(getattr(model.learner, "kernel", None), "gamma", None)
        if gamma is not None:
            self.gamma_ = gamma

    def _passes(self, batch: Batch) -> None:
        """``epochs`` passes over the rows, each in a new order if ``shuffle``."""
        X, y, weights = batch.X, batch.y, batch.weights
        if weights is not None and not np.any(weights):
            raise ValueError("Sample weights are all zero: there is nothing to fit.")
        random = check_random_state(self.random_state)
        for _ in range(_check.count(self, "epochs", self.epochs)):
            if self.shuffle:
                order = random.permutation(X.shape[0])
                self._model.learn(X[order], y[order], None if weights is None else weights[order])
            else:
                self._model.learn(X, y, weights)

    def _finite_scores(self, X: Any) -> Floats:
        model = self._fitted_model()
        scores = model.scores(X if self._certain(X) else self._rows(X, reset=False))
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores).all(axis=1)))
            raise ValueError(f"Row {row} of X gives a score that is not finite: scale the features.")
        return scores

    def __sizeof__(self) -> int:
        own: int = object.__sizeof__(self)
        model = vars(self).get("_model")
        return own + (0 if model is None else model.memory_bytes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
