"""From what a caller gives to checked rows in the layout of the core."""

from __future__ import annotations

import sys
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import validate_data

from budgetron._util import check
from budgetron._util.errors import ROW, RefusedRow
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
from budgetron._util.text import nearest, shown
from budgetron.learners import algorithms
from budgetron.learners.automatic import Auto
from budgetron.learners.cuda.rows import check_rows_on_card, is_on_card, on_host
from budgetron.learners.learner import Floats, Learner
from budgetron.model.batch import Encoded, learned_mask, not_empty
from budgetron.model.fitted import Fitted
from budgetron.records.encoder import Encoder
from budgetron.records.encoding import Encoding
from budgetron.records.reading import is_frame, is_records, is_series, refuse_near_records, to_table
from budgetron.records.table import Table

TYPES = "float32", "float64"  # of numbers


class Input:
    """The checks of the rows of one call.

    ``fitted`` is what the model knows. It is None for the first rows: these decide which columns there are,
    and whether rows are records. ``whole`` says that there will be no others, so all of them decide what
    their columns are before the first is encoded. ``host`` is an object of the estimator's type for
    scikit-learn's checks, which compare columns and names with its attributes, or set them.
    """

    def __init__(self, estimator: Any, fitted: Fitted | None, whole: bool = False) -> None:
        self.fitted, self.whole = fitted, whole
        self.host: Any = object.__new__(type(estimator))
        self.host.__dict__ = vars(estimator) | {"fitted_": fitted}  # in one step: another thread may fit
        if fitted is None:
            del self.host.fitted_

    @cached_property
    def missing(self) -> bool:
        """Whether NaN is a missing value for the learner."""
        learner = learner_of(self.host) if self.fitted is None else self.fitted.model.learner
        return isinstance(learner, Learner) and learner.accepts_missing

    def dtype_for(self, X: Matrix) -> np.dtype[Any]:
        """The type of numbers in which the model reads these rows."""
        if self.fitted is not None:
            return self.fitted.model.dtype
        given = self.host.dtype
        return np.dtype(X.dtype if given is None else check.one_of(self.host, "dtype", given, TYPES))

    @property
    def names(self) -> npt.NDArray[Any] | None:
        """The column names of the first rows, if they have some."""
        return getattr(self.host, "feature_names_in_", None)

    # ---- arrays

    def rows(self, X: Any, **more: Any) -> Any:
        """X, and y if given, in the core's layout. Rows too large to square are refused."""
        if is_on_card(X):
            X = self._rows_on_card(X)
            return (X, column_or_1d(on_host(more["y"]), warn=True)) if "y" in more else X
        if self.takes_records(X):
            return self._records_to_predict(X)
        with check.in_range("X and y" if "y" in more else "X"):
            checked = validate_data(
                self.host,
                X,
                reset=self.fitted is None,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                ensure_all_finite=False,  # first_too_large finds infinity, and NaN where it is no value
                **more,
            )
        X, y = checked if "y" in more else (checked, None)
        X = canonical(X)
        row = first_too_large(X, min(X.dtype, self.dtype_for(X)), self.missing)
        if row < X.shape[0]:
            finite = "allow-nan" if self.missing else True
            check_array(
                X, accept_sparse="csr", dtype=None, input_name="X", estimator=self.host,
                ensure_all_finite=finite,
            )  # fmt: skip
            refuse_too_large(X, row)
        return (X, y) if "y" in more else X

    def labelled(
        self, X: Any, y: Any, sample_weight: Any, **more: Any
    ) -> tuple[Matrix, Any, Floats | None, Encoded | None]:
        """Rows to be learned, with their labels and weights."""
        if is_on_card(X) or not self.takes_records(X):
            X, y = self.rows(X, y=on_host(y), **more)
            if len(y) != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows, but y has {len(y)} labels.")
            return X, y, checked_weights(X.shape[0], sample_weight), None
        table, y = self.table(X), column_or_1d(y, warn=True)
        if len(y) != len(table):
            raise ValueError(f"X has {len(table)} records, but y has {len(y)} labels.")
        weights = checked_weights(len(table), sample_weight)
        encoded = self.encoded(table, weights)
        return encoded.X, y, weights, encoded

    def _rows_on_card(self, X: Any) -> Any:
        """Rows that are on a card already, checked there."""
        if self.host.device != "cuda" or self.host.encoder is not None:
            raise ValueError('X is on a card, which needs device="cuda" and no encoder: give NumPy arrays.')
        X = check_rows_on_card(X, self.missing, self.dtype_for)
        if self.fitted is not None and X.shape[1] != self.fitted.model.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self.host).__name__} is expecting "
                f"{self.fitted.model.n_features} features as input."
            )
        return X

    # ---- records

    def takes_records(self, X: Any) -> bool:
        """Whether rows are records, known by their names. The first rows decide."""
        refuse_near_records(X)
        if self.fitted is None:
            return self.host.encoder is not None or is_records(X)
        if self.fitted.encoding is None and is_records(X):
            raise TypeError(
                "The model learned arrays of numbers, so X must be such an array, got records: a model "
                "with encoder=Encoder() knows columns by name."
            )
        return self.fitted.encoding is not None

    def table(self, X: Any) -> Table:
        """The records as a table."""
        if not (is_records(X) or is_frame(X)):
            raise TypeError(f"X must hold records, as dicts or as a frame with names, got {shown(X)}.")
        table = to_table(X)
        if not len(table):
            raise ValueError("X has no records, expected one or more.")
        return table

    def encoded(self, table: Table, weights: Floats | None = None) -> Encoded:
        """Records to be learned as rows of numbers."""
        encoding = self._encoding
        if self.whole:
            encoding = encoding.decided(table, learned_mask(weights))
        return Encoded.of(table, encoding, weights, self.missing, self.fitted is None)

    @property
    def _encoding(self) -> Encoding:
        if self.fitted is not None and self.fitted.encoding is not None:
            return self.fitted.encoding
        encoder = Encoder() if self.host.encoder is None else self.host.encoder
        return check.instance(self.host, "encoder", encoder, Encoder).build()

    def _records_to_predict(self, X: Any) -> Floats:
        """The rows of records, with the columns that the model has; other columns are ignored."""
        encoding = self._encoding
        rows = not_empty(encoding.encode(self.table(X), grow=False)[0], self.missing)
        self.refuse(rows, encoding)
        return rows

    def refuse(self, X: Floats, encoding: Encoding, start: int = 0) -> None:
        """Refuse encoded rows that the learner cannot take; the first of them is number ``start``."""
        bad = first_too_large(X, self.dtype_for(X), self.missing)
        if bad == len(X):
            return
        if not self.missing and np.isnan(X[bad]).any():
            name = encoding.columns[int(np.argmax(np.isnan(X[bad])))]
            raise RefusedRow(
                f"Record {ROW} has no value for {name!r}, and the learner needs all values: "
                "Standardised(learner), or --standardise, takes the mean for those that are missing.",
                start + bad,
            )
        raise too_large(start + bad)


