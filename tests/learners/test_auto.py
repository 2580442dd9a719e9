"""The default learner: its sizes, its parts, and what it refuses."""

import numpy as np
import pytest

from budgetron import (
    Averaged,
    DivergedError,
    Gaussian,
    Neighbours,
    OnlineClassifier,
    OnlineRegressor,
    Standardised,
    auto,
    load,
    rbp,
)
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.refusals import refused


@each("size", [1, 2, 3, 7])
@each("task", members.TASKS)
def test_every_size_works(size, task):
    X, y = members.data(task, 60)
    model = members.estimator(task, auto(size)).fit(X, y)
    assert np.isfinite(members.scores(model, X)).all()
    assert len(model.expert_weights_) == 12
    assert len(members.estimator(task, auto(size, drift=False)).fit(X, y).expert_weights_) == 7


@each("task", members.TASKS)
def test_wide_maps_learn_beside_the_others(task, tmp_path):
    X, y = members.data(task, 120)
    model = members.estimator(task, auto(4, wide=6)).fit(X[:60], y[:60])
    assert len(model.expert_weights_) == 12 + 7 + 1
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(
        members.scores(model.partial_fit(X[60:], y[60:]), X), members.scores(again, X)
    )


@each("columns, rows", [(3, 65536), (22, 11915), (1000, 1000)])
def test_beside_wide_maps_neighbours_look_further_back(columns, rows):
    experts = auto(50, wide=6).composition(columns).learner.learner.learners
    assert [expert.window for expert in experts if isinstance(expert, Neighbours)] == [rows, rows]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 0}, "Auto: size must be a whole number above 0"),
        ({"size": 5001}, "Auto: size must be at most 5000, got 5001"),
        ({"drift": 1}, "Auto: drift must be a bool, got 1"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments, message):
    with refused(message):
        OnlineClassifier(auto(**arguments)).fit(*members.data("binary"))


def test_a_parameter_of_one_expert_is_not_that_of_another():
    learner = auto().composition().set_params(learner__learner__0__features__constant=False)
    assert learner.learner.learner.learners[0].features.constant is False
    assert learner.learner.learner.learners[7].features.constant is True


@pytest.mark.parametrize("rows", [1, 7])
def test_a_target_whose_square_overflows_is_refused(rows):
    """The rows before it are learned, and the model is as if it had been given these only."""
    X, y = members.data("regression", 40)
    bad = y.copy()
    bad[rows] = 1e308
    model = OnlineRegressor(random_state=0).fit(X, y)
    other = OnlineRegressor(random_state=0).fit(X, y)
    with pytest.raises(DivergedError) as caught:
        model.partial_fit(X, bad)
    assert caught.value.rows_learned == rows
    assert members.same_state(model, other.partial_fit(X[:rows], y[:rows]))


def test_the_average_of_a_scaled_learner_accepts_missing_values():
    X, y = members.data("binary", 40)
    X[3, 1] = np.nan
    learner = Averaged(Standardised(rbp(Gaussian(0.5), budget=10)))
    assert OnlineClassifier(learner).fit(X, y).__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("task", members.TASKS)
def test_the_description_is_its_composition(task):
    X, y = members.data(task)
    model = members.estimator(task, auto(7)).fit(X, y)
    parts = members.estimator(task, auto(7).composition()).fit(X, y)
    assert members.same_state(model, parts)
    assert model.learner_ == parts.learner_


@pytest.mark.parametrize(("columns", "outside"), [(499, []), (500, [2]), (1000, [0, 1, 2, 7, 10])])
def test_inputs_of_wide_rows_leave_the_full_covariances(columns, outside):
    state = OnlineRegressor(auto(1)).partial_fit(np.ones((1, columns)), [1.0]).fitted_.model.state()
    variances = {name: v for name, v in state.items() if name.endswith("posterior.variance")}
    with_some = [
        e for e in range(12) for name in variances if f"expert.{e}." in name and len(variances[name])
    ]
    assert with_some == outside
    assert {len(v) for v in variances.values()} <= {0, columns + 1}


def test_files_with_the_description_and_with_the_composition_load(tmp_path):
    X, y = members.data("binary")
    for learner in (None, auto(7), auto(7).composition()):
        OnlineClassifier(learner, random_state=0).fit(X, y).save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert loaded.learner == learner
        assert members.same_state(loaded, OnlineClassifier(learner, random_state=0).fit(X, y))
