"""Real data sets: NAME.svm.xz files in the folder that BUDGETRON_DATA names, which conftest.py may set."""

import lzma
import os
from pathlib import Path

import pytest
from sklearn.datasets import load_svmlight_file

FOLDER = Path(os.environ.get("BUDGETRON_DATA") or "no folder of data")


def load(name):
    """The dense rows and labels of a data set. Skips the test if its file is missing."""
    path = FOLDER / f"{name}.svm.xz"
    if not path.exists():
        pytest.skip(f"needs {path.name} in the folder that BUDGETRON_DATA names")
    with lzma.open(path) as file:
        X, y = load_svmlight_file(file)
    return X.toarray(), y
