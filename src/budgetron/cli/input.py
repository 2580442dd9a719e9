"""Open the rows that the command line names (a file, a data set or a pipe), and their transforms."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
from scipy import sparse

from budgetron import datasets, streams
from budgetron._text import nearest
from budgetron.cli.arguments import Parser, whole
from budgetron.cli.process import UsageError, say
from budgetron.learners import Learner
from budgetron.scaled import Ranged, Standardised
from budgetron.streams import Block, Stream, Transform
from budgetron.streams._stream import joined, too_few_rows
from budgetron.streams.tables import TableStream, listed

ROWS = 1000
MOST_LABELS = 1000
WIDEST = 2**31 - 1
FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet"}
FORMS = ("svmlight", *dict.fromkeys(FORMATS.values()))
PACKED = (".gz", ".bz2", ".xz", ".zst")


def add_arguments(parser: Parser) -> Any:
    """Add the flags for reading rows."""
    group = parser.add_argument_group("rows")
    add = group.add_argument
    add(
        "--features",
        type=whole(1),
        metavar="N",
        help="the number of columns of svmlight text; required for a pipe",
    )
    add("--format", metavar="F", choices=FORMS, help=f"{', '.join(FORMS)}; by default from the file name")
    add("--target", metavar="COLUMN", help="the column of labels in a CSV or Parquet file")
    add("--zero-based", action="store_true", help="svmlight indices start at 0, not 1")
    return group


def add_transforms(group: Any) -> None:
    """Add the flags for transforms."""
    add = group.add_argument
    add("--shuffle", type=whole(1), metavar="SIZE", help="shuffle within a buffer of SIZE rows")
    add(
        "--dense",
        action="store_true",
        help="convert sparse rows to dense rows, so that --standardise centres them",
    )
    add = group.add_mutually_exclusive_group().add_argument
    add(
        "--standardise",
        "--standardize",
        action="store_true",
        help="scale columns, and targets, to mean 0 and variance 1, as measured on the rows before",
    )
    add("--min-max", action="store_true", help="scale columns to 0 .. 1, as measured on the rows before")


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


def open_stream(
    what: str,
    args: Namespace,
    *,
    rows: int = ROWS,
    features: int | None = None,
    names: list[str] | None = None,
) -> Stream:
    """The stream of a file, data set or pipe. ``features`` overrides ``--features``.

    ``names`` are the columns to read from a table, in this order; by default all but the target.
    """
    if is_data_set(what):
        return _data_set(what, rows, features)
    if what != "-" and not os.path.exists(what):
        there = [*datasets.names(), *_beside(what)]
        near = nearest(what, there, otherwise="see budgetron data list.")
        raise FileNotFoundError(f"{what}: there is no file and no data set of that name; {near}")
    if what == "-" and sys.stdin is None:
        raise UsageError("- reads the standard input, which is closed.")
    form = format_of(what, args)
    if form == "svmlight":
        columns = args.features if features is None else features
        if columns is None and is_pipe(what):
            raise UsageError("a pipe of svmlight text needs --features N, the number of columns.")
        return streams.from_svmlight(what, columns, rows=rows, zero_based=args.zero_based)
    for flag in ("features", "zero_based"):
        if getattr(args, flag):
            raise UsageError(f"--{flag.replace('_', '-')} is only for svmlight text, but {what} is {form}.")
    if form == "parquet":
        return streams.from_parquet(what, args.target, names, rows=rows)
    return streams.from_csv(what, args.target, names, rows=rows, delimiter="\t" if form == "tsv" else ",")


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


def names_of(stream: Stream) -> list[str] | None:
    """The names of the columns; None if they have no names."""
    return list(stream.features) if isinstance(stream, TableStream) else None


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
    path = PurePath(what)
    path = path.with_suffix("") if path.suffix in PACKED else path
    return str(args.format or FORMATS.get(path.suffix, "svmlight"))


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
                    yield Block(block.X, block.y, start).part(at)
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
    """The number of rows and columns of a file, and its different labels, sorted."""

    rows: int
    features: int
    labels: list[Any]


def survey(what: str, args: Namespace, *, labels: bool) -> Survey | None:
    """Read a file once to find its number of columns and, if ``labels``, its labels.

    Returns None if nothing needs to be found: ``labels`` is false, and the number of columns is given by
    ``--features``, the header of a table, or the catalogue.
    """
    columns_limit = WIDEST if _columns_unknown(what, args) else None
    if is_pipe(what) or not (columns_limit or labels):
        return None
    stream = open_labelled(what, args, features=columns_limit)
    if (args.verbose or sys.stderr.isatty()) and what != "synthetic":
        sought = ["the number of columns (--features)"] if columns_limit else []
        sought += ["the labels (--classes)"] if labels else []
        say(f"{what} is read twice, first to find {' and '.join(sought)}.")
    rows, features, seen = 0, 1, set()
    for block in stream:
        rows += len(block)
        if columns_limit and block.X.nnz:
            features = max(features, int(block.X.indices.max()) + 1)
        if labels:
            seen |= set(np.unique(block.y).tolist())
            if len(seen) > MOST_LABELS:
                raise UsageError(
                    f"{what} has more than {MOST_LABELS} different labels: give --regression if they "
                    "are targets, or list them with --classes."
                )
    return Survey(rows, features if columns_limit else stream.n_features, sorted(seen))


def _columns_unknown(what: str, args: Namespace) -> bool:
    """Whether the number of columns must be found by reading the rows."""
    if is_data_set(what):
        return what != "synthetic" and datasets.describe(what).columns is None
    return format_of(what, args) == "svmlight" and args.features is None


def first_rows(what: str, args: Namespace, rows: int) -> tuple[Any, Any]:
    """The first rows after the transforms, and their labels. Columns of svmlight are counted in these."""
    limit = WIDEST if _columns_unknown(what, args) and not args.dense else None
    blocks, read = list[Block](), 0
    for block in open_labelled(what, args, features=limit).through(*transforms(args)):
        blocks.append(block)
        read += len(block)
        if read >= rows:
            break
    if not blocks:
        raise streams.DataError(f"{what}: has no rows.")
    first = joined(blocks).part(0, rows)
    if limit is None:
        return first.X, first.y
    columns = int(first.X.indices.max()) + 1 if first.X.nnz else 1
    parts = (first.X.data, first.X.indices, first.X.indptr)
    return sparse.csr_matrix(parts, shape=(first.X.shape[0], columns)), first.y


def load(what: str, args: Namespace) -> tuple[Any, Any]:
    blocks = list(open_labelled(what, args, rows=50_000))
    if not blocks:
        raise streams.DataError(f"{what}: has no rows.")
    rows = joined(blocks)
    return rows.X, rows.y
