"""Bytes from files and pipes, unpacked by what they begin with, whatever they are called."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from budgetron.streams._stream import DataError

PIECE = 1 << 18
ZSTANDARD = b"\x28\xb5\x2f\xfd"


class Source:
    """A path, a binary file object, or ``-`` for the standard input."""

    def __init__(self, what: Any) -> None:
        self.path: Path | None = None
        self.again: bool  # whether it can be read from its beginning as often as wanted
        self._reading = 0
        if isinstance(what, str | os.PathLike) and os.fspath(what) != "-":
            self.path = Path(what)
            self.name = str(self.path)
            mode = self.path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(f"{self.name}: expected a file, got a folder.")
            self.again = stat.S_ISREG(mode)
            return
        self.file = sys.stdin.buffer if isinstance(what, str | os.PathLike) else what
        if not callable(getattr(self.file, "read", None)):
            raise TypeError(f"expected a path, a binary file or '-', got {what!r}.")
        self.name = str(getattr(self.file, "name", "stream"))
        self.again = bool(getattr(self.file, "seekable", lambda: False)())
        self._origin = self.file.tell() if self.again else 0

    def pieces(self) -> Iterator[bytes]:
        """All its bytes, unpacked."""
        if self._reading and not self.again:
            raise DataError(f"{self.name}: a pipe can be read only once.")
        self._reading += 1
        if self.path is None:
            yield from self._of_object(self._reading)
        else:
            with self.path.open("rb") as file:
                yield from self._unpacked(file)

    def _of_object(self, this: int) -> Iterator[bytes]:
        if self.again:
            self.file.seek(self._origin)
        for piece in self._unpacked(self.file):
            yield piece
            if this != self._reading:  # it has one position, which was moved
                raise DataError(f"{self.name}: a file object cannot be read twice at once; give its path.")

    def _unpacked(self, file: Any) -> Iterator[bytes]:
        joined = Joined(file, self.name)
        for magic, unpack in UNPACK.items():
            if joined.head.startswith(magic):
                yield from self._or_damaged(unpack(joined))
                return
        yield from joined.pieces()

    def _or_damaged(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from pieces
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise DataError(f"{self.name}: its compressed data is damaged or cut off ({error}).") from error


class Joined:
    """A file of which the first bytes have been looked at."""

    def __init__(self, file: Any, name: str) -> None:
        self._file = file
        self._name = name
        self.head = b""
        while len(self.head) < 6 and (more := self._more(6 - len(self.head))):
            self.head += more

    def _more(self, n: int, at_once: str = "read") -> bytes:
        piece = getattr(self._file, at_once, self._file.read)(n)
        if not isinstance(piece, bytes):
            raise TypeError(
                f"{self._name}: expected a blocking binary file, its read gave {type(piece).__name__}."
            )
        return piece

    def read(self, n: int) -> bytes:
        """As many bytes as asked for, fewer only at the end."""
        got, self.head = self.head[:n], self.head[n:]
        while len(got) < n and (more := self._more(n - len(got))):
            got += more
        return got

    def pieces(self) -> Iterator[bytes]:
        """All bytes, as soon as they are there."""
        yield self.head
        while piece := self._more(PIECE, "read1"):
            yield piece


def _by_reading(open_packed: Callable[[Any], Any]) -> Callable[[Joined], Iterator[bytes]]:
    def unpack(file: Joined) -> Iterator[bytes]:
        unpacked: IO[bytes] = open_packed(file)
        while piece := unpacked.read1(PIECE):  # type: ignore[attr-defined]  # what came before damage is not lost
            yield piece

    return unpack


def _unpack_zstandard(file: Joined) -> Iterator[bytes]:
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        yield from _unpack_with_package(file)
    else:
        try:
            yield from _by_reading(zstd.ZstdFile)(file)
        except zstd.ZstdError as error:
            raise OSError(str(error)) from error


def _unpack_with_package(file: Joined) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise ImportError(
            "Reading zstandard files needs a package: pip install 'budgetron[zstd]'."
        ) from None
    frame = None
    while piece := file.read(PIECE):
        while piece:  # a file may consist of several frames
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(piece)
            except zstandard.ZstdError as error:
                raise OSError(str(error)) from error
            piece = frame.unused_data
            if frame.eof:
                frame = None
    if frame is not None:
        raise EOFError("the last frame does not end")


UNPACK: dict[bytes, Callable[[Joined], Iterator[bytes]]] = {
    b"\x1f\x8b": _by_reading(lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": _by_reading(bz2.BZ2File),
    b"\xfd7zXZ\x00": _by_reading(lzma.LZMAFile),
    ZSTANDARD: _unpack_zstandard,
}


class Readable(io.RawIOBase):
    """Pieces as a file, for those who want one."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some bytes; none at the end."""
        if not self._left:
            self._left = next(filter(None, self._pieces), b"")  # an empty piece is not the end
        n = min(len(buffer), len(self._left))
        buffer[:n] = self._left[:n]
        self._left = self._left[n:]
        return n
