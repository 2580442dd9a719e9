"""The readings of Lu et al.'s program: what tells them from the definitions."""

import numpy as np
import pytest

from budgetron import (
    OGD,
    Forget,
    ForgetLargerRoot,
    Gaussian,
    Kernelized,
    OnlineClassifier,
    OnlineRegressor,
    SampleUniform,
    SampleUniformScaled,
    Squared,
    bogd,
    forgetron,
    load,
)
from budgetron.cli import main
from tests.helpers.cases import each
from tests.helpers.members import TASKS, data, estimator, same_state, start

K = Gaussian(0.5)


def test_the_definition_is_the_default():
    assert forgetron(K, budget=5) == forgetron(K, budget=5, reading="definition")
    assert bogd(K, budget=5) == bogd(K, budget=5, reading="definition")
    assert forgetron(K, budget=5).budget == Forget(5)
    assert bogd(K, budget=5, cap=2).budget == SampleUniform(5, 2)


def test_the_program_is_asked_for_by_name():
    assert forgetron(K, budget=5, reading="program").budget == ForgetLargerRoot(5)
    assert bogd(K, budget=5, cap=2, reading="program").budget == SampleUniformScaled(5, 2)


@pytest.mark.parametrize("algorithm", [forgetron, bogd])
def test_another_reading_is_refused(algorithm):
    sentence = f"^{algorithm.__name__}: reading must be 'definition' or 'program', got 'other'.$"
    with pytest.raises(ValueError, match=sentence):
        algorithm(K, budget=5, reading="other")


def test_the_command_takes_a_reading(capsys, tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(f"{i % 2} 1:{i % 7} 2:{i % 5}" for i in range(200)))
    words = ["run", "forgetron", str(path), "--budget", "5", "--sigma", "1", "--reading"]
    assert main([*words, "program", "--save", str(tmp_path / "model")]) == 0
    assert load(tmp_path / "model").learner.budget == ForgetLargerRoot(5)
    assert main([*words, "other"]) == 2
    assert "--reading: expected definition or program, got 'other'." in capsys.readouterr().err


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_f_grows_where_the_program_takes_the_larger_root(task):
    """The definition only shrinks f, so no coefficient exceeds the step of 1."""
    X, y = data(task, 600)

    def largest(reading):
        model, most = OnlineClassifier(forgetron(K, budget=10, reading=reading)), 0.0
        for i in range(0, 600, 5):
            model.partial_fit(X[i : i + 5], y[i : i + 5], classes=np.unique(y))
            most = max(most, np.abs(model.dual_coef_).max())
        return most

    assert largest("definition") == 1
    assert largest("program") > 1


def test_the_cap_scales_the_new_coefficient_too():
    """Clipped coefficients lie between eta and cap eta; scaled ones can be below eta."""
    X, y = data("binary", 300)
    clipped, scaled = (
        OnlineClassifier(bogd(K, budget=10, eta=0.5, cap=1.2, reading=reading), random_state=0).fit(X, y)
        for reading in ("definition", "program")
    )
    assert np.abs(clipped.dual_coef_).min() == 0.5
    assert np.sum(np.abs(clipped.dual_coef_) == 0.6) > 1
    assert np.abs(scaled.dual_coef_).min() < 0.5
    assert np.abs(scaled.dual_coef_).max() <= 0.6 + 1e-12


def test_the_cap_holds_before_the_budget_is_full():
    """With targets a step has no bound; the definition clips only when a support vector is dropped."""
    learner = Kernelized(K, OGD(eta=0.5, loss=Squared(), epsilon=0.0), SampleUniformScaled(5, cap=1.0))
    model = OnlineRegressor(learner).fit([[0.0], [9.0]], [1.0, 10.0])
    assert np.abs(model.dual_coef_).max() == pytest.approx(0.5)
    assert np.abs(model.dual_coef_).min() < 0.1


@each("task", TASKS)
@each("algorithm", [forgetron, bogd])
def test_saved_and_continued_is_the_same_as_in_one_piece(algorithm, task, path):
    X, y = data(task, 200)
    learner = algorithm(K, budget=10, reading="program")
    whole = start(estimator(task, learner), task, X, y)
    start(estimator(task, learner), task, X[:90], y[:90]).save(path)
    parts = load(path)
    for i in range(90, 200, 7):
        parts.partial_fit(X[i : i + 7], y[i : i + 7])
    assert same_state(whole, parts)
