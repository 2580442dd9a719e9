"""Save and resume a run: a model file that also has the state of the session.

The file has no times, so a resumed run ends with the same bytes as one that was never stopped.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from types import NoneType
from typing import Any, Self
from zlib import crc32

import numpy as np
from scipy import sparse

from budgetron import ModelFileError
from budgetron.cli.input import NamedRows, Roles
from budgetron.cli.process import UsageError
from budgetron.evaluate import Session
from budgetron.evaluate.session_state import check_state
from budgetron.model.files.model_files import ModelFile
from budgetron.records.table import Table
from budgetron.streams import Block, DataError, Stream, Transform, described

MASK = 2**62 - 1  # of sums
ROLES = tuple(each.name for each in fields(Roles))


@dataclass
class Origin:
    """How the rows of a run were read, and the checksums of `added`. A resumed run must read them alike.

    The file name is not part of it: a run that started with a pipe may continue with a file.
    """

    form: str
    zero_based: bool
    roles: Roles
    checksum: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    messages: dict[str, Any] | None = None  # of a broker: the position, and the bad ones up to there

    @classmethod
    def of(cls, source: NamedRows) -> Self:
        """The origin of rows that are not read yet."""
        return cls(source.form, source.zero_based, Roles() if source.form == "svmlight" else source.roles)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """The origin in a model file, checked."""
        names = {each.name for each in fields(cls)} - {"roles"} | {*ROLES}
        if not isinstance(data, dict) or {*data, "messages"} != names:
            raise ValueError("it does not say how its rows were read")
        for name in ROLES:
            kinds = (list, NoneType) if name == "only" else list if name == "drop" else (str, NoneType)
            if not isinstance(data[name], kinds) or not all(isinstance(n, str) for n in data[name] or ()):
                raise ValueError(f"its column {name} is not a string")
        sums = data["checksum"]
        if not (isinstance(sums, list) and len(sums) == 4 and all(type(n) is int for n in sums)):
            raise ValueError("it has no checksum of its rows")
        if (data["form"] == "messages") != _is_position(data.get("messages")):
            raise ValueError("it has no position in the messages")
        roles: dict[str, Any] = {n: tuple(v) if isinstance(v := data[n], list) else v for n in ROLES}
        return cls(roles=Roles(**roles), **{name: data[name] for name in data if name not in ROLES})

    def as_dict(self) -> dict[str, Any]:
        """What a model file has of it."""
        roles = {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self.roles).items()}
        saved = {"form": self.form, "zero_based": self.zero_based, **roles, "checksum": self.checksum}
        return saved | ({} if self.messages is None else {"messages": self.messages})

    def flags(self) -> dict[str, Any]:
        """What a resumed run must repeat, by the name that an error gives it."""
        roles = {f"--{name}": value for name, value in self.as_dict().items() if name in ROLES}
        return {"the format": self.form, **roles, "--zero-based": self.zero_based}


def _is_position(data: Any) -> bool:
    match data:
        case {"position": dict(position), "bad": dict(bad)} if len(data) == 2:
            named = all(isinstance(n, str) and type(place) in (int, str) for n, place in position.items())
            counted = all(type(n) is int and n >= 0 for n in bad.values())
            return named and counted and set(bad) == {"count", "bytes"}
    return False


def added(sums: list[int], block: Block) -> list[int]:
    """The sums, one per array of rows and labels, with a block added, however blocks are divided.

    They are CRC-32 sums, but those of a table are sums over its cells, for any order of its columns.
    """
    if isinstance(block.X, Table):
        cells = [before + n & MASK for before, n in zip(sums, _cell_sums(block), strict=False)]
        return [*cells, crc32(_label_bytes(block.y), sums[3])]
    parts = [*_arrays_of(block.X), _label_bytes(block.y)]
    return [crc32(part, before) for part, before in zip(parts, sums, strict=True)]


def _cell_sums(block: Block) -> list[int]:
    """Sums of a hash of each cell, its row and its column: of the numbers, the texts, and the weights."""
    rows = np.arange(block.start, block.stop, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    sums = [0, 0, 0]
    for name, column in block.X.columns.items():
        salt = crc32(name.encode("utf-8", "surrogatepass"))
        if column.numbers is not None:
            there = ~np.isnan(column.numbers)
            sums[0] += _hashed(column.numbers[there] + 0.0, rows[there], salt)
        if column.codes is not None:
            there = column.codes >= 0
            texts = [crc32(text.encode("utf-8", "surrogatepass")) for text in column.texts]
            sums[1] += _hashed(np.array(texts, np.float64)[column.codes[there]], rows[there], salt)
    if block.weights is not None:
        sums[2] = _hashed(block.weights + 0.0, rows, 0)
    return sums


def _hashed(values: Any, rows: Any, salt: int) -> int:
    """The sum of a hash of each value and its row."""
    mixed = (values.view(np.uint64) ^ np.uint64(salt << 16)) + rows
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return int((mixed >> np.uint64(2)).sum(dtype=np.uint64)) & MASK


def rows_after(source: Stream, entered: int, origin: Origin | None, name: str) -> Iterator[Block]:
    """The rows after the first ``entered``. Those are read, too, to compare them with the checksum."""
    again, stop = [0, 0, 0, 0], 0
    for block in source:
        stop, at = block.stop, min(max(entered - block.start, 0), len(block))
        if at:
            again = added(again, block.part(0, at))
            if block.start + at == entered and origin is not None and again != origin.checksum:
                raise DataError(
                    f"{name}: the first {entered} rows differ from those that the run has learned: "
                    "use the same rows, or start again without --resume."
                )
        if at < len(block):
            yield block.part(at) if at else block
    if stop < entered:
        raise DataError(f"{name}: cannot skip {entered} rows, there are only {stop}.")


def save(session: Session, origin: Origin, path: str) -> None:
    """Write the model and the state of the run. If this fails, an existing file is unchanged."""
    session.estimator.save(path, extra={"run": session.state() | {"source": origin.as_dict()}})


def restored(
    file: ModelFile, new: Any, transforms: list[Transform], origin: Origin, *, delay: int, **more: Any
) -> tuple[Session, Origin]:
    """The run in a model file. Its flags must equal those of the command line."""
    state, known = _run_of(file), _origin_of(file)
    estimator = file.estimator()
    estimator.n_jobs = new.n_jobs
    names, size = state["metrics"].get("names"), state["metrics"].get("size")
    for what, saved, wanted in (
        ("an", type(estimator).__name__, type(new).__name__),
        ("the learner", estimator.learner, new.learner),
        ("the encoder", estimator.encoder, new.encoder),
        ("the seed", estimator.random_state, new.random_state),
        ("the coverage", estimator.coverage, new.coverage),
        ("the costs", getattr(estimator, "costs", None), getattr(new, "costs", None)),
        ("the delay", state["delay"], delay),
        ("steps", [step["what"] for step in state["steps"]], list(map(described, transforms))),
        ("the metrics", names, names if more["metrics"] is None else list(more["metrics"])),
        ("the window", size, more["window"]),
        *((what, value, origin.flags()[what]) for what, value in known.flags().items()),
    ):
        if saved != wanted:
            raise UsageError(
                f"{file.path}: cannot resume with other flags: the file has {what} {saved}, the command "
                f"line {wanted}; repeat the flags of the run, or omit --resume."
            )
    session = Session(estimator, transforms, delay=delay, **more)
    with _resumable(file):
        session.restore(state)
    return session, known


def roles_of(file: ModelFile) -> Roles:
    """What the columns of the table were for, that the model has learned from."""
    run = file.extra.get("run")
    return _origin_of(file).roles if isinstance(run, dict) and "source" in run else Roles()


def _run_of(file: ModelFile) -> dict[str, Any]:
    state: Any = file.extra.get("run")
    if not isinstance(state, dict):
        raise ModelFileError(
            f"{file.path}: has a model, but no run to resume: expected a file of budgetron run."
        )
    with _resumable(file):
        check_state(state)
    return state


def _origin_of(file: ModelFile) -> Origin:
    with _resumable(file):
        return Origin.from_dict(file.extra["run"].get("source"))


@contextmanager
def _resumable(file: ModelFile) -> Iterator[None]:
    """Turn every error into a `ModelFileError`: a forged file may lead to any error."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:
        why = str(error).rstrip(".") or type(error).__name__
        raise ModelFileError(f"{file.path}: has no run that can be resumed: {why}.") from error


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
