"""What a study runs: a learner over one order, or the tuning of a learner; and what comes out."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetron._util.progress import Progress
from budgetron.evaluate.comparison import Orders
from budgetron.evaluate.results import Records, columns_of, records_of
from budgetron.evaluate.studies.rows import StudyRows
from budgetron.evaluate.tuning import tune
from budgetron.learners.learner import Learner


@dataclass(frozen=True)
class Ran:
    """The records of a learner over one order."""

    records: Records

    def as_dict(self) -> Mapping[str, Any]:
        return {"records": columns_of(self.records)}


@dataclass(frozen=True)
class Tuned:
    """The parameters that tuning found; none if the learner as it was given is the best."""

    parameters: Mapping[str, float]

    def as_dict(self) -> Mapping[str, Any]:
        return {"parameters": dict(self.parameters)}


@dataclass(frozen=True)
class Failed:
    """Why a run failed. It is not kept: the next time it is tried again."""

    why: str

    def as_dict(self) -> None:
        return None


Result = Ran | Tuned | Failed


def revive(kept: Mapping[str, Any]) -> Result:
    """The outcome of which this is ``as_dict``; an error if it is none."""
    if "records" not in kept:
        return Tuned({str(name): float(value) for name, value in kept["parameters"].items()})
    records = records_of(kept["records"])
    if not records or not math.isfinite(records[-1].rate):
        raise ValueError("there is no record")
    return Ran(records)


@dataclass(frozen=True)
class OneOrder:
    """Runs a learner over the i-th order."""

    orders: Orders
    name: str
    learner: Any
    i: int

    def __call__(self) -> Result:
        try:
            records = self.orders.run(self.name, self.learner, self.i)
        except ValueError as error:
            return Failed(str(error).removeprefix("compare, "))
        return Failed("it was stopped") if self.orders.stopped else Ran(records)


@dataclass(frozen=True)
class OneTuning:
    """Tunes a learner on the rows that no order has."""

    rows: StudyRows
    learner: Learner
    task: str
    candidates: int
    seed: int

    def __call__(self) -> Result:
        assert self.rows.tuning is not None
        labels = np.concatenate([self.rows.stream.y, self.rows.tuning.y])
        classes = None if self.task == "regression" else np.unique(labels)
        try:
            with Progress(file=io.StringIO()):  # the bar of the tuning itself is not drawn inside another
                found = tune(
                    self.learner,
                    [self.rows.tuning],
                    rows=len(self.rows.tuning),
                    candidates=self.candidates,
                    task=self.task,
                    classes=classes,
                    seed=self.seed,
                    n_jobs=1,
                )
        except ValueError as error:
            return Failed(str(error))
        return Tuned(dict(sorted(found.candidates[0].parameters.items())))
