"""Connections, bounded before anyone has shown a token: their number, and the bytes and time of headers.

uvicorn reads headers of any length for as long as a client likes. `Connection` is its protocol with limits.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from budgetron.serve.limits import Limits
from budgetron.serve.problems import MEDIA, Problem

SPARE = 64
"""Files that connections leave to the logs, the snapshots and new models."""


class Connection(HttpToolsProtocol):
    """One connection. If there are too many, the one that has been idle longest is closed."""

    limits: Limits
    most: int
    open: dict["Connection", None]  # the one without a request for the longest time comes first

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._unparsed = 0  # bytes since the last step forward: the end of headers, or a part of a body
        self._fed = 0  # bytes of the piece that is parsed
        self._moved = False
        self._in_body = False
        self._refusal: Problem | None = None
        self._due: asyncio.TimerHandle | None = None  # ends a connection whose headers do not arrive
        self._look: asyncio.TimerHandle | None = None  # ends one that does not read its answer

    # ---- their number

    def connection_made(self, transport: Any) -> None:
        """Take a connection, and close another one if there are too many."""
        super().connection_made(transport)
        self.open[self] = None
        self._wait()
        if len(self.open) > self.most:
            idle = next((each for each in self.open if each is not self and each._is_idle()), None)
            (idle or next(filter(Connection._is_sending, self.open), self))._drop()

    def connection_lost(self, error: Exception | None) -> None:
        """Forget a connection."""
        self.open.pop(self, None)
        self._stop_waiting()
        self._stop_looking()
        super().connection_lost(error)

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _is_sending(self) -> bool:
        """Whether the body of a request has not arrived yet."""
        return self.cycle is not None and bool(self.cycle.more_body)

    def _drop(self) -> None:
        self.open.pop(self, None)
        self.transport.abort()

    # ---- headers

    def data_received(self, data: bytes) -> None:
        """Parse what has come; refuse what does not come to an end."""
        self._moved, self._fed = False, len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._unparsed = 0 if self._moved else self._unparsed + len(data)
        lines = 0 if self.headers is None else len(self.headers)  # also those after a chunked body
        if self._unparsed > self.limits.header_bytes or lines > self.limits.header_lines:
            self._refuse(self._too_long())
        elif self._is_idle() and self._due is None and (self._unparsed or self._in_body):
            self._wait()  # for the end of headers, or of a body that was answered before it came

    def on_headers_complete(self) -> None:
        """Answer the request, unless its headers are too long."""
        most, lines = self.limits.header_bytes, self.limits.header_lines
        long = self._unparsed + self._fed > most and most < sum(len(n) + len(v) for n, v in self.headers)
        if long or len(self.headers) > lines:
            self._refusal = self._too_long()
            raise ValueError(self._refusal.detail)  # ends the parser; then send_400_response is called
        self._stop_waiting()
        self._moved = self._in_body = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is over."""
        self._stop_waiting()
        self._moved, self._in_body = True, False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is sent."""
        self.open.pop(self, None)
        self.open[self] = None  # the last to be closed
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        self._refuse(self._refusal or Problem("malformed", msg.lower()))

    def _too_long(self) -> Problem:
        most = f"{self.limits.header_bytes} bytes and {self.limits.header_lines} lines"
        return Problem("headers-too-large", f"headers may have {most}.")

    def _refuse(self, problem: Problem) -> None:
        body = msgspec.json.encode(problem.document())
        head = f"HTTP/1.1 {problem.status} {problem.title}\r\ncontent-type: {MEDIA}\r\n"
        head += f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        if self._is_idle():  # else this would be read as part of an answer
            self.transport.write(head.encode() + body)
        self.transport.close()

    # ---- time

    def _wait(self) -> None:
        self._due = self.loop.call_later(self.limits.header_seconds, self._late)

    def _late(self) -> None:
        if self._unparsed and not self.transport.is_closing():
            seconds = f"{self.limits.header_seconds:g} seconds"
            self._refuse(Problem("too-slow", f"the headers did not arrive within {seconds}."))
        self.timeout_keep_alive_handler()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that is idle, and do not wait for a client that does not read."""
        self.transport.close()
        self._due = self.loop.call_later(1.0, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def pause_writing(self) -> None:
        """The client reads more slowly than it is answered: look whether it reads at all."""
        super().pause_writing()
        self._look_later(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The client has read."""
        self._stop_looking()
        super().resume_writing()

    def _look_later(self, unsent: int) -> None:
        self._look = self.loop.call_later(self.limits.send_seconds, self._look_again, unsent)

    def _look_again(self, before: int) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent >= before:
            self._drop()
        else:
            self._look_later(unsent)

    def _stop_looking(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: anybody could fill the messages."""


def protocol(limits: Limits, most: int) -> type[Connection]:
    """The protocol of a service with at most so many connections."""
    return type("Connection", (Connection,), {"limits": limits, "most": most, "open": {}})


def allowed(wanted: int) -> int:
    """As many connections as the limit on open files has room for, raised as far as the system allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    used = len(list(Path("/dev/fd").iterdir())) if os.path.isdir("/dev/fd") else SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + used + SPARE
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, min(wanted, soft - used - SPARE))
    return wanted
