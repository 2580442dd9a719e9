"""Writing a file so that at any moment, whatever fails, the old one or the new one is there in full."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress

# What file systems say that have no second names, or no locks; they do without.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


class SaveError(OSError):
    """A file could not be written; what was there before is as it was."""


def write(path: str, pieces: Iterable[bytes | memoryview]) -> None:
    """Put the pieces in the place of the file, on disk when this returns; links are followed.

    They go to a neighbour first, ``.name.partial``, which then takes the file's name. A process that is
    killed may leave that one behind (and ``.name.previous``, the old file under a second name); the next
    ``write`` of the same file takes them over.
    """
    path = os.path.realpath(path)
    try:
        if os.path.isdir(path):
            raise IsADirectoryError("it is a directory")
        _replace(path, pieces)
    except OSError as error:
        sentence = f"{path}: could not be saved: {error.strerror or error}."
        refusal = SaveError(sentence)
        refusal.errno = error.errno
        raise refusal from error


def _replace(path: str, pieces: Iterable[bytes | memoryview]) -> None:
    folder, name = os.path.split(path)
    partial, previous = (os.path.join(folder, f".{name}.{kind}") for kind in ("partial", "previous"))
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        file = _claim(partial)
        try:
            _fill(file, path, pieces)
            undo = _keep(path, previous)
            os.replace(partial, path)
        except BaseException:
            _forget(partial, previous)
            raise
        finally:
            os.close(file)
        try:
            os.fsync(directory)
        except BaseException:
            undo()
            raise
        _forget(previous)
    finally:
        os.close(directory)


def _claim(partial: str) -> int:
    """The neighbour opened, for this process alone."""
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        if _locked(file) and os.path.samestat(os.fstat(file), os.stat(partial)):
            return file
    except FileNotFoundError:  # the other one has just renamed it
        pass
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    raise BlockingIOError("it is being saved by another process")


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _fill(file: int, path: str, pieces: Iterable[bytes | memoryview]) -> None:
    os.ftruncate(file, 0)
    with suppress(FileNotFoundError):
        os.fchmod(file, stat.S_IMODE(os.stat(path).st_mode))
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(file, rest) :]
    os.fsync(file)


def _keep(path: str, previous: str) -> Callable[[], None]:
    """The old file gets a second name; what brings it back after it was replaced."""
    with suppress(FileNotFoundError):
        os.unlink(previous)
    try:
        os.link(path, previous)
    except FileNotFoundError:
        return lambda: os.unlink(path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return lambda: None  # the new one, which is complete, stays
    return lambda: os.replace(previous, path)


def _forget(*paths: str) -> None:
    for path in paths:
        with suppress(OSError):
            os.unlink(path)
