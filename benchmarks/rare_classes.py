"""Rare classes: what finds them? The default, class weights, costs, and LightGBM refitted if installed.

    python -m benchmarks.rare_classes [--rows 30000] [--seeds 10]

A row is positive if a smooth function of three of ten columns, with noise, is above its 99 % (or 99.8 %)
quantile. The cost is that of the predictions if a missed row costs as much as there are negative rows for a
positive one, relative to the cost of predicting "negative" always.
"""

import argparse
from collections import defaultdict
from contextlib import suppress

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from budgetron import OnlineClassifier

RATES = (100, 500)


def rows(n, rate, seed):
    """The rows, and which of them are positive."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10))
    signal = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(2 * X[:, 0]) + 0.5 * random.normal(size=n)
    return X, (signal > np.quantile(signal, 1 - 1 / rate)).astype(int)


def ours(X, y, **more):
    """Probabilities before each row is learned, and predictions."""
    model = OnlineClassifier(random_state=0, **more)
    shares = model.progressive_predict_proba(X, y, classes=[0, 1])[:, 1]
    again = OnlineClassifier(random_state=0, **more)
    return shares, again.progressive_predict(X, y, classes=[0, 1])


def refitted(X, y, rate):
    """LightGBM on all rows so far, after 500, 1,000, 2,000, ... rows."""
    from lightgbm import LGBMClassifier

    shares, start = np.full(len(y), 1 / rate), 500
    while start < len(y):
        stop = min(len(y), 2 * start)
        if y[:start].any():
            model = LGBMClassifier(verbose=-1, random_state=0).fit(X[:start], y[:start])
            shares[start:stop] = model.booster_.predict(X[start:stop])
        start = stop
    return shares, (shares >= 1 / (1 + rate)).astype(int)


def measured(y, shares, predicted, rate):
    """AUC, average precision and relative cost, of the rows after the first tenth."""
    late = slice(len(y) // 10, None)
    y, shares, predicted = y[late], shares[late], predicted[late]
    cost = ((y == 1) & (predicted == 0)).sum() * rate + ((y == 0) & (predicted == 1)).sum()
    return roc_auc_score(y, shares), average_precision_score(y, shares), cost / (y.sum() * rate)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    print("| positive | learner | AUC | average precision | relative cost |\n|---|---|---:|---:|---:|")
    for rate in RATES:
        results = defaultdict(list)
        for seed in range(args.seeds):
            X, y = rows(args.rows, rate, seed)
            runs = {
                "default": ours(X, y),
                'class_weight="balanced"': ours(X, y, class_weight="balanced"),
                f"costs={{1: {rate}}}": ours(X, y, costs={1: rate}),
            }
            with suppress(ImportError):
                runs["LightGBM, refitted"] = refitted(X, y, rate)
            for name, (shares, predicted) in runs.items():
                results[name].append(measured(y, shares, predicted, rate))
        for name, values in results.items():
            auc, precision, cost = np.mean(values, axis=0)
            print(f"| 1:{rate} | {name} | {auc:.3f} | {precision:.3f} | {cost:.2f} |", flush=True)


if __name__ == "__main__":
    main()
