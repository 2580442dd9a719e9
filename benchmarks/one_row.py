"""Microseconds of a call with one row, in two versions: ``python -m benchmarks.one_row OTHER/bin/python``.

OTHER/bin/python has the other version installed. Both run in processes that take turns, and in several such
pairs: where memory happens to lie can decide the time of a whole process. Words after it choose the calls
that have one of them in their name; all take about five minutes. The learner is small, so that a call is
mostly what is around its step. Records "as from JSON" have names that are objects of their own.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Callable, Iterator
from random import Random
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from budgetron import (
    OGD,
    Gaussian,
    Identity,
    Mapped,
    OneByOne,
    OnlineClassifier,
    OnlineRegressor,
    Squared,
    rbp,
)
from budgetron.river import BudgetClassifier, BudgetRegressor

ROWS, COLUMNS = 500, 22
SUPPORT = rbp(Gaussian(1 / COLUMNS), budget=20)
LINEAR = Mapped(Identity(), OGD(1e-4, loss=Squared()))
Call = Callable[..., Any]


class Rows:
    """The same rows in every form, with labels and targets."""

    def __init__(self) -> None:
        r, mixed = np.random.default_rng(0), Random(0)
        self.X = r.standard_normal((ROWS, COLUMNS))
        y = self.X[:, 0] + 0.1 * r.standard_normal(ROWS)
        names = [f"feature {i}" for i in range(COLUMNS)]
        self.labels, self.targets = (y > 0).astype(np.int64), y
        self.records = [dict(zip(names, row, strict=True)) for row in self.X.tolist()]
        self.integers = [dict(enumerate(row)) for row in self.X.tolist()]
        self.parsed = [json.loads(json.dumps(record)) for record in self.records]
        self.whole = [{name: int(8 * value) for name, value in record.items()} for record in self.records]
        self.texts = [x | {"sign": "up" if x["feature 1"] > 0 else "down"} for x in self.records]
        self.mixed = [dict(mixed.sample(list(x.items()), COLUMNS)) for x in self.records]
        self.parsed_mixed = [json.loads(json.dumps(record)) for record in self.mixed]

    def arrays(self, rows: Any) -> list[Any]:
        """Each row as an array, a frame or a matrix of one row."""
        rows = rows.iloc if isinstance(rows, pd.DataFrame) else rows
        return [rows[i : i + 1] for i in range(ROWS)]


def learning(call: Call, rows: list[Any], y: list[Any]) -> Callable[[], None]:
    """Learns all rows."""

    def run() -> None:
        for x, label in zip(rows, y, strict=True):
            call(x, label)

    return run


def predicting(call: Call, rows: list[Any]) -> Callable[[], None]:
    """Predicts all rows."""

    def run() -> None:
        for x in rows:
            call(x)

    return run


def calls() -> Iterator[tuple[str, Callable[[], None]]]:
    """All calls by name; each runs them for every row."""
    rows = Rows()
    yield from of_arrays(rows)
    yield from of_records(rows)
    codes = np.where(rows.labels > 0, 1.0, -1.0).tolist()
    alone = OneByOne(SUPPORT, COLUMNS)
    yield "OneByOne.learn_one", learning(alone.learn_one, list(rows.X), codes)
    yield "OneByOne.score_one", predicting(alone.score_one, list(rows.X))


def of_arrays(rows: Rows) -> Iterator[tuple[str, Callable[[], None]]]:
    """The methods of scikit-learn, with arrays of one row, and `learn_one` with sequences."""
    labels, targets = rows.arrays(rows.labels), rows.arrays(rows.targets)
    forms = {
        "array": rows.X,
        "array float32": rows.X.astype(np.float32),
        "CSR": sparse.csr_matrix(rows.X),
        "frame": pd.DataFrame(rows.X, columns=[f"feature {i}" for i in range(COLUMNS)]),
    }
    for form, X in forms.items():
        cut = rows.arrays(X)
        model = OnlineClassifier(SUPPORT, random_state=0).partial_fit(X, rows.labels)
        yield f"partial_fit, {form}", learning(model.partial_fit, cut, labels)
        yield f"progressive_predict, {form}", learning(model.progressive_predict, cut, labels)
        yield f"predict, {form}", predicting(model.predict, cut)
        yield f"decision_function, {form}", predicting(model.decision_function, cut)
    model = OnlineClassifier(SUPPORT, random_state=0).partial_fit(rows.X, rows.labels)
    lists, known = rows.X.tolist(), rows.labels.tolist()
    yield "partial_fit, list", learning(model.partial_fit, [[x] for x in lists], [[y] for y in known])
    yield "predict, list", predicting(model.predict, [[x] for x in lists])
    yield "learn_one, list", learning(model.learn_one, lists, known)
    yield "predict_one, list", predicting(model.predict_one, lists)
    yield "learn_one, array", learning(model.learn_one, list(rows.X), known)
    yield "predict_one, array", predicting(model.predict_one, list(rows.X))
    cut = rows.arrays(rows.X)
    regressor = OnlineRegressor(LINEAR, random_state=0).partial_fit(rows.X, rows.targets)
    yield "regressor partial_fit, array", learning(regressor.partial_fit, cut, targets)
    yield "regressor progressive_predict, array", learning(regressor.progressive_predict, cut, targets)
    yield "regressor predict, array", predicting(regressor.predict, cut)


def of_records(rows: Rows) -> Iterator[tuple[str, Callable[[], None]]]:
    """`learn_one` and `predict_one` with dicts, of the estimators and of river's models."""
    labels, targets = rows.labels.tolist(), rows.targets.tolist()
    forms = {
        "dict": rows.records,
        "dict as from JSON": rows.parsed,
        "dict of integers": rows.whole,
        "dict, integers as names": rows.integers,
        "dict with a text": rows.texts,
        "dict in another order each time": rows.mixed,
        "dict as from JSON in another order each time": rows.parsed_mixed,
    }
    for form, records in forms.items():
        models: list[tuple[str, Any, list[Any]]] = [
            ("", OnlineClassifier(SUPPORT, random_state=0), labels),
            ("regressor ", OnlineRegressor(LINEAR, random_state=0), targets),
            ("river ", BudgetClassifier(SUPPORT, seed=0), labels),
            ("river regressor ", BudgetRegressor(LINEAR, seed=0), targets),
        ]
        for kind, model, y in models:
            learn = learning(model.learn_one, records, y)
            learn()
            yield f"{kind}learn_one, {form}", learn
            yield f"{kind}predict_one, {form}", predicting(model.predict_one, records)


