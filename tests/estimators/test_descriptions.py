"""Learners and their parts are values: they print as code and compare by their parameters."""

import copy
import dataclasses
import inspect
import pickle

import pytest
from sklearn.base import clone

import budgetron
from budgetron import (
    Gaussian,
    OnlineClassifier,
    algorithms,
    nogd,
)
from budgetron._spec import Spec
from tests.helpers.members import (
    filled,
    make,
)


def specs():
    """Every description there is: all algorithms, and every noun with its required parameters filled."""
    found = [make(name) for name in algorithms.__all__]
    for member in (getattr(budgetron, name) for name in budgetron.__all__):
        if dataclasses.is_dataclass(member) and not issubclass(member, budgetron.Learner):
            taken = inspect.signature(member).parameters.values()
            needed = [p.name for p in taken if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
            found.append(member(**{name: filled(member)[name] for name in needed}))
    return found


@pytest.mark.parametrize("spec", specs(), ids=repr)
def test_repr_evaluates_back(spec):
    """What a description prints is the description; equal by value, of its own in a deep copy."""
    assert isinstance(spec, Spec)
    back = eval(repr(spec), {name: getattr(budgetron, name) for name in budgetron.__all__})
    assert back == spec
    assert back is not spec
    assert repr(back) == repr(spec)
    assert copy.deepcopy(spec) == spec == pickle.loads(pickle.dumps(spec)) == clone(spec)


@pytest.mark.parametrize("spec", specs(), ids=repr)
def test_unequal_where_a_parameter_differs(spec):
    """A description with any one parameter changed is another description."""
    for name in spec.get_params(deep=False):
        assert dataclasses.replace(spec, **{name: "other"}) != spec


def test_estimator_repr():
    """An estimator, too, prints as it is written."""
    model = OnlineClassifier(nogd(Gaussian(0.5), budget=10, rank=4), epochs=2)
    back = eval(repr(model), {name: getattr(budgetron, name) for name in budgetron.__all__})
    assert back.get_params() == model.get_params()