def learner_of(estimator: Any) -> Learner:
    """The learner of an estimator; the default if it has none."""
    learner: Learner = Auto() if estimator.learner is None else estimator.learner
    if isinstance(learner, str):
        raise TypeError(f"{type(estimator).__name__}: learner must be a Learner, {_named(learner)}")
    return learner


def _named(text: str) -> str:
    """What to write in place of the name of an algorithm."""
    if text in algorithms.__all__:
        return f"got the name {text!r}: write budgetron.{text}(), with the parameters that it needs."
    known = {name: f"budgetron.{name}()" for name in algorithms.__all__}
    return f"got {text!r}; {nearest(text, known, otherwise='for example budgetron.auto().')}"


def checked_weights(rows: int, sample_weight: Any) -> Floats | None:
    """The weights of the rows; None if all are 1."""
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


def one_row(fitted: Fitted | None, x: Any) -> Any:
    """One row; that of a pandas frame, as ``iterrows`` gives it, becomes a dict."""
    of_records = fitted is not None and fitted.encoding is not None
    return x.to_dict() if is_series(x) and (of_records or x.dtype.kind not in "biuf") else x


# ---- rows that need no checks but those of their numbers


_FLOATS = np.dtype(np.float64), np.dtype(np.float32)  # quicker to compare with than the types
_LAID_OUT = 0x0001 | 0x0100  # the flags C_CONTIGUOUS and ALIGNED


def known_rows(fitted: Fitted, X: Any) -> Any:
    """X as the core reads it, if it has the type and the columns that the model knows; else None.

    scikit-learn's checks of one row take ten times as long as learning it. What is None here goes through
    them, and is converted or refused. The numbers are not looked at.
    """
    if fitted.encoding is not None:
        return None
    rows, named = (X, False) if type(X) is np.ndarray else _plain(fitted, X)
    if (fitted.names is not None) is not named:
        return None
    if type(rows) is np.ndarray:
        plain = rows.ndim == 2 and rows.dtype in _FLOATS and rows.flags.num & _LAID_OUT == _LAID_OUT
    else:
        plain = type(rows) is Compressed
    return rows if plain and rows.shape[1] == fitted.model.n_features else None


def is_single(fitted: Fitted, rows: Any) -> bool:
    """Whether known rows are one that the core reads as it is, and checks by itself."""
    return rows.shape[0] == 1 and type(rows) is np.ndarray and rows.dtype == fitted.model.dtype


def are_learnable(fitted: Fitted, rows: Any) -> bool:
    """Whether there are rows, and all their numbers can be learned."""
    dtype = min(rows.dtype, fitted.model.dtype)
    missing = fitted.model.learner.accepts_missing
    return bool(0 < rows.shape[0] == first_too_large(rows, dtype, missing))


def _plain(fitted: Fitted, X: Any) -> tuple[Any, bool]:
    """A list of rows or a frame with the model's columns as an array, and a CSR matrix as `Compressed`.

    X itself if it is anything else. Also returns whether the columns had the model's names.
    """
    if type(X) is list:
        return _as_floats(plain_numbers(X)), False
    pandas = sys.modules.get("pandas")
    if pandas is None or type(X) is not getattr(pandas, "DataFrame", None):
        rows = compressed(X)
        return X if rows is None else rows, False
    if fitted.names is None or _names_of(X.columns) != fitted.names.tolist():
        return X, False
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "if" for dtype in _dtypes(X)):
        return X, False
    return _as_floats(np.ascontiguousarray(X.to_numpy())), True


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


def plain_numbers(values: Any) -> Any:
    """The array of a list, if that is one of plain numbers; else the list itself."""
    try:
        array = np.array(values, order="C")
    except (ValueError, TypeError, OverflowError):
        return values
    return array if array.dtype in (np.float64, np.float32, np.int64) else values


def _as_floats(X: Any) -> Any:
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.int64 else X
