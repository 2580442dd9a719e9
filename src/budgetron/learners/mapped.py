"""A rule on explicit features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron.learners.learner import Learner
from budgetron.parts.features.cells import CellMap
from budgetron.parts.features.feature_map import FeatureMap
from budgetron.parts.rules import Rule, probabilistic
from budgetron.parts.tasks import Targets, Task
from budgetron.parts.vector_rules import Kalman, VectorRule


@dataclass
class Mapped(Learner):
    """The rules of the papers on f(x) = w'z(x), z an explicit feature map (Lu et al. 2016, Algorithm 1).

    ``(shrink, beta) = rule(f(x), y, |z|^2);  w <- shrink * w + beta z(x)``: time and memory do
    not grow with the stream. A :class:`VectorRule` steps in a direction of its own instead.

    Parameters
    ----------
    features : FeatureMap or CellMap
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

    features: FeatureMap | CellMap
    rule: Rule | VectorRule

    @property
    def kernel(self) -> Any:
        """The kernel that the map approximates, if any."""
        return getattr(self.features, "kernel_", None)

    @property
    def probabilistic(self) -> bool:
        """Whether the rule's loss makes a score a probability."""
        return probabilistic(self.rule)

    @property
    def cells(self) -> CellMap | None:
        """The map, if its features are cells."""
        return self.features.cell_map if isinstance(self.features, CellMap | FeatureMap) else None

    @property
    def accepts_missing(self) -> bool:
        """Whether rows may have NaN for a missing value."""
        return self.cells is not None

    @property
    def has_average(self) -> bool:
        moves = isinstance(self.features, FeatureMap) and self.features.moves_with_steps
        return self.cells is None and not moves

    def check_parts(self, task: Task, n_features: int) -> None:
        if (cells := self.cells) is not None:
            self._on_cells(cells, task, n_features, 0)
        else:
            self._rule(self.build_map(n_features, "float64", 0), task)

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        if (cells := self.cells) is not None:
            return self._on_cells(cells, task, n_features, seed)
        return self.build_on(self.build_map(n_features, dtype, seed), task)

    def build_map(self, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.FeatureMap:
        """The native map."""
        return self._features().build(n_features, dtype, seed)

    def build_on(self, features: _core.FeatureMap, task: Task) -> _core.Learner:
        """The native learner on a native map, which several learners may share."""
        return _core.Mapped(features, self._rule(features, task), task.build())

    def _on_cells(self, cells: CellMap, task: Task, n_features: int, seed: int) -> _core.Learner:
        native, targets = cells.build(n_features, seed), isinstance(task, Targets)
        rule: _core.CellRule
        if isinstance(self.rule, VectorRule):
            rule = self.rule.on_cells(targets=targets)
        else:
            rule = _core.CellsAlong(task.rule(check.instance(self, "rule", self.rule, Rule)))
        recruiting = cells.recruiting(native, seed)
        return _core.Celled(native, rule, task.build(), *cells.table(), recruiting)

    def _features(self) -> FeatureMap:
        return check.instance(self, "features", self.features, FeatureMap)

    def _rule(self, features: _core.FeatureMap, task: Task) -> _core.VectorRule:
        if isinstance(self.rule, VectorRule) and self._features().moves_with_steps:
            raise ValueError(
                f"LearnedWidths: is defined for scalar rules only, such as OGD, got {self.rule!r}."
            )
        if isinstance(self.rule, Kalman):
            full = self.rule.full(features)
            self._refuse_large(full, 0 if features.learns else full)
            return task.rule(self.rule, full)
        if isinstance(self.rule, VectorRule):
            if getattr(self.rule, "covariance", None) == "full":
                self._refuse_large(features.size, features.size)
            return task.rule(self.rule)
        return _core.Along(task.rule(check.instance(self, "rule", self.rule, Rule)))

    def _refuse_large(self, full: int, size: int) -> None:
        if size > 20_000:
            need = f"{full} features takes {full**2 / 2**28:.0f} GiB an output"
            raise ValueError(f'Mapped: a full covariance of {need}; take covariance="diagonal".')
