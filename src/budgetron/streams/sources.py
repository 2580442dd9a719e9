"""Read bytes from files and pipes. The first bytes, not the file name, tell how they are compressed."""

import bz2
import gzip
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from budgetron._util.errors import DataError
from budgetron._util.extras import pip_install
from budgetron._util.text import printable

PIECE = 1 << 18
ZSTANDARD = b"\x28\xb5\x2f\xfd"
MARK = b"\xef\xbb\xbf"
LINE_END = re.compile(rb"\r\n|\n|\r")


class Source:
    """The bytes of a path, a binary file object, or ``-`` (the standard input)."""

    def __init__(self, what: Any) -> None:
        self.path: Path | None = None
        self.rereadable: bool  # whether it can be read from the start more than once
        self._reading = 0
        if isinstance(what, str | os.PathLike) and os.fspath(what) != "-":
            self.path = Path(what)
            self.name = printable(str(self.path))
            mode = self.path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(f"{self.name}: expected a file, got a folder.")
            self.rereadable = stat.S_ISREG(mode)
            return
        self.file = sys.stdin.buffer if isinstance(what, str | os.PathLike) else what
        if not callable(getattr(self.file, "read", None)):
            raise TypeError(f"source: expected a path, a binary file or '-', got {what!r}.")
        self.name = printable(str(getattr(self.file, "name", "stream")))
        self.rereadable = bool(getattr(self.file, "seekable", lambda: False)())
        self._origin = self.file.tell() if self.rereadable else 0

    def pieces(self) -> Iterator[bytes]:
        """All bytes, decompressed."""
        if self._reading and not self.rereadable:
            raise DataError(f"{self.name}: a pipe can be read only once.")
        self._reading += 1
        if self.path is None:
            yield from self._object_pieces(self._reading)
        else:
            with self.path.open("rb") as file:
                yield from self._decompressed(file)

    def _object_pieces(self, this: int) -> Iterator[bytes]:
        if self.rereadable:
            self.file.seek(self._origin)
        for piece in self._decompressed(self.file):
            yield piece
            if this != self._reading:  # a second reader has moved the position of the file
                raise DataError(f"{self.name}: a file object cannot be read twice at once; give its path.")

    def _decompressed(self, file: Any) -> Iterator[bytes]:
        peeked = Peeked(file, self.name)
        decompress = next((way for magic, way in DECOMPRESS.items() if peeked.head.startswith(magic)), None)
        if decompress is None:
            yield from peeked.pieces()
            return
        try:
            yield from decompress(peeked)
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as why:
            raise DataError(f"{self.name}: the compressed data is damaged or truncated ({why}).") from why


class Peeked:
    """A file whose first bytes, ``head``, have been read and are returned again by `read` and `pieces`."""

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
        """The next n bytes; fewer only at the end of the file."""
        got, self.head = self.head[:n], self.head[n:]
        while len(got) < n and (more := self._more(n - len(got))):
            got += more
        return got

    def pieces(self) -> Iterator[bytes]:
        """All bytes, each piece as soon as it arrives."""
        yield self.head
        while piece := self._more(PIECE, "read1"):
            yield piece


def _decompress_gzip(file: Peeked) -> Iterator[bytes]:
    decompressed = gzip.GzipFile(fileobj=file)  # type: ignore[call-overload]
    while piece := decompressed.read1(PIECE):  # read1: data before a damaged block is still returned
        yield piece


def _decompressor(start: Callable[[], Any]) -> Callable[[Peeked], Iterator[bytes]]:
    """A function that decompresses a file of one or more compressed streams.

    ``start`` returns a new decompressor with the interface of those in `bz2` and `lzma`. `bz2.BZ2File` and
    `lzma.LZMAFile` are not used, because they ignore invalid data after the last stream.
    """

    def decompress(file: Peeked) -> Iterator[bytes]:
        packed = file.pieces()
        piece = next(packed)
        while piece:
            stream = start()
            while not stream.eof:
                if stream.needs_input and not piece and not (piece := next(packed, b"")):
                    raise EOFError("the last compressed stream is incomplete")
                yield stream.decompress(piece, PIECE)
                piece = b""
            piece = _after_padding(stream.unused_data, packed)

    return decompress


def _after_padding(piece: bytes, packed: Iterator[bytes]) -> bytes:
    """The bytes after a stream, without the zeros that some programs add as padding."""
    while not (piece := piece.lstrip(b"\0")):
        if not (piece := next(packed, b"")):
            break
    return piece


def _decompress_zstandard(file: Peeked) -> Iterator[bytes]:
    start: Callable[[], Any]
    try:
        from compression import zstd  # Python 3.14

        start = zstd.ZstdDecompressor
    except ImportError:
        try:
            import zstandard as zstd
        except ImportError:
            raise ImportError(
                f"Reading zstandard files needs the package zstandard: {pip_install('zstd')}."
            ) from None
        start = lambda: _PackageStream(zstd.ZstdDecompressor().decompressobj())  # noqa: E731
    try:
        yield from _decompressor(start)(file)
    except zstd.ZstdError as error:
        raise OSError(str(error)) from error


class _PackageStream:
    """A decompressor of the package zstandard with the interface of `bz2.BZ2Decompressor`."""

    needs_input = True

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # eof and unused_data
        return getattr(self._stream, name)

    def decompress(self, piece: bytes, _: int) -> bytes:
        return bytes(self._stream.decompress(piece))


DECOMPRESS: dict[bytes, Callable[[Peeked], Iterator[bytes]]] = {
    b"\x1f\x8b": _decompress_gzip,
    b"BZh": _decompressor(bz2.BZ2Decompressor),
    b"\xfd7zXZ\x00": _decompressor(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)),
    ZSTANDARD: _decompress_zstandard,
}


def without_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes without the mark of UTF-8 that some programs write first."""
    pieces, start = filter(None, pieces), b""
    while len(start) < len(MARK) and (piece := next(pieces, b"")):
        start += piece
    return chain([start.removeprefix(MARK)], pieces)


def whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces that end with LF, but for the last."""
    waiting: list[bytes] = []
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join([*waiting, piece[:end]])
            waiting = []
        waiting.append(piece[end:])
    if rest := b"".join(waiting):
        yield rest
