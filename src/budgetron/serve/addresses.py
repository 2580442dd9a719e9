"""Requests to addresses of someone else's choice: bounded in time, and not to this machine or network."""

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from budgetron.serve.problems import Problem

SECONDS = 10.0  # without a byte
ALTOGETHER = 30.0
LONGEST = 2048
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # IPv4 addresses, as IPv6 networks write them
LOCAL = [ipaddress.ip_network(each) for each in ("::/96", "64:ff9b:1::/48", "fec0::/10")]
"""Addresses of one network, whatever `ipaddress` says."""


class PrivateAddressError(OSError):
    """A name that means this machine, or one of its network."""


def checked(url: str) -> SplitResult:
    """The parts of an address; a `Problem` if it is none of a webhook."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Problem("malformed", f"url: {error}.") from None
    good = parts.scheme in ("http", "https") and parts.hostname and port != 0 and len(url) <= LONGEST
    if not good or not (url.isascii() and url.isprintable()) or " " in url:
        raise Problem("malformed", "url must be an address like https://example.com/path.")
    if parts.username is not None or parts.fragment:
        raise Problem("malformed", "url must have no user name and no fragment.")
    return parts


def resolved(parts: SplitResult, private: bool) -> list[tuple[str, int]]:
    """The addresses of a name; a PrivateAddressError if one of them is not public, unless ``private``."""
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [(str(address[0]), port) for *_, address in found]
    for address, _ in addresses:
        if not private and not is_public(address):
            raise PrivateAddressError(f"{host} is {address}, which is not public")
    return addresses


def is_public(address: str) -> bool:
    """Whether an address is one of the Internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if any(ip in network for network in LOCAL):
            return False
        inside = ip.ipv4_mapped or ip.sixtofour
        if ip in TRANSLATED:
            inside = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if ip.teredo is not None or (inside is not None and not is_public(str(inside))):
            return False
        if inside is not None:
            return True
    return ip.is_global and not ip.is_multicast


class Connection(http.client.HTTPConnection):
    """A connection to the address that was checked: the name is not looked up again."""

    def __init__(self, parts: SplitResult, addresses: list[tuple[str, int]]) -> None:
        super().__init__(parts.hostname or "", addresses[0][1], timeout=SECONDS)
        self._secure, self._addresses = parts.scheme == "https", addresses

    def connect(self) -> None:
        """Connect to the first address that answers."""
        for i, address in enumerate(self._addresses):
            try:
                self.sock = socket.create_connection(address, SECONDS)
                break
            except OSError:
                if i + 1 == len(self._addresses):
                    raise
        if self._secure:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)

    def cut(self) -> None:
        """End it, from another thread."""
        if self.sock is not None:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)


def post(url: str, body: bytes, headers: Mapping[str, str], private: bool) -> int:
    """Send a body; returns the status. An OSError or HTTPException if there is none."""
    parts = checked(url)
    connection = Connection(parts, resolved(parts, private))
    timer = threading.Timer(ALTOGETHER, connection.cut)
    timer.daemon = True
    timer.start()
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, body, {"Host": parts.netloc, **headers})
        return connection.getresponse().status
    finally:
        timer.cancel()
        connection.close()
