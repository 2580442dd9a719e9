"""Messages of a broker as input of the service: a thread that gives them to the writer of a model.

The position in the messages is committed to the log with the rows, in one transaction.
"""

import json
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import msgspec

from budgetron._util.errors import DataError
from budgetron.serve.entries import Place
from budgetron.serve.jobs import Advance, Job, Learn
from budgetron.serve.problems import Problem
from budgetron.serve.rows import LINES, parse
from budgetron.streams.bad_rows import BadRows, refused
from budgetron.streams.brokers.address import Address
from budgetron.streams.brokers.broker import ConnectionLostError, Message, Position, connect
from budgetron.streams.brokers.following import Following
from budgetron.streams.brokers.messages import bad_message
from budgetron.streams.json_records import RefusedMessageError, labelled, refuse_large

report = logging.getLogger("budgetron.serve")
MOST = 1000  # messages of a batch
OF_A_MESSAGE = ("bad-row", "malformed", "too-large")
"""The problems that are due to a message, not to the service."""


class Ended(Exception):
    """The service stops."""


class Input(threading.Thread):
    """Learns the messages of a stream, in order, each once.

    A message is an object of names and values, of which ``target`` is the label, and those in ``drop`` are
    not learned from. Without a target it is a line of the service, ``{"x": ..., "y": ...}``.
    """

    def __init__(
        self,
        model: Any,
        address: Address,
        bad_rows: BadRows,
        target: str | None = None,
        drop: Sequence[str] = (),
    ) -> None:
        super().__init__(name="input", daemon=True)
        self.model, self.bad_rows, self.target, self.drop = model, bad_rows, target, drop
        self.trouble: str | None = None
        self._ending = threading.Event()
        self._stream = f"{address.scheme.replace('rediss', 'redis')}:{address.stream}"
        self.position = self._restored()
        self._following = Following(connect(address), self.position, report.warning, self._pause)
        self.name = self._following.broker.name

    def _restored(self) -> Position:
        """The position in the log, and the bad messages up to there."""
        place = self.model.log.place(self._stream)
        if place is None:
            self.bad_rows.begin()
            return {}
        if place.version > self.model.published.version:
            raise DataError(
                f"{self.model.log.path}: {self._stream} is learned up to row {place.version}, but the "
                f"model has {self.model.published.version} rows, because the log was cut: restore a backup."
            )
        state = json.loads(place.state)
        self.bad_rows.resume(state["bad"])
        return dict(state["position"])

    def run(self) -> None:
        """Learn until `close`, or until a message cannot be read and stops the input."""
        try:
            while not self._ending.is_set():
                messages = self._following.receive(MOST, 0.5)
                if messages:
                    self._learn(messages)
                    self._following.commit(self.position)
        except Ended:
            pass
        except Problem as problem:
            if not self._ending.is_set():
                self._stop(problem.detail)
        except (DataError, ConnectionLostError) as error:
            self._stop(str(error))
        except Exception as error:
            report.exception("the input failed", extra={"model": self.model.name})
            self._stop(repr(error))
        self._following.close()
        self.bad_rows.end()

    def close(self) -> None:
        """End after the batch that is being learned."""
        self._ending.set()
        if self.is_alive():
            self.join()
        else:
            self._following.close()
            self.bad_rows.end()

    def _learn(self, messages: Sequence[Message]) -> None:
        """Learn messages; halves are learned one by one until a bad one stands alone."""
        try:
            body = b"\n".join(self._line(message) for message in messages)
            rows = parse(LINES, body, self.model.limits, labelled=True)
            self._submit(Learn(body=body, rows=len(rows), media=LINES, parsed=rows), messages)
        except Problem as problem:
            if problem.name not in OF_A_MESSAGE:
                raise
            if len(messages) == 1:
                self._refuse(messages[0], problem.detail.removeprefix("row 0 ").rstrip("."))
                return
            half = len(messages) // 2
            self._learn(messages[:half])
            self._learn(messages[half:])

    def _line(self, message: Message) -> bytes:
        """The message as a line of the service."""
        try:
            row, label = labelled(message, self.target)
            for name in self.drop if isinstance(row, dict) else ():
                row.pop(name, None)
            refuse_large([*(row.items() if isinstance(row, dict) else enumerate(row)), ("y", label)])
            return msgspec.json.encode({"x": row, "y": label})
        except RefusedMessageError as error:
            raise Problem("malformed", f"{error}.") from None
        except (OverflowError, UnicodeEncodeError) as error:
            raise Problem("malformed", f"cannot be read: {error}.") from None

    def _refuse(self, message: Message, reason: str) -> None:
        bad = bad_message(message, reason)
        if self.bad_rows.stop:
            raise refused(self.name, bad)
        self.bad_rows.add(self.name, bad)
        self._submit(Advance(), [message])

    def _submit(self, job: Learn | Advance, messages: Sequence[Message]) -> None:
        """Wait until the writer has committed the rows, and the position after these messages."""
        position = self.position | {message.part: message.place for message in messages}
        state = {"position": position, "bad": self.bad_rows.state()}
        job.place = Place(self._stream, json.dumps(state), 0)
        while not self._committed(job):
            self._pause(1.0)
        self.position = position

    def _committed(self, job: Job) -> bool:
        """Wait until a job is committed; False if the model is frozen, so that it must be tried again."""
        job.future = future = Future[bytes]()
        job.result = None
        while not self._taken(job):
            self._pause(0.1)
        try:
            future.result()
        except Problem as problem:
            if problem.name != "frozen":
                raise
            return False
        return True

    def _taken(self, job: Job) -> bool:
        """Whether the queue has room for the job."""
        try:
            self.model.submit(job)
        except Problem as problem:
            if problem.name != "busy":
                raise
            return False
        return True

    def _pause(self, seconds: float) -> None:
        if self._ending.wait(seconds):
            raise Ended

    def _stop(self, why: str) -> None:
        self.trouble = f"The input has stopped: {why}"
        report.error(self.trouble, extra={"model": self.model.name})
        self.model.notify("input stopped", {"why": why})
