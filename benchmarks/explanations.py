"""The figures of docs/explanations.md: how exact contributions are, and how good importances and novelty.

Run ``python -m benchmarks.explanations`` with any of ``contributions importances novelty``; without one it
runs all, in some minutes. Times are processor times. Data sets that are not there are left out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.inspection import permutation_importance
from sklearn.metrics import roc_auc_score

from budgetron import (
    DataError,
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    Standardised,
    auto,
    bpa_nn,
    datasets,
)

Data = tuple[np.ndarray, np.ndarray]


def loaded(name: str, rows: int = 20_000) -> Data:
    """Rows of a data set in a random order; raises if it is not there."""
    X, y = datasets.load(name)
    chosen = np.random.default_rng(0).permutation(len(y))[:rows]
    X = X[chosen]
    return (X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)), y[chosen]


def bundled(load: Any) -> Data:
    """One of scikit-learn's data sets, in a random order."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def there(sets: dict[str, Any]) -> Iterator[tuple[str, Data]]:
    """The data sets that can be read."""
    for name, data in sets.items():
        try:
            yield name, bundled(data) if callable(data) else loaded(data)
        except (DataError, OSError, ValueError) as error:
            print(f"{name} is left out: {str(error)[:80]}", file=sys.stderr)


# ---- contributions

LEARNERS = {
    "the default": auto(),
    "bpa_nn, 100 support vectors": Standardised(bpa_nn(Gaussian("scale"), budget=100, C=0.1)),
    "linear filter": Standardised(Mapped(Identity(), Kalman())),
}


SMALL = {
    "diabetes": load_diabetes,
    "abalone": "abalone",
    "cadata": "cadata",
    "breast cancer": load_breast_cancer,
}


def contributions(samples: tuple[int, ...] = (16, 64, 256), explained: int = 10) -> None:
    """The error of estimates against exact values: mean |difference| by mean |contribution|, and time."""
    print("data | columns | learner | exact, ms | " + " | ".join(f"{n}: error, ms" for n in samples))
    for name, (X, y) in there(SMALL):
        X, targets = X[:2000, :9], len(np.unique(y)) > 20
        for what, learner in LEARNERS.items():
            if targets and "bpa" in what:
                continue
            model = (OnlineRegressor if targets else OnlineClassifier)(learner, random_state=0)
            model.partial_fit(X, y[:2000])
            cells, background = [], X[np.linspace(0, len(X) - 1, 4).round().astype(int)]
            for n in samples:
                label = {} if targets else {"label": 1}
                exact, spent = timed(model, X[-explained:], background=background, samples="exact", **label)
                found, took = timed(model, X[-explained:], background=background, samples=n, **label)
                error = np.abs(found - exact).mean() / np.abs(exact).mean()
                cells.append(f"{error:.1%}, {1e3 * took / explained:.1f}")
            print(name, X.shape[1], what, f"{1e3 * spent / explained:.0f}", *cells, sep=" | ", flush=True)


def timed(model: Any, X: np.ndarray, **how: Any) -> tuple[np.ndarray, float]:
    """The contributions of rows, and the seconds they took."""
    began = time.process_time()
    found = model.explain(X, neighbours=0, **how)
    took = time.process_time() - began
    assert all(
        abs(w.baseline + w.contributions.sum() - w.score) <= 1e-9 * max(1, abs(w.score)) for w in found
    )
    return np.array([why.contributions for why in found]), took


# ---- importances

SIX = {
    "breast cancer": load_breast_cancer,
    "wine": load_wine,
    "digits": load_digits,
    "diabetes": load_diabetes,
    "abalone": "abalone",
    "cadata": "cadata",
    "german": "german",
    "svmguide3": "svmguide3",
}


def importances(orders: int = 4) -> None:
    """Rank correlations of importances with scikit-learn's permutation importance, means over orders.

    With its importance on up to 500 rows that were not learned, and on the last 256 that were; and of its
    own importances on two halves of those that were not, and of two seeds on all of them.
    """
    print("data | columns | not learned | learned | its own halves of rows | its own seeds | ours, s")
    for name, (X, y) in there(SIX):
        rows = [correlations(X, y, np.random.default_rng(seed)) for seed in range(orders)]
        cells = [f"{value:.2f}" for value in np.mean(rows, axis=0)]
        print(name, X.shape[1], *cells, sep=" | ", flush=True)


