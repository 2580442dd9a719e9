"""What all budgets share."""

from dataclasses import dataclass
from typing import Any, ClassVar

from budgetron import _core
from budgetron._util import check
from budgetron._util.spec import Spec
from budgetron.parts.kernels import Kernel
from budgetron.parts.rules import Rule
from budgetron.parts.tasks import Targets, Task


@dataclass(frozen=True)
class BuildContext:
    """What a budget needs to know in order to be built; the seed is that of its random draws."""

    kernel: Kernel
    rule: Rule
    task: Task
    seed: int
    n_features: int


class Budget(Spec):
    """Base of the budgets: how a new term joins f.

    Examples
    --------
    >>> from budgetron import Budget, Swap
    >>> isinstance(Swap(100), Budget), Swap(100).budget
    (True, 100)
    """

    needs_distances: ClassVar[bool] = False
    """Whether it measures distances in feature space, which only a positive semidefinite kernel has."""
    appends_until_full: ClassVar[bool] = True
    """Whether every new term becomes a support vector until the budget is full."""
    keeps_first: ClassVar[bool] = False
    """Whether it takes no further support vectors, once full."""
    is_limited: ClassVar[bool] = True
    """Whether the number of support vectors is limited."""
    takes_terms: ClassVar[bool] = True
    """Whether it takes terms of another model as it takes those of rows, which a union needs."""
    is_expansion: ClassVar[bool] = True
    """Whether f has no terms but those of its support vectors."""

    def check(self, context: BuildContext) -> None:
        """Refuse a kernel that the budget is not defined for."""
        if self.needs_distances and not context.kernel.positive_semidefinite:
            raise ValueError(
                f"{type(self).__name__}: needs a positive semidefinite kernel, got {context.kernel!r}."
            )

    def build(self, context: BuildContext) -> _core.Budget:
        """The native budget; checks the parameters and the context."""
        raise NotImplementedError

    def size_limit(self) -> int:
        return check.count(self, "budget", getattr(self, "budget", None))

    def needs_targets(self, context: BuildContext, why: str) -> None:
        if not isinstance(context.task, Targets):
            raise ValueError(f"{type(self).__name__}: is defined for regression only; {why}.")

    def needs_labels(self, context: BuildContext, why: str) -> None:
        if isinstance(context.task, Targets):
            raise ValueError(f"{type(self).__name__}: is defined for classification only; {why}.")


@dataclass
class OfSize(Budget):
    """Base of the budgets whose native form needs only their size."""

    native: ClassVar[Any]

    budget: int

    def build(self, context: BuildContext) -> _core.Budget:  # noqa: ARG002
        native: _core.Budget = self.native(self.size_limit())
        return native
