"""The peers: river, scikit-learn, the last label again, and boosting that is refitted on everything seen.

Trees get raw rows, as our learner does. Neighbours and linear models get river's or scikit-learn's
StandardScaler in front, which learns along the stream. For targets all learners of river get scaled rows
and targets: on raw rows the linear models in the leaves of its trees diverge (ARF, 1,000 rows of cadata: a
squared error of 6e9 times the variance).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import river
import sklearn
from river import (
    compose,
    ensemble,
    feature_extraction,
    forest,
    linear_model,
    neighbors,
    optim,
    preprocessing,
    tree,
)
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks.streams.data import Stream
from benchmarks.streams.results import Run

SEED = 0
FEATURES = 100
"""The number of random features of the linear models."""
FIRST_FIT = 125
"""Boosting is fitted after 125 rows, 250, 500, 1000, 2000, ..."""
RIVER = f"river {river.__version__}"
SKLEARN = f"scikit-learn {sklearn.__version__}"


def _scaled(*model: Any) -> Any:
    return compose.Pipeline(preprocessing.StandardScaler(), *model)


def _linear(stream: Stream) -> Any:
    """For labels on random features; for targets on the columns, since SGD on the features diverges.

    River's step of 0.01 is too large here: its features have a squared norm of 50 d, and LinearRegression
    diverges on parkinsons. These steps were chosen on these streams, in favour of the peer.
    """
    if stream.classes == 0:
        return linear_model.LinearRegression(optim.SGD(0.003))
    columns = stream.X.shape[1]
    features = feature_extraction.RBFSampler(1 / columns, FEATURES, seed=SEED)
    kind = linear_model.LogisticRegression if stream.classes == 2 else linear_model.SoftmaxRegression
    return _scaled(features, kind(optim.SGD(0.05 / columns)))


def _arf(trees: int) -> Callable[[Stream], Any]:
    def make(stream: Stream) -> Any:
        kind = forest.ARFClassifier if stream.classes else forest.ARFRegressor
        return kind(n_models=trees, seed=SEED)

    return make


def _srp(stream: Stream) -> Any:
    kind = ensemble.SRPClassifier if stream.classes else ensemble.SRPRegressor
    return kind(seed=SEED)


def _tree(stream: Stream) -> Any:
    return tree.HoeffdingTreeClassifier() if stream.classes else tree.HoeffdingTreeRegressor()


def _adaptive_tree(stream: Stream) -> Any:
    if stream.classes:
        return tree.HoeffdingAdaptiveTreeClassifier(seed=SEED)
    return tree.HoeffdingAdaptiveTreeRegressor(seed=SEED)


def _knn(stream: Stream) -> Any:
    return _scaled(neighbors.KNNClassifier()) if stream.classes else neighbors.KNNRegressor()


def _bagging(stream: Stream) -> Any:  # noqa: ARG001
    return ensemble.LeveragingBaggingClassifier(tree.HoeffdingTreeClassifier(), seed=SEED)


def by_river(make: Callable[[Stream], Any]) -> Callable[[Stream], Run]:
    """A run of a model of river, row by row."""

    def run(stream: Stream) -> Run:
        model = make(stream)
        if stream.classes == 0:
            model = preprocessing.TargetStandardScaler(_scaled(model))
        rows = [dict(enumerate(x)) for x in stream.X.tolist()]
        began = process_time()
        if stream.classes:
            predictions, P = _labels(model, rows, stream)
        else:
            predictions, P = _targets(model, rows, stream), None
        seconds = process_time() - began
        return Run(predictions, P, seconds, model._raw_memory_usage, RIVER)

    return run


def _labels(model: Any, rows: list[dict[int, float]], stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    two = stream.classes == 2
    labels = [bool(y) if two else y for y in stream.y.tolist()]  # river's logistic regression needs bool
    P = np.full((len(rows), stream.classes), np.nan)
    predictions = np.full(len(rows), -1)
    seen = set()
    for i, (x, y) in enumerate(zip(rows, labels, strict=True)):
        said = model.predict_proba_one(x)
        if said:
            predictions[i] = max(said, key=said.__getitem__)
            if y in seen:  # the first row of a class counts as a guess: our learner is told the classes
                P[i] = 0
                P[i, [int(c) for c in said]] = list(said.values())
        seen.add(y)
        model.learn_one(x, y)
    return predictions, P


def _targets(model: Any, rows: list[dict[int, float]], stream: Stream) -> np.ndarray:
    predictions = np.zeros(len(rows))
    for i, (x, y) in enumerate(zip(rows, stream.y.tolist(), strict=True)):
        predictions[i] = model.predict_one(x) or 0.0
        model.learn_one(x, y)
    return predictions


def last_again(stream: Stream) -> Run:
    """The label or target of the row before."""
    return Run(np.concatenate([[0], stream.y[:-1]]), None, 0.0, 8, "")


def by_sgd(stream: Stream) -> Run:
    """scikit-learn's SGD on random features, in batches of 1."""
    scaler = StandardScaler()
    features = RBFSampler(gamma=1 / stream.X.shape[1], n_components=FEATURES, random_state=SEED)
    features.fit(stream.X[:1])
    targets = stream.classes == 0
    model = SGDRegressor(random_state=SEED) if targets else SGDClassifier("log_loss", random_state=SEED)
    more = {} if targets else {"classes": np.arange(stream.classes)}
    mean, square = 0.0, 0.0
    predictions, P = np.zeros(stream.rows), None if targets else np.empty((stream.rows, stream.classes))
    began = process_time()
    for i in range(stream.rows):
        x, y = stream.X[i : i + 1], stream.y[i : i + 1]
        if i == 0:
            scaler.partial_fit(x)
        Z = features.transform(scaler.transform(x))
        if targets:  # targets are standardised along the stream, as river's are
            deviation = np.sqrt(square / i) if i and square else 1.0
            predictions[i] = mean + deviation * model.predict(Z)[0] if i else 0.0
            step = y[0] - mean
            mean += step / (i + 1)
            square += step * (y[0] - mean)
            y = (y - mean) / (np.sqrt(square / (i + 1)) or 1.0)
        else:
            P[i] = model.predict_proba(Z)[0] if i else np.nan
            predictions[i] = P[i].argmax() if i else -1
        model.partial_fit(Z, y, **more)
        scaler.partial_fit(x)
    seconds = process_time() - began
    return Run(predictions, P, seconds, len(pickle.dumps((scaler, features, model))), SKLEARN)


