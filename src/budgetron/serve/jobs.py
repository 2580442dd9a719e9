"""What the writer of a model is asked to do, and what it tells about its work."""

import time
from asyncio import Future as LoopFuture
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from budgetron.evaluate.progressive import Estimator, Learned
from budgetron.serve.changes import Change
from budgetron.serve.entries import KeptRow, Place
from budgetron.serve.metrics import Histogram
from budgetron.serve.problems import Problem
from budgetron.serve.rows import Rows

Future = LoopFuture[bytes] | ThreadFuture[bytes]
"""Handlers wait in the event loop, the input waits in its thread."""
NO_ROWS = Rows([], None)


class Published(NamedTuple):
    """What predictions are made with: a model that nobody changes, and its number of rows."""

    estimator: Estimator
    version: int

    @property
    def fitted(self) -> bool:
        """Whether it has learned something: not at the start, nor after a reset."""
        return bool(self.estimator.__sklearn_is_fitted__())


@dataclass
class Job:
    """A request to the writer. The future gets the result: the body of the answer, or a `Problem`."""

    future: Future | None = None
    body: bytes = b""
    key: str | None = None
    digest: bytes = b""
    place: Place | None = None  # in the messages of a broker, if it is from there
    asked: int = 0  # the challenger that was asked, and answers: the version with which it joined
    size: int = 0  # bytes of the queue
    rows: int = 0  # of the queue
    result: bytes | Problem | None = None  # None: there is something to do

    def resolve(self) -> None:
        """Give the result to the one who waits, unless that is a client that has gone."""
        if self.future is None or self.future.done():
            return
        if isinstance(self.result, bytes):
            self.future.set_result(self.result)
        else:
            assert self.result is not None
            self.future.set_exception(self.result)


@dataclass
class Learn(Job):
    """Learn rows."""

    media: str = ""
    label: str = "y"
    parsed: Rows = NO_ROWS
    learned: Learned | None = None
    answered: Learned | None = None  # what the model that was asked has learned


@dataclass
class Label(Learn):
    """Learn kept rows with their labels."""

    labels: list[tuple[int | str, Any]] = field(default_factory=list)
    found: list[int] = field(default_factory=list)  # the numbers of the kept rows
    again: bool = False  # the ids were labelled like this before, and have other rows now
    predicted: list[Any] = field(default_factory=list)


@dataclass
class Keep(Job):
    """Keep rows until their labels come; ``answer`` gets their ids."""

    kept_rows: list[KeptRow] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=dict)


class Advance(Job):
    """Move on in the messages of a broker, without rows."""


class Snapshot(Job):
    """Save a snapshot, and keep it."""


@dataclass
class Replace(Job):
    """Change which models there are, or what they are; ``change`` gives the change when it is its turn."""

    change: Callable[[], Change] = field(default=lambda: Change("reset"))


@dataclass
class Work:
    """What waits for a writer, and what it has written."""

    queued_rows: int = 0
    queued_bytes: int = 0
    commits: Histogram = field(default_factory=Histogram)  # seconds of the transactions since the start
    snapshot_version: int = 0
    snapshot_time: float = field(default_factory=time.monotonic)  # of the last snapshot, or the start
    unsaved: str | None = None  # why the last snapshot failed
    trouble: str | None = None  # why nothing is learned
    frozen: bool = False  # nothing is learned, because someone wanted it so
