"""The end mark of a log: a small file of its own that says how far the log was acknowledged.

SQLite drops a damaged end of its write-ahead log without a word, since it looks like a write that a crash
has torn. So the number of the last transaction, with a digest of the state of the log, is written here
after each one, before it is acknowledged. There are two places in turn: a torn write leaves the other. The
file is flushed once a second, not each time, which would double the time of a commit: what ends only the
process loses nothing of it, and after a power failure it is about a second behind the log at most.
"""

import errno
import fcntl
import os
import struct
import time
import zlib
from pathlib import Path
from typing import NamedTuple

from budgetron._util.errors import DataError

FILE = "log.end"
_MARK = struct.Struct("<8s16sQ16s")
_MAGIC = b"budgend1"
_APART = 4096  # bytes between the two places: no page of a disk has both
_SYNC_SECONDS = 1.0


class Acknowledged(NamedTuple):
    """A log by its id, the number of its last transaction, and a digest of its state."""

    id: bytes
    commits: int
    digest: bytes


class End:
    """The end mark in a folder, locked by this process."""

    def __init__(self, folder: Path, create: bool = False) -> None:
        self.path = folder / FILE
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        try:
            self._file = os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            raise DataError(
                f"{self.path}: is missing, so nobody knows how far the log was acknowledged: put it back, "
                "restore a backup, or accept the log as it is with budgetron fsck --cut."
            ) from None
        except OSError as error:
            raise DataError(
                f"{self.path}: cannot be written ({error.strerror}): make the disk and the file writable, "
                "then start again; nothing is lost."
            ) from None
        self._synced, self.behind = 0.0, False  # behind: the disk may not have the last mark yet
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise DataError(f"{self.path}: is in use by another process: stop it first.") from None
        except OSError:  # a file system without these locks: SQLite has its own
            pass

    def read(self) -> Acknowledged:
        """The later one of the two marks."""
        marks = [_decoded(os.pread(self._file, _MARK.size + 4, i * _APART)) for i in range(2)]
        known = [mark for mark in marks if mark is not None]
        if not known:
            raise DataError(
                f"{self.path}: is damaged, so nobody knows how far the log was acknowledged: restore a "
                "backup, or accept the log as it is with budgetron fsck --cut."
            )
        return max(known, key=lambda mark: mark.commits)

    def write(self, end: Acknowledged) -> None:
        """Write a mark, which kill -9 does not lose; on disk if the last one is there for a second."""
        mark = _MARK.pack(_MAGIC, *end)
        mark += zlib.crc32(mark).to_bytes(4, "little")
        if os.pwrite(self._file, mark, end.commits % 2 * _APART) != len(mark):
            raise OSError(errno.EIO, "a part was written only", str(self.path))
        self.behind = True
        if time.monotonic() - self._synced >= _SYNC_SECONDS:
            self.sync()

    def begin(self, end: Acknowledged) -> None:
        """Replace whatever is there by one mark."""
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, bytes(2 * _APART), 0)
            self.write(end)
            self.sync()
        except OSError as error:
            raise DataError(
                f"{self.path}: could not be written ({error.strerror}): make room, then start again."
            ) from None

    def sync(self) -> None:
        """Wait until the mark is on disk."""
        os.fsync(self._file)
        self._synced, self.behind = time.monotonic(), False

    def close(self) -> None:
        """Close the file, which also ends the lock."""
        os.close(self._file)


def _decoded(mark: bytes) -> Acknowledged | None:
    content, crc = mark[: _MARK.size], mark[_MARK.size :]
    if len(crc) != 4 or zlib.crc32(content) != int.from_bytes(crc, "little"):
        return None
    magic, *fields = _MARK.unpack(content)
    return Acknowledged(*fields) if magic == _MAGIC else None
