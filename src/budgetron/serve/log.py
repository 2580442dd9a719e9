"""The log of a model: requests, idempotency keys with their answers, and kept rows, in one SQLite file.

One transaction for each group of requests, on disk when `commit` returns (``synchronous=FULL``). The file
is locked by the process that has it open. Where it ends is also in the end mark, see `end`: a log that
does not reach it, or has a damaged entry, is refused.
"""

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from budgetron._util.errors import DataError
from budgetron.serve import entries
from budgetron.serve.end import Acknowledged, End
from budgetron.serve.entries import (
    CHANGE,
    FILE,
    RESTORE,
    Answer,
    Group,
    KeptRow,
    LoggedRequest,
    Place,
    State,
)
from budgetron.serve.limits import Limits
from budgetron.serve.log_check import check, request_of, write_state
from budgetron.serve.retention import DAY, Retention

AGE_SECONDS = 60.0  # between looks for entries that are too old


def create(folder: Path, end: int = 0) -> bytes:
    """Create the log of a new model, whose first row will have that number; returns its id."""
    path, name = folder / FILE, secrets.token_bytes(16)
    state = State(name, 0, end, name)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # SQLite takes its mode for all
    with entries.refusing(path), closing(_connected(path)) as db:
        db.execute("begin immediate")
        for statement in (*entries.TABLES.values(), *entries.INDEXES):
            db.execute(statement)
        db.execute(f"pragma user_version={entries.FORMAT}")
        db.execute(f"pragma application_id={entries.APPLICATION}")
        encoded = write_state(db.execute, state)
        db.execute("commit")
    with closing(End(folder, create=True)) as mark:
        mark.begin(Acknowledged(name, 0, entries.digest_of(encoded)))
    return name


