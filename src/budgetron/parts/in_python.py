"""Budgets and rules that a user writes in Python, without a compiler."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, fields
from typing import Any, dataclass_transform
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt

from budgetron import _core
from budgetron._util.text import shown
from budgetron.parts.budgets.budget import Budget, BuildContext
from budgetron.parts.rules import Rule

Floats = npt.NDArray[np.float64]


class Memory(MutableMapping[str, Any]):
    """The arrays that a budget keeps between two calls, by name. The names are those of `start`."""

    def __init__(self, owner: str, arrays: Mapping[str, Any]) -> None:
        self._owner, self._arrays = owner, dict[str, Floats]()
        for name, values in arrays.items():
            self._arrays[name] = self._checked(name, values)

    def __getitem__(self, name: str) -> Floats:
        return self._arrays[name]

    def __setitem__(self, name: str, values: Any) -> None:
        if name not in self._arrays:
            known = ", ".join(self._arrays) or "none"
            raise KeyError(f"{self._owner}: memory has no {name!r}; start() gives {known}.")
        self._arrays[name] = self._checked(name, values)

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{self._owner}: memory keeps the names of start(), so {name!r} must stay.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def _checked(self, name: str, values: Any) -> Floats:
        try:
            array = np.atleast_1d(np.ascontiguousarray(values, dtype=np.float64))
        except (TypeError, ValueError):
            array = np.zeros((0, 0))
        if array.ndim != 1:
            raise ValueError(
                f"{self._owner}: memory[{name!r}] must be a number or an array of one dimension, "
                f"got {shown(values)}."
            )
        return array


@dataclass_transform()
class PythonBudget(Budget):
    """Base of a budget written in Python. A subclass is a dataclass; `insert` is all that it must have.

    It runs beside the native budgets, with every kernel and rule, and takes part in everything they do:
    ``compare``, ``study``, ``tune``, ``clone``, pickles, weights, many classes. The same rows give the same
    bits for any cut. A call of `insert` costs some microseconds.

    With a parameter ``budget``, at most that many support vectors may be left after each `insert`.

    A model file has the name of the class, not its code. ``load(path, python_parts=[Newest])`` says which
    class has that name; without it the file is refused.

    Examples
    --------
    A budget that forgets the support vector with the smallest coefficient:

    >>> import numpy as np
    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, Perceptron, PythonBudget
    >>> class DropSmallest(PythonBudget):
    ...     budget: int
    ...
    ...     def insert(self, f, term):
    ...         if f.size == self.budget:
    ...             f.remove(int(np.argmin(np.abs(f.alpha).sum(axis=0))))
    ...         f.append(term)
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), Perceptron(), DropSmallest(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    is_limited = False
    solves_systems = False
    """Whether it solves linear systems of kernel values; these are then computed in double precision."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        dataclass(cls)
        cls.is_limited = "budget" in {field.name for field in fields(cls)}

    @property
    def in_python(self) -> bool:
        return True

    def insert(self, f: _core.OpenExpansion, term: _core.OpenTerm) -> None:
        """Let the new term join f. Both can be used only during the call; ``f.memory`` is kept.

        The model that learns is locked meanwhile, so nothing here may ask it for anything else.
        """
        raise NotImplementedError(f"{type(self).__name__}: insert(self, f, term) is missing.")

    def start(self) -> Mapping[str, Any]:
        """What ``f.memory`` holds before the first row: arrays of one dimension, by name."""
        return {}

    def build(self, context: BuildContext) -> _core.Budget:
        memory = Memory(type(self).__name__, self.start())
        most = self.size_limit() if self.is_limited else 0
        insert = _Inserting(ref(self), most)
        return _core.CalledBudget(insert, memory, list(memory), most, self.solves_systems, context.seed)


@dataclass
class _Inserting:
    """Calls `insert`, and checks the number of support vectors after it.

    The core keeps this object, and Python's garbage collector does not see what the core keeps. So the part
    is held by the model's description, and here is only a weak reference to it.
    """

    part: ReferenceType[PythonBudget]
    most: int

    def __call__(self, f: Any, term: Any) -> None:
        part = _alive(self.part)
        part.insert(f, term)
        if 0 < self.most < f.size:
            name = type(part).__name__
            raise ValueError(
                f"{name}: insert must leave at most {self.most} support vectors, got {f.size}."
            )


@dataclass_transform()
class PythonRule(Rule):
    """Base of a rule written in Python. A subclass is a dataclass with `propose`, or the form for targets.

    A rule says how far to step. It sees a ``Round``: ``score``, ``y``, ``kxx``, ``mistake``, ``weight`` and
    the number ``t`` of the round. It returns beta, or a pair (shrink, beta): f is multiplied by shrink,
    then beta k(x,.) joins it. It keeps nothing between two rows. See `PythonBudget` for what it takes part
    in.

    Examples
    --------
    The Perceptron with a step that falls:

    >>> from budgetron import Gaussian, Kernelized, OnlineClassifier, PythonRule, RemoveOldest
    >>> class Falling(PythonRule):
    ...     eta: float = 1.0
    ...
    ...     def propose(self, round):
    ...         return round.weight * self.eta * round.y / round.t**0.5 if round.mistake else 0.0
    >>> model = OnlineClassifier(Kernelized(Gaussian(1.0), Falling(), RemoveOldest(budget=2)))
    >>> model.fit([[0.0], [1.0], [0.6], [0.9]], [0, 1, 0, 1]).n_support_
    2
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        dataclass(cls)

    @property
    def in_python(self) -> bool:
        return True

    @property
    def unit(self) -> float:
        """The parameter ``eta``, if there is one, else 1."""
        return super().unit if hasattr(self, self.step) else 1.0

    def propose(self, round: _core.Round) -> float | tuple[float, float]:
        """Beta, or shrink and beta, for a label."""
        raise NotImplementedError

    def propose_for_targets(self, round: _core.Round) -> float | tuple[float, float]:
        """Beta, or shrink and beta, for a target."""
        raise NotImplementedError

    def for_labels(self) -> _core.Rule:
        if type(self).propose is PythonRule.propose:
            raise ValueError(f"{type(self).__name__} is defined for regression only: it has no propose.")
        return self._native("propose")

    def for_targets(self) -> _core.Rule:
        if type(self).propose_for_targets is PythonRule.propose_for_targets:
            name = type(self).__name__
            raise ValueError(f"{name} is defined for classification only: it has no propose_for_targets.")
        return self._native("propose_for_targets")

    def _native(self, method: str) -> _core.Rule:
        return _core.CalledRule(_Proposing(ref(self), method))


@dataclass
class _Proposing:
    """Calls `propose`, and checks what it returns; see `_Inserting`."""

    part: ReferenceType[PythonRule]
    method: str

    def __call__(self, round: Any) -> tuple[float, float]:
        part = _alive(self.part)
        step = getattr(part, self.method)(round)
        shrink, beta = step if isinstance(step, tuple) and len(step) == 2 else (1.0, step)
        if not (_is_number(shrink) and _is_number(beta) and 0 <= shrink <= 1):
            raise ValueError(
                f"{type(part).__name__}.{self.method} must return beta, or shrink from 0 to 1 and beta, "
                f"got {shown(step)}."
            )
        return float(shrink), float(beta) if math.isfinite(beta) else math.nan  # such a row is refused


def _alive(part: ReferenceType[Any]) -> Any:
    """The part, as long as a model or somebody else has its description."""
    alive = part()
    if alive is None:
        raise RuntimeError("The description that this engine was built from no longer exists.")
    return alive


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, complex)


def by_name(owner: str, parts: Any) -> dict[str, type]:
    """Classes of parts in Python by the names that model files have for them, checked."""
    named: dict[str, type] = {}
    for kind in parts:
        if not (isinstance(kind, type) and issubclass(kind, PythonBudget | PythonRule)):
            raise TypeError(
                f"{owner}: python_parts must hold subclasses of PythonBudget or PythonRule, "
                f"got {shown(kind)}."
            )
        if named.setdefault(kind.__name__, kind) is not kind:
            raise ValueError(f"{owner}: two classes in python_parts have the name {kind.__name__}.")
    return named
