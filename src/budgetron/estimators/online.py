"""The base class of both estimators: the model, the checks of its input, and the fitted attributes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from budgetron._util import check
from budgetron._util.errors import RefusedRow, note_rows
from budgetron._util.rows import (
    Compressed,
    Matrix,
    aligned,
    canonical,
    compressed,
    first_too_large,
    refuse_too_large,
    too_large,
)
from budgetron._util.text import shown
from budgetron._util.threads import learning_lock
from budgetron.learners.learner import Floats, Learner
from budgetron.model.batch import Batch, Encoded, not_empty
from budgetron.model.files import model_files
from budgetron.model.fitted import Fitted
from budgetron.model.labels import KnownLabels, Scored
from budgetron.model.model import Model
from budgetron.parts.tasks import Task
from budgetron.records.encoder import Encoder
from budgetron.records.encoding import Encoding
from budgetron.records.reading import is_frame, is_records, is_series, refuse_near_records, to_table
from budgetron.records.table import Table


class FittedAttribute:
    """An attribute of a fitted estimator, read from ``fitted_``.

    It can be set on an object of its own: scikit-learn's checks of a first batch set two of them.
    """

    def __init__(self, read: Callable[[Fitted], Any]) -> None:
        self.read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        fitted = estimator.__dict__.get("fitted_")
        value = None if fitted is None else self.read(fitted)
        if value is None:
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {self.name!r}")
        return value


class Online(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators.

    Threads: ``start``, ``fit``, ``partial_fit`` and ``progressive_predict`` run one at a time. All other
    methods may run at the same time as one of these. Each call sees the model, the labels and the column
    names of one moment, never a mixture of two.

    How: all that was learned is one value, ``fitted_``, replaced in one assignment. Methods that read it
    more than once read it from a `_snapshot`.
    """

    fitted_: Fitted

    learner: Learner | None
    epochs: int
    shuffle: bool
    random_state: Any
    encoder: Encoder | None

    learner_ = FittedAttribute(lambda fitted: fitted.model.learner)
    gamma_ = FittedAttribute(lambda fitted: fitted.gamma)
    n_features_in_ = FittedAttribute(lambda fitted: fitted.model.n_features)
    feature_names_in_ = FittedAttribute(lambda fitted: fitted.names)

    def __init__(
        self,
        learner: Learner | None = None,
        *,
        epochs: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
        encoder: Encoder | None = None,
    ) -> None:
        self.learner = learner
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.encoder = encoder

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
                fresh._run_epochs(fresh._whole_batch(X, y, sample_weight))
            except BaseException as error:
                note_rows(error, 0)
                raise
            self.fitted_ = fresh.fitted_
        return self

    @property
    def encoding_(self) -> Encoding | None:
        """How records become rows; None for a model of arrays."""
        return self.fitted_.encoding if self.__sklearn_is_fitted__() else None

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
        """Check the rows. The first batch sets the columns and the labels."""
        raise NotImplementedError

    def _task(self, labels: KnownLabels | None) -> Task:
        raise NotImplementedError

    def _labels_without_checks(self, y: Any, rows: int) -> npt.NDArray[Any] | None:
        """The encoded labels if y would pass every check unchanged; None if it might not."""
        raise NotImplementedError

    def _core_number(self, y: Any) -> float | None:
        """What the core takes for an array of one label that would pass every check; None for others."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return "fitted_" in self.__dict__

    def _fitted_model(self) -> Model:
        if "fitted_" not in self.__dict__:
            check_is_fitted(self)  # raises
        return self.fitted_.model

    def _snapshot(self) -> Self:
        """The estimator as it is now: what another thread learns that is new does not replace its parts."""
        snapshot = object.__new__(type(self))
        snapshot.__dict__ = self.__dict__.copy()
        return snapshot

    def _unfitted_copy(self) -> Self:
        """A copy with the parameters but no fitted attributes."""
        fresh = object.__new__(type(self))
        fresh.__dict__ = self.get_params(deep=False)
        return fresh

    def _built(
        self, X: Matrix, labels: KnownLabels | None, weights: Floats | None, encoding: Encoding | None
    ) -> Fitted:
        """A model for the columns of X that has learned nothing; scikit-learn's checks left the names."""
        model = self._new_model(X, self._task(labels), weights)
        return Fitted(model, labels, encoding, self.__dict__.get("feature_names_in_"))

    def _start(self, X: Any, labels: KnownLabels | None = None) -> Self:
        """Replace the model by a new one that has learned nothing; X sets its columns and ``gamma``."""
        with learning_lock(self):
            fresh = self._unfitted_copy()
            encoded = fresh._encoded(fresh._table(X), None, True) if fresh._takes_records(X, True) else None
            X = fresh._rows(X, reset=True) if encoded is None else encoded.X
            self.fitted_ = fresh._built(X, labels, None, None if encoded is None else encoded.encoding)
        return self

    def _begin(self, X: Any, y: Any) -> None:  # noqa: ARG002
        """Prepare an unfitted model for the columns of the first row, without learning it."""
        if not self.__sklearn_is_fitted__():
            self._start(X)

    def _whole_batch(self, X: Any, y: Any, sample_weight: Any) -> Batch:
        """Check the rows of a ``fit`` and build the model for all their columns and labels."""
        batch = self._batch(X, y, sample_weight, first=True)
        if batch.weights is not None and not batch.weights.any():
            raise ValueError("All sample weights are zero: at least one must be above 0.")
        if batch.encoded is not None:
            self._refuse_encoded(batch.X, batch.encoded.encoding, True)
        self.fitted_ = self._built(batch.X, batch.labels, batch.weights, batch.encoding)
        return Batch(batch.X, batch.y, batch.weights)

    def _first_batch(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> tuple[Fitted, Batch]:
        """Check the first batch and build the model for the columns and labels of its first row."""
        batch = self._part_by_part(X, y, sample_weight, first=True, **more)
        start, *later = batch.growth
        labels = None if batch.labels is None else batch.labels.first(start.n_labels)
        rows = batch.rows(slice(0, batch.X.shape[0]), start.n_features)
        return self._built(rows, labels, batch.weights, None), replace(batch, growth=later)

    def _learn(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> list[Scored]:
        """Learn the rows in order and return the scores of each before its update.

        The caller holds the `learning_lock`. If a row is refused, the rows before it stay learned. If a
        first call refuses its first row, the estimator stays unfitted.
        """
        if self.__sklearn_is_fitted__():
            scores = self._learn_plain(X, y) if sample_weight is None and not more else None
            if scores is not None:
                return scores
            return self._learn_batch(self._part_by_part(X, y, sample_weight, first=False, **more))
        built, batch = self._unfitted_copy()._first_batch(X, y, sample_weight, **more)
        outcome = self._counted(built).learn(batch, self._class_weight)
        if outcome.rows:
            self.fitted_ = outcome.fitted
        return outcome.checked()

    @property
    def _class_weight(self) -> Any:
        """The weights of classes, for a classifier that has some."""
        return None

    def _counted(self, fitted: Fitted) -> Fitted:
        """With class counts, if class weights need them."""
        return fitted if self._class_weight is None else fitted.counting()

    def _learn_plain(self, X: Any, y: Any) -> list[Scored] | None:
        """Learn rows that would pass every check unchanged. For others: None, with nothing changed."""
        rows, named = self._plain(X)
        if type(y) is list:
            y = _numbers(y)
        row = self._plain_row(rows, named)
        number = None if row is None else self._core_number(y)
        if row is not None and number is not None:
            fitted = self.fitted_
            scores = fitted.model.learn_row(row, number)
            if scores is not None:
                return [Scored(scores, fitted.n_labels)]
        if not self._needs_no_checks(rows, named=named):
            return None
        labels = self._labels_without_checks(y, rows.shape[0])
        return None if labels is None else self._learn_batch(Batch(rows, labels))

    def _part_by_part(self, X: Any, y: Any, sample_weight: Any, *, first: bool, **more: Any) -> Batch:
        """Check a batch that is learned in parts; a column that comes later is not missing before."""
        batch = self._batch(X, y, sample_weight, first=first, **more)
        if batch.encoded is not None:
            for row, X in batch.encoded.known_parts():
                self._refuse_encoded(X, batch.encoded.encoding, first, row)
        return batch

    def _learn_batch(self, batch: Batch) -> list[Scored]:
        """Learn a batch; what is new in it becomes known at its end."""
        self.fitted_ = self._counted(self.fitted_)
        outcome = self.fitted_.learn(batch, self._class_weight)
        self.fitted_ = outcome.fitted
        return outcome.checked()

    def _predicted(self, pieces: list[Scored]) -> npt.NDArray[Any]:
        """The predictions that were made from these scores."""
        raise NotImplementedError

    def _seed(self) -> int:
        random = check_random_state(self.random_state)
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(random.randint(2**31 - 1))

    def _rows(self, X: Any, *, reset: bool, **more: Any) -> Any:
        """Check X (and y) and return it in the core's layout. Rows too large to square are refused."""
        if self._takes_records(X, reset):
            return self._records_to_predict(X)
        with check.in_range("X and y" if "y" in more else "X"):
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

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, first: bool, **more: Any
    ) -> tuple[Any, Any, Floats | None, Encoded | None]:
        """Check rows to be learned, their labels and weights."""
        if not self._takes_records(X, first):
            X, y = self._rows(X, y=y, reset=first, **more)
            return X, y, self._weights(X.shape[0], sample_weight), None
        table, y = self._table(X), column_or_1d(y, warn=True)
        if len(y) != len(table):
            raise ValueError(f"X has {len(table)} records, but y has {len(y)} labels.")
        weights = self._weights(len(table), sample_weight)
        encoded = self._encoded(table, weights, first)
        return encoded.X, y, weights, encoded

    # ---- records

    def _takes_records(self, X: Any, reset: bool) -> bool:
        """Whether rows are records, known by their names. The first rows decide."""
        refuse_near_records(X)
        if reset:
            return self.encoder is not None or is_records(X)
        if self.encoding_ is None:
            if is_records(X):
                raise TypeError(
                    "The model learned arrays of numbers, so X must be such an array, got records: a model "
                    "with encoder=Encoder() knows columns by name."
                )
            return False
        return True

    def _table(self, X: Any) -> Table:
        if not (is_records(X) or is_frame(X)):
            raise TypeError(f"X must hold records, as dicts or as a frame with names, got {shown(X)}.")
        table = to_table(X)
        if not len(table):
            raise ValueError("X has no records, expected one or more.")
        return table

    def _encoded(self, table: Table, weights: Floats | None, first: bool) -> Encoded:
        """Encode records to be learned."""
        encoding = self.encoding_
        if first or encoding is None:
            encoder = Encoder() if self.encoder is None else self.encoder
            encoding = check.instance(self, "encoder", encoder, Encoder).build()
        return Encoded.of(table, encoding, weights, self._accepts_missing(first), first)

    def _records_to_predict(self, X: Any) -> Floats:
        """The rows of records, with the columns that the model has; other columns are ignored."""
        assert self.encoding_ is not None
        rows, _ = self.encoding_.encode(self._table(X), grow=False)
        rows = not_empty(rows, self._accepts_missing(False))
        self._refuse_encoded(rows, self.encoding_, False)
        return rows

    def _refuse_encoded(self, X: Floats, encoding: Encoding, first: bool, start: int = 0) -> None:
        """Refuse rows that the learner cannot take; the first of them is number ``start``."""
        missing = self._accepts_missing(first)
        bad = first_too_large(X, np.float64, missing)
        if bad == len(X):
            return
        row = start + bad
        if not missing and np.isnan(X[bad]).any():
            name = encoding.columns[int(np.argmax(np.isnan(X[bad])))]
            raise RefusedRow(
                f"Record {row} has no value for {name!r}, and the learner needs all values: "
                "Standardised(learner), or --standardise, takes the mean for those that are missing.",
                row,
            )
        raise too_large(row)

    def _first_too_large(self, X: Matrix, reset: bool) -> int:
        """The first row whose squared norm overflows in the model's precision; else the number of rows."""
        single = X.dtype == np.float32 or (not reset and self.fitted_.model.dtype == np.float32)
        return first_too_large(X, np.float32 if single else np.float64, self._accepts_missing(reset))

    def _accepts_missing(self, reset: bool = True) -> bool:
        """Whether NaN is a missing value for the learner in use, or for the one to come."""
        if not reset:
            return self.fitted_.model.learner.accepts_missing
        learner = self._default_learner() if self.learner is None else self.learner
        return isinstance(learner, Learner) and learner.accepts_missing

    def _plain(self, X: Any) -> tuple[Any, bool]:
        """A list of rows or a frame with the model's columns as an array, a CSR matrix as `Compressed`.

        X itself if it is anything else. Also returns whether the columns had the model's names.
        """
        if type(X) is np.ndarray:
            return X, False
        if type(X) is list:
            return _as_floats(_numbers(X)), False
        pandas = sys.modules.get("pandas")
        if pandas is None or type(X) is not getattr(pandas, "DataFrame", None):
            rows = compressed(X)
            return X if rows is None else rows, False
        names = self.fitted_.names if self.__sklearn_is_fitted__() else None
        if names is None or _names_of(X.columns) != names.tolist():
            return X, False
        if not all(isinstance(dtype, np.dtype) and dtype.kind in "if" for dtype in _dtypes(X)):
            return X, False
        return _as_floats(np.ascontiguousarray(X.to_numpy())), True

    def _plain_row(self, X: Any, named: bool) -> npt.NDArray[Any] | None:
        """The row of an array of one row that needs no checks but those of its numbers; else None.

        The core checks the numbers, in a fraction of the time that `_needs_no_checks` takes.
        """
        model = self.fitted_.model
        plain = (
            type(X) is np.ndarray
            and X.shape == (1, model.n_features)
            and X.dtype == model.dtype
            and X.flags.c_contiguous
            and X.flags.aligned
            and self.fitted_.encoding is None
            and (self.fitted_.names is not None) == named
        )
        return X[0] if plain else None

    def _needs_no_checks(self, X: Any, named: bool = False) -> bool:
        """Whether X would pass every check unchanged, so that a fitted model may take it as it is.

        scikit-learn's checks of one row take ten times as long as learning it; this takes as long as
        learning it. If the answer is no, ``_rows`` converts X or raises the error.
        """
        return (
            (type(X) is Compressed or _is_plain_array(X))
            and self.__sklearn_is_fitted__()
            and X.shape[1] == self.fitted_.model.n_features
            and self.fitted_.encoding is None
            and (self.fitted_.names is not None) == named
            and 0 < X.shape[0] == self._first_too_large(X, reset=False)
        )

    def _weights(self, rows: int, sample_weight: Any) -> Floats | None:
        if sample_weight is None:
            return None
        if isinstance(sample_weight, Real):
            sample_weight = np.full(rows, sample_weight)
        with check.in_range("sample_weight"):
            weights: Floats = aligned(
                check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
            )
        if weights.shape != (rows,):
            raise ValueError(f"sample_weight has shape {weights.shape}, expected ({rows},).")
        if (weights < 0).any():
            raise ValueError(f"Negative values in sample_weight: expected 0 or more, got {weights.min()}.")
        return weights

    def _new_model(self, X: Matrix, task: Task, weights: Floats | None) -> Model:
        learner = self._default_learner() if self.learner is None else self.learner
        weighted = X if weights is None or not weights.any() else X[weights > 0]
        learner = check.instance(self, "learner", learner, Learner).resolved(weighted)
        return Model(learner, task, X.shape[1], X.dtype, self._seed())

    def _run_epochs(self, batch: Batch) -> None:
        """Learn the rows ``epochs`` times, each time in a new random order if ``shuffle``."""
        X, y, weights = batch.X, batch.y, batch.weights
        random = check_random_state(self.random_state)
        for _ in range(check.count(self, "epochs", self.epochs)):
            if self.shuffle:
                order = random.permutation(X.shape[0])
                self.fitted_.model.learn(X[order], y[order], None if weights is None else weights[order])
            else:
                self.fitted_.model.learn(X, y, weights)

    # ---- one row

    def _scores_of_one(self, x: Any) -> list[float]:
        model = self._fitted_model()
        row = self.fitted_.row_of(x)
        scores = None if row is None else model.scores_of_row(row)
        if scores is None:
            scores = self._finite_scores([self._one(x)])
        return list(scores[0].tolist())

    def _one(self, x: Any) -> Any:
        """One row; that of a pandas frame, as ``iterrows`` gives it, becomes a dict."""
        series = is_series(x) and (self.encoding_ is not None or x.dtype.kind not in "biuf")
        return x.to_dict() if series else x

    def _finite_scores(self, X: Any) -> Floats:
        model = self._fitted_model()
        rows, named = self._plain(X)
        row = self._plain_row(rows, named)
        scores = None if row is None else model.scores_of_row(row)
        if scores is None:
            scores = self._finite(model.scores(self._checked_rows(X, rows, named)))
        return scores

    def _finite(self, scores: Floats) -> Floats:
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores).all(axis=1)))
            raise RefusedRow(f"Row {row} of X gives a score that is not finite: scale the features.", row)
        return scores

    def _deviations(self, X: Any) -> Floats:
        return self._fitted_model().deviations(self._checked_rows(X, *self._plain(X)))

    def _checked_rows(self, X: Any, plain: Any, named: bool) -> Matrix:
        """The rows of X in the core's layout; ``plain`` and ``named`` are what `_plain` returns for X."""
        return plain if self._needs_no_checks(plain, named=named) else self._rows(X, reset=False)

    def __sizeof__(self) -> int:
        own: int = object.__sizeof__(self)
        return own + (self.fitted_.model.memory_bytes if self.__sklearn_is_fitted__() else 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._accepts_missing()
        return tags


def _is_plain_array(X: Any) -> bool:
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.flags.c_contiguous
        and X.flags.aligned
    )


_last: tuple[Any, list[Any]] = (None, [])


def _names_of(columns: Any) -> list[Any]:
    """The names in an index of pandas. An index cannot be changed, so those of the last one are kept."""
    global _last
    last = _last
    if not columns.is_(last[0]):  # the same one, or a view of it
        _last = last = (columns, columns.tolist())
    return last[1]


def _dtypes(frame: Any) -> Any:
    """The types of the columns. Those of pandas' blocks are the same, and take a hundredth of the time."""
    blocks = getattr(getattr(frame, "_mgr", None), "blocks", None)
    return frame.dtypes if blocks is None else [block.dtype for block in blocks]


def _numbers(values: Any) -> Any:
    """The array of a list, if that is one of plain numbers; else the list itself."""
    try:
        made = np.array(values, order="C")
    except (ValueError, TypeError, OverflowError):
        return values
    return made if made.dtype in (np.float64, np.float32, np.int64) else values


def _as_floats(X: Any) -> Any:
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.int64 else X
