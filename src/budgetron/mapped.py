"""A rule on explicit features."""

from __future__ import annotations

__all__ = ["Mapped"]

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy.typing as npt

from budgetron import _check, _core
from budgetron._tasks import Task
from budgetron.features._map import FeatureMap
from budgetron.learners import Learner
from budgetron.rules import Rule, probabilistic
from budgetron.vector_rules import VectorRule


@dataclass
class Mapped(Learner):
    """The rules of the papers on f(x) = w'z(x), z an explicit feature map (Lu et al. 2016, Algorithm 1).

    (shrink, beta) = rule(f(x), y, |z|^2);  w <- shrink * w + beta z(x): time and memory do
    not grow with the stream. A :class:`VectorRule` steps in a direction of its own instead.

    Parameters
    ----------
    features : FeatureMap
        The space.
    rule : Rule or VectorRule
        How far to step, and for a VectorRule also in which direction.

    Departs from the paper
    ----------------------
    Nowhere with :class:`~budgetron.OGD`; the other rules are beyond the paper.

    Examples
    --------
    >>> from budgetron import AROW, Gaussian, Identity, Mapped, OnlineClassifier, RandomFourier, Stack
    >>> features = Stack(RandomFourier(Gaussian(0.5), components=20), Identity())
    >>> model = OnlineClassifier(Mapped(features, AROW(r=1.0)), random_state=0)
    >>> model.fit([[0.0], [1.0]], [0, 1]).coef_.shape
    (1, 42)
    """

    features: FeatureMap
    rule: Rule | VectorRule

    @property
    def kernel(self) -> Any:
        """The kernel that the map approximates, if any."""
        return getattr(self.features, "kernel_", None)

    @property
    def probabilistic(self) -> bool:
        """Whether the rule's loss makes a score a probability."""
        return probabilistic(self.rule)

    def resolved(self, X: Any) -> Self:
        """The learner with a number for every parameter; open ones are computed from the rows X."""
        features = _check.instance(self, "features", self.features, FeatureMap)
        return replace(self, features=features.resolved(X))

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        features = _check.instance(self, "features", self.features, FeatureMap)
        native, outputs = features.build(n_features, dtype, seed), task.build()
        if getattr(self.rule, "covariance", None) == "full" and native.size > 20_000:
            size = f"{native.size} features takes {native.size**2 / 2**28:.0f} GiB an output"
            raise ValueError(f'Mapped: a full covariance of {size}; take covariance="diagonal".')
        return _core.Mapped(native, self._rule(task), outputs)

    def _rule(self, task: Task) -> _core.VectorRule:
        if isinstance(self.rule, VectorRule):
            return task.rule(self.rule)
        return _core.Along(task.rule(_check.instance(self, "rule", self.rule, Rule)))
