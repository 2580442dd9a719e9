"""Tasks: how labels are read, and which form of a rule is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from budgetron import _core
from budgetron._util import check
from budgetron._util.text import shown
from budgetron.parts.rules import Rule

Native = TypeVar("Native", covariant=True)


class Forms(Protocol[Native]):
    """A rule of either kind: it has a form for labels and one for targets."""

    @property
    def for_labels(self) -> Callable[..., Native]: ...
    @property
    def for_targets(self) -> Callable[..., Native]: ...


@dataclass(frozen=True)
class Labels:
    """Classification: two labels are -1 and +1, more are 0 .. n_classes-1."""

    n_classes: int

    @property
    def outputs(self) -> int:
        """The number of scores of a row."""
        return 1 if self.n_classes == 2 else self.n_classes

    def build(self) -> _core.Task:
        """The native task."""
        return _core.Binary() if self.n_classes == 2 else _core.Multiclass(self.n_classes)

    def code(self, y: float) -> float:
        """The label as the core reads it; ValueError if it is not a label."""
        try:
            known = y in (-1, 1) if self.n_classes == 2 else (0 <= y < self.n_classes and y == int(y))
        except (TypeError, ValueError):  # not a number
            known = False
        if known:
            return float(y)
        expected = "-1 or 1" if self.n_classes == 2 else f"a whole number from 0 to {self.n_classes - 1}"
        raise ValueError(f"The label y must be {expected}, got {shown(y)}.")

    def rule(self, rule: Forms[Native], *arguments: int) -> Native:
        """The native rule, in its form for labels."""
        return rule.for_labels(*arguments)

    def unit(self, rule: Rule) -> float:
        """The rule's step size, the unit of caps."""
        return rule.unit


@dataclass(frozen=True)
class Targets:
    """Regression: labels are real numbers."""

    outputs: ClassVar[int] = 1

    def build(self) -> _core.Task:
        """The native task."""
        return _core.Regression()

    def code(self, y: float) -> float:
        """The target; ValueError if it is not finite."""
        if check.finite(y):
            return float(y)
        raise ValueError(f"The target y must be a finite number, got {shown(y)}.")

    def rule(self, rule: Forms[Native], *arguments: int) -> Native:
        """The native rule, in its form for targets."""
        return rule.for_targets(*arguments)

    def unit(self, rule: Rule) -> float:
        """The rule's step size, the unit of caps."""
        return rule.unit_for_targets


Task = Labels | Targets
