"""The step that support-vector algorithms share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron._util.rows import precision
from budgetron.learners.learner import Learner
from budgetron.parts.budgets.budget import Budget, BuildContext
from budgetron.parts.kernels import Kernel
from budgetron.parts.rules import Rule, probabilistic
from budgetron.parts.tasks import Task


@dataclass
class Kernelized(Learner):
    """The one step that every support-vector algorithm of the papers shares.

    (shrink, beta) = rule(f(x), y, k(x,x));  f <- shrink * f;  beta * k(x,.) enters f through the budget.

    Parameters
    ----------
    kernel : Kernel
        The space.
    rule : Rule
        How far to step.
    budget : Budget
        How the new term joins f.

    Departs from the paper
    ----------------------
    Nowhere: it is the form the algorithms have in common.

    Examples
    --------
    A combination that no paper tried is written like any other:

    >>> from budgetron import Gaussian, Kernelized, Logistic, OGD, OnlineClassifier, Swap
    >>> learner = Kernelized(Gaussian(0.5), OGD(eta=0.2, loss=Logistic()), Swap(budget=50))
    >>> OnlineClassifier(learner).fit([[0.0], [1.0]], [0, 1]).predict([[0.9]])
    array([1])
    """

    kernel: Kernel
    rule: Rule
    budget: Budget

    @property
    def probabilistic(self) -> bool:
        """Whether the rule's loss makes a score a probability."""
        return probabilistic(self.rule)

    @property
    def has_budget(self) -> bool:
        return self.budget.is_limited

    @property
    def has_average(self) -> bool:
        return self.budget.is_expansion

    def check_parts(self, task: Task, n_features: int) -> None:
        self._native_parts(task, n_features, 0)

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        return _core.Kernelized(
            **self._native_parts(task, n_features, seed),
            task=task.build(),
            features=n_features,
            precision=precision(dtype),
        )

    def _native_parts(self, task: Task, n_features: int, seed: int) -> dict[str, Any]:
        kernel = check.instance(self, "kernel", self.kernel, Kernel)
        rule = check.instance(self, "rule", self.rule, Rule)
        budget = check.instance(self, "budget", self.budget, Budget)
        context = BuildContext(kernel, rule, task, seed, n_features)
        budget.check(context)
        return {"kernel": kernel.build(), "rule": task.rule(rule), "budget": budget.build(context)}
