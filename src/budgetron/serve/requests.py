"""Reading a request: its body, its rows, its parameters and its key, each within the limits."""

import asyncio
import hashlib
import time
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import parse_qsl

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope

from budgetron._util.text import shown
from budgetron.serve.limits import Limits
from budgetron.serve.problems import MEDIA as PROBLEM
from budgetron.serve.problems import Problem
from budgetron.serve.rows import JSON, UNREADABLE, Rows, parsing

LONGEST_KEY = 255
KEY = {"Idempotency-Key": Annotated[str, msgspec.Meta(max_length=LONGEST_KEY)]}
"""The header of `Request.key`, for endpoints."""
Default = str | int | tuple[str, ...] | None
"""A parameter of an address, by its default: a text, a number, or the first of some words. None: a text."""


def as_json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


def as_problem(problem: Problem) -> Response:
    """The answer to a refused request."""
    return Response(msgspec.json.encode(problem.document()), problem.status, problem.headers, PROBLEM)


class Request:
    """A request, with less work than Starlette's does for headers that nobody reads."""

    def __init__(self, scope: Scope, receive: Receive, limits: Limits, patience: "Patience") -> None:
        self.scope, self.receive, self.limits, self.patience = scope, receive, limits, patience
        self.method: str = scope["method"]
        self.path_params: dict[str, str] = scope["path_params"]
        self.model = ""  # the name of the model that it is about, once that is found
        self.query: Mapping[str, Any] = {}  # the parameters of the address, once they are read
        self.headers: dict[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }

    @property
    def media(self) -> str:
        """The content type, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def key(self) -> str | None:
        """The idempotency key, with or without quotes."""
        key = self.headers.get("idempotency-key")
        if key is None:
            return None
        if len(key) >= 2 and key[0] == key[-1] == '"':
            key = key[1:-1]
        if not 1 <= len(key) <= LONGEST_KEY or not (key.isascii() and key.isprintable()):
            detail = f"an Idempotency-Key has 1 to {LONGEST_KEY} printable ASCII characters."
            raise Problem("malformed", detail)
        return key


class Patience:
    """Ends requests whose bodies do not arrive. One look a second is cheaper than a timer for each."""

    def __init__(self) -> None:
        self.reading: dict[asyncio.Task[Any], float] = {}
        self.expired: set[asyncio.Task[Any]] = set()

    async def watch(self) -> None:
        """Look for ever."""
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            for task in [task for task, until in self.reading.items() if until < now]:
                del self.reading[task]
                self.expired.add(task)
                task.cancel()


async def body_of(request: Request) -> bytes:
    """The body, read within the limits of size and time."""
    headers, limits, patience = request.headers, request.limits, request.patience
    if headers.get("content-encoding", "identity") != "identity":
        raise Problem("media-type", "the body must not be compressed.")
    length = headers.get("content-length")
    if length is not None and length.isdecimal() and int(length) > limits.body:
        raise _too_large(limits)
    task = asyncio.current_task()
    assert task is not None
    patience.reading[task] = time.monotonic() + limits.body_seconds
    try:
        return await _whole(request.receive, limits)
    except asyncio.CancelledError:
        if task not in patience.expired:
            raise
        task.uncancel()
        seconds = f"{limits.body_seconds:g} seconds"
        raise Problem("too-slow", f"the body did not arrive within {seconds}.") from None
    finally:
        patience.reading.pop(task, None)
        patience.expired.discard(task)


async def _whole(receive: Receive, limits: Limits) -> bytes:
    parts, size = list[bytes](), 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("malformed", "the connection was closed before the end of the body.")
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limits.body:
            raise _too_large(limits)
        if not message.get("more_body", False):
            return b"".join([*parts, part]) if parts else part
        parts.append(part)


async def rows_of(request: Request, body: bytes, *, labelled: bool, label: str = "y") -> Rows:
    """The rows of its body. A long one lets other requests have their turn."""
    for rows in parsing(request.media, body, request.limits, labelled=labelled, label=label):
        if rows is None:
            await asyncio.sleep(0)
    assert rows is not None
    return rows


async def document_of(request: Request, kind: Any) -> tuple[Any, bytes]:
    """A JSON document of a known form, and the body that has it.

    The content type must say so: a form on a web page cannot send one.
    """
    if request.media != JSON:
        raise Problem("media-type", f"expected {JSON}, got {shown(request.media)}.")
    body, most = await body_of(request), request.limits.json
    if len(body) > most:
        raise Problem("too-large", f"the document may have {most} bytes, got {len(body)}.")
    try:
        return msgspec.json.decode(body, type=kind), body
    except UNREADABLE as error:
        raise Problem("malformed", f"the body cannot be read: {error}.") from None


def defaults_of(known: Mapping[str, Default]) -> dict[str, Any]:
    """The parameters of an address that gives none."""
    return {name: default[0] if isinstance(default, tuple) else default for name, default in known.items()}


def query_of(request: Request, known: Mapping[str, Default]) -> dict[str, Any]:
    """The parameters of the address, or their defaults. No others are known."""
    values = defaults_of(known)
    try:
        text = request.scope["query_string"].decode("ascii")
        given = parse_qsl(text, True, True, errors="strict", max_num_fields=20)
        if len(dict(given)) < len(given):
            raise ValueError
    except ValueError:
        sentence = "the parameters of the address cannot be read, or one is given twice."
        raise Problem("malformed", sentence) from None
    for name, text in given:
        if name not in known:
            expected = f"expected {', '.join(known)}" if known else "there are none here"
            raise Problem("malformed", f"there is no parameter {name[:50]!r}: {expected}.")
        values[name] = _parameter(text, name, known[name])
    return values


def _parameter(text: str, name: str, default: Default) -> str | int:
    if isinstance(default, int):
        return whole(text, name)
    if isinstance(default, tuple) and text not in default:
        raise Problem("malformed", f"{name} must be one of {', '.join(default)}, got {text[:50]!r}.")
    return text


def whole(text: str, name: str) -> int:
    """A parameter or header that is a number from 0."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise Problem("malformed", f"{name} must be a whole number from 0, got {text[:50]!r}.")
    return int(text)


def digest_of(*parts: bytes) -> bytes:
    """What tells two requests with the same key apart."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _too_large(limits: Limits) -> Problem:
    return Problem("too-large", f"a body may have {limits.body} bytes: send several requests.")
