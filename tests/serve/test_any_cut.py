"""Random streams through the service, killed and followed, and the shortest streams that have failed.

The campaign has 200 each: ``python -m fuzz.any_cut_serve``.
"""

import pytest

from budgetron import Gaussian, OnlineClassifier, rbp
from budgetron.serve.learning import Spare, learn_group
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows
from fuzz.any_cut_serve import OFTEN, WAYS, Case, compared, file_of, post
from tests.helpers.members import bits
from tests.helpers.served import served

FLAGS = ["--algorithm", "auto", "--size", "3", *OFTEN, "1"]
FOUND = {
    "an empty record first": [
        {"x": {}, "y": "a"},
        {"x": {"t": "g"}, "y": "b"},
        {"x": {"t": "h"}, "y": "a"},
    ],
    "a null first": [{"x": {"t": None}, "y": "a"}, {"x": {"t": "g"}, "y": "b"}],
    "1 and 1.0": [{"x": {"a": 1.0}, "y": 1}, {"x": {"a": 2.0}, "y": 1.0}, {"x": {"a": 3.0}, "y": 0}],
    "true and 1": [{"x": {"a": 1.0}, "y": True}, {"x": {"a": 2.0}, "y": 1}, {"x": {"a": 3.0}, "y": False}],
}


@pytest.mark.parametrize("number", [7, 10])
@pytest.mark.parametrize("way", WAYS)
def test_random_streams(way, number, tmp_path):
    assert WAYS[way](number, tmp_path) == []


@pytest.mark.parametrize("name", FOUND)
def test_row_by_row_with_a_restart_after_the_first(name, tmp_path):
    case, (first, *later) = Case(0), FOUND[name]
    with served(tmp_path / "d", *FLAGS) as server:
        case.take([first], post(server, [first], "first"))
        assert server.stop() == 0  # which saves a snapshot
    with served(tmp_path / "d", *OFTEN, "1") as server:
        for i, row in enumerate(later):
            case.take([row], post(server, [row], str(i)))
        got = file_of(server)
        assert server.stop() == 0
    assert not case.refused
    assert compared(case, tmp_path / "d/default", got) == []


def test_texts_and_numbers_in_one_group():
    """NumPy would read the labels "a" and 1 as two texts, and a restart would refuse what was learned."""
    model = OnlineClassifier(rbp(Gaussian(0.5), budget=5), random_state=0)
    model.partial_fit([{"a": 1.0}, {"a": 2.0}], ["a", "1"])
    group = [Rows([{"a": 1.0}], [label]) for label in ("a", 1, "a\0", "1")]
    work, outcomes = learn_group(model, group, Limits(), 0, Spare())
    assert [isinstance(outcome, Problem) for outcome in outcomes] == [False, True, True, False]
    alone, outcomes = learn_group(model, [Rows([{"a": 1.0}] * 2, ["a", 1])], Limits(), 0, Spare())
    assert isinstance(outcomes[0], Problem)
    assert bits(alone) == bits(model) != bits(work)
