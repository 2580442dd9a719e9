"""Load data sets into memory."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from budgetron._util.rows import Matrix
from budgetron.datasets import folders
from budgetron.datasets.catalogue import DataSet, describe
from budgetron.datasets.generated import Rows, poker_hands, synthetic
from budgetron.datasets.packaged import exam
from budgetron.streams import Block, DataError, from_svmlight
from budgetron.streams.stream import joined

LOADERS: dict[str, Callable[[], Rows]] = {
    "synthetic": synthetic,
    "poker-hands": poker_hands,
    "exam": exam,
}
"""The data sets that are not read from the data folder."""


def load(name: str, part: str | None = None, *, folder: folders.Folder = None) -> Rows:
    """The rows (CSR) and labels of a data set, unchanged.

    ``part`` is "train", "test" or "whole" (a single file). By default, the rows are those of the papers'
    online experiments: for a9a the training part followed by the test part, for cod-rna the test part. Of a
    data set that is not in the catalogue, the default is the single file, or else all parts. ``folder`` is
    the data folder; by default ``BUDGETRON_DATA`` or the user's cache.

    >>> from budgetron import datasets
    >>> X, y = datasets.load("synthetic")
    >>> X.shape, sorted(set(y.tolist()))
    ((10000, 2), [-1.0, 1.0])
    """
    entry = describe(name, folder=folder)
    if entry.name in LOADERS and part in (None, "whole"):
        return LOADERS[entry.name]()
    paths = files(name, part, folder=folder)
    columns = entry.columns
    if columns is None:
        columns = max(from_svmlight(path).n_features for path in paths)
    return read(paths, columns)


def files(name: str, part: str | None = None, *, folder: folders.Folder = None) -> list[Path]:
    r"""The files that `load` reads, in order. Use them to stream data that does not fit into memory.

    Examples
    --------
    >>> import os, tempfile
    >>> from budgetron import datasets
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "mine.svm"), "w") as file:
    ...     _ = file.write("1 1:0.5\n-1 2:1\n")
    >>> [path.name for path in datasets.files("mine", folder=folder)]
    ['mine.svm']
    """
    entry = describe(name, folder=folder)
    local = folders.local_files(folder).get(entry.name, {})
    every = ("whole",) if "whole" in local else tuple(each for each in ("train", "test") if each in local)
    parts = (part,) if part else entry.parts or every
    for each in parts:
        if each not in local:
            raise DataError(_missing(entry, each, local, folders.data_folder(folder)))
    return [local[each] for each in parts]


def read(paths: Iterable[Path], columns: int | None) -> Rows:
    """The rows and labels of files, one file after the other."""
    rows = joined([_whole(path, columns) for path in paths])
    return rows.X, rows.y


def digest(X: Matrix, y: Any, task: str | None = None) -> str:
    """A SHA-256 of the rows and labels. It does not depend on the formatting of the text.

    It covers the nonzero columns of each row, their values as float64, and the labels. Class labels count
    by their rank, since some copies of a data set have -1 and +1 where others have 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import datasets
    >>> X = np.eye(2)
    >>> datasets.digest(X, [-1, 1]) == datasets.digest(X, [1, 2])  # labels count by their rank
    True
    >>> datasets.digest(X, [-1, 1]) == datasets.digest(2 * X, [-1, 1])
    False
    """
    X = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    labels = np.asarray(y, dtype="<f8") if task == "regression" else np.unique(y, return_inverse=True)[1]
    whole = hashlib.sha256()
    for array, dtype in ((X.indptr, "<i8"), (X.indices, "<i8"), (X.data, "<f8"), (labels, "<f8")):
        whole.update(hashlib.sha256(np.ascontiguousarray(array, dtype=dtype).tobytes()).digest())
    return whole.hexdigest()


def _whole(path: Path, columns: int | None) -> Block:
    blocks = list(from_svmlight(path, columns, rows=50_000))
    if not blocks:
        raise DataError("datasets: the file has no rows.")
    return joined(blocks)


def _missing(entry: DataSet, part: str, local: dict[str, Path], folder: Path) -> str:
    known = (*entry.rows, *entry.parts, *local)
    if part not in known:
        return f"datasets: {entry.name} has no part {part!r}; it has {', '.join(dict.fromkeys(known))}."
    file = f"{entry.name}.svm" if part == "whole" else f"{entry.name}.{part}.svm"
    how = how_to_get(entry, part, f"to {folder}")
    return f"datasets: {file} (or .svm.xz, .svm.gz, .svm.bz2, .svm.zst) is not in {folder}: {how}."


def how_to_get(entry: DataSet, part: str, where_to: str) -> str:
    """How to get a file, as the end of a sentence."""
    if not entry.is_read:
        return f"it has no file; budgetron.datasets.load({entry.name!r}) needs none"
    if entry.source == "LIBSVM" and part in entry.files:
        return f"budgetron.datasets.fetch({entry.name!r}) downloads it"
    what = f"{entry.files[part]} of " if part in entry.files else ""
    where = f" ({entry.address})" if entry.address else ""
    return f'get {what}"{entry.page}" from {entry.source}{where} and write it {where_to} as svmlight text'
