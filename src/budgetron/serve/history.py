"""What happened to a model, and its curves: in a file of their own, bounded, and thinned with age.

It is not flushed to the disk with each event: a crash of the machine may lose the last ones. Alarms are
found again when the log is replayed, and one that is here already is not told twice.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

report = logging.getLogger("budgetron.serve")
FILE = "history.sqlite"
EACH = 1000
"""Events of a kind that are kept: the newest."""
POINTS = 2000
"""Points of the curves that are kept; of the older half every second goes when there are more."""
TABLES = """
create table if not exists events(number integer primary key autoincrement, version integer not null,
    what text not null, key text unique, document blob not null);
create index if not exists kinds on events(what, number);
create table if not exists points(version integer primary key, document blob not null);
create table if not exists delivered(name text primary key, number integer not null);
"""
_THIN = """
delete from points where version in (
    select version from (select version, row_number() over (order by version) as place from points)
    where place < ? and place % 2 = 0)
"""
encode, decode = msgspec.json.encode, msgspec.json.decode


class History:
    """The history of a model, in its folder, or in memory. Threads may share it."""

    def __init__(self, folder: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._path = None if folder is None else folder / FILE
        self._db = self._opened()
        self._points = self._db.execute("select count(*) from points").fetchone()[0]
        self._newest = self.last_number()
        self.changed = threading.Condition()  # told of every event

    def _opened(self) -> sqlite3.Connection:
        path = ":memory:" if self._path is None else self._path
        db = sqlite3.connect(path, isolation_level=None, timeout=5, check_same_thread=False)
        try:
            db.execute("pragma journal_mode=wal")
            db.execute("pragma synchronous=normal")
            db.execute("pragma journal_size_limit=4194304")
            db.executescript(TABLES)
        except BaseException:
            db.close()
            raise
        return db

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._lock:
            self._db.execute("begin immediate")
            try:
                yield self._db.execute
                self._db.execute("commit")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("rollback")
                raise

    # ---- events

    def add(
        self, version: int, what: str, more: Mapping[str, Any], key: str | None = None
    ) -> dict[str, Any] | None:
        """Add an event; returns its document, or None if there is one with this key."""
        document = {"at": round(time.time(), 3), "version": version, "what": what} | dict(more)
        with self._transaction() as run:
            new = run(
                "insert or ignore into events(version, what, key, document) values(?, ?, ?, ?)",
                (version, what, key, encode(document)),
            )
            if not new.rowcount:
                return None
            number = new.lastrowid
            oldest = "select number from events where what = ? order by number desc limit 1 offset ?"
            run(f"delete from events where what = ? and number <= ({oldest})", (what, what, EACH))
        with self.changed:
            self._newest = number
            self.changed.notify_all()
        return {"number": number} | document

    def wait(self, after: int, ended: threading.Event) -> None:
        """Wait for an event after a number, or for the end."""
        with self.changed:
            self.changed.wait_for(lambda: ended.is_set() or self._newest > after, timeout=60.0)

    def put(self, events: list[dict[str, Any]]) -> None:
        """Add events with their numbers, as another service has them."""
        with self._transaction() as run:
            for each in events:
                document = {name: value for name, value in each.items() if name != "number"}
                values = (each["number"], each["version"], each["what"], encode(document))
                run(
                    "insert or ignore into events(number, version, what, document) values(?, ?, ?, ?)",
                    values,
                )

    def events(self, after: int, most: int, what: str | None = None) -> list[dict[str, Any]]:
        """The oldest events after a number."""
        chosen, values = ("", ()) if what is None else ("and what = ?", (what,))
        query = f"select number, document from events where number > ? {chosen} order by number limit ?"
        with self._lock:
            found = self._db.execute(query, (after, *values, most)).fetchall()
        return [{"number": number} | decode(document) for number, document in found]

    def last(self, most: int) -> list[dict[str, Any]]:
        """The newest events, oldest first."""
        with self._lock:
            query = "select number from events order by number desc limit 1 offset ?"
            found = self._db.execute(query, (most,)).fetchone()
        return self.events(found[0] if found else 0, most)

    def last_number(self) -> int:
        """The number of the newest event."""
        with self._lock:
            return int(self._db.execute("select coalesce(max(number), 0) from events").fetchone()[0])

    # ---- curves

    def add_point(self, version: int, document: bytes) -> None:
        """Add a point of the curves."""
        with self._transaction() as run:
            before = run("select count(*) from points where version = ?", (version,)).fetchone()[0]
            run("insert or replace into points values(?, ?)", (version, document))
            self._points += 1 - before
            if self._points > POINTS:
                self._points -= run(_THIN, (self._points // 2,)).rowcount

    def points(self, after: int = -1) -> list[tuple[int, bytes]]:
        """The points of the curves after a version."""
        with self._lock:
            query = "select version, document from points where version > ? order by version"
            return self._db.execute(query, (after,)).fetchall()

    # ---- webhooks

    def delivered(self, name: str) -> int:
        """The number of the last event that a webhook got; at first, that of the last event."""
        with self._lock:
            found = self._db.execute("select number from delivered where name = ?", (name,)).fetchone()
        return self.last_number() if found is None else int(found[0])

    def deliver(self, name: str, number: int | None) -> None:
        """Note the number of the last event that a webhook got; None forgets the webhook."""
        with self._transaction() as run:
            if number is None:
                run("delete from delivered where name = ?", (name,))
            else:
                run("insert or replace into delivered values(?, ?)", (name, number))


def opened(folder: Path) -> History:
    """The history in the folder of a model. One that is damaged begins anew: the model does not need it."""
    try:
        return History(folder)
    except sqlite3.DatabaseError as error:
        report.warning("%s cannot be read, and begins anew: %s", folder / FILE, error)
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
            (folder / name).unlink(missing_ok=True)
        return History(folder)
