"""The native core against the plain version in references/kernelized.py: the same trajectory to 1e-9."""

import inspect

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from budgetron import OGD, Kernelized, RemoveOldest, algorithms
from tests.helpers.cases import each, pairs
from tests.helpers.trajectories import (
    KERNELS,
    LOSSES,
    TASKS,
    labelled,
    native_scores,
    seeded,
    stream,
    streams,
)
from tests.references import kernelized as reference

USUAL = {"budget": 20, "rank": 6, "eta": 0.2, "lam": 0.01, "nu": 0.4, "cap": 1.2, "C": 0.7}
FORMS = {  # what the usual settings do not reach, and small budgets where the reference is slow
    **{name: [{"budget": 10, "C": 0.7}] for name in ("bpa_s", "bpa_nn", "bpa_p")},
    "projectron": [{"budget": 20}, {"eta": 0.6}, {"U": 0.8}, {"budget": 10, "eta": 0.6}],
    "projectron_pp": [{"budget": 20}, {"eta": 0.6}, {"U": 0.8}, {"budget": 10, "U": 0.8}],
    "forgetron": [{"budget": 20}, {"budget": 20, "reading": "program"}],
    "bogd": [
        {"budget": 20, "eta": 0.2, "lam": 0.01, "cap": 1.2},
        {"budget": 20, "eta": 0.2, "lam": 0.01, "cap": 1.2, "reading": "program"},
    ],
    "perceptron": [{}],
    "polk": [
        {"error": 0.05, "eta": 0.2, "lam": 0.01},
        {"error": 0.2, "eta": 0.4, "lam": 0.0},
        {"error": 0.02, "eta": 0.2, "lam": 0.01, "budget": 10},
    ],
}


def forms(name):
    """The settings to try an algorithm with: the usual ones that it takes, unless it has forms."""
    taken = inspect.signature(getattr(algorithms, name)).parameters
    return FORMS.get(name, [{k: v for k, v in USUAL.items() if k in taken}])


def refused(name, task, settings):
    """Whether the definition makes no sense for the task."""
    return (
        (name == "norma") != (task == "regression")
        if name == "norma"
        else (
            task == "regression"
            and (
                name in ("projectron_pp", "budget_perceptron") or (name == "projectron" and "U" in settings)
            )
        )
    )


def agree(name, task, kernel, settings, X, y, weights=None, tolerance=1e-9):
    """Both give the same scores before every update, and the same function and support in the end."""
    native_kernel, plain_kernel = KERNELS[kernel]
    learner = getattr(algorithms, name)(native_kernel, **settings)
    scores, estimator = native_scores(task, learner, X, y, weights)
    plain = getattr(reference, name)(plain_kernel, TASKS[task], **seeded(name, settings))
    w = np.ones(len(X)) if weights is None else weights
    expected = np.array([np.atleast_1d(plain.learn(*row)) for row in zip(X, y, w, strict=True)])
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)
    assert estimator.n_support_ == len(plain.S)
    probes = np.vstack([X[:5], X[:5] + 0.1])
    final = np.array([np.atleast_1d(plain.score(x)) for x in probes])
    np.testing.assert_allclose(
        estimator.fitted_.model.scores(probes), final, rtol=tolerance, atol=tolerance
    )


CASES = [
    (name, task, form)
    for name in algorithms.__all__
    if hasattr(reference, name)  # the others have a reference and a test file of their own
    for task in TASKS
    for form in forms(name)
    if not refused(name, task, form)
]


@pairs
@each("seed", [0, 1, 2])
@each("kernel", ["gaussian", "laplacian", "polynomial"])
@each(("name", "task", "settings"), CASES)
def test_trajectories(name, task, settings, kernel, seed, long):
    X, y = stream(task, 500 if long else 200, seed)
    agree(name, task, kernel, settings, X, y)


@each("task", TASKS)
@each("loss", LOSSES)
def test_every_loss(loss, task):
    native, plain = LOSSES[loss]
    if task == "regression" and native.of_margin:
        pytest.skip("a loss of the margin, for labels only")
    X, y = stream(task, 300, 3)
    learner = Kernelized(KERNELS["gaussian"][0], OGD(0.2, 0.01, native), RemoveOldest(20))
    scores, _ = native_scores(task, learner, X, y)
    model = reference.ogd_remove_oldest(
        KERNELS["gaussian"][1], TASKS[task], budget=20, eta=0.2, lam=0.01, loss=plain
    )
    expected = [np.atleast_1d(model.learn(*row)) for row in zip(X, y, strict=True)]
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@each(("name", "task", "settings"), CASES)
def test_weights(name, task, settings):
    X, y = stream(task, 200, 4)
    weights = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], 200)
    agree(name, task, "gaussian", settings, X, y, weights)


@pytest.mark.parametrize("task", TASKS)
@given(drawn=streams(), budget=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_streams_with_duplicates_zeros_and_constant_labels(task, drawn, budget):
    """All algorithms on the same streams: to draw one takes longer than to learn it."""
    X, codes = drawn
    small = {"budget": budget, "rank": max(1, budget // 2)}
    # Weights in general position: with equal ones duplicates cancel to a true 0, whose sign is rounding's.
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    for name, own, form in CASES:
        if own == task:
            note(f"{name} {form}")
            settings = form | {k: v for k, v in small.items() if k in form}
            agree(name, task, "gaussian", settings, X, labelled(task, codes), weights)
