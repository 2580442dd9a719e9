"""A run as a file: the model, and beside it everything that is needed to continue as if never stopped.

Times are not in it, so that a run that was stopped ends with the same bytes as one that was not.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

from budgetron import ModelFileError
from budgetron.cli import input
from budgetron.cli.process import Usage
from budgetron.evaluate import Session
from budgetron.evaluate.session import check_state
from budgetron.model_files import ModelFile
from budgetron.streams import Block, DataError, Stream, Transform, described, revived


class Checksum:
    """Of rows and labels, however they are cut into blocks: one sum for each array."""

    def __init__(self, sums: list[int] | None = None) -> None:
        self.sums = [0, 0, 0, 0] if sums is None else sums

    def add(self, block: Block) -> None:
        """Some more rows."""
        parts = [*_arrays_of(block.X), _label_bytes(block.y)]
        self.sums = [crc32(part, before) for part, before in zip(parts, self.sums, strict=True)]


@dataclass
class Origin:
    """How rows are read, the names of the columns if there are some, and a checksum of those that went in.

    The name of the file is not in it: a run that began with a pipe may continue with a file of the same
    rows.
    """

    form: str
    target: str | None
    zero_based: bool
    columns: list[str] | None = None
    checksum: Checksum = field(default_factory=Checksum)

    @classmethod
    def asked(cls, args: Namespace) -> Origin:
        """What the arguments say, before a source is opened."""
        form = input.form_asked(args.file, args)
        return cls(form, None if form == "svmlight" else args.target, bool(args.zero_based))

    @classmethod
    def revived(cls, said: Any) -> Origin:
        """The origin that a model file has, checked."""
        if not isinstance(said, dict) or set(said) != {
            "form",
            "target",
            "zero_based",
            "columns",
            "checksum",
        }:
            raise ValueError("it does not say where its rows come from")
        columns, sums = said["columns"], said["checksum"]
        if columns is not None and not (
            isinstance(columns, list) and all(isinstance(name, str) for name in columns)
        ):
            raise ValueError("the names of its columns are not text")
        if not (isinstance(sums, list) and len(sums) == 4 and all(type(n) is int for n in sums)):
            raise ValueError("it has no checksum of its rows")
        return cls(said["form"], said["target"], said["zero_based"], columns, Checksum(sums))

    def said(self) -> dict[str, Any]:
        """As a model file has it."""
        how = {"form": self.form, "target": self.target, "zero_based": self.zero_based}
        return how | {"columns": self.columns, "checksum": self.checksum.sums}


def rows_after(source: Stream, entered: int, origin: Origin | None, name: str) -> Iterator[Block]:
    """The rows after those that have entered. These are read again, to check that they are the same."""
    again, stop = Checksum(), 0
    for block in source:
        stop, at = block.stop, min(max(entered - block.start, 0), len(block))
        if at:
            again.add(Block(block.X[:at], block.y[:at], block.start))
            if block.start + at == entered and origin is not None and again.sums != origin.checksum.sums:
                raise DataError(
                    f"{name}: its first {entered} rows are not those that the run has learned: continue "
                    "with the same rows, or without --resume."
                )
        if at < len(block):
            yield Block(block.X[at:], block.y[at:], block.start + at) if at else block
    if stop < entered:
        raise DataError(f"{name}: {entered} rows cannot be skipped, there are only {stop}.")


def save(session: Session, origin: Origin, path: str) -> None:
    """Write the run; if that fails, the file that was there before stays."""
    session.estimator.save(path, extra={"run": session.state() | {"source": origin.said()}})


def restored(
    file: ModelFile, asked: Any, transforms: list[Transform], origin: Origin, *, delay: int, **more: Any
) -> tuple[Session, Origin]:
    """The run in a model file; it must have the flags of the one that is asked for."""
    said, known = _run_of(file), _origin_of(file)
    estimator = file.estimator()
    for what, there, wanted in (
        ("an", type(estimator).__name__, type(asked).__name__),
        ("the learner", estimator.learner, asked.learner),
        ("the seed", estimator.random_state, asked.random_state),
        ("the delay", said["delay"], delay),
        ("steps", [step["what"] for step in said["steps"]], list(map(described, transforms))),
        ("the format", known.form, origin.form),
        ("the target", known.target, origin.target),
        ("--zero-based", known.zero_based, origin.zero_based),
    ):
        if there != wanted:
            raise Usage(
                f"{file.path} cannot go on with other flags: it has {what} {there}, and asked for is "
                f"{wanted}; repeat those of its run, or do without --resume."
            )
    session = Session(estimator, transforms, delay=delay, **more)
    try:
        session.restore(said)
    except Exception as error:  # whatever a forged file can lead to
        raise _unusable(file, error) from error
    return session, known


def columns_of(file: ModelFile) -> list[str] | None:
    """The names of the columns that the model in a file has learned from, if they had some."""
    run = file.extra.get("run")
    return _origin_of(file).columns if isinstance(run, dict) and "source" in run else None


def transforms_of(file: ModelFile) -> list[Transform]:
    """The transforms that rows passed before the model in a file learned them, but for buffers."""
    if "run" not in file.extra:
        return []
    kept = []
    try:
        for part in _run_of(file)["steps"]:
            transform = revived(part["what"])
            if hasattr(transform, "transform"):
                transform.restore(part["state"])
                kept.append(transform)
    except ModelFileError:
        raise
    except Exception as error:
        raise _unusable(file, error) from error
    return kept


def _run_of(file: ModelFile) -> dict[str, Any]:
    said: Any = file.extra.get("run")
    if not isinstance(said, dict):
        raise ModelFileError(f"{file.path}: holds a model, but no run of budgetron run that could go on.")
    try:
        check_state(said)
    except ValueError as error:
        raise _unusable(file, error) from error
    return said


def _origin_of(file: ModelFile) -> Origin:
    try:
        return Origin.revived(file.extra["run"].get("source"))
    except ValueError as error:
        raise _unusable(file, error) from error


def _unusable(file: ModelFile, error: Exception) -> ModelFileError:
    why = str(error).rstrip(".") or type(error).__name__
    return ModelFileError(f"{file.path}: holds no run that can go on: {why}.")


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
