"""Descriptions: dataclasses that a user writes, compares, prints, copies and searches over."""

from dataclasses import fields
from typing import Any, Self


class Spec:
    """A dataclass whose parameters can be read and set by name, nested ones as ``outer__inner``.

    The names and rules are scikit-learn's, so ``clone`` and ``GridSearchCV`` reach every part of a
    description. Parameters are checked when a model is built, not when a description is written.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with ``deep`` also those of nested descriptions."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        if not deep:
            return own
        nested = {
            f"{name}__{inner}": value
            for name, part in own.items()
            if isinstance(part, Spec)
            for inner, value in part.get_params().items()
        }
        return own | nested

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; whole parts before the parameters inside them."""
        own = {name: value for name, value in params.items() if "__" not in name}
        nested = {name: value for name, value in params.items() if "__" in name}
        parts = self.get_params(deep=False) | own
        for name in params:
            first, _, rest = name.partition("__")
            if first not in self.get_params(deep=False) or (rest and not isinstance(parts[first], Spec)):
                what, names = type(self).__name__, ", ".join(self.get_params(deep=False))
                raise ValueError(f"{what} has no parameter {name!r}; it has: {names}.")
        for name, value in own.items():
            setattr(self, name, value)
        parts_of: dict[str, dict[str, Any]] = {}
        for name, value in nested.items():
            first, _, rest = name.partition("__")
            parts_of.setdefault(first, {})[rest] = value
        for first, values in parts_of.items():  # one call, so that a part is set before its parameters
            getattr(self, first).set_params(**values)
        return self
