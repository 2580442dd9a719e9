"""The same rows in every format that streams read, and helpers to read them."""

import bz2
import gzip
import lzma
import os
import threading
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse

from budgetron.records.table import Table

RNG = np.random.default_rng(0)
X = np.where(RNG.random((50, 4)) < 0.5, RNG.standard_normal((50, 4)), 0)
X[0, 3] = 1  # so that the width shows
Y = RNG.integers(0, 3, 50).astype(float)


def svmlight(X, y):
    rows = (" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x) if v) for x in X.tolist())
    return "".join(f"{label!r} {row}\n" for label, row in zip(y.tolist(), rows, strict=True)).encode()


TEXT = svmlight(X, Y)


def zstandard(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


PACK = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zst": zstandard}


def dense(X):
    """Rows as an array; the columns of a table in the order of their names."""
    if isinstance(X, Table):
        return np.column_stack([X.columns[name].numbers for name in sorted(X.columns)])
    return X.toarray() if sparse.issparse(X) else X


def rows_of(stream):
    """All rows and labels of a stream. Checks that its blocks are consecutive."""
    blocks = list(stream)
    at = blocks[0].start if blocks else 0
    for block in blocks:
        assert block.start == at
        assert len(block) == block.X.shape[0] > 0
        at = block.stop
    return np.concatenate([dense(b.X) for b in blocks]), np.concatenate([b.y for b in blocks])


def assert_rows(stream, X=X, y=Y):
    for _ in range(2):  # streams can be iterated again
        got, labels = rows_of(stream)
        np.testing.assert_array_equal(got, X)
        np.testing.assert_array_equal(labels, y)


def arrow_table(X=X, y=Y):
    pa = pytest.importorskip("pyarrow")
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"label": y})


def csv_text(X=X, y=Y):
    lines = [",".join([*map(repr, x), str(label)]) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    return "\n".join(["x0,x1,x2,x3,label", *lines, ""]).encode()


def piped(data, step):
    """A pipe that a thread writes to."""
    reading, writing = os.pipe()

    def write():
        with suppress(BrokenPipeError), open(writing, "wb", buffering=0) as file:
            for i in range(0, len(data), step):
                file.write(data[i : i + step])

    threading.Thread(target=write, daemon=True).start()
    return open(reading, "rb")
