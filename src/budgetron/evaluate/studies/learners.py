"""The learners of a study: one for each data set and budget."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from sklearn.base import BaseEstimator

from budgetron._util.spec import Parts, Spec
from budgetron._util.text import shown
from budgetron.evaluate import baselines
from budgetron.learners import algorithms
from budgetron.learners.learner import Learner

LIBRARIES = ("budgetron", "builtins", "numpy", "river", "sklearn")


def by_name(given: Any) -> dict[str, Any]:
    """The learners by name, checked; those of a list are named by their repr."""
    if isinstance(given, Learner) or baselines.is_baseline(given):
        given = [given]
    if not isinstance(given, Mapping | Sequence) or isinstance(given, str):
        raise TypeError(
            f"study: learners must be a dict of name to learner, or a list, got {shown(given)}."
        )
    pairs = list(given.items()) if isinstance(given, Mapping) else [(repr(each), each) for each in given]
    named = {str(name): _checked(str(name), each) for name, each in pairs}
    if not named:
        raise ValueError("study: learners is empty: expected at least one.")
    if len(named) < len(pairs):
        raise ValueError("study: two learners have the same name: give a dict of different names.")
    return named


def _checked(name: str, learner: Any) -> Any:
    algorithm = getattr(learner, "__name__", "")
    if algorithm and getattr(algorithms, algorithm, None) is learner:
        raise TypeError(
            f"study: {name} is the function of an algorithm: give a learner, such as "
            f"{algorithm}(Gaussian(), ...), or a function of a data set's name and a budget."
        )
    if isinstance(learner, Learner) or baselines.is_baseline(learner) or callable(learner):
        return learner
    raise TypeError(
        f"study: {name} must be a Learner, a model with partial_fit, or with learn_one and predict_one, or "
        f"a function of a data set's name and a budget that returns one, got {shown(learner)}."
    )


def learner_of(given: Any, name: str, dataset: str, budget: int | None) -> Any:
    """The learner for a data set and a budget."""
    if isinstance(given, Learner):
        return given if budget is None else with_budget(given, budget)
    if baselines.is_baseline(given):
        return given
    learner = given(dataset, budget)
    if not isinstance(learner, Learner) and not baselines.is_baseline(learner):
        raise TypeError(f"study: {name} must return a learner for {dataset}, got {shown(learner)}.")
    return learner


def with_budget(learner: Learner, budget: int) -> Learner:
    """The learner with every parameter ``budget`` that is a number set to this one.

    >>> from budgetron import Gaussian, rbp
    >>> from budgetron.evaluate.studies.learners import with_budget
    >>> with_budget(rbp(Gaussian(1.0), budget=10), 50).budget
    RemoveRandom(budget=50)
    """
    paths = [
        path
        for path, value in learner.get_params().items()
        if path.rpartition("__")[2] == "budget" and type(value) is int
    ]
    return copy.deepcopy(learner).set_params(**dict.fromkeys(paths, budget))


def labels_of(learner: Any) -> dict[str, Any]:
    """What identifies a learner: how it prints, and the code of what is not budgetron's."""
    labels = {"learner": described(learner)}
    if isinstance(learner, Learner):
        code = "".join(_code(type(part)) for part in _parts_in_python(learner))
    else:
        code = _code(type(learner))
    return labels | ({"code": hashlib.sha256(code.encode()).hexdigest()[:16]} if code else {})


def described(learner: Any) -> str:
    """How a learner prints; of scikit-learn's with all parameters."""
    if isinstance(learner, BaseEstimator):
        params = ", ".join(f"{name}={value!r}" for name, value in sorted(learner.get_params().items()))
        return f"{type(learner).__name__}({params})"
    return repr(learner)


def _parts_in_python(part: Spec) -> list[Spec]:
    inner = part.members() if isinstance(part, Parts) else part.parts().values()
    below = [each for one in inner for each in _parts_in_python(one)]
    return [part, *below] if part.in_python and not any(one.in_python for one in inner) else below


def _code(kind: type) -> str:
    """The compiled methods of a class, as text; of classes of libraries nothing."""
    own = [each for each in kind.__mro__ if each.__module__.partition(".")[0] not in LIBRARIES]
    members = [member for each in own for _, member in sorted(vars(each).items())]
    functions = [getattr(member, "fget", None) or getattr(member, "__func__", member) for member in members]
    return "".join(_of(f.__code__) for f in functions if isinstance(f, FunctionType))


def _of(code: CodeType) -> str:
    inner = [_of(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {inner}"
