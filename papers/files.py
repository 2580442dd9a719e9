"""The data sets of the studies: NAME.svm.xz files in BUDGETRON_DATA, or ../shared/data by a checkout."""

from __future__ import annotations

import lzma
import os
import sys
from pathlib import Path
from typing import Any

from sklearn.datasets import load_svmlight_file

FOLDER = Path(os.environ.get("BUDGETRON_DATA", Path(__file__).parents[2] / "shared" / "data"))


def load(name: str, n_features: int | None = None) -> tuple[Any, Any]:
    """The rows (CSR) and labels of a data set."""
    path = FOLDER / f"{name}.svm.xz"
    if not path.exists():
        sys.exit(f"{path.name} is not in {FOLDER}; set BUDGETRON_DATA to the folder that has it.")
    with lzma.open(path) as file:
        return load_svmlight_file(file, n_features=n_features)
