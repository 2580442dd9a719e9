"""Learners and their parts are values: they print as code and compare by their parameters."""

import copy
import dataclasses
import inspect
import pickle

from sklearn.base import clone

import budgetron
from budgetron import Gaussian, OnlineClassifier, algorithms, nogd
from budgetron._util.spec import Spec
from tests.helpers.cases import each
from tests.helpers.members import OF_PARTS, filled, make


def specs():
    """All algorithms, and an object of every public class with its required parameters."""
    found = [make(name) for name in algorithms.__all__]
    for member in (getattr(budgetron, name) for name in budgetron.__all__):
        if isinstance(member, type) and issubclass(member, Spec) and dataclasses.is_dataclass(member):
            if issubclass(member, budgetron.Learner):
                continue
            taken = inspect.signature(member).parameters.values()
            needed = [p.name for p in taken if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
            values = filled(member, OF_PARTS | {"kernel": budgetron.Laplacian(0.5)})
            found.append(member(**{name: values[name] for name in needed}))
    return found


@each("spec", specs(), ids=repr)
def test_repr_evaluates_back(spec):
    """The repr evaluates to an equal object; copies and pickles are equal, too."""
    assert isinstance(spec, Spec)
    back = eval(repr(spec), {name: getattr(budgetron, name) for name in budgetron.__all__})
    assert back == spec
    assert back is not spec
    assert repr(back) == repr(spec)
    assert copy.deepcopy(spec) == spec == pickle.loads(pickle.dumps(spec)) == clone(spec)


@each("spec", specs(), ids=repr)
def test_unequal_where_a_parameter_differs(spec):
    """Objects that differ in one parameter are unequal."""
    for name in spec.get_params(deep=False):
        assert dataclasses.replace(spec, **{name: "other"}) != spec


def test_estimator_repr():
    """The repr of an estimator evaluates to an equal estimator."""
    model = OnlineClassifier(nogd(Gaussian(0.5), budget=10, rank=4), epochs=2)
    back = eval(repr(model), {name: getattr(budgetron, name) for name in budgetron.__all__})
    assert back.get_params() == model.get_params()
