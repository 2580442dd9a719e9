"""Real data sets: NAME.svm.xz files in the folder that BUDGETRON_DATA names, which conftest.py may set."""

import lzma
import os
from pathlib import Path

import pytest
from sklearn.datasets import load_svmlight_file

FOLDER = Path(os.environ.get("BUDGETRON_DATA") or "no folder of data")


def load(name):
    """Dense rows and labels of a data set; the test is skipped where its file is absent."""
    path = FOLDER / f"{name}.svm.xz"
    if not path.exists():
        pytest.skip(f"needs {path.name} in the folder that BUDGETRON_DATA names")
    with lzma.open(path) as file:
        X, y = load_svmlight_file(file)
    return X.toarray(), y
