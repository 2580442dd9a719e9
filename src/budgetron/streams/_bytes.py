"""Bytes from files and pipes, unpacked by what they begin with, whatever they are called."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from budgetron._text import printable
from budgetron.streams._stream import DataError

PIECE = 1 << 18
ZSTANDARD = b"\x28\xb5\x2f\xfd"
LINE_END = re.compile(rb"\r\n|\n|\r")


class Source:
    """A path, a binary file object, or ``-`` for the standard input."""

    def __init__(self, what: Any) -> None:
        self.path: Path | None = None
        self.again: bool  # whether it can be read from its beginning as often as wanted
        self._reading = 0
        if isinstance(what, str | os.PathLike) and os.fspath(what) != "-":
            self.path = Path(what)
            self.name = printable(str(self.path))
            mode = self.path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(f"{self.name}: expected a file, got a folder.")
            self.again = stat.S_ISREG(mode)
            return
        self.file = sys.stdin.buffer if isinstance(what, str | os.PathLike) else what
        if not callable(getattr(self.file, "read", None)):
            raise TypeError(f"expected a path, a binary file or '-', got {what!r}.")
        self.name = printable(str(getattr(self.file, "name", "stream")))
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


def _unpack_gzip(file: Joined) -> Iterator[bytes]:
    unpacked = gzip.GzipFile(fileobj=file)  # type: ignore[call-overload]
    while piece := unpacked.read1(PIECE):  # what came before damage is not lost
        yield piece


def _by_streams(start: Callable[[], Any]) -> Callable[[Joined], Iterator[bytes]]:
    """Unpacks the compressed streams that a file consists of; anything else behind them is an error.

    ``start`` gives a decompressor with the methods that those of `bz2` and `lzma` share. `bz2.BZ2File` and
    `lzma.LZMAFile` will not do: they ignore what follows the last stream.
    """

    def unpack(file: Joined) -> Iterator[bytes]:
        packed = file.pieces()
        piece = next(packed)
        while piece:
            stream = start()
            while not stream.eof:
                if stream.needs_input and not piece and not (piece := next(packed, b"")):
                    raise EOFError("the last compressed stream does not end")
                yield stream.decompress(piece, PIECE)
                piece = b""
            piece = _behind(stream.unused_data, packed)

    return unpack


def _behind(piece: bytes, packed: Iterator[bytes]) -> bytes:
    """What follows a stream, without the zeros that some programs pad it with."""
    while not (piece := piece.lstrip(b"\0")):
        if not (piece := next(packed, b"")):
            break
    return piece


def _unpack_zstandard(file: Joined) -> Iterator[bytes]:
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        zstd = _package()
        start: Callable[[], Any] = lambda: _PackageStream(zstd)  # noqa: E731
    else:
        start = zstd.ZstdDecompressor
    try:
        yield from _by_streams(start)(file)
    except zstd.ZstdError as error:
        raise OSError(str(error)) from error


def _package() -> Any:
    try:
        import zstandard
    except ImportError:
        raise ImportError(
            "Reading zstandard files needs a package: pip install 'budgetron[zstd]'."
        ) from None
    return zstandard


class _PackageStream:
    """A decompressor of the package zstandard, with the methods of Python's own."""

    needs_input = True

    def __init__(self, package: Any) -> None:
        self._stream = package.ZstdDecompressor().decompressobj()

    @property
    def eof(self) -> bool:
        return bool(self._stream.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._stream.unused_data)

    def decompress(self, piece: bytes, _: int) -> bytes:
        return bytes(self._stream.decompress(piece))


UNPACK: dict[bytes, Callable[[Joined], Iterator[bytes]]] = {
    b"\x1f\x8b": _unpack_gzip,
    b"BZh": _by_streams(bz2.BZ2Decompressor),
    b"\xfd7zXZ\x00": _by_streams(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)),
    ZSTANDARD: _unpack_zstandard,
}


class Readable(io.RawIOBase):
    """Pieces of text as a file, for those who want one.

    Each read has the end of a line in it, where the reader leaves room for that: pyarrow takes what one
    read gives for a block, and refuses blocks without a line end. ``least`` makes reads longer.
    """

    def __init__(self, pieces: Iterator[bytes], least: int = 1) -> None:
        self._pieces = pieces
        self._least = least
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some bytes; none at the end."""
        done, line_ends = 0, False
        while done < len(buffer) and not (line_ends and done >= self._least):
            if not self._left:
                self._left = memoryview(next(filter(None, self._pieces), b""))  # empty is not the end
                if not self._left:
                    break
            n = min(len(buffer) - done, len(self._left))
            line_ends = line_ends or LINE_END.search(self._left[:n]) is not None
            buffer[done : done + n] = self._left[:n]
            self._left = self._left[n:]
            done += n
        return done
