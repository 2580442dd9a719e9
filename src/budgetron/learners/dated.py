"""A learner that does not see columns made of dates, beside others that do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from budgetron import _core
from budgetron._util import check
from budgetron.learners.learner import Learner, Wrapping
from budgetron.learners.stacked import Stacked, short_name
from budgetron.parts.tasks import Task


@dataclass
class Dated(Wrapping):
    """A learner that does not see columns made of dates, beside others that do.

    A date in a record becomes up to seven columns. If they say nothing about the label, they cost a learner
    of smooth functions or of random cells a lot: each column more is a dimension more to search. So the
    learner does not see them. As soon as a record brings such columns, the experts of ``beside`` begin,
    which see all columns, and a filter on top learns how far to trust the learner and each of them, as in
    :class:`~budgetron.Stacked`. At first it trusts the learner alone.

    Without dates, in rows that are no records, and if a date is the first column with a value, this is the
    learner alone.

    Parameters
    ----------
    learner : Learner
        What learns the other columns.
    beside : Stacked
        The experts that see all columns. The filter has its ``prior`` and ``drift``.

    Departs from the paper
    ----------------------
    Not in the five papers.

    Examples
    --------
    >>> from budgetron import Dated, Gaussian, Identity, Kalman, Mapped, OnlineClassifier, Stacked
    >>> from budgetron import Standardised, fogd
    >>> beside = Stacked(Mapped(Identity(), Kalman()))
    >>> model = OnlineClassifier(Standardised(Dated(Stacked(fogd(Gaussian(0.5))), beside)), random_state=0)
    >>> hours = [f"2026-03-01 {i % 24:02}:00" for i in range(200)]
    >>> rows = [{"x": float(i % 5), "when": hour} for i, hour in enumerate(hours)]
    >>> model.fit(rows, [int(hour[-5:-3]) > 11 for hour in hours]).expert_weights_.shape
    (2,)
    """

    learner: Learner
    beside: Stacked

    def check_parts(self, task: Task, n_features: int) -> None:
        super().check_parts(task, n_features)
        check.instance(self, "beside", self.beside, Stacked).check_parts(task, n_features)

    def build(self, task: Task, n_features: int, dtype: npt.DTypeLike, seed: int) -> _core.Learner:
        """The native learner; checks the description."""
        alone = _core.Narrowed(self.inner.build(task, n_features, dtype, seed), n_features)
        beside = check.instance(self, "beside", self.beside, Stacked)
        logits = self.inner.probabilistic
        return _core.Dated(alone, beside.build_beside(alone, logits, task, n_features, dtype, seed))


def with_all_columns(learner: Learner) -> Learner:
    """The learner, or one around others, as it is alone and sees dates like other columns."""
    if isinstance(learner, Dated):
        return learner.learner
    if isinstance(learner, Wrapping) and isinstance(learner.learner, Dated):
        return replace(learner, learner=learner.learner.learner)
    return learner


def names_of_experts(learner: Any, awake: bool) -> list[str]:
    """A short name of each expert of a stack, or of a learner around one: its number and its main parts.

    ``awake`` says whether columns were set aside.
    """
    while not isinstance(learner, Stacked) and not (awake and isinstance(learner, Dated)):
        learner = learner.learner
    if isinstance(learner, Dated):
        named = ["all without dates", *map(short_name, learner.beside.learners)]
    else:
        named = [short_name(expert) for expert in learner.learners]
    return [f"{i}: {name}" for i, name in enumerate(named)]
