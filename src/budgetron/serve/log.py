"""The log of a model: requests, idempotency keys with their answers, and kept rows, in one SQLite file.

One transaction for each group of requests, on disk when `commit` returns (``synchronous=FULL``). The file
is locked by the process that has it open. Every record has a CRC-32: SQLite checks its write-ahead log, not
the pages of the file.
"""

import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from budgetron.errors import DataError

FILE = "log.sqlite"
FORMAT = 1
APPLICATION = 0x62756467  # "budg"
TABLES = """
create table log(first integer primary key, rows integer not null, media text not null,
                 label text not null, body blob not null, at real not null, crc integer not null);
create table answers(number integer primary key, key text not null unique, digest blob not null,
                     answer blob not null, at real not null);
create table kept(id integer primary key autoincrement, body blob not null, predicted blob not null,
                  at real not null);
"""

POSITIONS = """
create table if not exists positions(stream text primary key, state text not null, version integer not null)
"""


class Place(NamedTuple):
    """How far a stream of messages is learned: a state, and the number of rows of the model then."""

    stream: str
    state: str
    version: int


class Record(NamedTuple):
    """One request that was learned: the number of its first row, its rows, and its body as received."""

    first: int
    rows: int
    media: str
    label: str  # the name of the column of labels
    body: bytes

    @property
    def crc(self) -> int:
        """The checksum of the record."""
        return zlib.crc32(
            self.body, zlib.crc32(f"{self.first} {self.rows} {self.media} {self.label}".encode())
        )


class Answer(NamedTuple):
    """The answer to a request with an idempotency key, and a digest of that request."""

    key: str
    digest: bytes
    answer: bytes


class Kept(NamedTuple):
    """A row that waits for its label, and what was predicted for it."""

    body: bytes
    predicted: bytes


@dataclass
class Group:
    """What one transaction writes."""

    records: list[Record] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    kept: list[tuple[int, Kept]] = field(default_factory=list)  # with their ids
    labelled: list[int] = field(default_factory=list)  # ids of kept rows that are learned
    places: list[Place] = field(default_factory=list)


