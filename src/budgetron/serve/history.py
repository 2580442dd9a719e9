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
from copy import copy
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
create table if not exists events(number integer primary key autoincrement, model text not null,
    version integer not null, what text not null, key text, document blob not null, unique(model, key));
create index if not exists kinds on events(model, what, number);
create table if not exists points(model text not null, version integer not null, document blob not null,
    primary key(model, version));
create table if not exists delivered(name text primary key, number integer not null);
"""
_THIN = """
delete from points where model = ? and version in (
    select version from (
        select version, row_number() over (order by version) as place from points where model = ?)
    where place < ? and place % 2 = 0)
"""
encode, decode = msgspec.json.encode, msgspec.json.decode


class History:
    """The history of a model, in its folder, or in memory. Threads may share it.

    Challengers of the model have a part of it, see `of`.
    """

    name = ""  # of the challenger

    def __init__(self, folder: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._path = None if folder is None else folder / FILE
        self._db = self._opened()
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

    def of(self, name: str) -> "History":
        """The part of a challenger, in the same file."""
        part = copy(self)
        part.name = name
        return part

    def rename(self, name: str, to: str) -> None:
        """Give the part of a challenger another name."""
        with self._transaction() as run:
            for table in ("events", "points"):
                run(f"update {table} set model = ? where model = ?", (to, name))

    def forget(self, name: str) -> None:
        """Remove the part of a challenger."""
        with self._transaction() as run:
            for table in ("events", "points"):
                run(f"delete from {table} where model = ?", (name,))

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
                "insert or ignore into events(model, version, what, key, document) values(?, ?, ?, ?, ?)",
                (self.name, version, what, key, encode(document)),
            )
            if not new.rowcount:
                return None
            number = new.lastrowid
            self._thin(run, what)
        with self.changed:
            self.changed.notify_all()
        return {"number": number} | document

    def _thin(self, run: Any, what: str) -> None:
        """Let the oldest events of a kind go."""
        of = (self.name, what)
        oldest = "select number from events where model = ? and what = ? order by number desc"
        old = f"number <= ({oldest} limit 1 offset ?)"
        run(f"delete from events where model = ? and what = ? and {old}", (*of, *of, EACH))

    def wait(self, after: int, ended: threading.Event) -> None:
        """Wait for an event after a number, or for the end."""
        with self.changed:
            self.changed.wait_for(lambda: ended.is_set() or self.last_number() > after, timeout=60.0)

    def put(self, events: list[dict[str, Any]]) -> None:
        """Add events with their numbers, as another service has them."""
        with self._transaction() as run:
            for each in events:
                document = {name: value for name, value in each.items() if name != "number"}
                values = (each["number"], self.name, each["version"], each["what"], encode(document))
                columns = "number, model, version, what, document"
                run(f"insert or ignore into events({columns}) values(?, ?, ?, ?, ?)", values)
            for what in {each["what"] for each in events}:
                self._thin(run, what)

    def events(self, after: int, most: int, what: str | None = None) -> list[dict[str, Any]]:
        """The oldest events after a number."""
        chosen, values = ("", ()) if what is None else ("and what = ?", (what,))
        query = f"number > ? and model = ? {chosen} order by number limit ?"
        return [event for _, event in self._events(query, (after, self.name, *values, most))]

    def all_events(self, after: int, most: int) -> list[tuple[str, dict[str, Any]]]:
        """The oldest events after a number, with the names of the challengers that they are of."""
        return self._events("number > ? order by number limit ?", (after, most))

    def last(self, most: int) -> list[dict[str, Any]]:
        """The newest events, oldest first."""
        found = self._events("model = ? order by number desc limit ?", (self.name, most))
        return [event for _, event in reversed(found)]

    def _events(self, where: str, values: tuple[Any, ...]) -> list[tuple[str, dict[str, Any]]]:
        query = f"select number, model, document from events where {where}"
        with self._lock:
            found = self._db.execute(query, values).fetchall()
        return [(model, {"number": number} | decode(document)) for number, model, document in found]

    def last_number(self) -> int:
        """The number of the newest event."""
        with self._lock:
            return int(self._db.execute("select coalesce(max(number), 0) from events").fetchone()[0])

    # ---- curves

    def add_point(self, version: int, document: bytes) -> None:
        """Add a point of the curves."""
        with self._transaction() as run:
            run("insert or replace into points values(?, ?, ?)", (self.name, version, document))
            [points] = run("select count(*) from points where model = ?", (self.name,)).fetchone()
            if points > POINTS:
                run(_THIN, (self.name, self.name, points // 2))

    def points(self, after: int = -1) -> list[tuple[int, bytes]]:
        """The points of the curves after a version."""
        query = "select version, document from points where model = ? and version > ? order by version"
        with self._lock:
            return self._db.execute(query, (self.name, after)).fetchall()

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
