"""Errors that a client is told about, as problem documents (RFC 9457)."""

from typing import Any, NotRequired, TypedDict

from budgetron._util.text import printable

MEDIA = "application/problem+json"
PREFIX = "urn:budgetron:"
TITLES = {
    "malformed": (400, "The request cannot be read"),
    "token-needed": (401, "A valid token is needed"),
    "role-needed": (403, "The token does not have the role"),
    "not-found": (404, "There is nothing here"),
    "unknown-id": (404, "No row is kept under this id"),
    "method": (405, "The method is not allowed"),
    "too-slow": (408, "The body did not arrive in time"),
    "nothing-learned": (409, "The model has learned nothing yet"),
    "key-in-use": (409, "A request with this key is running"),
    "exists": (409, "The model exists"),
    "frozen": (409, "The model only predicts"),
    "in-use": (409, "Something else needs it"),
    "read-only": (409, "This service is a replica"),
    "other-history": (409, "The log has other rows"),
    "log-removed": (410, "The log no longer has these rows"),
    "too-large": (413, "The request is beyond a limit"),
    "media-type": (415, "The content type is not supported"),
    "foreign-origin": (403, "The request comes from another site"),
    "headers-too-large": (431, "The headers are too long"),
    "private-address": (403, "The address is not public"),
    "host": (421, "The host name is not served"),
    "bad-row": (422, "A row is refused"),
    "key-reused": (422, "The key was used for another request"),
    "internal": (500, "The service failed"),
    "busy": (503, "Something else comes first"),
    "learning-stopped": (503, "Learning has stopped"),
    "stopping": (503, "The service is stopping"),
}
"""The names of all problems, with status and title."""


class ProblemDocument(TypedDict):
    """Why a request is refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    row: NotRequired[int]


class Problem(Exception):
    """A request that is refused. ``detail`` is one sentence: what is wrong, and what to do."""

    def __init__(
        self, name: str, detail: str, *, retry_after: int | None = None, allow: str = "", **members: Any
    ) -> None:
        super().__init__(detail)
        self.name, self.detail, self.members = name, printable(detail), members
        self.status, self.title = TITLES[name]
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        if allow:
            self.headers["Allow"] = allow
        if self.status == 401:
            self.headers["WWW-Authenticate"] = "Bearer"

    def document(self) -> dict[str, Any]:
        """The problem document."""
        document = {"type": PREFIX + self.name, "title": self.title, "status": self.status}
        return document | {"detail": self.detail} | self.members
