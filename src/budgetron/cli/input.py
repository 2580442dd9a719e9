"""Rows from what the command line names (a file, a data set, a pipe), and what they pass through."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from budgetron import datasets, streams
from budgetron.cli.arguments import Parser, whole
from budgetron.cli.process import Usage, say
from budgetron.evaluate.session import stacked
from budgetron.streams import Block, Stream, Transform
from budgetron.streams.tables import TableStream

ROWS = 1000
MOST_LABELS = 1000
WIDEST = 2**31 - 1
FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet"}
FORMS = ("svmlight", *dict.fromkeys(FORMATS.values()))
PACKED = (".gz", ".bz2", ".xz", ".zst")


def add_arguments(parser: Parser) -> Any:
    """How the rows are to be read."""
    group = parser.add_argument_group("rows")
    group.add_argument(
        "--features",
        type=whole(1),
        metavar="N",
        help="the number of columns of svmlight text; needed for a pipe",
    )
    group.add_argument(
        "--format", metavar="F", choices=FORMS, help=f"{', '.join(FORMS)}, if the name does not tell"
    )
    group.add_argument("--target", metavar="COLUMN", help="the column of labels, in tables")
    group.add_argument("--zero-based", action="store_true", help="svmlight indices count from 0")
    return group


def add_transforms(group: Any) -> None:
    """What may be done to the rows."""
    group.add_argument(
        "--shuffle", type=whole(1), metavar="SIZE", help="shuffle within a buffer of SIZE rows"
    )
    group.add_argument(
        "--dense", action="store_true", help="make sparse rows dense, so that --standardise centres them"
    )
    scaling = group.add_mutually_exclusive_group()
    scaling.add_argument(
        "--standardise",
        action="store_true",
        help="scale each row to mean 0, variance 1 by the rows before it",
    )
    scaling.add_argument(
        "--min-max", action="store_true", help="scale each row to 0 .. 1 by the rows before it"
    )


def transforms(args: Namespace) -> list[Transform]:
    """The transforms that the flags ask for, in their order."""
    chosen: list[tuple[Any, Transform | None]] = [
        (args.shuffle, args.shuffle and streams.ShuffleBuffer(args.shuffle, args.seed)),
        (args.dense, streams.Dense()),
        (args.standardise, streams.Standardise()),
        (args.min_max, streams.MinMax()),
    ]
    return [transform for wanted, transform in chosen if wanted and transform is not None]


def opened(
    what: str,
    args: Namespace,
    *,
    rows: int = ROWS,
    features: int | None = None,
    names: list[str] | None = None,
) -> Stream:
    """The stream of what was named; ``features`` takes precedence over the arguments.

    Of a table ``names`` are the columns, in this order; all but the target if not given.
    """
    if named(what):
        return _data_set(what, rows, features)
    if what != "-" and not os.path.exists(what):
        raise FileNotFoundError(
            f"{what}: there is no such file, and no data set of that name (see budgetron data list)."
        )
    if what == "-" and sys.stdin is None:
        raise Usage("- is a pipe, and the standard input is closed.")
    form = form_asked(what, args)
    if form == "svmlight":
        columns = args.features if features is None else features
        if columns is None and piped(what):
            raise Usage(
                "--features must be given for a pipe of svmlight text: how many columns there will be."
            )
        return streams.from_svmlight(what, columns, rows=rows, zero_based=args.zero_based)
    for flag in ("features", "zero_based"):
        if getattr(args, flag):
            raise Usage(f"--{flag.replace('_', '-')} is for svmlight text, and {what} is {form}.")
    if form == "parquet":
        return streams.from_parquet(what, args.target, names, rows=rows)
    return streams.from_csv(what, args.target, names, rows=rows, delimiter="\t" if form == "tsv" else ",")


def labelled(what: str, args: Namespace, **more: Any) -> Stream:
    """As `opened`, but a table must have a column of labels."""
    stream = opened(what, args, **more)
    if isinstance(stream, TableStream) and stream.target is None:
        raise Usage(f"{what} has rows without labels: name the column of labels by --target.")
    return stream


def names_of(stream: Stream) -> list[str] | None:
    """The names of the columns, if they have some."""
    return list(stream.features) if isinstance(stream, TableStream) else None


def piped(what: str) -> bool:
    """Whether it can be read only once: ``-``, or a path that is no regular file, such as ``<(...)``."""
    return what == "-" or (os.path.exists(what) and not os.path.isfile(what) and not os.path.isdir(what))


def named(what: str) -> bool:
    """Whether it is a data set's name; a file of that name takes precedence."""
    return what != "-" and not os.path.exists(what) and known(what)


