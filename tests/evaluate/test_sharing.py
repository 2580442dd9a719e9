"""Learners of a comparison that have the same feature map share its work, and learn as if alone."""

import copy

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
    Law,
    Learner,
    Mapped,
    Nystrom,
    OnlineClassifier,
    RandomFourier,
    Ranged,
    Spectrum,
    Stack,
    Standardised,
    fogd,
    rbp,
)
from budgetron.evaluate import Comparison, compare, sharing
from budgetron.parts.features.remembered import SharedFeatures
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
        (np.float64, {"delay": 450, "every": 100}),
        (np.float64, {"sample_weight": np.linspace(0, 2, 950)}),
        (np.float64, {"sample_weight": np.where(np.arange(950) < 10, 1.0, 0.0), "every": 100}),
        (np.float64, {"n_jobs": 2}),
        (np.float64, {"every": 37}),
    ],
    ids=[
        "doubles",
        "floats",
        "late labels",
        "very late labels",
        "weights",
        "hardly any weights",
        "threads",
        "records at odd places",
    ],
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


def model_of(name: str) -> OnlineClassifier:
    return OnlineClassifier(GRID[name], random_state=3)


def seconds_saved(X, y):
    """What each call saves: equal maps, another map, the second model again, and after `forget`."""
    shared = SharedFeatures()
    first, second, third = map(model_of, ("AROW", "Kalman", "averaged"))
    saved = [0.0]
    with shared.in_use():
        for model in (first, second, third, second):
            model.partial_fit(X, y, classes=[0, 1])
            saved.append(shared.seconds_saved)
    shared.forget()
    second.partial_fit(X, y)
    return np.diff([*saved, shared.seconds_saved])


def test_features_are_computed_once():
    X, y = data(columns=100)
    for _ in range(5):  # a busy machine may need several looks
        by_first, by_second, by_third, again, forgotten = seconds_saved(X, y)
        # the first had to remember them; the third has another map
        if by_first < 0 < by_second and by_third < 0 < again and forgotten < 0:
            return
    raise AssertionError((by_first, by_second, by_third, again, forgotten))


def test_features_are_shared_inside_the_block_only():
    shared = SharedFeatures()
    X, y = data()
    with shared.in_use():
        pass
    model_of("AROW").fit(X, y)
    assert shared.seconds_saved == 0


def test_rows_of_other_bits_are_other_rows():
    """0.0 and -0.0 are equal numbers, but other bits; features need not be the same."""
    shared, X, y = SharedFeatures(), np.zeros((32, 400)), [0, 1] * 16
    model, saved = model_of("AROW"), [0.0]
    with shared.in_use():
        for rows in (X, X, -X, -X):
            model.partial_fit(rows, y, classes=[0, 1])
            saved.append(shared.seconds_saved)
    first, again, negative, negative_again = np.diff(saved)
    assert max(first, negative) < 0 < min(again, negative_again)


@pytest.mark.timing
def test_seconds_are_those_of_each_alone():
    X, y = data(2000, 100)
    grid = {str(eta): fogd(Gaussian(0.01), components=1000, eta=eta) for eta in (0.01, 0.1, 1.0)}
    for attempt in (1, 2, 3):
        together = [row.seconds for row in compare(grid, (X, y), permutations=3, metrics=()).rows]
        [alone] = compare({"alone": grid["0.1"]}, (X, y), permutations=3, metrics=()).rows
        if attempt == 3 or all(alone.seconds / 1.3 < each < alone.seconds * 1.3 for each in together):
            break
    assert alone.seconds / 1.3 < min(together) <= max(together) < alone.seconds * 1.3


def test_descriptions_with_arrays_are_not_shared():
    learner = Mapped(RandomFourier(Spectrum(coordinate=Law("t", np.array([5.0, 0.0, 1.0]))), 5), AROW())
    grid = {"a": learner, "b": copy.deepcopy(learner)}
    assert len(sharing.groups(grid, data()[0])) == 2


def test_an_error_names_its_learner():
    X, y = data()
    X[700] = 1e200
    grid = {"plain": GRID["fogd"], "other": GRID["fogd, longer steps"]}
    with pytest.raises(ValueError, match=r"compare, plain on permutation 0: .*rows .* too large"):
        compare(grid, (X, y), permutations=1)