def correlations(X: np.ndarray, y: np.ndarray, random: Any) -> list[float]:
    """The numbers of one order."""
    order = random.permutation(len(y))
    X, y = X[order], y[order]
    targets, cut = len(np.unique(y)) > 20, min(4000, 2 * len(y) // 3)
    model = (OnlineRegressor if targets else OnlineClassifier)(random_state=0)
    model.partial_fit(X[:cut], y[:cut])
    began = time.process_time()
    ours = model.feature_importances_
    took, stop = time.process_time() - began, min(cut + 500, len(y))

    def its(start: int, stop: int, seed: int = 0) -> Any:
        score = "neg_mean_squared_error" if targets else "neg_log_loss"
        part = slice(start, stop)
        found = permutation_importance(
            model, X[part], y[part], scoring=score, n_repeats=4, random_state=seed
        )
        return found.importances_mean

    half, whole = (cut + stop) // 2, its(cut, stop)
    pairs = (
        (ours, whole),
        (ours, its(max(0, cut - 256), cut)),
        (its(cut, half), its(half, stop)),
        (whole, its(cut, stop, 1)),
    )
    return [*(spearmanr(a, b)[0] for a, b in pairs), took]


# ---- novelty

ODD = {
    "breast cancer": (load_breast_cancer, lambda y: y == 0),
    "digits": (load_digits, lambda y: y == 8),
    "shuttle": ("shuttle", lambda y: y != 1),
    "letter": ("letter", lambda y: y == 1),
    "mushrooms": ("mushrooms", lambda y: y == y.max()),
    "skin": ("skin_nonskin", lambda y: y == 1),
    "kddcup99": ("kddcup99_10pct", lambda y: y == 1),
}
"""Data sets, and which of their labels are odd; of these 3 rows in 100 are left."""


def with_few(X: np.ndarray, odd: np.ndarray, rows: int = 4000) -> Data:
    """Rows in a random order, of which 3 in 100 are odd."""
    random = np.random.default_rng(0)
    usual = np.flatnonzero(~odd)[:rows]
    few = np.flatnonzero(odd)[: max(10, 3 * len(usual) // 100)]
    order = random.permutation(np.concatenate([usual, few]))
    return np.ascontiguousarray(X[order]), odd[order]


def novelty(block: int = 100) -> None:
    """The area under the curve of each detector: rows are ranked in blocks, each before it is learned."""
    print(
        "data | rows | columns | odd | novelty | usual ones above 0.95 | IsolationForest | HalfSpaceTrees"
    )
    for name, (source, is_odd) in ODD.items():
        for _, (X, y) in there({name: source}):
            X, odd = with_few(X, is_odd(y))
            first = min(1000, len(X) // 4)
            model = OnlineRegressor(Standardised(Neighbours())).partial_fit(X[:first], np.zeros(first))
            ours = np.zeros(len(X))
            for start in range(first, len(X), block):
                rows = slice(start, min(start + block, len(X)))
                ours[rows] = model.novelty(X[rows])
                model.partial_fit(X[rows], np.zeros(rows.stop - rows.start))
            rest = slice(first, None)
            forest = -IsolationForest(random_state=0).fit(X[:first]).score_samples(X[rest])
            areas = [roc_auc_score(odd[rest], each) for each in (ours[rest], forest, trees(X)[rest])]
            alarms = (ours[rest][~odd[rest]] > 0.95).mean()
            cells = [f"{areas[0]:.3f}", f"{alarms:.1%}", *(f"{area:.3f}" for area in areas[1:])]
            print(name, len(X), X.shape[1], int(odd.sum()), *cells, sep=" | ", flush=True)


def trees(X: np.ndarray) -> np.ndarray:
    """The scores of river's HalfSpaceTrees, each before the row is learned."""
    from river import anomaly, compose, preprocessing

    model = compose.Pipeline(preprocessing.MinMaxScaler(), anomaly.HalfSpaceTrees(seed=0))
    scores = np.zeros(len(X))
    for i, row in enumerate(X.tolist()):
        x = dict(enumerate(row))
        scores[i] = model.score_one(x)
        model.learn_one(x)
    return scores


STUDIES = {"contributions": contributions, "importances": importances, "novelty": novelty}

if __name__ == "__main__":
    for study in sys.argv[1:] or STUDIES:
        STUDIES[study]()