class Log:
    """The log of the model in a folder. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        created = not self.path.exists()
        self._db = sqlite3.connect(self.path, isolation_level=None, timeout=0, check_same_thread=False)
        try:
            self._open(created)
        except sqlite3.Error as error:
            self._db.close()
            raise _unreadable(self.path, error) from error
        except BaseException:
            self._db.close()
            raise
        if created:
            _sync(folder)
        self.next_id = 1 + self._number(
            "select coalesce(max(seq), 0) from sqlite_sequence where name = 'kept'"
        )
        self.end = self._number("select coalesce(max(first + rows), 0) from log")
        self.bytes = self._number("select coalesce(sum(length(body)), 0) from log")

    def _open(self, created: bool) -> None:
        run = self._db.execute
        run("pragma locking_mode=exclusive")
        run("pragma journal_mode=wal")
        run("pragma synchronous=full")
        run("pragma journal_size_limit=16777216")
        run("begin exclusive")
        if created or not run("select count(*) from sqlite_master").fetchone()[0]:
            for statement in TABLES.split(";"):
                run(statement)
            run(f"pragma user_version={FORMAT}")
            run(f"pragma application_id={APPLICATION}")
        found = run("pragma user_version").fetchone()[0]
        own = run("pragma application_id").fetchone()[0] == APPLICATION
        if own and found == FORMAT:
            run(POSITIONS)
        run("commit")
        if not own:
            raise DataError(f"{self.path}: is no log of budgetron serve.")
        if found != FORMAT:
            raise DataError(
                f"{self.path}: has log format {found}, this version reads {FORMAT}: "
                "stop the service with the version that wrote it, then update."
            )

    def close(self) -> None:
        """Close the file, which also ends the lock."""
        with self._lock:
            self._db.close()

    # ---- writing

    def commit(self, group: Group) -> None:
        """Write a group: all of it is on disk when this returns, nothing of it if this raises."""
        now = time.time()
        with self._lock:
            run, many = self._db.execute, self._db.executemany
            run("begin immediate")
            try:
                many(
                    "insert into log values(?, ?, ?, ?, ?, ?, ?)",
                    [(*record, now, record.crc) for record in group.records],
                )
                many(
                    "insert into answers(key, digest, answer, at) values(?, ?, ?, ?)",
                    [(*answer, now) for answer in group.answers],
                )
                many("insert into kept values(?, ?, ?, ?)", [(i, *kept, now) for i, kept in group.kept])
                many("delete from kept where id = ?", [(i,) for i in group.labelled])
                many("insert or replace into positions values(?, ?, ?)", group.places)
                run("commit")
            except BaseException:
                self._undo()
                raise
            self.end = max([self.end, *(record.first + record.rows for record in group.records)])
            self.bytes += sum(len(record.body) for record in group.records)
            self.next_id = max([self.next_id, *(i + 1 for i, _ in group.kept)])

    def remove(self, before: int, keys: tuple[int, int, float], kept: tuple[int, int, float]) -> None:
        """Remove requests before a row, and keys and kept rows beyond a count, bytes or seconds."""
        with self._lock:
            run = self._db.execute
            run("begin immediate")
            try:
                run("delete from log where first + rows <= ?", (before,))
                _trim(run, "answers", "number", "length(answer) + length(key)", keys)
                _trim(run, "kept", "id", "length(body) + length(predicted)", kept)
                run("commit")
            except BaseException:
                self._undo()
                raise
        self.bytes = self._number("select coalesce(sum(length(body)), 0) from log")

    def cut(self, first: int) -> None:
        """Remove the requests from that row on."""
        with self._lock:
            self._db.execute("delete from log where first >= ?", (first,))
        self.end = self._number("select coalesce(max(first + rows), 0) from log")

    def _undo(self) -> None:
        with suppress(sqlite3.Error):  # SQLite may have done so already
            self._db.execute("rollback")

    # ---- reading

    @property
    def begin(self) -> int | None:
        """The number of the first row in the log."""
        with self._lock:
            found = self._db.execute("select min(first) from log").fetchone()[0]
        return None if found is None else int(found)

    def records(self, after: int, most: int = 1000, most_bytes: int = 8 * 2**20) -> Iterator[Record]:
        """The requests whose first row is ``after`` or later, in order; each is checked."""
        end, left, size = after, most, 0
        while left and size < most_bytes:
            with self._lock:
                found = self._db.execute(
                    "select first, rows, media, label, cast(body as blob), crc from log where first >= ? "
                    "order by first limit ?",
                    (end, min(left, 64)),
                ).fetchall()
            if not found:
                return
            for *parts, crc in found:
                record = Record(*parts)
                if record.crc != crc:
                    raise DataError(
                        f"{self.path}: the request of row {record.first} is damaged: "
                        "restore a backup, or see budgetron fsck --cut."
                    )
                yield record
                end, left, size = record.first + record.rows, left - 1, size + len(record.body)
                if not left or size >= most_bytes:
                    return

    def replay(self, after: int) -> Iterator[Record]:
        """All requests from row ``after`` on, which must follow each other without a gap."""
        end = after
        while True:
            last = end
            for record in self.records(end):
                if record.first != end:
                    raise DataError(
                        f"{self.path}: rows {end} to {record.first - 1} are missing: restore a backup."
                    )
                yield record
                end = record.first + record.rows
            if end == last:
                return

    def answer(self, key: str) -> Answer | None:
        """The stored answer of a key."""
        with self._lock:
            found = self._db.execute(
                "select key, digest, answer from answers where key = ?", (key,)
            ).fetchone()
        return None if found is None else Answer(*found)

    def place(self, stream: str) -> Place | None:
        """How far a stream of messages is learned."""
        with self._lock:
            found = self._db.execute("select * from positions where stream = ?", (stream,)).fetchone()
        return None if found is None else Place(*found)

    def kept(self, number: int) -> Kept | None:
        """The kept row of an id."""
        with self._lock:
            found = self._db.execute("select body, predicted from kept where id = ?", (number,)).fetchone()
        return None if found is None else Kept(*found)

    def problems(self) -> Iterable[str]:
        """What SQLite's own check finds."""
        with self._lock:
            found = [row[0] for row in self._db.execute("pragma integrity_check")]
        return [] if found == ["ok"] else found

    def file_bytes(self) -> int:
        """The size of the files."""
        paths = [self.path, self.path.with_name(FILE + "-wal")]
        return sum(path.stat().st_size for path in paths if path.exists())

    def _number(self, query: str) -> int:
        with self._lock:
            found = self._db.execute(query).fetchone()
        return int(found[0]) if found else 0


def _trim(
    run: Callable[..., sqlite3.Cursor], table: str, number: str, size: str, limits: tuple[int, int, float]
) -> None:
    """Remove the oldest entries beyond a count, a number of bytes, or an age in seconds."""
    count, most_bytes, seconds = limits
    run(f"delete from {table} where at < ?", (time.time() - seconds,))
    run(f"delete from {table} where {number} <= (select max({number}) from {table}) - ?", (count,))
    total = run(f"select coalesce(sum({size}), 0) from {table}").fetchone()[0]
    if total > most_bytes:
        run(
            f"delete from {table} where {number} in (select {number} from (select {number}, sum({size}) "
            f"over (order by {number} desc) as used from {table}) where used > ?)",
            (most_bytes,),
        )


def _unreadable(path: Path, error: sqlite3.Error) -> DataError:
    if "locked" in str(error):
        return DataError(f"{path}: is in use by another process: stop it first.")
    return DataError(f"{path}: cannot be opened: {error}. Restore a backup, or see budgetron fsck.")


def _sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
