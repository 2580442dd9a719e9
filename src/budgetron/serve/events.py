"""Server-sent events of a model: its progress, thinned to a bounded history, and notices."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import numpy as np

from budgetron.serve.history import POINTS, History
from budgetron.serve.limits import Limits
from budgetron.serve.problems import Problem

NOTICES = 100
HEARTBEAT = 15.0
"""Seconds between comments that keep an idle connection open."""
CLASSES = 12
"""Classes of the confusion matrix that is sent: the most frequent ones."""
encode = msgspec.json.encode
Reader = asyncio.Queue[bytes | None]
"""The events that wait for one client; None ends the stream."""


class Events:
    """The events of one model. All methods run in the thread of the event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.readers: set[Reader] = set()
        self.history: deque[tuple[int, bytes]] = deque()
        self.notices: deque[tuple[int, bytes]] = deque(maxlen=NOTICES)
        self.ended = False
        self.confusion = (0, b"")

    def load(self, history: History) -> None:
        """Begin with what was told and drawn before."""
        self.notices.extend(
            (each["version"], _event("notice", each, None)) for each in history.last(NOTICES)
        )
        self.history.extend(
            (version, _framed("progress", point, version)) for version, point in history.points()
        )

    def progress(self, version: int, point: dict[str, Any]) -> None:
        """Send a point of the curves, and the confusion matrix, of which only the last is kept."""
        matrix, classes = point.get("confusion"), point.get("classes")
        event = _framed("progress", curve(point), version)
        if self.history and self.history[-1][0] == version:  # drawn before a restart
            self.history.pop()
        self.history.append((version, event))
        if len(self.history) > POINTS:  # every second point of the older half goes
            points = list(self.history)
            half = len(points) // 2
            self.history = deque(points[:half:2] + points[half:])
        self._send(event)
        if matrix:  # there are no classes yet where a replica has only just begun
            self.confusion = version, _event("confusion", _frequent(version, classes, matrix), None)
            self._send(self.confusion[1])

    def notice(self, document: dict[str, Any]) -> None:
        """Tell what happened: an event of the history."""
        event = _event("notice", document, None)
        self.notices.append((document["version"], event))
        self._send(event)

    def close(self) -> None:
        """End all streams."""
        self.ended = True
        self._send(None)

    def _send(self, event: bytes | None) -> None:
        for reader in list(self.readers):
            try:
                reader.put_nowait(event)
            except asyncio.QueueFull:  # it is too far behind, and connects again where it was
                self.readers.discard(reader)

    async def stream(self, after: int) -> AsyncIterator[bytes]:
        """The events after a version: first those of the history, then new ones as they come."""
        if len(self.readers) >= self.limits.event_readers:
            raise Problem("busy", "too many clients read events: try again later.", retry_after=10)
        reader = Reader(self.limits.events_behind)
        self.readers.add(reader)
        return self._of(reader, after)

    async def _of(self, reader: Reader, after: int) -> AsyncIterator[bytes]:
        try:
            past = [event for version, event in self.notices if version >= after]
            past += [event for version, event in [*self.history, self.confusion] if version > after]
            yield b"retry: 1000\n\n" + b"".join(past)
            while reader in self.readers and not self.ended:
                try:
                    event = await asyncio.wait_for(reader.get(), HEARTBEAT)
                except TimeoutError:
                    event = b": still here\n\n"
                if event is None:
                    return
                yield event
        finally:
            self.readers.discard(reader)


def _frequent(version: int, classes: Any, matrix: Any) -> dict[str, Any]:
    """The confusion matrix (rows: label, columns: prediction) of the most frequent classes."""
    counts = np.asarray(matrix)
    frequent = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:CLASSES])
    document = {"version": version, "classes": [classes[i] for i in frequent]}
    return document | {"counts": counts[np.ix_(frequent, frequent)].tolist(), "of": len(classes)}


def curve(point: dict[str, Any]) -> bytes:
    """What the curves have of a point, in JSON."""
    return encode({name: value for name, value in point.items() if name not in ("confusion", "classes")})


def _event(kind: str, data: dict[str, Any], number: int | None) -> bytes:
    return _framed(kind, encode(data), number)


def _framed(kind: str, data: bytes, number: int | None) -> bytes:
    head = b"" if number is None else b"id: %d\n" % number
    return head + b"event: %b\ndata: %b\n\n" % (kind.encode(), data)