def work() -> None:
    """In a process with one of the versions: answers every name with the microseconds of a call."""
    known = dict(calls())
    gc.disable()
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        run, times = known[line.strip()], []
        for _ in range(5):
            began = process_time()
            run()
            times.append(process_time() - began)
        print(1e6 * min(times) / ROWS, flush=True)


def main() -> None:
    """Compare the versions."""
    from benchmarks.two_builds import Worker

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", help="a Python with the other version")
    parser.add_argument("words", nargs="*", help="only calls with one of these in their name")
    parser.add_argument("--pairs", type=int, default=4, help="pairs of processes (default 4)")
    parser.add_argument("--turns", type=int, default=10, help="turns of each pair (default 10)")
    given = parser.parse_args()
    found: dict[str, list[tuple[float, ...]]] = {}
    for _ in range(given.pairs):
        workers = [Worker(python, __file__) for python in (given.other, sys.executable)]
        names, _ = (json.loads(worker.answer()) for worker in workers)
        for name in names:
            if not given.words or any(word in name for word in given.words):
                times = [[worker.time(name) for worker in workers] for _ in range(given.turns)]
                least = tuple(min(column) for column in zip(*times, strict=True))
                found.setdefault(name, []).append(least)
        for worker in workers:
            worker.close()
    print(f"{'microseconds a call':<56}{'other':>8}{'this':>8}{'times':>7}   in each pair of processes")
    for name, times in found.items():
        ratios = [other / this for other, this in times]
        other, this = (median(column) for column in zip(*times, strict=True))
        each = " ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"{name:<56}{other:>8.2f}{this:>8.2f}{median(ratios):>7.2f}   {each}")


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--work"] else main()
