"""Descriptions: dataclasses that a user writes, compares, prints, copies and searches over."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, replace
from functools import cache
from typing import Any, ClassVar, Self, get_args, get_type_hints

import numpy as np

from budgetron._util.names import classes, find
from budgetron._util.text import shown

Ranges = Mapping[str, tuple[float, float]]


class Spec:
    """A dataclass whose parameters can be read and set by name, nested ones as ``outer__inner``.

    The names and rules are scikit-learn's, so ``clone`` and ``GridSearchCV`` reach every part of a
    description. Parameters are checked when a model is built, not when a description is written.

    The name of a kernel or a loss stands for the description: ``kernel="gaussian"`` is ``Gaussian()``.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    ranges: ClassVar[Ranges] = {}
    """The parameters that `evaluate.tune` searches: the least and the largest value of each."""
    by_name: ClassVar[bool] = False
    """Whether a name may stand for a description of this kind."""
    also: ClassVar[tuple[str, ...]] = ()
    """Names that other libraries use; an unknown name is compared with them."""
    _numbered: ClassVar[tuple[str, ...]] = ()

    @property
    def needs_rows(self) -> bool:
        """Whether a parameter is computed from the first rows, as gamma="scale" is."""
        return any(part.needs_rows for part in self.parts().values())

    @property
    def is_drawn(self) -> bool:
        """Whether features depend on the seed of the estimator."""
        return any(part.is_drawn for part in self.parts().values())

    @property
    def in_python(self) -> bool:
        """Whether some of it is a Python function, as in a `PythonBudget`."""
        return any(part.in_python for part in self.parts().values())

    def parts(self, **changed: Any) -> dict[str, "Spec"]:
        """The parameters that are descriptions themselves, by name; those of ``changed`` count instead."""
        params = self.get_params(deep=False) | changed
        return {name: part for name, part in params.items() if isinstance(part, Spec)}

    def resolved(self, X: Any) -> Self:
        """The description with a number for every parameter; open ones are computed from the rows X."""
        parts = {name: part.resolved(X) for name, part in self.parts().items()}
        return self._with(parts) if parts else self

    def _with(self, parts: dict[str, Any]) -> Self:
        """The description with these parts."""
        return replace(self, **parts)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, self._named(name, value))

    def _named(self, name: str, value: Any) -> Any:
        """The value of a parameter; the description, if it is the name of one."""
        spec: Any = type(self)
        kind = _kinds_by_name(spec).get(name) if isinstance(value, str) else None
        member = None if kind is None else find(value, classes(kind))
        return value if member is None else member()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` also those of nested descriptions."""
        params = {f.name: getattr(self, f.name) for f in fields(self)}
        if not deep:
            return params
        nested = {
            f"{name}__{inner}": value
            for name, part in self.parts().items()
            for inner, value in part.get_params().items()
        }
        return params | nested

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; whole parts before the parameters inside them."""
        names, inner = self.get_params(deep=False), dict[str, dict[str, Any]]()
        direct = {name: self._named(name, value) for name, value in params.items() if "__" not in name}
        parts = self.parts(**direct)
        for name, value in params.items():
            first, _, rest = name.partition("__")
            if first not in (parts if rest else names) or name.endswith("__"):
                known = ", ".join([*names, *self._numbered])
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has: {known}.")
            if rest:
                inner.setdefault(first, {})[rest] = value
        for name, value in direct.items():
            setattr(self, name, value)
        for first, values in inner.items():  # one call, so that a part is set before its parameters
            parts[first].set_params(**values)
        return self


@cache
def _kinds_by_name(spec: Any) -> dict[str, type]:
    """The parameters that may be given as a name, with the kind of each."""
    try:
        hints = get_type_hints(spec)
    except NameError:  # a type that is known only where the class was written
        return {}
    pairs = [(name, kind) for name, hint in hints.items() for kind in (hint, *get_args(hint))]
    return {name: kind for name, kind in pairs if getattr(kind, "by_name", False)}


class Parts(Spec):
    """A description of several parts of one kind, in its first field.

    The constructor takes the parts one after the other, or as a sequence under the name of the field. To
    ``get_params`` and ``set_params`` they are known by their numbers: ``0__components``.
    """

    _kind: ClassVar[type]
    _numbered = ("0__...", "1__...")

    def __repr__(self) -> str:
        (what, parts), *rest = self.get_params(deep=False).items()
        defaults = inspect.signature(type(self)).parameters
        others = [f"{name}={value!r}" for name, value in rest if value != defaults[name].default]
        each = [*map(repr, parts)] if isinstance(parts, (list, tuple)) else [f"{what}={parts!r}"]
        return f"{type(self).__name__}({', '.join([*each, *others])})"

    def parts(self, **changed: Any) -> dict[str, Spec]:
        """The parts by their numbers."""
        parts = changed.get(self._field, getattr(self, self._field))
        each = enumerate(parts if isinstance(parts, (list, tuple)) else ())
        return {str(i): part for i, part in each if isinstance(part, Spec)}

    def resolved(self, X: Any) -> Self:
        """The description with a number for every parameter; open ones are computed from the rows X."""
        self.members()  # raises if one is no part
        return super().resolved(X)

    def _with(self, parts: dict[str, Any]) -> Self:
        return replace(self, **{self._field: tuple(parts.values())})

    @property
    def _field(self) -> str:
        return fields(self)[0].name

    def _given(self, each: tuple[Any, ...], parts: Sequence[Any]) -> Sequence[Any]:
        if each and parts:
            what = self._field
            raise TypeError(
                f"{type(self).__name__}: give the {what} one after the other, or as {what}=, not both."
            )
        return each or parts

    def members(self) -> tuple[Any, ...]:
        """The parts, checked."""
        name, what, parts = type(self).__name__, self._field, getattr(self, self._field)
        if not isinstance(parts, (list, tuple)):
            raise TypeError(f"{name}: {what} must be a sequence of {what}, got {shown(parts)}.")
        if not parts:
            raise ValueError(f"{name}: {what} must hold at least one, got none.")
        for i, part in enumerate(parts):
            if not isinstance(part, self._kind):
                raise TypeError(f"{name}: {what}[{i}] must be a {self._kind.__name__}, got {shown(part)}.")
        return tuple(parts)


def seed_of_part(seed: int, i: int) -> int:
    """The seed of part i of a description with this seed."""
    return int(np.random.SeedSequence([seed, i]).generate_state(1, np.uint64)[0] >> 1)