def by_boosting(stream: Stream) -> Run:
    """Histogram gradient boosting, refitted on all rows seen whenever their number has doubled."""
    X, y, classes = stream.X, stream.y, stream.classes
    predictions, P = np.zeros(len(y)), np.full((len(y), classes), np.nan) if classes else None
    began, start, size = process_time(), 0, 0
    while start < len(y):
        stop = min(2 * start or FIRST_FIT, len(y))
        part, seen = slice(start, stop), y[:start]
        if start == 0:
            for i in range(stop):  # before the first fit: the commonest label or the mean so far
                predictions[i] = (np.bincount(y[:i]).argmax() if classes else y[:i].mean()) if i else 0
        elif not classes:
            model = HistGradientBoostingRegressor(random_state=SEED).fit(X[:start], seen)
            predictions[part], size = model.predict(X[part]), len(pickle.dumps(model))
        elif len(np.unique(seen)) == 1:
            predictions[part] = seen[0]
        else:
            model = HistGradientBoostingClassifier(random_state=SEED).fit(X[:start], seen)
            P[part] = 0
            P[part, model.classes_] = model.predict_proba(X[part])
            P[part][~np.isin(y[part], model.classes_)] = np.nan  # classes not seen yet count as guesses
            predictions[part], size = model.predict(X[part]), len(pickle.dumps(model))
        start = stop
    return Run(predictions, P, process_time() - began, size + X.nbytes + y.nbytes, SKLEARN)


RUNS: dict[str, Callable[[Stream], Run]] = {
    "last label": last_again,
    "ARF 10": by_river(_arf(10)),
    "Hoeffding tree": by_river(_tree),
    "HAT": by_river(_adaptive_tree),
    "boosting": by_boosting,
    "leveraging bagging": by_river(_bagging),
    "SRP": by_river(_srp),
    "KNN": by_river(_knn),
    "linear on RBFSampler": by_river(_linear),
    "SGD on RBFSampler": by_sgd,
    "ARF 30": by_river(_arf(30)),
}
"""The peers, in the order in which they are run."""
