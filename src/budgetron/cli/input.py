"""Open the rows that the command line names (a file, a data set or a pipe), and their transforms."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from scipy import sparse

from budgetron import datasets, streams
from budgetron._util.text import nearest
from budgetron.cli.arguments import classes_of, names
from budgetron.cli.process import UsageError, say
from budgetron.learners.learner import Learner
from budgetron.learners.scaled import Ranged, Standardised
from budgetron.streams import Block, Stream, Transform
from budgetron.streams.bad_rows import BadRows
from budgetron.streams.brokers.address import is_address
from budgetron.streams.stream import joined, too_few_rows
from budgetron.streams.tables import TableStream, listed
from budgetron.streams.tables import format_of as format_of_name

ROWS = 1000
MOST_LABELS = 1000
WIDEST = 2**31 - 1


def transforms(args: Namespace) -> list[Transform]:
    """The transforms given by the flags, in the order in which they apply."""
    chosen: list[tuple[Any, Transform | None]] = [
        (args.shuffle, args.shuffle and streams.ShuffleBuffer(args.shuffle, args.seed)),
        (args.dense, streams.Dense()),
    ]
    return [transform for wanted, transform in chosen if wanted and transform is not None]


def scaled(learner: Learner, args: Namespace) -> Learner:
    """The learner with the scaling that the flags ask for inside it, so that predictions use it too."""
    return Standardised(learner) if args.standardise else Ranged(learner) if args.min_max else learner


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for, by the flags or by the run that made a model."""

    target: str | None = None
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    weight: str | None = None
    time: str | None = None
    id: str | None = None

    @classmethod
    def of(cls, args: Namespace) -> "Roles":
        only = None if args.only is None else tuple(names(args.only))
        return cls(args.target, tuple(names(args.drop)), only, args.weight, args.time, args.id)

    def flags(self) -> list[str]:
        """The flags that were given, as in the command line."""
        said = {"target": self.target, "weight": self.weight, "time": self.time, "id": self.id}
        said |= {
            "drop": ",".join(self.drop) or None,
            "only": None if self.only is None else ",".join(self.only),
        }
        return [word for flag, value in said.items() if value is not None for word in (f"--{flag}", value)]


def open_stream(
    what: str,
    args: Namespace,
    *,
    rows: int = ROWS,
    features: int | None = None,
    roles: Roles | None = None,
) -> Stream:
    """The stream of a file, data set or pipe; ``features`` and ``roles`` override the flags."""
    roles = Roles.of(args) if roles is None else roles
    if is_data_set(what):
        _refuse_roles(what, "a data set", roles)
        return _data_set(what, rows, features)
    if is_address(what):
        raise UsageError("messages of a broker are read by run and serve only; save them to a file first.")
    if what != "-" and not os.path.exists(what):
        there = [*datasets.names(), *_beside(what)]
        near = nearest(what, there, otherwise="see budgetron data list.")
        raise FileNotFoundError(f"{what}: there is no file and no data set of that name; {near}")
    if what == "-" and sys.stdin is None:
        raise UsageError("- reads the standard input, which is closed.")
    form = format_of(what, args)
    if form == "svmlight":
        _refuse_roles(what, "svmlight text", roles)
        if args.delimiter:
            raise UsageError(f"--delimiter is only for CSV files, but {what} is svmlight text.")
        columns = args.features if features is None else features
        if columns is None and is_pipe(what):
            raise UsageError("a pipe of svmlight text needs --features N, the number of columns.")
        return streams.from_svmlight(
            what, columns, rows=rows, zero_based=args.zero_based, on_error=args.on_error
        )
    for flag in ("features", "zero_based"):
        if getattr(args, flag):
            raise UsageError(f"--{flag.replace('_', '-')} is only for svmlight text, but {what} is {form}.")
    return streams.table(
        what,
        **vars(roles),
        on_error=args.on_error,
        rows=rows,
        numeric_target=_numeric_target(args),
        format=form,
        delimiter=args.delimiter,
    )


def _refuse_roles(what: str, kind: str, roles: Roles) -> None:
    for flag in (word for word in roles.flags() if word.startswith("--") and word != "--target"):
        raise UsageError(f"{flag} is only for tables, but {what} is {kind}.")


def _numeric_target(args: Namespace) -> bool | None:
    """Whether labels are numbers, if the flags tell."""
    if getattr(args, "regression", False):
        return True
    classes = classes_of(getattr(args, "classes", None))
    return None if classes is None else not isinstance(classes[0], str)


def bad_rows(stream: Stream) -> BadRows:
    """The rows of a stream that could not be read."""
    found = getattr(stream, "bad_rows", None)
    return found if isinstance(found, BadRows) else BadRows("stop")


