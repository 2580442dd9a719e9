"""Other libraries on PyPI, and plain NumPy. Each predicts a row (or a batch) before it learns it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from river import feature_extraction, linear_model, optim
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier

from benchmarks.library import GAMMA, D
from benchmarks.numpy_loop import plain_rbp


def plain_bogd(X: np.ndarray, y: np.ndarray, budget: int, eta: float = 0.1, cap: float = 1.0) -> int:
    """Bounded OGD with uniform sampling in plain NumPy. Returns its mistakes."""
    r = np.random.default_rng(0)
    S, norms, alpha = np.empty((budget, X.shape[1])), np.empty(budget), np.empty(budget)
    n = mistakes = 0
    for x, label in zip(X, y, strict=True):
        xx = x @ x
        f = alpha[:n] @ np.exp(-GAMMA * (norms[:n] + xx - 2 * (S[:n] @ x)))
        mistakes += (1.0 if f >= 0 else -1.0) != label
        if label * f < 1:
            i = n if n < budget else r.integers(budget)
            if n == budget:
                alpha = np.clip(alpha * (budget / (budget - 1)), -cap, cap)
            S[i], norms[i], alpha[i] = x, xx, eta * label
            n = min(n + 1, budget)
    return mistakes


def features(transformer: Any, X: np.ndarray, y: np.ndarray, batch: int) -> float:
    """scikit-learn's SGDClassifier on explicit features, in batches. Returns its rate of mistakes."""
    transformer.fit(X[:1000])
    model = SGDClassifier(learning_rate="constant", eta0=0.5, alpha=0.0, random_state=0)
    model.partial_fit(transformer.transform(X[:1]), y[:1], classes=[-1, 1])
    mistakes = 0
    for i in range(0, len(X), batch):
        Z = transformer.transform(X[i : i + batch])
        mistakes += int(np.sum(model.predict(Z) != y[i : i + batch]))
        model.partial_fit(Z, y[i : i + batch])
    return mistakes / len(X)


def sampler() -> RBFSampler:
    """RBFSampler with as many components as we have Fourier frequencies."""
    return RBFSampler(gamma=GAMMA, n_components=D, random_state=0)


def river_features(rows: list[dict[int, float]], y: np.ndarray) -> float:
    """River's random features and linear model, one row at a time."""
    model = feature_extraction.RBFSampler(
        gamma=GAMMA, n_components=D, seed=0
    ) | linear_model.LogisticRegression(optim.SGD(0.5))
    mistakes = 0
    for x, label in zip(rows, y > 0, strict=True):
        mistakes += bool(model.predict_one(x)) != label
        model.learn_one(x, bool(label))
    return mistakes / len(rows)


def contestants(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[int, Callable[[], float]]]:
    """Name, number of rows and run of each library but Vowpal Wabbit, which runs in its own process."""
    few, fewer, n = 2000, 200, len(X)
    nystroem = partial(Nystroem, gamma=GAMMA, n_components=100, random_state=0)
    single = X.astype(np.float32)
    rows = [dict(enumerate(x.tolist())) for x in X[:fewer]]
    return {
        "NumPy loop, rbp, B=100": (n, lambda: plain_rbp(X, y, GAMMA, 100) / n),
        "NumPy loop, rbp, B=1000": (n, lambda: plain_rbp(X, y, GAMMA, 1000) / n),
        f"RBFSampler({D}) + SGD, batches": (n, lambda: features(sampler(), X, y, 1000)),
        f"RBFSampler({D}) + SGD, by rows": (few, lambda: features(sampler(), X[:few], y[:few], 1)),
        f"RBFSampler({D}) + SGD, batches, float32": (n, lambda: features(sampler(), single, y, 1000)),
        "Nystroem(100) + SGD, batches": (n, lambda: features(nystroem(), X, y, 1000)),
        "Nystroem(100) + SGD, by rows": (few, lambda: features(nystroem(), X[:few], y[:few], 1)),
        f"river RBFSampler({D}) + logistic": (fewer, lambda: river_features(rows, y[:fewer])),
    }
