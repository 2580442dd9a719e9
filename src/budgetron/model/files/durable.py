"""Atomic writes: at any moment, even after a crash, either the old file or the new one is complete."""

import errno
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress

from budgetron._util.errors import SaveError

_POSIX = os.name == "posix"
# Errors of file systems without hard links, or without locks; these steps are then skipped.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


def write(path: str, pieces: Iterable[bytes | memoryview]) -> None:
    """Replace the file by the pieces, which are on disk when this returns; links are followed.

    The pieces are written to ``.name.partial`` first, which is then renamed to the file. A process that is
    killed may leave that file behind (and ``.name.previous``, a second name of the old file); the next
    ``write`` of the same file reuses them. Only regular files are replaced.
    """
    given, path = path, os.path.realpath(path)
    try:
        if why := obstacle(given):
            raise OSError(why)
        (_replace if _POSIX else _replace_simply)(path, pieces)
    except OSError as error:
        sentence = f"{path}: could not be saved: {error.strerror or error}."
        refusal = SaveError(sentence)
        refusal.errno = error.errno
        raise refusal from error


def obstacle(path: str) -> str | None:
    """Why the path cannot be replaced by a file, or None; links are followed."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        return "it is a directory"
    return None if stat.S_ISREG(mode) else "it is not a regular file"


def _replace(path: str, pieces: Iterable[bytes | memoryview]) -> None:
    folder, name = os.path.split(path)
    partial, previous = (os.path.join(folder, f".{name}.{kind}") for kind in ("partial", "previous"))
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not _same(previous, path):
            _refuse_foreign(previous)
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


def _replace_simply(path: str, pieces: Iterable[bytes | memoryview]) -> None:
    """The same on Windows, where files have no owner and directories cannot be opened."""
    folder, name = os.path.split(path)
    partial = os.path.join(folder, f".{name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        _forget(partial)
        raise


def _claim(partial: str) -> int:
    """The partial file, opened and locked by this process."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(partial, flags, 0o666)
    except OSError:
        _refuse_foreign(partial)  # a more precise message, if it applies
        raise
    try:
        _refuse_foreign(partial, os.fstat(file))
        if _locked(file) and os.path.samestat(os.fstat(file), os.stat(partial)):
            return file
    except FileNotFoundError:  # another process has just renamed it
        pass
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    raise BlockingIOError("it is being saved by another process")


def _same(a: str, b: str) -> bool:
    try:
        return os.path.samestat(os.lstat(a), os.lstat(b))
    except FileNotFoundError:
        return False


def _refuse_foreign(neighbour: str, status: os.stat_result | None = None) -> None:
    """Refuse a file that a ``write`` of this user cannot have left behind; ``status`` is its status."""
    try:
        status = os.lstat(neighbour) if status is None else status
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{neighbour} is in the way, and is not a regular file")
    if status.st_uid != os.geteuid():
        raise OSError(f"{neighbour} is in the way, and belongs to another user")


def _locked(file: int) -> bool:
    import fcntl  # missing on Windows

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
    """Give the old file a second name; returns a function that restores it."""
    with suppress(FileNotFoundError):
        os.unlink(previous)
    try:
        os.link(path, previous)
    except FileNotFoundError:
        return lambda: os.unlink(path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return lambda: None  # the new file, which is complete, stays
    return lambda: os.replace(previous, path)


def _forget(*paths: str) -> None:
    for path in paths:
        with suppress(OSError):
            os.unlink(path)
