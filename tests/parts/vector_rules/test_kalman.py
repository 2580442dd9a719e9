"""Kalman: trajectories against the reference, deviations, and every instruction set."""

import json
import os
import sys

import numpy as np
import pytest

from budgetron import (
    Gaussian,
    Identity,
    Kalman,
    Mapped,
    OnlineClassifier,
    OnlineRegressor,
    RandomFourier,
    Stack,
    _core,
)
from tests.helpers import forked, members
from tests.helpers.cases import each, pairs
from tests.helpers.trajectories import (
    OUTPUTS,
    D,
    assert_close,
    covariance,
    fourier_and_inputs,
    native_scores,
    stream,
    trajectory,
)
from tests.references import auto


def compare(task, rule, full, X, y, weights=None, gamma=0.2):
    features, z = fourier_and_inputs(X.shape[1], gamma)
    scores, model = native_scores(task, Mapped(features, rule), X, y, weights)
    oracle = auto.Kalman(z, OUTPUTS[task], rule.prior, rule.drift, full)
    assert_close(scores, trajectory(oracle, X, y, weights))
    assert_close(model.coef_, oracle.W)
    assert_close(covariance(model), oracle.P)
    probes = np.vstack([X[:5], X[:5] + 0.1])
    assert_close(model.fitted_.model.scores(probes), [oracle.score(x) for x in probes])
    if task == "regression":
        predictions, deviations = model.predict(probes, return_std=True)
        assert_close(predictions, [oracle.score(x)[0] for x in probes])
        assert_close(deviations, [oracle.deviation(x) for x in probes])
    return model


# ---- trajectories


@pairs
@each("task", OUTPUTS)
@each("drift", [0.0, 0.01])
@each(("kind", "full"), [("full", None), ("diagonal", 0), ("auto", None), (5, 2 * D), (6, None)])
def test_trajectories(task, drift, kind, full):
    X, y = stream(task, 1500, 1)  # more rows than between two repairs of P
    compare(task, Kalman(3.0, drift, kind), full, X, y)


@pairs
@each("task", OUTPUTS)
@each("drift", [0.0, 0.01])
@each(("kind", "full"), [("full", None), ("diagonal", 0)])
def test_trajectories_with_weights(task, drift, kind, full):
    X, y = stream(task, 400, 2)
    weights = np.random.default_rng(4).choice(
        [0.0, 0.5, 1.0, 2.0], len(X)
    )  # 30 would be chaotic for labels
    compare(task, Kalman(10.0, drift, kind), full, X, y, weights)


@pairs
@each("task", OUTPUTS)
@each("drift", [0.0, 0.01])
@each(("kind", "full"), [("auto", 2 * D), ("full", None), ("diagonal", 0)])
def test_beyond_a_thousand_features_the_inputs_have_a_diagonal(task, drift, kind, full):
    X, y = stream(task, 25, 3, d=1000)
    weights = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], len(X))
    model = compare(task, Kalman(10.0, drift, kind), full, X, y, weights, gamma=0.0002)
    outside = 0 if full is None else 2 * D + 1001 - full
    assert len(model.fitted_.model.state()["posterior.variance"]) == outside


@pytest.mark.parametrize(
    ("kind", "components", "columns", "outside"),
    [
        ("auto", 5, 999, 0),
        ("auto", 5, 1000, 1001),
        ("auto", 600, 3, 0),
        (7, 5, 6, 0),
        (7, 5, 7, 8),
        (0, 5, 3, 4),
    ],
)
def test_the_covariance_changes_above_a_number_of_inputs(kind, components, columns, outside):
    features = Stack(RandomFourier(Gaussian(0.5), components), Identity())
    learner = Mapped(features, Kalman(covariance=kind))
    model = OnlineRegressor(learner).partial_fit(np.ones((1, columns)), [1.0])
    assert len(model.fitted_.model.state()["posterior.variance"]) == outside


@each("size", range(1, 20))
def test_any_number_of_features(size):
    """The full block is stored in blocks of eight rows."""
    X = np.random.default_rng(size).standard_normal((60, size))
    y = X.sum(axis=1) + 0.1
    model = OnlineRegressor(Mapped(Identity(constant=False), Kalman(2.0, 0.001)))
    oracle = auto.Kalman(lambda x: x, ("targets",), 2.0, 0.001)
    assert_close(model.progressive_predict(X, y)[:, None], trajectory(oracle, X, y))
    assert_close(covariance(model), oracle.P)


