"""River's ensembles, trees and neighbours on whole streams.

Trees get raw rows, neighbours standardised ones. For targets rows and targets are standardised: see
benchmarks/streams/peers.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import river
from river import compose, ensemble, forest, neighbors, preprocessing, tree

from benchmarks.streams.data import Stream
from benchmarks.streams.results import Run
from benchmarks.streams.whole.rows import follow

SEED, TREES = 0, 10
VERSION = f"river {river.__version__}"


def _scaled(model: Any) -> Any:
    return compose.Pipeline(preprocessing.StandardScaler(), model)


def _knn(labels: bool) -> Any:
    return _scaled(neighbors.KNNClassifier()) if labels else neighbors.KNNRegressor()


def _arf(labels: bool) -> Any:
    return (forest.ARFClassifier if labels else forest.ARFRegressor)(n_models=TREES, seed=SEED)


def _srp(labels: bool) -> Any:
    return (ensemble.SRPClassifier if labels else ensemble.SRPRegressor)(n_models=TREES, seed=SEED)


def _bagging(_: bool) -> Any:
    return ensemble.LeveragingBaggingClassifier(tree.HoeffdingTreeClassifier(), n_models=TREES, seed=SEED)


def _efdt(_: bool) -> Any:
    return tree.ExtremelyFastDecisionTreeClassifier()


def run(make: Callable[[bool], Any], stream: Stream, limit: float) -> Run:
    """A run of a model of river."""
    model, classes = make(stream.classes > 0), stream.classes
    if not classes:
        model = preprocessing.TargetStandardScaler(_scaled(model))
    names = range(stream.X.shape[1])
    rows, y = stream.X, stream.y.tolist()

    def record(i: int) -> dict[int, float]:
        return dict(zip(names, rows[i].tolist(), strict=True))

    def ask(i: int) -> np.ndarray | float | None:
        if not classes:
            return float(model.predict_one(record(i)) or 0.0)
        said = model.predict_proba_one(record(i))
        if not said:
            return None
        P = np.zeros(classes)
        P[list(said)] = list(said.values())
        return P

    predictions, P, seconds = follow(stream, ask, lambda i: model.learn_one(record(i), y[i]), limit)
    return Run(predictions, P, seconds, model._raw_memory_usage, VERSION)


RUNS: dict[str, Callable[[bool], Any]] = {
    "river KNN": _knn,
    "river EFDT": _efdt,
    "river ARF 10": _arf,
    "river SRP 10": _srp,
    "river LB 10": _bagging,
}
