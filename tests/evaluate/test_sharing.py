"""Learners of a comparison that have the same feature map share its work, and learn as if alone."""

import numpy as np
import pytest
from scipy import sparse

from budgetron import (
    AROW,
    Averaged,
    Gaussian,
    HadamardFourier,
    Identity,
    Kalman,
    Learner,
    Mapped,
    Nystrom,
    OnlineClassifier,
    RandomFourier,
    Ranged,
    Stack,
    Standardised,
    fogd,
    rbp,
)
from budgetron.evaluate import Comparison, compare, sharing
from budgetron.features._remembered import RememberedMaps
from tests.helpers.cases import each

FOURIER = RandomFourier(Gaussian(0.1), 20)
BESIDE = Stack(HadamardFourier(Gaussian(0.1), 16), Identity())
GRID: dict[str, Learner] = {
    "fogd": fogd(Gaussian(0.1), components=40, eta=0.1),
    "fogd, longer steps": fogd(Gaussian(0.1), components=40, eta=1.0),
    "averaged": Averaged(fogd(Gaussian(0.1), components=40, eta=0.1)),
    "AROW": Mapped(FOURIER, AROW()),
    "Kalman": Mapped(FOURIER, Kalman()),
    "other features": Mapped(RandomFourier(Gaussian(0.2), 20), AROW()),
    "standardised": Standardised(Mapped(FOURIER, AROW())),
    "standardised Kalman": Standardised(Mapped(FOURIER, Kalman())),
    "clipped": Standardised(Mapped(FOURIER, Kalman()), clip=2.0),
    "ranged": Ranged(Mapped(FOURIER, AROW())),
    "stack": Mapped(BESIDE, AROW()),
    "stack, Kalman": Mapped(BESIDE, Kalman()),
    "landmarks": Mapped(Nystrom(Gaussian(0.1), 10), AROW()),
    "landmarks, Kalman": Mapped(Nystrom(Gaussian(0.1), 10), Kalman()),
    "rbp": rbp(Gaussian(0.1), budget=10),
}


def data(rows: int = 950, columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, columns))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def without_seconds(result: Comparison) -> dict:
    records = result.as_dict()["records"]
    return {name: [{**run, "seconds": None} for run in runs] for name, runs in records.items()}


@each(
    "form, options",
    [
        (np.float64, {}),
        (np.float32, {}),
        (np.float64, {"delay": 7}),
        (np.float64, {"sample_weight": np.linspace(0, 2, 950)}),
        (np.float64, {"n_jobs": 2}),
        (np.float64, {"every": 37}),
    ],
    ids=["doubles", "floats", "late labels", "weights", "threads", "records at odd places"],
)
def test_the_results_are_those_of_each_alone(form, options):
    X, y = data()
    together = compare(GRID, (X.astype(form), y), permutations=2, **options)
    alone: dict = {}
    for name, learner in GRID.items():
        alone |= without_seconds(compare({name: learner}, (X.astype(form), y), permutations=2, **options))
    assert without_seconds(together) == alone


def test_targets():
    X, y = data()
    grid = {name: GRID[name] for name in ("fogd", "Kalman", "standardised Kalman")}
    together = compare(grid, (X, y + 0.5), permutations=2)
    for name, learner in grid.items():
        alone = compare({name: learner}, (X, y + 0.5), permutations=2)
        assert without_seconds(alone)[name] == without_seconds(together)[name]


def test_groups():
    X, _ = data()
    assert [list(group) for group in sharing.groups(GRID, X)] == [
        ["fogd", "fogd, longer steps", "averaged"],
        ["AROW", "Kalman"],
        ["other features"],
        ["standardised", "standardised Kalman"],
        ["clipped"],
        ["ranged"],
        ["stack", "stack, Kalman"],
        ["landmarks", "landmarks, Kalman"],
        ["rbp"],
    ]


def test_what_is_not_shared():
    X, _ = data()
    drawn = RandomFourier(Gaussian(), 4, random_state=np.random.RandomState(0))
    for features in (Identity(), drawn, Stack(drawn, Identity())):
        grid = {"a": Mapped(features, AROW()), "b": Mapped(features, Kalman())}
        assert len(sharing.groups(grid, X)) == 2
    assert len(sharing.groups(GRID, sparse.csr_array(X))) == len(GRID)


def test_features_are_computed_once():
    X, y = data()
    maps = RememberedMaps()
    first, second, third = (
        OnlineClassifier(GRID[name], random_state=3) for name in ("AROW", "Kalman", "averaged")
    )
    spent = [0.0]
    with maps.in_use():
        for model in (first, second, third, second):
            model.partial_fit(X, y, classes=[0, 1])
            spent.append(maps.seconds)
    nothing, by_first, by_second, by_third, again = spent
    assert nothing < by_first == by_second < by_third == again  # the third has another map
    maps.forget()
    first.partial_fit(X, y)
    assert maps.seconds > again


def test_maps_are_shared_inside_the_block_only():
    maps = RememberedMaps()
    X, y = data()
    model = OnlineClassifier(GRID["AROW"], random_state=3)
    with maps.in_use():
        pass
    model.fit(X, y)
    assert maps.seconds == 0


def test_rows_of_other_bits_are_other_rows():
    """0.0 and -0.0 are equal numbers, but other bits; features need not be the same."""
    maps, X = RememberedMaps(), np.zeros((8, 5))
    model = OnlineClassifier(GRID["AROW"], random_state=3)
    with maps.in_use():
        model.partial_fit(X, [0, 1] * 4, classes=[0, 1])
        spent = maps.seconds
        model.partial_fit(X, [0, 1] * 4)
        assert maps.seconds == spent
        model.partial_fit(-X, [0, 1] * 4)
    assert maps.seconds > spent


@pytest.mark.timing
def test_every_learner_is_charged_for_the_features():
    X, y = data(2000, 200)
    grid = {str(eta): fogd(Gaussian(0.01), components=1000, eta=eta) for eta in (0.01, 0.1, 1.0)}
    seconds = [row.seconds for row in compare(grid, (X, y), permutations=2, metrics=()).rows]
    assert min(seconds) > 0.5 * max(seconds)


def test_an_error_names_its_learner():
    X, y = data()
    X[700] = 1e200
    grid = {"plain": GRID["fogd"], "other": GRID["fogd, longer steps"]}
    with pytest.raises(ValueError, match=r"compare, plain on permutation 0: .*rows .* too large"):
        compare(grid, (X, y), permutations=1)
