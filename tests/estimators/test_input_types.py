"""Rows of every type and memory layout give the same model."""

import copy
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from budgetron import Gaussian, Laplacian
from tests.helpers.cases import each
from tests.helpers.members import (
    TASKS,
    bits,
    cases,
    data,
    estimator,
    make,
    same_state,
    scaling,
    scores,
    start,
)

each_case = pytest.mark.parametrize(("task", "name"), cases())
each_task = each("task", TASKS)


@each(("task", "name"), [case for case in cases() if case[1] not in scaling()])
@each("kernel", [Gaussian(0.5), Laplacian(0.5)], ids=repr)
def test_dense_and_sparse_agree(task, name, kernel):
    """Dense and sparse rows give the same scores to 1e-12."""
    X, y = data(task)
    dense = start(estimator(task, make(name, kernel)), task, X, y)
    rows = sparse.csr_array(X)
    other = start(estimator(task, make(name, kernel)), task, rows, y)
    expected = scores(dense, X)
    np.testing.assert_allclose(scores(other, rows), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scores(other, X), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scores(dense, rows), expected, rtol=0, atol=1e-12)


def unsorted(X):
    """A CSR array with the columns of every row in reverse order."""
    X = sparse.csr_array(X)
    for first, last in pairwise(X.indptr):
        X.indices[first:last] = X.indices[first:last][::-1].copy()
        X.data[first:last] = X.data[first:last][::-1].copy()
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)


def duplicated(X):
    """A CSR array with every entry v split into v - 1 and 1."""
    X = sparse.csr_array(X)
    entries = np.stack([X.data - 1, np.ones_like(X.data)], axis=1).ravel()
    return sparse.csr_array((entries, X.indices.repeat(2), 2 * X.indptr), shape=X.shape)


def wide_indices(X):
    """A CSR array with indices of 64 bits."""
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


KINDS = {
    "int": lambda X: X.astype(int),
    "uint8": lambda X: X.astype(np.uint8),
    "float32": lambda X: X.astype(np.float32),
    "F-order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed view": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "list": lambda X: X.tolist(),
    "object": lambda X: X.astype(object),
    "DataFrame": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "nullable DataFrame": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]).astype("Float64"),
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csr int": lambda X: sparse.csr_array(X.astype(int)),
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "csr int64 indices": wide_indices,
    "csr unsorted": unsorted,
    "csr duplicates": duplicated,
}


def parts(X):
    """The bytes of a container, to check that they are unchanged."""
    if isinstance(X, sparse.coo_array):
        return [X.data.copy(), X.row.copy(), X.col.copy()]
    if sparse.issparse(X):
        return [X.data.copy(), X.indices.copy(), X.indptr.copy()]
    return [np.array(X)]


@each_task
@each("kind", KINDS)
def test_kinds_of_rows(task, kind):
    """The same numbers give the same model in every container, and no container is changed."""
    X, y = data(task)
    X = np.abs((3 * X).round())
    rows = KINDS[kind](X)
    before = parts(rows)
    expected = start(estimator(task, "forgetron"), task, X, y)
    model = start(estimator(task, "forgetron"), task, rows, y)
    atol = 1e-6 if "float32" in kind else 1e-12  # kernels are computed in the precision of the rows
    np.testing.assert_allclose(scores(model, rows), scores(expected, X), rtol=0, atol=atol)
    score = expected.fit(X, y).score(X, y)
    assert model.fit(rows, y).score(rows, y) == (
        pytest.approx(score, abs=1e-6) if "float32" in kind else score
    )
    for now, then in zip(parts(rows), before, strict=True):
        np.testing.assert_array_equal(now, then)
        assert now.dtype == then.dtype


@each_task
def test_read_only_memmap(task, tmp_path):
    """Read-only rows, labels and weights are accepted."""
    X, y = data(task)
    mapped = []
    for name, array in {"X": X, "y": y, "w": np.full(len(y), 0.5)}.items():
        np.save(tmp_path / name, array)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    model = estimator(task, "nogd").fit(mapped[0], mapped[1], mapped[2])
    expected = estimator(task, "nogd").fit(X, y, np.full(len(y), 0.5))
    assert same_state(model, expected)
    np.testing.assert_array_equal(model.predict(mapped[0]), expected.predict(X))


@each_task
def test_feature_names(task):
    """The column names of a DataFrame are stored, and other names refused."""
    X, y = data(task)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = estimator(task, "rbp").fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    before = bits(model)
    for call in (model.predict, lambda rows: model.partial_fit(rows, y)):
        with pytest.raises(ValueError, match="feature names"):
            call(frame[["c", "a", "b"]])
    assert bits(model) == before


@each_task
def test_single_precision_is_kept(task):
    """A model of float32 rows has float32 support vectors and converts later rows to float32."""
    X, y = data(task)
    narrow = X.astype(np.float32)
    model = start(estimator(task, "forgetron"), task, narrow, y)
    assert model.support_vectors_.dtype == np.float32
    np.testing.assert_array_equal(scores(model, X), scores(model, narrow))
    other = copy.deepcopy(model)
    assert same_state(model.partial_fit(X, y), other.partial_fit(narrow, y))
