"""Streams, and the scores of native learners and of their references along them."""

import inspect

import numpy as np
from hypothesis import strategies as st

from budgetron import (
    Absolute,
    EpsilonInsensitive,
    Gaussian,
    Hinge,
    Identity,
    Laplacian,
    Linear,
    Logistic,
    OnlineClassifier,
    OnlineRegressor,
    Polynomial,
    RandomFourier,
    Squared,
    SquaredHinge,
    Stack,
)
from budgetron.estimators.online import progressive
from tests.references import kernelized as reference
from tests.references import maps, step

D, SEED = 6, 7  # components; the seed of `model`
KERNELS = {
    "gaussian": (Gaussian(0.2), step.gaussian(0.2)),
    "laplacian": (Laplacian(0.1), step.laplacian(0.1)),
    "polynomial": (Polynomial(0.3, 1.0, 2), step.polynomial(0.3, 1.0, 2)),
    "linear": (Linear(), step.linear()),
}
TASKS = {
    "binary": step.BINARY,
    "multiclass": step.multiclass(4),
    "regression": step.REGRESSION,
}
LOSSES = {
    "hinge": (Hinge(), step.hinge),
    "squared_hinge": (SquaredHinge(), step.squared_hinge),
    "logistic": (Logistic(), step.logistic),
    "squared": (Squared(), step.squared),
    "absolute": (Absolute(), step.absolute),
    "epsilon_insensitive": (EpsilonInsensitive(0.2), step.epsilon_insensitive(0.2)),
}
OUTPUTS = {"binary": ("labels", 2), "multiclass": ("labels", 4), "regression": ("targets",)}


def stream(task, n, seed, d=5):
    """Rows with duplicates and zeros among them, and labels that a model can partly learn."""
    r = np.random.default_rng(seed)
    X = r.standard_normal((n, d)) * (r.random((n, d)) < 0.8)
    again = r.random(n) < 0.1
    X[again] = X[r.integers(0, n, again.sum())]
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * r.standard_normal(n)
    if task == "regression":
        return X, f
    return X, np.digitize(f, [-0.7, 0.0, 0.7]) if task == "multiclass" else np.where(f > 0, 1, -1)


def model(task, learner):
    """The estimator under test, with a seed that the reference can share."""
    return (OnlineRegressor if task == "regression" else OnlineClassifier)(learner, random_state=SEED)


def native_scores(task, learner, X, y, weights=None):
    """The scores before each update, one row each, and the model."""
    estimator = model(task, learner)
    if task == "regression":
        _, [scored] = progressive(estimator, X, y, weights)
    else:
        classes = [-1, 1] if task == "binary" else range(4)
        _, [scored] = progressive(estimator, X, y, weights, list(classes))
    return scored.scores, estimator


def seeded(name, settings, module=reference):
    """The settings as the reference takes them."""
    seed = {"seed": SEED} if "seed" in inspect.signature(getattr(module, name)).parameters else {}
    return settings | seed


@st.composite
def streams(draw):
    """Short streams on a coarse grid: duplicates, zeros and constant labels are common."""
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    grid = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]), min_size=d, max_size=d)
    X = np.array(draw(st.lists(grid, min_size=n, max_size=n)))
    labels = draw(st.sampled_from([[0], [1], [0, 1], [0, 1, 2, 3]]))
    return X, np.array(draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n)))


def labelled(task, codes):
    """The drawn codes as labels or targets of a task."""
    return {"binary": 2 * (codes % 2) - 1, "multiclass": codes, "regression": codes * 0.7 - 1.0}[task]


def fourier_and_inputs(d, gamma=0.2):
    """A map with the inputs at its end, and the reference's."""
    features = Stack(RandomFourier(Gaussian(gamma), components=D, random_state=SEED), Identity(0.5))
    U = maps.frequencies(maps.gaussian_law(gamma), SEED, range(d), D)
    return features, maps.stack(maps.fourier(U), maps.identity(0.5))


def assert_close(got, expected, tolerance=1e-9):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    assert np.max(np.abs(got - expected) / np.maximum(1, np.abs(expected))) <= tolerance


def trajectory(oracle, X, y, weights=None):
    """The reference's scores before each row is learned."""
    scores = []
    for x, label, weight in zip(X, y, np.ones(len(X)) if weights is None else weights, strict=True):
        scores.append(np.atleast_1d(oracle.score(x)))
        oracle.learn(x, label, weight)
    return np.array(scores)


def covariance(model, part=""):
    """P, from the packed triangle, what is pending outside of its diagonal, and the other variances."""
    state = model.fitted_.model.state()
    packed, variance, pending = (state[f"{part}posterior.{name}"] for name in ("P", "variance", "pending"))
    full = int((np.sqrt(8 * len(packed) + 1) - 1) / 2 + 0.5)
    P = np.zeros((full + len(variance), full + len(variance)))
    P[np.tril_indices(full)] = packed
    P += np.tril(P, -1).T
    U = pending.reshape(-1, max(full, 1))[:, :full]
    P[:full, :full] -= U.T @ U - np.diag(np.sum(U**2, axis=0))
    P[range(full, len(P)), range(full, len(P))] = variance
    return P
