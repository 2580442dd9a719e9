"""Made-up runs for the claims about figures, and a few rows in the place of any data set."""

import numpy as np

from budgetron.evaluate import Comparison, Record
from budgetron_reproduction.preparation import Prepared


def few(what, source):
    """A few made-up rows instead of a data set."""
    X = np.random.default_rng(0).normal(size=(1200 if what.key == "orabona2008" else 80, 5))
    y = (X[:, 0] > 0) * 1.0
    if what.task == "regression":
        y = X[:, 0] ** 2
    elif what.key == "lu2016" and what.task == "multiclass":
        y += X[:, 1] > 0
    return Prepared(what, source, ((X, y),), testing=(X, y), tuning=(X, y) if source.half else None)


def comparison(**learners):
    """A comparison from the mistakes, support vectors and seconds of learners after 1000, 2000, .. rows."""
    records = {}
    for name, (mistakes, size, seconds) in learners.items():
        steps = enumerate(zip(mistakes, size, seconds, strict=True), 1)
        records[name.replace("_", "-").replace("PP", "++")] = (
            tuple(Record(1000 * i, m, None, s, t, 8) for i, (m, s, t) in steps),
        )
    return Comparison("classification", dict.fromkeys(records, "code"), records)


def ends(mistakes, seconds=1.0):
    return [mistakes], [10], [seconds]
