"""Every exported learner and part becomes a formula, or is refused by its name."""

import re
from typing import Any

import pytest

from budgetron import OnlineClassifier, auto, to_c
from budgetron.export.formulas.freezing import freeze
from tests.helpers.members import TASKS, cases, combinations, fitted


def refusal(export: Any, model: Any) -> str | None:
    """The sentence that refuses a model, if there is one."""
    try:
        export(model)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize("task", TASKS)
def test_every_member_is_exported_or_refused_by_name(task: str) -> None:
    learners = [learner for its_task, learner in [*cases(), *combinations()] if its_task == task]
    for learner in learners:
        model = fitted(task, learner)
        names = set(re.findall(r"(\w+)\(", repr(model.learner_)))  # the types of its parts
        for export in (freeze, lambda model: to_c(model, learn=True)):
            sentence = refusal(export, model)
            assert sentence is None or names & set(re.findall(r"\w+", sentence)), (learner, sentence)


def test_costs_are_refused() -> None:
    """A formula predicts the most probable label, and would decide otherwise than the model."""
    model = OnlineClassifier(auto(3), costs={1: 5}).partial_fit([[0.0], [1.0]], [0, 1])
    assert "export a copy with set_params(costs=None)" in str(refusal(freeze, model))
    assert "set_params(costs=None)" in str(refusal(to_c, model))
    assert refusal(freeze, model.set_params(costs=None)) is None
