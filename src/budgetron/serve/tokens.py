"""Bearer tokens with roles, from a file. Without a file everything is allowed, on loopback only."""

import hashlib
import hmac
import os
import stat
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from budgetron._util.errors import DataError
from budgetron.serve.problems import Problem
from budgetron.serve.requests import Request

ROLES = ("read", "learn", "admin")
"""Each role includes those before it."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
SHORTEST = 16


class Tokens:
    """Who may do what. ``known`` has the role of each token's digest."""

    def __init__(self, known: Mapping[bytes, str] | None = None) -> None:
        self.known = known

    @classmethod
    def read(cls, path: Path) -> "Tokens":
        """Read lines of ``ROLE TOKEN``; empty lines and lines with # are skipped."""
        mode = os.stat(path).st_mode
        if mode & (stat.S_IROTH | stat.S_IWOTH):
            raise DataError(f"{path}: others may read or write the tokens: chmod 600 it.")
        known: dict[bytes, str] = {}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 2 or words[0] not in ROLES:
                raise DataError(
                    f"{path}: expected ROLE TOKEN, where ROLE is {', '.join(ROLES)}.", line=number
                )
            if len(words[1]) < SHORTEST or not words[1].isascii():
                raise DataError(
                    f"{path}, line {number}: a token needs {SHORTEST} or more ASCII characters.",
                    line=number,
                )
            known[_digest(words[1].encode())] = words[0]
        if not known:
            raise DataError(f"{path}: has no tokens, expected lines of ROLE TOKEN.")
        return cls(known)

    def check(self, request: Request, role: str) -> None:
        """Raise a `Problem` unless the request may do what needs the role."""
        if self.known is None:
            _refuse_foreign_host(request.headers.get("host", ""), request.scope.get("server"))
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Problem("token-needed", "send a token: Authorization: Bearer TOKEN.")
        granted = self.role(token.strip())
        if granted is None:
            raise Problem("token-needed", "the token is not known.")
        if ROLES.index(granted) < ROLES.index(role):
            raise Problem("role-needed", f"the token has the role {granted}, and this needs {role}.")

    def role(self, token: str) -> str | None:
        """The role of a token. Every known one is compared, in constant time."""
        given, granted = _digest(token.encode("utf-8", "surrogateescape")), None
        for digest, role in (self.known or {}).items():
            if hmac.compare_digest(digest, given):
                granted = role
        return granted


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def refuse_foreign_origin(headers: Mapping[str, str]) -> None:
    """Refuse what a browser sends for a page of another site. Other clients have no Origin."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        raise Problem("foreign-origin", f"a page of {origin[:100]!r} may not send this to {host[:100]!r}.")


def _refuse_foreign_host(host: str, server: tuple[str, int | None] | None) -> None:
    """Without tokens, a page in a browser must not reach the service under a name of its own."""
    port = None if server is None else server[1]
    if host.lower() not in _loopback(port):
        raise Problem(
            "host", f"without tokens only localhost:{port} is served: start the service with --tokens FILE."
        )


@cache
def _loopback(port: int | None) -> frozenset[str]:
    """The hosts of a service on a port."""
    return frozenset(name + more for name in LOOPBACK for more in ("", f":{port}"))
