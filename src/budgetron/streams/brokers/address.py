"""The address of a stream of messages: ``redis://host:6379/orders?group=mine``."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from budgetron._util.text import nearest, shown

PORTS = {"redis": 6379, "rediss": 6379, "nats": 4222, "kafka": 9092}
OPTIONS = {
    "redis": ("db", "field", "group"),
    "rediss": ("db", "field", "group"),
    "nats": ("consumer",),
    "kafka": ("group", "partition"),
}


@dataclass(frozen=True)
class Address:
    """Where a stream is. As a text it has no user, password or options, so it can be printed."""

    scheme: str
    hosts: tuple[tuple[str, int], ...]
    stream: str
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    options: dict[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.servers}/{self.stream}"

    @property
    def servers(self) -> str:
        """The hosts with their ports, separated by commas."""
        return ",".join(
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts
        )


def is_address(text: str) -> bool:
    """Whether a text is the address of a broker."""
    return text.partition("://")[0] in PORTS and "://" in text


def parse(text: str) -> Address:
    """Read an address; a ValueError says what is wrong, without its password.

    >>> address = parse("redis://me:secret@localhost/orders?group=mine")
    >>> str(address), address.options
    ('redis://localhost:6379/orders', {'group': 'mine'})
    """
    url = urlsplit(text)
    scheme = url.scheme
    credentials, _, places = url.netloc.rpartition("@")
    user, _, password = (unquote(part) or None for part in credentials.partition(":"))
    stream = unquote(url.path.removeprefix("/"))
    here = f"{scheme}://{places}/{stream}"
    if not places or not stream:
        raise ValueError(f"{here}: expected {scheme}://HOST:PORT/STREAM, with the name of the stream.")
    if url.fragment:
        raise ValueError(f"{here}: write # as %23 in an address.")
    hosts = tuple(_host(place, here, PORTS[scheme]) for place in places.split(","))
    if len(hosts) > 1 and scheme.startswith("redis"):
        raise ValueError(f"{here}: expected one host for Redis, got {len(hosts)}.")
    options = dict(parse_qsl(url.query, keep_blank_values=True))
    for name, value in options.items():
        if name not in OPTIONS[scheme] and not (scheme == "kafka" and "." in name):
            near = nearest(name, OPTIONS[scheme], f"expected {', '.join(OPTIONS[scheme])}.")
            raise ValueError(f"{here}: there is no option {shown(name)}; {near}")
        if not value or (name in ("db", "partition") and not (value.isascii() and value.isdigit())):
            what = "a whole number" if name in ("db", "partition") else "a value"
            raise ValueError(f"{here}: expected {what} for the option {name}, got {shown(value)}.")
    return Address(scheme, hosts, stream, user, password, options)


def _host(text: str, here: str, port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, given = parts.hostname, parts.port
    except ValueError:
        host, given = None, None
    if not host:
        raise ValueError(f"{here}: expected HOST or HOST:PORT, got {shown(text)}.")
    return host, port if given is None else given