def test_without_drift_a_target_is_ridge_regression():
    X, y = members.data("regression", 200)
    model = OnlineRegressor(Mapped(Identity(), Kalman(prior=4.0))).fit(X, y)
    Z = np.hstack([X, np.ones((200, 1))])
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(Z.T @ Z + np.eye(4) / 4, Z.T @ y), rtol=1e-9)


def test_the_deviation_is_that_of_the_equations():
    X, y = members.data("regression", 100)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], 100)
    model = OnlineRegressor(Mapped(Identity(), Kalman(prior=4.0)))
    assert (model.start(X).predict(X, return_std=True)[1] == 0).all()
    errors = total = 0.0
    for i in range(100):
        z = np.append(X[i], 1.0)
        S = z @ covariance(model) @ z
        e = y[i] - model.predict(X[i : i + 1])[0]
        errors, total = errors + weights[i] * e**2 / (1 + S), total + weights[i]
        model.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weights[i : i + 1])
    Z, P = np.hstack([X, np.ones((100, 1))]), covariance(model)
    S = np.sum((Z @ P) * Z, axis=1)
    np.testing.assert_allclose(
        model.predict(X, return_std=True)[1], np.sqrt(errors / total * (1 + S)), rtol=1e-9
    )


def test_deviations_hold_the_noise():
    """Of targets with noise of deviation 0.5, 95 % lie within two deviations, and 0.5 is found."""
    r = np.random.default_rng(0)
    X = r.standard_normal((4000, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.5 * r.standard_normal(4000)
    model = OnlineRegressor(Mapped(Identity(), Kalman())).fit(X[:3000], y[:3000])
    mean, deviation = model.predict(X[3000:], return_std=True)
    np.testing.assert_allclose(deviation, 0.5, atol=0.03)
    assert np.mean(np.abs(y[3000:] - mean) < 1.96 * deviation) == pytest.approx(0.95, abs=0.02)


def test_learners_without_deviations_say_so():
    X, y = members.data("regression", 20)
    model = members.estimator("regression", "rbp").fit(X, y)
    with pytest.raises(ValueError, match="return_std needs a learner that knows its deviation"):
        model.predict(X, return_std=True)


def test_probabilities_are_calibrated_on_logistic_labels():
    r = np.random.default_rng(0)
    X = r.standard_normal((6000, 2))
    p = 1 / (1 + np.exp(-(2 * X[:, 0] - X[:, 1] + 0.5)))
    y = r.random(6000) < p
    model = OnlineClassifier(Mapped(Identity(), Kalman())).fit(X, y)
    assert np.abs(model.predict_proba(X)[:, 1] - p).mean() < 0.03


# ---- instruction sets

PROGRAM = """
import json
import numpy as np
from budgetron import Gaussian, Identity, Kalman, Mapped, RandomFourier, Stack, _core
from tests.helpers.trajectories import native_scores, stream

found = {}
for task in ("binary", "multiclass", "regression"):
    X, y = stream(task, 1200, 5)
    for kind in ("full", "diagonal"):
        learner = Mapped(Stack(RandomFourier(Gaussian(0.2), 9), Identity()), Kalman(10.0, 0.001, kind))
        scores, model = native_scores(task, learner, X, y)
        found[task + kind] = scores.tolist() + model.coef_.tolist()
        found[task + kind + "P"] = model.fitted_.model.state()["posterior.P"].tolist()
print(json.dumps([_core.instruction_set(), found]))
"""


def numbers_of(isa):
    done = forked.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"BUDGETRON_ISA": isa, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        libraries=True,
    )
    assert done.returncode == 0, done.stderr
    name, found = json.loads(done.stdout)
    assert name == isa
    return {key: np.concatenate([np.ravel(v) for v in values] or [[]]) for key, values in found.items()}


def test_every_instruction_set_gives_the_same():
    first, *others = _core.instruction_sets()
    expected = numbers_of(first)
    for isa in others:
        for key, numbers in numbers_of(isa).items():
            if len(numbers):
                assert_close(numbers, expected[key])