def known(name: str) -> bool:
    """Whether there is a data set of that name."""
    try:
        datasets.describe(name)
    except streams.DataError:
        return False
    return True


def form_asked(what: str, args: Namespace) -> str:
    """The format that was given, or that of the name; svmlight if neither tells."""
    path = PurePath(what)
    path = path.with_suffix("") if path.suffix in PACKED else path
    return str(args.format or FORMATS.get(path.suffix, "svmlight"))


class Parts(Stream):
    """Several streams, one after the other."""

    def __init__(self, parts: list[Stream], n_features: int) -> None:
        self.parts, self.rows, self.columns = parts, parts[0].rows, n_features

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.columns

    def __iter__(self) -> Iterator[Block]:
        start = 0
        for part in self.parts:
            for block in part:
                at = max(self.first - start, 0)
                if at < len(block):
                    yield Block(block.X[at:], block.y[at:], start + at)
                start += len(block)
        if start < self.first:
            raise streams.DataError(f"{self.first} rows cannot be skipped, there are only {start}.")


def _data_set(name: str, rows: int, features: int | None) -> Stream:
    if name == "synthetic":
        return streams.from_arrays(*datasets.load(name), rows=rows)
    paths, columns = datasets.files(name), datasets.describe(name).columns or features
    if columns is None:
        columns = max(streams.from_svmlight(path).n_features for path in paths)
    return Parts([streams.from_svmlight(path, columns, rows=rows) for path in paths], columns)


@dataclass(frozen=True)
class Survey:
    """What a file was found to hold: rows, columns, and the different labels, sorted."""

    rows: int
    features: int
    labels: list[Any]


def surveyed(what: str, args: Namespace, *, labels: bool) -> Survey | None:
    """One pass over a file for what a learner must know before the first row; None if it is known already.

    The number of columns is known of a table and of the data sets in the catalogue, else by ``--features``.
    The labels (if asked for) are never known.
    """
    wide = WIDEST if _width_is_open(what, args) else None
    if piped(what) or not (wide or labels):
        return None
    stream = labelled(what, args, features=wide)
    if (args.verbose or sys.stderr.isatty()) and what != "synthetic":
        sought = ["the number of columns (--features)"] * bool(wide) + ["the labels (--classes)"] * labels
        say(f"{what} is read twice: the first time to find {' and '.join(sought)}.")
    rows, features, seen = 0, 1, set()
    for block in stream:
        rows += len(block)
        if wide and block.X.nnz:
            features = max(features, int(block.X.indices.max()) + 1)
        if labels:
            seen |= set(np.unique(block.y).tolist())
            if len(seen) > MOST_LABELS:
                raise Usage(
                    f"{what} has more than {MOST_LABELS} different labels: give --regression if they "
                    "are targets, or name them by --classes."
                )
    return Survey(rows, features if wide else stream.n_features, sorted(seen))


def _width_is_open(what: str, args: Namespace) -> bool:
    """Whether only the rows themselves tell how many columns there are."""
    if named(what):
        return what != "synthetic" and datasets.describe(what).columns is None
    return form_asked(what, args) == "svmlight" and args.features is None


def loaded(what: str, args: Namespace) -> tuple[Any, Any]:
    """All rows and labels, in memory."""
    blocks = list(labelled(what, args, rows=50_000))
    if not blocks:
        raise streams.DataError(f"{what}: there are no rows.")
    return stacked([(block.X, block.y) for block in blocks])
