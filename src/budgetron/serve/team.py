"""The models that learn the same rows: that of the folder, and its challengers.

A challenger learns each request after the model of the folder has taken it. If it refuses the rows, it goes
on without them: a challenger keeps no request from being learned, unless it was the one asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import thread_time
from typing import NamedTuple

from budgetron.evaluate.drift.watch import Alarm
from budgetron.evaluate.progressive import Estimator, Learned
from budgetron.serve.comparison import Comparison, Lesson, Taken
from budgetron.serve.learning import Spare, learn_group
from budgetron.serve.limits import UNLIMITED
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows
from budgetron.serve.settings import Settings
from budgetron.serve.tally import Tally

OWN = ""
"""The name of the model of the folder among its challengers: the folder may be renamed."""
Outcomes = list[Learned | Problem]


@dataclass
class Member:
    """One of the models."""

    settings: Settings
    estimator: Estimator
    tally: Tally
    born: int = 0  # the version with which it joined, whatever it is called; 0: the model of the folder
    spare: Spare = field(default_factory=Spare)

    @classmethod
    def new(cls, settings: Settings, born: int) -> "Member":
        """A model that has learned nothing."""
        estimator = settings.estimator()
        return cls(settings, estimator, Tally(estimator), born)

    def learn(self, batch: Sequence[Rows]) -> Outcomes:
        """Learn requests; some may be refused."""
        return self.lessons(batch).outcomes

    def lessons(self, batch: Sequence[Rows]) -> "Lessons":
        """Learn requests; what became of each."""
        found = lessons(self.estimator, batch, self.tally.watched, self.spare)
        self.estimator = found.estimator
        for outcome in found.outcomes:
            if isinstance(outcome, Learned):
                self.tally.add(outcome, self.estimator)
        return found


class Lessons(NamedTuple):
    """What a model made of a group of requests."""

    estimator: Estimator
    outcomes: Outcomes
    seconds: float  # of the processor, for all of them


def lessons(estimator: Estimator, batch: Sequence[Rows], seen: int, spare: Spare) -> Lessons:
    """Let a challenger learn requests; some may be refused. See `learn_group` for ``seen``."""
    began = thread_time()
    learned, outcomes = learn_group(estimator, batch, UNLIMITED, seen, spare)
    return Lessons(learned, outcomes, thread_time() - began)


def look(tally: Tally, batch: Sequence[Rows], outcomes: Outcomes, first: int, own: bool) -> list[Alarm]:
    """Look for drift in requests that are learned. All models have the inputs of the first one."""
    alarms = list[Alarm]()
    for rows, outcome in zip(batch, outcomes, strict=True):
        if isinstance(outcome, Learned):
            alarms += tally.watch(rows if own else None, outcome, first)
        first += len(rows)
    return alarms


@dataclass
class Team:
    """The model of a folder with its challengers, and how they compare."""

    own: Member
    challengers: dict[str, Member] = field(default_factory=dict)
    comparison: Comparison | None = None  # if there are challengers

    def learn(self, batch: Sequence[Rows], first: int) -> tuple[Outcomes, list[tuple[str, Alarm]]]:
        """Learn requests; ``first`` is the number of the first row. Returns the alarms, too."""
        members = {OWN: self.own, **self.challengers}
        found = {name: each.lessons(batch) for name, each in members.items()}
        if self.comparison is not None:
            compare(self.comparison, first, found)
        alarms = [
            (name, alarm)
            for name, each in members.items()
            for alarm in look(each.tally, batch, found[name].outcomes, first, name == OWN)
        ]
        return found[OWN].outcomes, alarms

    def anew(self, row: int) -> None:
        """Begin to compare anew: from now on the models are others."""
        self.comparison = None
        for name in self.challengers:
            self._compare_with(name, row)

    def add(self, name: str, member: Member) -> None:
        """One more challenger."""
        self.challengers = self.challengers | {name: member}
        self._compare_with(name, member.born)

    def _compare_with(self, name: str, row: int) -> None:
        if self.comparison is None:
            self.comparison = Comparison(row, self.own.tally.targets)
            self.comparison.join(OWN, row)
        self.comparison.join(name, row)

    def remove(self, name: str) -> None:
        """One challenger less."""
        self.challengers = {other: each for other, each in self.challengers.items() if other != name}
        if self.comparison is not None:
            self.comparison.leave(name)
        self.comparison = self.comparison if self.challengers else None

    def rename(self, name: str, to: str) -> None:
        """Give a challenger another name."""
        names = {name: to}
        self.challengers = {names.get(other, other): each for other, each in self.challengers.items()}
        if self.comparison is not None:
            self.comparison.rename(name, to)


def compare(comparison: Comparison, first: int, found: Mapping[str, Lessons]) -> None:
    """Count what models made of the same requests, of which the model of the folder took all."""
    estimators = {name: each.estimator for name, each in found.items()}
    labels = {name: each.fitted_.labels for name, each in estimators.items() if _fitted(each)}
    probable = {name: hasattr(each, "predict_proba") for name, each in estimators.items()}
    rows = [len(outcome.y) for outcome in found[OWN].outcomes if isinstance(outcome, Learned)]
    shares = {name: each.seconds / max(sum(rows), 1) for name, each in found.items()}
    parts = list[Lesson]()
    for i, count in enumerate(rows):
        by = {
            name: Taken(outcome, labels[name], probable[name], shares[name] * count)
            for name, each in found.items()
            if isinstance(outcome := each.outcomes[i], Learned)
        }
        parts.append(Lesson(first, count, by))
        first += count
    comparison.add(parts, {name: each for name, each in estimators.items() if _fitted(each)})


def _fitted(estimator: Estimator) -> bool:
    return bool(estimator.__sklearn_is_fitted__())
