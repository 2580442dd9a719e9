"""Rows from what the command line names: a file, a data set or a pipe."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
from scipy import sparse

from budgetron import streams
from budgetron.cli._exits import Usage
from budgetron.cli._parser import Parser, whole
from budgetron.streams import Stream

ROWS = 1000
MOST_LABELS = 1000
WIDEST = 2**31 - 1
FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet"}
PACKED = (".gz", ".bz2", ".xz", ".zst")


def add_arguments(parser: Parser) -> Any:
    """How the rows are to be read."""
    group = parser.add_argument_group("rows")
    group.add_argument(
        "--features", type=whole(1), metavar="N", help="the number of columns; needed for a pipe of svmlight text"
    )
    group.add_argument("--format", choices=["svmlight", "csv", "tsv", "parquet"], help="if the name does not tell")
    group.add_argument("--target", metavar="COLUMN", help="the column of labels, in tables")
    group.add_argument("--zero-based", action="store_true", help="svmlight indices count from 0")
    return group


def opened(what: str, args: Namespace, *, rows: int = ROWS, features: int | None = None) -> Stream:
    """The stream; ``features`` goes before what the arguments say."""
    path, form = located(what), args.format or form_of(what)
    features = args.features if features is None else features
    if form == "svmlight":
        if features is None and path == "-":
            raise Usage("--features must be given for a pipe of svmlight text: how many columns there will be.")
        return streams.from_svmlight(path, features, rows=rows, zero_based=args.zero_based)
    for flag in ("features", "zero_based"):
        if getattr(args, flag):
            raise Usage(f"--{flag.replace('_', '-')} is for svmlight text, and {what} is {form}.")
    if form == "parquet":
        return streams.from_parquet(path, args.target, rows=rows)
    return streams.from_csv(path, args.target, rows=rows, delimiter="\t" if form == "tsv" else ",")


def located(what: str) -> str:
    """The path of a file, or of a data set known by its name; ``-`` as it is."""
    if what == "-" or os.path.exists(what):
        return what
    raise FileNotFoundError(f"{what}: there is no such file, nor a data set of that name.")


def form_of(what: str) -> str:
    """What the name says of the format; svmlight if nothing."""
    path = PurePath(what)
    path = path.with_suffix("") if path.suffix in PACKED else path
    return FORMATS.get(path.suffix, "svmlight")


@dataclass(frozen=True)
class Survey:
    """What a file was found to hold: rows, columns, and the different labels, sorted."""

    rows: int
    features: int
    labels: Any


def surveyed(what: str, args: Namespace, *, labels: bool) -> Survey:
    """One pass over a file, since a learner must know the columns and the labels before the first row."""
    svmlight = (args.format or form_of(what)) == "svmlight"
    wide = WIDEST if svmlight and args.features is None else None
    stream = opened(what, args, features=wide)
    rows, features, seen = 0, 1, set()
    for block in stream:
        rows += len(block)
        if sparse.issparse(block.X) and block.X.nnz:
            features = max(features, int(block.X.indices.max()) + 1)
        if labels:
            seen |= set(np.unique(block.y).tolist())
            if len(seen) > MOST_LABELS:
                raise Usage(
                    f"{what} has more than {MOST_LABELS} different labels: give --regression if they are targets, "
                    "or name them by --classes."
                )
    return Survey(rows, features if wide else stream.n_features, sorted(seen))
