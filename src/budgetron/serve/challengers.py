"""Challengers as endpoints know them: models of their own name that learn the rows of another one."""

from collections.abc import Sequence
from typing import Any

from budgetron.serve.changes import Change, LeftOut
from budgetron.serve.entries import LoggedRequest
from budgetron.serve.jobs import Job, Published
from budgetron.serve.problems import Problem
from budgetron.serve.retention import Wanted
from budgetron.serve.served import ServedModel
from budgetron.serve.team import Member


class Challenger(ServedModel):
    """A challenger: it shares the log, the writer and the snapshots of the model beside which it learns."""

    def __init__(self, name: str, beside: ServedModel, member: Member, version: int) -> None:
        published = Published(member.estimator, version)
        history = beside.history.of(name)
        super().__init__(name, beside.limits, member.settings, published, member.tally, history)
        self.events.load(history)
        self.born = member.born
        self.stream, self.work, self.log, self.loop = beside, beside.work, beside.log, beside.loop
        self.thread = beside.thread

    def start(self, loop: Any) -> None:
        """Begin to tell events; the writer of the stream learns."""
        self.loop = loop

    def close(self) -> None:
        """Nothing: the stream closes what they share."""

    def submit(self, job: Job) -> None:
        """Queue a job for the stream, of which this model gives the answer."""
        job.asked = self.born
        self.stream.submit(job)

    def learned(self, after: int, chain: bytes | None = None) -> list[LoggedRequest]:
        """Those of the stream."""
        return self.stream.learned(after, chain)

    def branches(self) -> dict[str, Any]:
        """Those of the stream: a snapshot has all models."""
        return self.stream.branches()

    def kept(self) -> dict[str, Any]:
        """Those of the stream."""
        return self.stream.kept()

    def retain(self, wanted: Wanted) -> dict[str, Any]:
        """Keep rows of the stream."""
        return self.stream.retain(wanted)

    def comparison(self) -> dict[str, Any]:
        """That of the stream."""
        return self.stream.comparison()

    def freeze(self, _: bool) -> None:
        """Refuse: it would stop the others as well."""
        raise self._of_the_stream()

    def replacing(self, _: int, __: bool, ___: Sequence[LeftOut]) -> Change:
        """Refuse: it would concern the others as well."""
        raise self._of_the_stream()

    def _of_the_stream(self) -> Problem:
        of = self.stream.name
        return Problem("in-use", f"{self.name!r} is a challenger of {of!r}: ask for {of!r}, and for both.")
