"""Pass input rows to the native core without copying them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron._util.errors import ROW, RefusedRow

Matrix = Any
"""A dense C-ordered array of float32 or float64, or a CSR matrix of the same with sorted columns."""


@dataclass(frozen=True, eq=False)
class Compressed:
    """Checked rows of a CSR matrix. SciPy's own class takes longer to make than a row to learn."""

    data: npt.NDArray[Any]
    indices: npt.NDArray[np.int32]
    indptr: npt.NDArray[np.int64]
    shape: tuple[int, int]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    def astype(self, dtype: npt.DTypeLike, copy: bool = True) -> Compressed:
        return replace(self, data=self.data.astype(dtype, copy=copy))


def compressed(X: Any) -> Compressed | None:
    """The rows of X if it is a CSR matrix of floats that `canonical` would leave as it is; else None.

    As there, indices are copied, and the copy is checked.
    """
    sparse = sys.modules.get("scipy.sparse")
    if sparse is None or type(X) not in (sparse.csr_matrix, sparse.csr_array) or len(X.shape) != 2:
        return None
    data, indices, indptr = parts = X.data, X.indices, X.indptr
    if not all(type(part) is np.ndarray and part.ndim == 1 for part in parts):
        return None
    if data.dtype not in (np.float64, np.float32) or not (data.flags.c_contiguous and data.flags.aligned):
        return None
    if indices.dtype != np.int32 or indptr.dtype not in (np.int32, np.int64):
        return None
    if len(indices) != len(data) or len(indptr) != X.shape[0] + 1:
        return None
    rows = Compressed(data, indices.copy(), indptr.astype(np.int64), X.shape)
    return rows if _core.are_compressed_rows(rows.indices, rows.indptr, X.shape[1]) else None


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix of SciPy, or `Compressed`.

    Importing ``scipy.sparse`` takes longer than importing NumPy. If nobody has, there are no such matrices.
    """
    issparse = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return type(X) is Compressed or (issparse is not None and bool(issparse(X)))


def aligned(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if it is C-contiguous and aligned, else such a copy."""
    return np.require(a, requirements=["C", "A"])


def canonical(X: Matrix) -> Matrix:
    """X itself if its layout suits the core, else a copy with that layout. The caller's X is not changed.

    The indices of a sparse X are always copied, and the copy is checked. So a thread that changes X at the
    same time cannot make the core read outside its arrays.
    """
    if not is_sparse(X):
        return aligned(X)
    view = type(X)((aligned(X.data), X.indices.copy(), X.indptr.copy()), shape=X.shape, copy=False)
    if _is_canonical(view):  # in a third of the time that SciPy takes
        return view
    view.check_format(full_check=True)  # may drop entries after the last row
    if view.has_canonical_format:
        return view
    view = view.copy()
    view.sum_duplicates()
    return view


def _is_canonical(X: Matrix) -> bool:
    """Whether indices are sorted and right, as far as the core reads them: int32, and none left over."""
    if X.indices.dtype != np.int32 or not X.indptr[-1] == len(X.indices) == len(X.data):
        return False
    return _core.are_compressed_rows(X.indices, X.indptr.astype(np.int64, copy=False), X.shape[1])


def views(X: Matrix) -> Callable[[slice], _core.Rows]:
    """A function that takes a slice of rows and returns a native view of them."""
    if not is_sparse(X):
        return lambda rows: _core.dense(X[rows])
    indices = X.indices.astype(np.int32, copy=False)
    indptr = X.indptr.astype(np.int64, copy=False)
    return lambda rows: _core.sparse(X.data, indices, indptr[rows.start : rows.stop + 1], X.shape[1])


def whole(X: Matrix) -> _core.Rows:
    """A native view of all rows of X."""
    return views(X)(slice(0, X.shape[0]))


def precision(dtype: npt.DTypeLike) -> _core.Precision:
    """The native precision of a dtype."""
    return _core.Precision.Single if np.dtype(dtype) == np.float32 else _core.Precision.Double


def first_too_large(X: Matrix, dtype: npt.DTypeLike, missing: bool = False) -> int:
    """The index of the first row whose squared norm is NaN, or above 1/8 of the largest finite number.

    If there is no such row, the number of rows. With ``missing``, NaN is a missing value and left out.
    """
    return _core.first_too_large(whole(X), precision(dtype), missing)


def refuse_too_large(X: Matrix, row: int) -> None:
    """Raise an error if ``row``, a result of `first_too_large`, is a row of X."""
    if row < X.shape[0]:
        raise too_large(row)


def too_large(row: int) -> RefusedRow:
    """The refusal of a row whose squared norm overflows."""
    return RefusedRow(f"Row {ROW} of X is too large: its squared norm overflows.", row)
