"""What the log of a model holds: its tables, its entries with their checksums, and its state.

Every entry has a CRC-32 of all its values. The state counts the entries of each table, so that one that is
missing is noticed, and has the running digest of all requests. It is written with each transaction.
"""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from budgetron._util.errors import DataError

FILE = "log.sqlite"
FORMAT = 3
APPLICATION = 0x62756467  # "budg"
TABLES = {  # as SQLite stores them
    "state": "CREATE TABLE state(one integer primary key, crc integer not null, state blob not null)",
    "log": "CREATE TABLE log(first integer primary key, crc integer not null, size integer not null,"
    " at real not null, rows integer not null, media text not null, label text not null,"
    " chain blob not null, body blob not null)",
    "answers": "CREATE TABLE answers(number integer primary key, crc integer not null,"
    " size integer not null, at real not null, key text not null unique, digest blob not null,"
    " answer blob not null)",
    "kept": "CREATE TABLE kept(id integer primary key, crc integer not null, size integer not null,"
    " at real not null, name text, body blob not null, predicted blob not null)",
    "positions": "CREATE TABLE positions(stream text primary key, crc integer not null,"
    " size integer not null, state text not null, version integer not null)",
}
"""The blobs are last: to count entries, SQLite need not read them."""
CHANGE = "application/vnd.budgetron.change+json"
"""The content type of an entry that is no request of rows, but a roll-back or a reset."""
INDEXES = (
    "CREATE UNIQUE INDEX IF NOT EXISTS kept_names ON kept(name) WHERE name IS NOT NULL",
    f"CREATE INDEX IF NOT EXISTS changes ON log(first) WHERE media = '{CHANGE}'",
)
COUNTED = ("log", "answers", "kept", "positions")


class Place(NamedTuple):
    """How far a stream of messages is learned: a state, and the number of rows of the model then."""

    stream: str
    state: str
    version: int


class LoggedRequest(NamedTuple):
    """One request that was learned: the number of its first row, its rows, and its body as received."""

    first: int
    rows: int
    media: str
    label: str  # the name of the column of labels
    body: bytes
    chain: bytes = b""  # the running digest of all requests before it

    @property
    def end(self) -> int:
        """The number of the row after it."""
        return self.first + self.rows

    @property
    def next_chain(self) -> bytes:
        """The running digest with this request."""
        head = f"{self.first} {self.rows} {self.media} {self.label}\n".encode()
        digest = hashlib.sha256(self.chain + head)
        digest.update(self.body)
        return digest.digest()[:16]


class Answer(NamedTuple):
    """The answer to a request with an idempotency key, and a digest of that request."""

    key: str
    digest: bytes
    answer: bytes


class KeptRow(NamedTuple):
    """A row that waits for its label, what was predicted for it, and the id that the client gave it.

    ``predicted`` is a list in JSON: the prediction, the version, and that with which the model joined.
    """

    body: bytes
    predicted: bytes
    name: str | None = None


@dataclass
class Group:
    """What one transaction writes."""

    requests: list[LoggedRequest] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)  # keys whose answers are others now
    kept_rows: list[tuple[int, KeptRow]] = field(default_factory=list)  # with their ids
    labelled: list[int] = field(default_factory=list)  # ids of kept rows that are learned
    places: list[Place] = field(default_factory=list)


class Count(NamedTuple):
    """How many entries a table has, the sum of their checksums, and of their bytes."""

    entries: int = 0
    crcs: int = 0
    bytes: int = 0

    def plus(self, other: "Count", sign: int = 1) -> "Count":
        """With other entries, or without them."""
        return Count(*(mine + sign * more for mine, more in zip(self, other, strict=True)))


class State(msgspec.Struct):
    """The state of a log after a transaction."""

    id: bytes  # random, of this log
    commits: int  # transactions so far
    end: int  # the number of the next row
    chain: bytes  # the running digest of all requests; that of none is the id
    next_id: int = 1  # of the next kept row
    dropped: int = 0  # kept rows whose labels did not come in time
    ran: float = 0.0  # seconds that the service ran, as far as they were counted
    counts: dict[str, Count] = msgspec.field(default_factory=lambda: dict.fromkeys(COUNTED, Count()))

    def encoded(self) -> bytes:
        """Its bytes in the log."""
        return msgspec.msgpack.encode(self)

    def copied(self) -> "State":
        """A copy, which can be changed alone."""
        return msgspec.structs.replace(self, counts=dict(self.counts))


def digest_of(state: bytes) -> bytes:
    """The digest of a state, which is in the end mark."""
    return hashlib.sha256(state).digest()[:16]


def crc_of(*values: Any) -> int:
    """The checksum of an entry: of all its values but the checksum."""
    return zlib.crc32(msgspec.msgpack.encode(values))


def damaged(entry: tuple[Any, ...]) -> bool:
    """Whether an entry, with all its columns, does not have its checksum: the second."""
    return bool(crc_of(entry[0], *entry[2:]) != entry[1])


def counted(run: Any, table: str, where: str = "", values: Iterable[Any] = ()) -> Count:
    """The count of a table, or of a part of it."""
    query = f"select count(*), coalesce(sum(crc), 0), coalesce(sum(size), 0) from {table} {where}"
    return Count(*run(query, tuple(values)).fetchone())


RESTORE = "restore a backup, or see budgetron fsck"


UNREADABLE = (sqlite3.Error, UnicodeDecodeError)  # the latter for a damaged table in SQLite's own message


def readable_text(content: bytes) -> str:
    """A text of an entry; one that is damaged gets another checksum, and does not fail before."""
    return content.decode(errors="replace")


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as sentences that say what to do."""
    try:
        yield
    except UNREADABLE as error:
        name = getattr(error, "sqlite_errorname", None) or ""
        sentences = (text for prefix, text in _SENTENCES.items() if name.startswith(prefix))
        sentence = next(sentences, f"is damaged ({error}): {RESTORE}")
        raise DataError(f"{path}: {sentence}.") from error


_SENTENCES = {
    "SQLITE_BUSY": "is in use by another process: stop it first",
    "SQLITE_LOCKED": "is in use by another process: stop it first",
    "SQLITE_FULL": "the disk is full: make room, then start again; nothing is lost",
    "SQLITE_READONLY": "the disk or the file is read-only: make it writable, then start again; nothing is"
    " lost",
    "SQLITE_CANTOPEN": "cannot be opened: check the owner and the permissions of the file and its folder",
    "SQLITE_PERM": "cannot be opened: check the owner and the permissions of the file and its folder",
    "SQLITE_NOMEM": "there is not enough memory to open it",
    "SQLITE_IOERR": "cannot be read or written: check the disk and its free space, then start again",
}