def say_bad_rows(stream: Stream) -> None:
    """Report how many rows could not be read."""
    bad = bad_rows(stream)
    if bad.count:
        rows = (
            "1 row that cannot be read was"
            if bad.count == 1
            else f"{bad.count} rows that cannot be read were"
        )
        say(f"{rows} skipped." if bad.path is None else f"{rows} skipped: see {bad.path}.")


def open_labelled(what: str, args: Namespace, **more: Any) -> Stream:
    """As `open_stream`, but a table must have a column of labels."""
    stream = open_stream(what, args, **more)
    if isinstance(stream, TableStream) and stream.target is None:
        raise UsageError(
            f"{what}: --target COLUMN, the column of labels, must be given for a table; the columns are "
            f"{listed(stream.features)}."
        )
    return stream


def _beside(what: str) -> list[str]:
    """The paths of the files in the folder of a path."""
    folder = os.path.dirname(what)
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder or ".")]
    except OSError:
        return []


def is_pipe(what: str) -> bool:
    """Whether it can be read only once: ``-``, or a path such as ``<(...)`` that is not a regular file."""
    return what == "-" or (os.path.exists(what) and not os.path.isfile(what) and not os.path.isdir(what))


def is_data_set(what: str) -> bool:
    """Whether it is the name of a data set, and there is no file of that name."""
    return what != "-" and not os.path.exists(what) and exists(what)


def exists(name: str) -> bool:
    try:
        datasets.describe(name)
    except streams.DataError:
        return False
    return True


def format_of(what: str, args: Namespace) -> str:
    """The format given by ``--format``, or else by the file name; svmlight by default."""
    if is_address(what):
        return "messages"
    return str(args.format or format_of_name(what, "svmlight"))


class Parts(Stream):
    """Several streams, concatenated."""

    def __init__(self, parts: list[Stream], n_features: int) -> None:
        self.parts, self.rows, self.columns = parts, parts[0].rows, n_features

    @property
    def n_features(self) -> int:
        return self.columns

    def __iter__(self) -> Iterator[Block]:
        start = 0
        for part in self.parts:
            for block in part:
                at = max(self.first - start, 0)
                if at < len(block):
                    yield replace(block, start=start).part(at)
                start += len(block)
        if start < self.first:
            raise too_few_rows("the data set", self.first, start)


def _data_set(name: str, rows: int, features: int | None) -> Stream:
    if name == "synthetic":
        return streams.from_arrays(*datasets.load(name), rows=rows)
    paths, columns = datasets.files(name), datasets.describe(name).columns or features
    if columns is None:
        columns = max(streams.from_svmlight(path).n_features for path in paths)
    return Parts([streams.from_svmlight(path, columns, rows=rows) for path in paths], columns)


@dataclass(frozen=True)
class Survey:
    """The number of rows and columns of a file."""

    rows: int
    features: int


def survey(what: str, args: Namespace) -> Survey | None:
    """Read a file once to find its number of columns.

    Returns None if it need not be found: it is given by ``--features``, the header of a table, or the
    catalogue.
    """
    if is_pipe(what) or not _columns_unknown(what, args):
        return None
    stream = open_labelled(what, args, features=WIDEST)
    if (args.verbose or sys.stderr.isatty()) and what != "synthetic":
        say(f"{what} is read twice, first to find the number of columns (--features).")
    rows, features = 0, 1
    for block in stream:
        rows += len(block)
        if block.X.nnz:
            features = max(features, int(block.X.indices.max()) + 1)
    return Survey(rows, features)


def _columns_unknown(what: str, args: Namespace) -> bool:
    """Whether the number of columns must be found by reading the rows."""
    if is_data_set(what):
        return what != "synthetic" and datasets.describe(what).columns is None
    return format_of(what, args) == "svmlight" and args.features is None


def first_rows(what: str, args: Namespace, rows: int) -> tuple[Block, Stream]:
    """The first rows after the transforms, and their stream. Columns of svmlight are counted in these."""
    limit = WIDEST if _columns_unknown(what, args) and not args.dense else None
    blocks, read = list[Block](), 0
    source = open_labelled(what, args, features=limit)
    for block in source.through(*transforms(args)):
        blocks.append(block)
        read += len(block)
        if read >= rows:
            break
    if not blocks:
        raise streams.DataError(f"{what}: has no rows.")
    first = joined(blocks).part(0, rows)
    if limit is None:
        return first, source
    columns = int(first.X.indices.max()) + 1 if first.X.nnz else 1
    parts = (first.X.data, first.X.indices, first.X.indptr)
    return replace(first, X=sparse.csr_matrix(parts, shape=(first.X.shape[0], columns))), source


def load(what: str, args: Namespace) -> tuple[Block, Stream]:
    """All rows after the transforms, and their stream."""
    source = open_labelled(what, args, rows=50_000)
    blocks = list(source.through(*transforms(args)))
    if not blocks:
        raise streams.DataError(f"{what}: has no rows.")
    return joined(blocks), source
