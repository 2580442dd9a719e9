"""What all budgets share."""

from __future__ import annotations

__all__ = ["Budget"]

from dataclasses import dataclass

from budgetron import _check, _core
from budgetron._spec import Spec
from budgetron._tasks import Targets, Task
from budgetron.kernels import Kernel
from budgetron.rules import Rule


@dataclass(frozen=True)
class BuildContext:
    """What a budget is built beside: the kernel, the rule, the task, and the seed of its draws."""

    kernel: Kernel
    rule: Rule
    task: Task
    seed: int


class Budget(Spec):
    """Base of the budgets: how a new term joins f."""

    def build(self, context: BuildContext) -> _core.Budget:
        """The native budget; checks the parameters and the context."""
        raise NotImplementedError

    def _count(self) -> int:
        return _check.count(self, "budget", getattr(self, "budget", None))

    def _needs_geometry(self, context: BuildContext) -> None:
        if not context.kernel.positive_semidefinite:
            raise ValueError(
                f"{type(self).__name__}: needs a positive semidefinite kernel, got {context.kernel!r}."
            )

    def _needs_labels(self, context: BuildContext, why: str) -> None:
        if isinstance(context.task, Targets):
            raise ValueError(f"{type(self).__name__}: is defined for classification only; {why}.")
