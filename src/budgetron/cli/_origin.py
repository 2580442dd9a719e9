"""Where the rows of a run come from, so that it goes on with the same ones and no others."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

from budgetron.cli import _source
from budgetron.streams import Block, DataError, Stream


class Checksum:
    """Of rows and labels, whatever blocks they come in: one sum for each array that says them."""

    def __init__(self, sums: list[int] | None = None) -> None:
        self.sums = [0, 0, 0, 0] if sums is None else sums

    def add(self, X: Any, y: Any) -> None:
        """Some more rows."""
        parts = [*_arrays_of(X), _label_bytes(y)]
        self.sums = [crc32(part, before) for part, before in zip(parts, self.sums, strict=True)]


@dataclass
class Origin:
    """How rows are read, the names of the columns if there are some, and a checksum of those that went in.

    The name of the file is not in it: a run that began with a pipe may go on with a file of the same rows.
    """

    form: str
    target: str | None
    zero_based: bool
    columns: list[str] | None = None
    checksum: Checksum = field(default_factory=Checksum)

    def add(self, block: Block) -> None:
        """A block has entered."""
        self.checksum.add(block.X, block.y)

    def said(self) -> dict[str, Any]:
        """As a model file has it."""
        how = {"form": self.form, "target": self.target, "zero_based": self.zero_based}
        return how | {"columns": self.columns, "checksum": self.checksum.sums}


def asked(args: Namespace) -> Origin:
    """What the arguments say, before a source is opened."""
    form = _source.form_asked(args.file, args)
    return Origin(form, None if form == "svmlight" else args.target, bool(args.zero_based))


def revived(said: Any) -> Origin:
    """The origin that a model file has, checked."""
    if not isinstance(said, dict) or set(said) != {"form", "target", "zero_based", "columns", "checksum"}:
        raise ValueError("it does not say where its rows come from")
    columns, sums = said["columns"], said["checksum"]
    if columns is not None and not (isinstance(columns, list) and all(isinstance(n, str) for n in columns)):
        raise ValueError("its columns are no names")
    if not (isinstance(sums, list) and len(sums) == 4 and all(type(n) is int for n in sums)):
        raise ValueError("it has no checksum of its rows")
    return Origin(said["form"], said["target"], said["zero_based"], columns, Checksum(sums))


def behind(source: Stream, entered: int, origin: Origin | None, name: str) -> Iterator[Block]:
    """The rows behind those that have entered, which are read again to see that they are the same."""
    again, stop = Checksum(), 0
    for block in source:
        stop, at = block.stop, min(max(entered - block.start, 0), len(block))
        if at:
            again.add(block.X[:at], block.y[:at])
            if block.start + at == entered and origin is not None:
                _refuse_others(again, origin, entered, name)
        if at < len(block):
            yield Block(block.X[at:], block.y[at:], block.start + at) if at else block
    if stop < entered:
        raise DataError(f"{name}: {entered} rows cannot be skipped, there are only {stop}.")


def _refuse_others(again: Checksum, origin: Origin, entered: int, name: str) -> None:
    if again.sums != origin.checksum.sums:
        raise DataError(
            f"{name}: its first {entered} rows are not those that the run has learned: go on with the same "
            "rows, or do without --resume."
        )


def _arrays_of(X: Any) -> list[bytes]:
    if not sparse.issparse(X):
        return [np.asarray(X).tobytes(), b"", b""]
    lengths = np.diff(X.indptr)
    return [X.data.tobytes(), X.indices.astype(np.int32).tobytes(), lengths.astype(np.int64).tobytes()]


def _label_bytes(y: Any) -> bytes:
    y = np.asarray(y)
    if y.dtype.kind not in "OU":
        return bytes(y.tobytes())
    return "".join(f"{label}\0" for label in y).encode("utf-8", "surrogatepass")
