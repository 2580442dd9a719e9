"""Microseconds of one call with one row, for this library and others."""

from __future__ import annotations

from river import linear_model
from sklearn.linear_model import SGDClassifier

from benchmarks.clock import take_turns
from benchmarks.library import learner
from benchmarks.rows import noise
from budgetron import OneByOne, OnlineClassifier


def measure(budget: int = 20, d: int = 22, n: int = 1000) -> dict[str, float]:
    """Microseconds per call at a small budget. The other libraries use linear models."""
    X, y = noise(n, d)
    what = learner("rbp", budget=budget)
    handle, model = OneByOne(what, d), OnlineClassifier(what, random_state=0)
    sgd, river = SGDClassifier(random_state=0), linear_model.LogisticRegression()
    native = OneByOne(what, d)
    native.engine.look_ahead = 1
    for m in (model, sgd):
        m.partial_fit(X, y, classes=[-1.0, 1.0])
    rows = [X[i : i + 1] for i in range(n)]
    labels = [y[i : i + 1] for i in range(n)]
    examples = [(dict(enumerate(x.tolist())), bool(t > 0)) for x, t in zip(X, y, strict=True)]
    targets = y.tolist()
    runs = {
        "native step, many rows in a call": lambda: native.learn(X, y),
        "OneByOne.learn_one": lambda: [handle.learn_one(x, t) for x, t in zip(X, targets, strict=True)],
        "OneByOne.score_one": lambda: [handle.score_one(x) for x in X],
        "partial_fit": lambda: [model.partial_fit(x, t) for x, t in zip(rows, labels, strict=True)],
        "progressive_predict": lambda: [
            model.progressive_predict(x, t) for x, t in zip(rows, labels, strict=True)
        ],
        "predict": lambda: [model.predict(x) for x in rows],
        "SGDClassifier.partial_fit": lambda: [
            sgd.partial_fit(x, t) for x, t in zip(rows, labels, strict=True)
        ],
        "SGDClassifier.predict": lambda: [sgd.predict(x) for x in rows],
        "river LogisticRegression.learn_one": lambda: [river.learn_one(x, t) for x, t in examples],
        "river LogisticRegression.predict_one": lambda: [river.predict_one(x) for x, _ in examples],
    }
    times = take_turns(runs)
    return {name: 1e6 * seconds / n for name, seconds in times.seconds.items()}
