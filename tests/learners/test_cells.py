"""Rules on cells, against the plain version in references/cells.py and against one-hot columns."""

import numpy as np
import pytest
from scipy import sparse

from budgetron import (
    AROW,
    NORMA,
    OGD,
    PA,
    SGD,
    AdaGrad,
    Bins,
    Hinge,
    Identity,
    Kalman,
    Laplacian,
    Logistic,
    Mapped,
    OnlineClassifier,
    Perceptron,
    RandomBinning,
    Recruited,
    Squared,
    Tiles,
)
from budgetron.estimators.online import progressive
from tests.helpers.cases import each
from tests.helpers.trajectories import SEED, TASKS, assert_close, native_scores, stream, trajectory
from tests.references import cells as plain
from tests.references import step

D = 5
MAPS = {
    "tiles": (Tiles(12, 4, 0.5), lambda: plain.Tiles(12, 4, 0.5, D, SEED)),
    "shared": (Tiles(12, 6, memory=1024), lambda: plain.Tiles(12, 6, 0.0, D, SEED)),  # few entries
    "bins": (Bins(10, 4, 3), lambda: plain.Bins(10, 4, 3, D, SEED)),
    "binning": (RandomBinning(Laplacian(0.5), 9), lambda: plain.RandomBinning(9, 0.5, D, SEED)),
}
E = 0.05  # epsilon


def rules(task):
    """Every rule that works on cells: ours, and a maker of the reference's."""
    targets = task == "regression"
    loss, theirs = (Squared(), step.squared) if targets else (Hinge(), step.hinge)
    found = {
        "kalman": (Kalman(3.0, 1e-4), lambda: plain.Kalman(3.0, 1e-4)),
        "arow": (AROW(2.0, epsilon=E), lambda: plain.AROW(2.0, E if targets else None)),
        "adagrad": (
            AdaGrad(0.2, loss, E, 0.01),
            lambda: plain.AdaGrad(0.2, 0.01, theirs, E if targets else None),
        ),
        "ogd": (
            OGD(0.3, 0.02, loss, E),
            lambda: plain.Along(step.GradientDescent(0.3, 0.02, theirs, E if targets else None)),
        ),
        "sgd": (SGD(0.05, loss), lambda: plain.Along(plain.StochasticGradient(0.05, theirs))),
    }
    if targets:
        found |= {
            "norma": (
                NORMA(0.2, 0.4, 0.01, 0.1),
                lambda: plain.Along(step.Norma(0.2, 0.4, 0.01, 0.1)),
            ),
            "pa": (PA(0.5, E), lambda: plain.Along(step.PassiveAggressiveRegression(0.5, E))),
        }
    else:
        found |= {
            "logistic": (
                OGD(0.5, 0.0, Logistic()),
                lambda: plain.Along(step.GradientDescent(0.5, 0.0, step.logistic, None)),
            ),
            "pa": (PA(0.5), lambda: plain.Along(step.PassiveAggressive(0.5))),
            "perceptron": (Perceptron(0.5), lambda: plain.Along(step.Perceptron(0.5))),
        }
    return found


CASES = [(name, task, rule) for name in MAPS for task in TASKS for rule in rules(task)]


def rows_that_move(task, n=600):
    """A stream with missing values, a column of codes, and columns that move far away after a while."""
    X, y = stream(task, n, 3, D)
    rng = np.random.default_rng(4)
    X[:, 3] = rng.integers(-3, 4, n)
    X[rng.random((n, D)) < 0.05] = np.nan
    X[300:, 0] += 40
    X[340:, 3] += 0.5
    weights = np.where(rng.random(n) < 0.1, 0.0, rng.choice([1.0, 0.5, 3.0], n))
    return X, y, weights


@each(["name", "task", "rule"], CASES)
def test_reference(name, task, rule):
    cells, reference = MAPS[name]
    ours, theirs = rules(task)[rule]
    X, y, weights = rows_that_move(task)
    got, _ = native_scores(task, Mapped(cells, ours), X, y, weights)
    oracle = plain.Cells(reference(), theirs, TASKS[task], cells.cells, cells.memory)
    assert_close(got, trajectory(oracle, X, y, weights), 1e-6)


@each("task", TASKS)
def test_recruiting_reference(task):
    n = 3600
    X, y = stream(task, n, 5, D)
    tiles = Tiles(20, 4, 0.5)
    got, model = native_scores(task, Mapped(Recruited(tiles, every=20, share=0.8), Kalman(3.0)), X, y)
    oracle = plain.Cells(
        plain.Tiles(20, 4, 0.5, D, SEED),
        lambda: plain.Kalman(3.0, 0.0),
        TASKS[task],
        recruiting=plain.Recruiting(16, 20, 3000, SEED),
    )
    expected = trajectory(oracle, X, y)
    generation = model.fitted_.model.state()["tiles.generation"]
    assert generation.tolist() == oracle.map.generation
    assert sum(oracle.map.generation) > 10  # most old members have left
    assert_close(got, expected, 1e-6)


def test_many_classes():
    """Beyond 32 classes a softmax is made in registers."""
    X, _ = stream("multiclass", 400, 5, D)
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], np.linspace(-2, 2, 39))
    learner = Mapped(Recruited(Tiles(20, 4, 0.5), every=20, share=0.8), Kalman(3.0))
    model = OnlineClassifier(learner, random_state=SEED)
    _, [scored] = progressive(model, X, y, None, list(range(40)))
    oracle = plain.Cells(
        plain.Tiles(20, 4, 0.5, D, SEED),
        lambda: plain.Kalman(3.0, 0.0),
        step.multiclass(40),
        recruiting=plain.Recruiting(16, 20, 3000, SEED),
    )
    assert_close(scored.scores, trajectory(oracle, X, y), 1e-6)
    assert_close(model.fitted_.model.state()["recruiting.use"], oracle.recruiting.use, 1e-6)


@each("task", TASKS)
def test_one_hot_columns(task):
    """Without collisions and drift, a rule on cells is the same rule on a column for each cell."""
    X, y = stream(task, 250, 1, D)
    cells = plain.RandomBinning(8, 0.5, D, SEED)
    numbers = [cells.cells(x) for x in X]
    columns = {cell: j for j, cell in enumerate(sorted({c for row in numbers for c in row}))}
    one_hot = np.zeros((len(X), len(columns)))
    for i, row in enumerate(numbers):
        one_hot[i, [columns[c] for c in row]] = 1 / np.sqrt(8)
    ours = Mapped(RandomBinning(Laplacian(0.5), 8, memory=2**24), Kalman(3.0))
    theirs = Mapped(Identity(), Kalman(3.0, covariance="diagonal"))
    got, _ = native_scores(task, ours, X, y)
    expected, _ = native_scores(task, theirs, sparse.csr_array(one_hot), y)
    assert_close(got, expected, 1e-5)


def test_shares_of_common_cells_are_a_laplacian_kernel():
    """The deviation of the share in n members is sqrt(k (1 - k) / n)."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    K = step.laplacian(0.4)(X[:, None], X)
    for count in (50, 200, 800):
        squares = []
        for seed in range(12):
            bins = plain.RandomBinning(count, 0.4, 3, seed)
            numbers = np.array([bins.cells(x) for x in X], dtype=object)
            squares.append(np.mean(((numbers[:, None] == numbers).mean(-1) - K) ** 2))
        assert np.mean(squares) == pytest.approx(np.mean(K * (1 - K)) / count, rel=0.3)