def _connected(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
    db.text_factory = entries.readable_text
    try:
        db.execute("pragma locking_mode=exclusive")
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute("pragma journal_size_limit=16777216")
        db.execute("begin exclusive")  # the lock
        db.execute("commit")
    except BaseException:
        db.close()
        raise
    return db


class Log:
    """The log of the model in a folder. Threads may share it.

    ``state`` is that of the last transaction: nobody changes it, the next transaction replaces it. ``mark``
    is the end mark.
    """

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        self.mark = End(folder)
        try:
            self.state = check(folder, self.mark.read())
            with entries.refusing(self.path):
                self._db = _connected(self.path)
                for statement in entries.INDEXES:  # a log may be older than an index
                    self._db.execute(statement)
        except BaseException:
            self.mark.close()
            raise
        self._opened, self._ran = time.monotonic(), self.state.ran
        limits = limits or Limits()
        self._limits = {"answers": ("number", limits.keys, limits.key_bytes, limits.key_seconds)}
        self.retain(Retention.of(limits))
        self._looked = self._opened

    def close(self) -> None:
        """Close the files, which also ends the lock."""
        with self._lock:
            self._db.close()
            with suppress(OSError):  # a disk that failed
                self.mark.sync()
            self.mark.close()

    # ---- writing

    @contextmanager
    def _transaction(self) -> Iterator[State]:
        """A transaction, with the state that it leaves; then the end mark."""
        run = self._db.execute
        with self._lock:
            state = self.state.copied()
            state.commits += 1
            state.ran = self._ran + time.monotonic() - self._opened
            run("begin immediate")
            try:
                yield state
                self._trim(state)
                encoded = write_state(run, state)
                run("commit")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have done so already
                    run("rollback")
                raise
            self.state = state  # before the end mark: it is what SQLite has now
            self.mark.write(Acknowledged(state.id, state.commits, entries.digest_of(encoded)))

    def commit(self, group: Group) -> None:
        """Write a group: all of it is on disk when this returns, nothing of it if this raises."""
        at = time.time()
        with self._transaction() as state:
            requests = list[tuple[Any, ...]]()
            for request in group.requests:
                first, rows, media, label, body, chain = chained = request._replace(chain=state.chain)
                requests.append((first, len(body), at, rows, media, label, chain, body))
                state.end, state.chain = chained.end, chained.next_chain
            self._insert(state, "log", requests)
            last = 0
            for key in group.replaced:
                self._delete(state, "answers", "where key = ?", key)
            if group.answers:
                [last] = self._db.execute("select coalesce(max(number), 0) from answers").fetchone()
            answers = [
                (number, len(key) + len(answer), state.ran, key, digest, answer)
                for number, (key, digest, answer) in enumerate(group.answers, last + 1)
            ]
            self._insert(state, "answers", answers)
            self._keep(state, group.kept_rows)
            for i in group.labelled:
                self._delete(state, "kept", "where id = ?", i)
            for stream, position, version in group.places:
                self._delete(state, "positions", "where stream = ?", stream)
                self._insert(state, "positions", [(stream, len(position), position, version)])

    def _keep(self, state: State, rows: list[tuple[int, KeptRow]]) -> None:
        """Keep rows for their labels. A client's id is that of the newest row."""
        newest = {row.name: i for i, row in rows if row.name is not None}
        for name in newest:
            self._delete(state, "kept", "where name = ?", name)
        kept = [
            (i, len(body) + len(predicted) + len(name or ""), state.ran, name, body, predicted)
            for i, (body, predicted, name) in rows
            if name is None or newest[name] == i
        ]
        self._insert(state, "kept", kept)
        state.next_id = max([state.next_id, *(i + 1 for i, _ in rows)])

    def _insert(self, state: State, table: str, new: list[tuple[Any, ...]]) -> None:
        """Insert entries, each with its key, its size and its values."""
        if not new:
            return
        new = [(key, entries.crc_of(key, *rest), *rest) for key, *rest in new]
        places = ", ".join("?" * len(new[0]))
        self._db.executemany(f"insert into {table} values({places})", new)
        more = entries.Count(len(new), sum(entry[1] for entry in new), sum(entry[2] for entry in new))
        state.counts[table] = state.counts[table].plus(more)

    def _delete(self, state: State, table: str, where: str, *values: object) -> None:
        gone, there = entries.counted(self._db.execute, table, where, values), state.counts[table]
        if gone.entries:
            self._db.execute(f"delete from {table} {where}", values)
            state.counts[table] = there.plus(gone, -1)

    def remove(self, before: int) -> None:
        """Remove the requests before a row, and keys and kept rows that are too old."""
        self._looked = 0.0
        with self._transaction() as state:
            self._delete(state, "log", "where first < ? and first + rows <= ?", before, before)
        if self.mark.behind:
            self.mark.sync()

    def retain(self, retention: Retention) -> None:
        """Keep rows for labels within these limits from now on."""
        self._limits["kept"] = ("id", retention.rows, retention.bytes, retention.days * DAY)

    def trim(self) -> None:
        """Remove at once what is beyond the limits."""
        self._looked = 0.0
        with self._transaction():
            pass

    def beyond(self, most_bytes: int) -> int:
        """The number of the row from which requests have so many bytes at most."""
        row, size = 0, self.state.counts["log"].bytes
        with self._lock:
            for first, rows, more in self._db.execute("select first, rows, size from log order by first"):
                if size <= most_bytes:
                    return int(first)
                row, size = int(first + rows), size - more
        return row

    def _trim(self, state: State) -> None:
        """Remove the oldest keys and kept rows beyond a count, bytes, or seconds of running time.

        A hundredth more goes at once, so that not every request pays for it.
        """
        look = time.monotonic() - self._looked >= AGE_SECONDS
        self._looked = time.monotonic() if look else self._looked
        for table, (number, most, most_bytes, seconds) in self._limits.items():
            count = state.counts[table]
            if count.entries > most or count.bytes > most_bytes:
                most, most_bytes = most - most // 100, most_bytes - most_bytes // 100
            elif not look:
                continue
            last = self._last_beyond(table, number, (most, most_bytes, state.ran - seconds), count)
            if last is not None:
                there = state.counts[table].entries
                self._delete(state, table, f"where {number} <= ?", last)
                if table == "kept":
                    state.dropped += there - state.counts[table].entries

    def _last_beyond(
        self, table: str, number: str, bounds: tuple[int, int, float], count: entries.Count
    ) -> int | None:
        """The newest of the entries that are to go."""
        last, query = None, f"select {number}, crc, size, at from {table} order by {number}"
        for key, crc, size, at in self._db.execute(query):
            if count.entries <= bounds[0] and count.bytes <= bounds[1] and at >= bounds[2]:
                break
            last, count = int(key), count.plus(entries.Count(1, crc, size), -1)
        return last

    # ---- reading

    @property
    def begin(self) -> int | None:
        """The number of the first row in the log."""
        with self._lock:
            first = self._db.execute("select min(first) from log").fetchone()[0]
        return None if first is None else int(first)

    def chain(self, version: int) -> bytes | None:
        """The running digest of all requests before a row; None if the log does not know it."""
        with self._lock:
            if version == self.state.end:
                return self.state.chain
            row = self._db.execute("select chain from log where first = ?", (version,)).fetchone()
        return None if row is None else bytes(row[0])

    def requests(
        self, after: int, most: int = 1000, most_bytes: int = 8 * 2**20
    ) -> Iterator[LoggedRequest]:
        """The requests whose first row is ``after`` or later, in order: some of them, or a long one."""
        for request in islice(self._all(after), most):
            yield request
            most_bytes -= len(request.body)
            if most_bytes <= 0:
                return

    def _all(self, after: int) -> Iterator[LoggedRequest]:
        """All requests whose first row is ``after`` or later, in order; each is checked."""
        query, batch = "select * from log where first >= ? order by first limit 64", [(after,)]
        while batch:
            with self._lock:
                batch = self._db.execute(query, (after,)).fetchall()
            for entry in batch:
                if entries.damaged(entry):
                    raise DataError(f"{self.path}: the request of row {entry[0]} is damaged: {RESTORE}.")
                request = request_of(entry)
                yield request
                after = request.end

    def changes(self, after: int) -> list[LoggedRequest]:
        """The roll-backs and resets after a row."""
        query = f"select * from log indexed by changes where media = '{CHANGE}' and first >= ?"
        with self._lock:
            found = self._db.execute(f"{query} order by first", (after,)).fetchall()
        return [request_of(entry) for entry in found]

    def written(self, begin: float, end: float) -> list[tuple[int, int]]:
        """The rows that were written between two times, in seconds since 1970, as ranges of numbers."""
        query, ranges = (
            "select first, rows from log where at >= ? and at < ? order by first",
            list[list[int]](),
        )
        with self._lock:
            for first, rows in self._db.execute(query, (begin, end)):
                if ranges and ranges[-1][1] == first:
                    ranges[-1][1] += rows
                else:
                    ranges.append([first, first + rows])
        return [(first, end) for first, end in ranges]

    def replay(self, after: int, chain: bytes | None = None) -> Iterator[LoggedRequest]:
        """All requests from row ``after`` on, without a gap up to the end of the log.

        ``chain`` is the running digest of those before, as the snapshot has it.
        """
        end = after
        for request in self._all(after):
            if request.first != end:
                raise self._gap(end, request.first)
            if chain is not None and request.chain != chain:
                raise DataError(f"{self.path}: row {end} has another history: {RESTORE}.")
            yield request
            end, chain = request.end, request.next_chain
        if end != self.state.end:
            raise self._gap(end, self.state.end)
        if chain is not None and chain != self.state.chain:
            raise DataError(f"{self.path}: row {end} has another history: {RESTORE}.")

    def _gap(self, begin: int, end: int) -> DataError:
        return DataError(f"{self.path}: rows {begin} to {end - 1} are missing: {RESTORE}.")

    def answer(self, key: str) -> Answer | None:
        """The stored answer of a key."""
        entry = self._entry("answers", "key", key)
        return None if entry is None else Answer(*entry[-3:])

    def place(self, stream: str) -> Place | None:
        """How far a stream of messages is learned."""
        entry = self._entry("positions", "stream", stream)
        return None if entry is None else Place(stream, *entry[-2:])

    def kept_row(self, key: int | str) -> tuple[int, KeptRow] | None:
        """The kept row of an id, the service's or the client's; with the service's id."""
        entry = self._entry("kept", "id" if isinstance(key, int) else "name", key)
        return None if entry is None else (entry[0], KeptRow(entry[-2], entry[-1], entry[-3]))

    def _entry(self, table: str, column: str, key: int | str) -> tuple[Any, ...] | None:
        query = f"select * from {table} where {column} = ?"
        with self._lock:
            entry: tuple[Any, ...] | None = self._db.execute(query, (key,)).fetchone()
        if entry is not None and entries.damaged(entry):
            raise DataError(f"{self.path}: an entry of the table {table} is damaged: {RESTORE}.")
        return entry

    def file_bytes(self) -> int:
        """The size of the files."""
        paths = [self.path, self.path.with_name(FILE + "-wal")]
        return sum(path.stat().st_size for path in paths if path.exists())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
