"""Streams without end, cut: river's generators with their drifts, and rules that NumPy writes down.

Each has seeds of its own. A drift is a switch from one generator to the next after a number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

import numpy as np

Rows = tuple[np.ndarray, np.ndarray]
ROWS = 100_000


def by_river(name: str) -> Rows:
    """The rows of one of river's generators, or of several, one after the other."""
    pairs: Iterable[tuple[dict[Any, float], Any]] = chain.from_iterable(
        islice(generator, rows) for generator, rows in concepts(name)
    )
    X, y = [], []
    for x, label in pairs:
        X.append(list(x.values()))
        y.append(float(label))
    targets = np.array(y)
    return np.array(X, dtype=np.float64), targets if "Friedman" in name else targets.astype(np.int64)


def concepts(name: str) -> list[tuple[Any, int]]:
    """The generators of a stream and the number of rows from each."""
    from river.datasets import synth

    def switched(kind: Any, key: str, values: tuple[int, ...], seed: int, rows: int, **more: Any) -> Any:
        return [(kind(**{key: v}, seed=seed + i, **more), rows) for i, v in enumerate(values)]

    if name == "Agrawal":
        return switched(synth.Agrawal, "classification_function", (0, 4, 6, 8), 0, ROWS // 4)
    if name == "Agrawal, five rules":
        return switched(
            synth.Agrawal, "classification_function", (7, 2, 9, 5, 1), 110, ROWS // 5, perturbation=0.05
        )
    if name == "SEA":
        return switched(synth.SEA, "variant", (0, 2), 0, ROWS // 2, noise=0.1)
    if name == "SEA, twice":
        first, second, third = switched(synth.SEA, "variant", (1, 3, 0), 120, 40_000, noise=0.2)
        return [(first[0], 30_000), second, (third[0], 30_000)]
    if name == "LED":
        led = {"noise_percentage": 0.1, "irrelevant_features": True}
        return switched(synth.LEDDrift, "n_drift_features", (0, 7), 0, ROWS // 2, **led)
    if name == "LED, noisy":
        led = {"noise_percentage": 0.2, "irrelevant_features": True}
        first, second, third = switched(synth.LEDDrift, "n_drift_features", (0, 5, 2), 130, 40_000, **led)
        return [(first[0], 30_000), second, (third[0], 30_000)]
    if name == "mixed":
        return switched(
            synth.Mixed, "classification_function", (1, 0, 1), 140, 27_000, balance_classes=True
        )
    if name == "sine":
        return switched(
            synth.Sine, "classification_function", (2, 0, 3, 1), 150, 20_000, balance_classes=True
        )
    rbf = {"n_classes": 5, "n_features": 10, "n_centroids": 50}
    moving = {**rbf, "n_drift_centroids": 50}
    tree = {"max_tree_depth": 6, "first_leaf_level": 3, "fraction_leaves_per_level": 0.15}
    deep = {"max_tree_depth": 9, "first_leaf_level": 4, "fraction_leaves_per_level": 0.12}
    deep |= {"n_classes": 4, "n_num_features": 6, "n_cat_features": 4, "n_categories_per_feature": 4}
    single = {
        "RBF slow drift": lambda: synth.RandomRBFDrift(0, 0, change_speed=1e-4, **moving),
        "RBF fast drift": lambda: synth.RandomRBFDrift(0, 0, change_speed=1e-3, **moving),
        "RBF, 500 centres": lambda: synth.RandomRBF(0, 0, **{**rbf, "n_centroids": 500}),
        "RBF, 8 classes": lambda: synth.RandomRBF(160, 161, n_classes=8, n_features=20, n_centroids=80),
        "Hyperplane": lambda: synth.Hyperplane(0, n_features=10, n_drift_features=10, mag_change=0.001),
        "Hyperplane, fast": lambda: synth.Hyperplane(
            162, n_features=15, n_drift_features=5, mag_change=0.01, sigma=0.2
        ),
        "random tree": lambda: synth.RandomTree(0, 0, **tree),
        "deep random tree": lambda: synth.RandomTree(163, 164, **deep),
        "waveform": lambda: synth.Waveform(165),
        "Friedman, gradual": lambda: synth.FriedmanDrift("gsg", (35_000, 70_000), 10_000, 166),
    }
    return [(single[name](), 50_000 if name == "waveform" else ROWS)]


def poker_hands(seed: int = 0, rows: int = 400_000) -> Rows:
    """Five cards, each a suit 1-4 and a rank 1-13; the label is the kind of the hand, 0 to 9.

    The coding is that of the UCI data set, and the hands are as likely as in a real game.
    """
    random = np.random.default_rng(seed)
    cards = np.argsort(random.random((rows, 52)), axis=1)[:, :5]
    suits, ranks = cards // 13, cards % 13
    counts = np.sort((ranks[:, :, None] == np.arange(13)).sum(axis=1), axis=1)[:, ::-1]
    most, second = counts[:, 0], counts[:, 1]
    inorder = np.sort(ranks, axis=1)
    ace_high = (inorder == [0, 9, 10, 11, 12]).all(axis=1)
    straight = ace_high | ((most == 1) & (inorder[:, 4] - inorder[:, 0] == 4))
    flush = (suits == suits[:, :1]).all(axis=1)
    hands = [
        (ace_high & flush, 9),
        (straight & flush, 8),
        (most == 4, 7),
        ((most == 3) & (second == 2), 6),
        (flush, 5),
        (straight, 4),
        (most == 3, 3),
        ((most == 2) & (second == 2), 2),
        (most == 2, 1),
    ]
    y = np.select([which for which, _ in hands], [label for _, label in hands], 0)
    X = np.empty((rows, 10))
    X[:, 0::2], X[:, 1::2] = suits + 1, ranks + 1
    return X, y


def clusters(seed: int, count: int, columns: int, classes: int, spread: float, rows: int = ROWS) -> Rows:
    """Normal clusters with centres in the unit cube, each with a label by lot."""
    random = np.random.default_rng(seed)
    centres, labels = random.random((count, columns)), random.integers(classes, size=count)
    which = random.integers(count, size=rows)
    return centres[which] + spread * random.standard_normal((rows, columns)), labels[which]


def checkerboard(
    seed: int, cells: int, relevant: int, columns: int, noise: float, rows: int = ROWS
) -> Rows:
    """A board of ``cells`` fields a side over the first ``relevant`` columns; some labels are turned."""
    random = np.random.default_rng(seed)
    X = random.random((rows, columns))
    y = np.floor(cells * X[:, :relevant]).astype(np.int64).sum(axis=1) % 2
    return X, _turned(y, noise, random)


def xor(seed: int, relevant: tuple[int, ...], columns: int, noise: float, rows: int = ROWS) -> Rows:
    """The parity of the signs of a few of many normal columns; some labels are turned."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, columns))
    return X, _turned((X[:, list(relevant)] > 0).sum(axis=1) % 2, noise, random)


def _turned(y: np.ndarray, noise: float, random: np.random.Generator) -> np.ndarray:
    return np.where(random.random(len(y)) < noise, 1 - y, y).astype(np.int64)


def code_rules(
    seed: int,
    columns: int,
    codes: int,
    rules: tuple[tuple[int, ...], ...],
    classes: int = 2,
    rows: int = ROWS,
) -> Rows:
    """Columns of codes without order. Each rule scores each class for each combination of its columns.

    The label is the class with the highest sum of scores and noise.
    """
    random = np.random.default_rng(seed)
    X = random.integers(codes, size=(rows, columns))
    scores = 0.3 * random.standard_normal((rows, classes))
    for rule in rules:
        scores += random.standard_normal((*[codes] * len(rule), classes))[tuple(X[:, j] for j in rule)]
    return X.astype(np.float64), scores.argmax(axis=1)
