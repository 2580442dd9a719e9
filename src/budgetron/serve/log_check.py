"""What is wrong with a log, found without changing it; and what of a damaged log can be kept.

A log is checked as it was left, before SQLite may write: SQLite would otherwise drop what it cannot read.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from budgetron._util.errors import DataError
from budgetron.serve import entries
from budgetron.serve.end import Acknowledged, End
from budgetron.serve.entries import FILE, RESTORE, LoggedRequest, State, crc_of, damaged

Run = Callable[..., sqlite3.Cursor]


@contextmanager
def reading(folder: Path) -> Iterator[Run]:
    """The log, for reading only: nothing is written, not even a checkpoint."""
    path = folder / FILE
    if not path.exists() or not path.stat().st_size:
        what = "is empty" if path.exists() else "is missing"
        raise DataError(f"{path}: {what}, so acknowledged requests are lost: put it back, or {RESTORE}.")
    try:
        with entries.refusing(path), closing(_reader(path)) as db:
            db.text_factory = entries.readable_text
            yield db.execute
    finally:
        with suppress(OSError):
            os.unlink(f"{path}-shm")  # of no use to the next one


def _reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. On a full disk it gets no shared memory; then one that does not."""
    address = path.resolve().as_uri()
    db = sqlite3.connect(f"{address}?mode=ro", uri=True, isolation_level=None, timeout=0)
    try:
        db.execute("select count(*) from sqlite_master")
    except entries.UNREADABLE as error:
        db.close()
        if not str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_IOERR_SHM"):
            raise
        db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=0)
        db.execute("pragma locking_mode=exclusive")
    return db


def check(folder: Path, end: Acknowledged) -> State:
    """The state of a log which is whole; a DataError if acknowledged entries are missing or damaged."""
    with reading(folder) as run:
        state, encoded = read_state(run, folder / FILE)
        for problem in missing(state, encoded, end):
            raise DataError(f"{folder / FILE}: {problem}: {RESTORE}.")
        for problem in problems(run, state):
            raise DataError(f"{folder / FILE}: {problem}: {RESTORE}.")
    return state


def read_state(run: Run, path: Path) -> tuple[State, bytes]:
    """The state of a log, also as its bytes; a DataError if it is none of this version."""
    if run("pragma application_id").fetchone()[0] != entries.APPLICATION:
        raise DataError(f"{path}: is no log of budgetron serve.")
    version = run("pragma user_version").fetchone()[0]
    if version != entries.FORMAT:
        raise DataError(
            f"{path}: has log format {version}, this version reads {entries.FORMAT}: "
            "stop the service with the version that wrote it, then update."
        )
    tables = dict(run("select name, sql from sqlite_master where type = 'table'").fetchall())
    rows = run("select * from state").fetchall() if tables == entries.TABLES else []
    if len(rows) != 1 or damaged(rows[0]):
        raise DataError(f"{path}: is damaged (its state cannot be read): restore a backup.")
    encoded = bytes(rows[0][2])
    return msgspec.msgpack.decode(encoded, type=State), encoded


def missing(state: State, encoded: bytes, end: Acknowledged) -> Iterator[str]:
    """Whether the log is that of the end mark, and reaches it."""
    if state.id != end.id:
        yield "is not the log that log.end belongs to"
    elif state.commits < end.commits:
        yield (
            f"acknowledged requests are missing: it ends with transaction {state.commits}, and log.end "
            f"has {end.commits}; {FILE}-wal is missing or damaged, or another one was put back"
        )
    elif state.commits == end.commits and entries.digest_of(encoded) != end.digest:
        yield "has another state than log.end says"


def problems(run: Run, state: State) -> Iterator[str]:
    """What SQLite finds in its pages, and entries that are missing or damaged.

    The bodies of requests are not read: that is done when they are replayed, and by fsck.
    """
    for (sentence,) in run("pragma integrity_check(10)"):
        if sentence != "ok":
            yield f"is damaged ({sentence})"
            return
    for table in entries.COUNTED:
        if entries.counted(run, table) != state.counts[table]:
            yield f"entries of the table {table} are missing or damaged"
        elif table != "log":
            bad = sum(damaged(entry) for entry in run(f"select * from {table}"))
            if bad:
                yield f"{bad} entries of the table {table} are damaged"


def request_of(entry: tuple[Any, ...]) -> LoggedRequest:
    """The request of an entry of the log."""
    first, _, _, _, rows, media, label, chain, body = entry
    return LoggedRequest(first, rows, media, label, body, chain)


Readable = Callable[[LoggedRequest], bool]


def good_until(run: Run, first: int, chain: bytes | None, readable: Readable) -> tuple[int, bytes]:
    """The end of the good requests that begin with that row, and the running digest there."""
    end = first
    for entry in run("select * from log where first >= ? order by first", (first,)):
        if damaged(entry):
            break
        request = request_of(entry)
        if request.first != end or request.chain != (chain or request.chain) or not readable(request):
            break
        end, chain = request.end, request.next_chain
    return end, chain or b""


def mend(folder: Path, snapshot: tuple[int, bytes] | None, readable: Readable) -> int:
    """Keep what is good, and make that the whole log; returns the row with which it ends now.

    ``snapshot`` is the version and the running digest of the newest good snapshot, where the log goes on.
    """
    path = folder / FILE
    with closing(End(folder, create=True)) as end, entries.refusing(path):
        with reading(folder) as run:
            state, _ = read_state(run, path)
        try:
            acknowledged = end.read().commits
        except DataError:
            acknowledged = 0
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as db:
            db.text_factory = entries.readable_text
            db.execute("pragma synchronous=full")
            db.execute("begin immediate")
            db.execute("reindex")  # an index may be damaged where its table is not
            _keep_good(db.execute, state, snapshot or (0, state.id), readable)
            state.commits = max(state.commits, acknowledged) + 1
            write_state(db.execute, state)
            db.execute("commit")
        end.begin(Acknowledged(state.id, state.commits, entries.digest_of(state.encoded())))
    return state.end


def _keep_good(run: Run, state: State, snapshot: tuple[int, bytes], readable: Readable) -> None:
    version, chain = snapshot
    begin = run("select min(first) from log").fetchone()[0]
    if begin is not None and begin > version:
        raise DataError(f"no snapshot of {begin} or more rows can be read: restore a backup.")
    state.end, state.chain = good_until(run, version, chain, readable)
    run("delete from log where first >= ?", (state.end,))
    if begin is not None and good_until(run, begin, None, readable)[0] != state.end:
        run("delete from log where first < ?", (version,))
    for table in entries.COUNTED[1:]:
        gone = [entry[0] for entry in run(f"select * from {table}") if _useless(table, entry, state.end)]
        for key in gone:
            run(f"delete from {table} where {_KEYS[table]} = ?", (key,))
    state.counts = {table: entries.counted(run, table) for table in entries.COUNTED}


_KEYS = {"answers": "number", "kept": "id", "positions": "stream"}


def _useless(table: str, entry: tuple[Any, ...], end: int) -> bool:
    """Whether an entry is damaged, or the answer to a request that is cut: its retry must learn."""
    if damaged(entry):
        return True
    return table == "answers" and msgspec.json.decode(entry[-1]).get("version", 0) > end


def write_state(run: Run, state: State) -> bytes:
    """Write the state of a log; returns its bytes."""
    encoded = state.encoded()
    run("insert or replace into state values(1, ?, ?)", (crc_of(1, encoded), encoded))
    return encoded
