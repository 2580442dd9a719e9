"""Open the rows that the command line names (a file, a data set or a pipe), and their transforms."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from glob import escape, glob

from scipy import sparse

from budgetron import datasets, streams
from budgetron._util.text import nearest
from budgetron.cli.arguments import names
from budgetron.cli.process import UsageError, say
from budgetron.learners.automatic import Auto
from budgetron.learners.learner import Learner
from budgetron.learners.scaled import Ranged, Standardised
from budgetron.streams import Block, Stream, Transform
from budgetron.streams.bad_rows import BadRows
from budgetron.streams.brokers.address import is_address
from budgetron.streams.json_lines import JsonLinesStream
from budgetron.streams.stream import joined, too_few_rows
from budgetron.streams.tables import TableStream, listed
from budgetron.streams.tables import format_of as format_of_name

ROWS = 1000
WIDEST = 2**31 - 1


def transforms(args: Namespace) -> list[Transform]:
    """The transforms given by the flags, in the order in which they apply."""
    shuffle = [streams.ShuffleBuffer(args.shuffle, args.seed)] if args.shuffle else []
    return [*shuffle, *([streams.Dense()] if args.dense else [])]


def scaling(args: Namespace, source: "NamedRows") -> str | None:
    """How columns are scaled. Those of a table have units of their own, and are standardised by default."""
    if args.min_max:
        return "min-max"
    return "standardise" if args.standardise or (source.is_table and not args.no_scaling) else None


def scaled(learner: Learner, how: str | None, args: Namespace) -> Learner:
    """The learner with the scaling inside it, so that predictions use it too. ``auto`` scales by itself."""
    if how is None or (isinstance(learner, Auto) and not args.standardise):
        return learner
    return Standardised(learner) if how == "standardise" else Ranged(learner)


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
        given = {name: value for name, value in vars(self).items() if value != getattr(Roles, name)}
        texts = {
            name: value if isinstance(value, str) else ",".join(value) for name, value in given.items()
        }
        return [word for name, text in texts.items() for word in (f"--{name}", text)]


@dataclass(frozen=True)
class NamedRows:
    """The rows that a command names, and the flags for reading them."""

    file: str
    form: str
    roles: Roles
    zero_based: bool = False
    features: int | None = None
    delimiter: str | None = None
    on_error: str = "stop"
    numeric_target: bool | None = None  # whether labels are numbers, if the flags tell

    @classmethod
    def of(cls, file: str, args: Namespace) -> "NamedRows":
        form = "messages" if is_address(file) else str(args.format or format_of_name(file, "svmlight"))
        flags = {name: getattr(args, name) for name in ("zero_based", "features", "delimiter", "on_error")}
        classes, numeric = getattr(args, "classes", None), getattr(args, "regression", False) or None
        numeric = numeric if classes is None else not isinstance(classes[0], str)
        return cls(file, form, Roles.of(args), **flags, numeric_target=numeric)

    @property
    def data_set(self) -> datasets.DataSet | None:
        """The data set of that name, if there is no file of that name."""
        return None if self.file == "-" or os.path.exists(self.file) else data_set(self.file)

    @property
    def is_regression(self) -> bool:
        """Whether it is a data set of targets."""
        return self.data_set is not None and self.data_set.task == "regression"

    @property
    def is_table(self) -> bool:
        """Whether its columns have names."""
        return self.form != "svmlight" and self.data_set is None

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read only once: ``-``, or a path such as ``<(...)`` that is no regular file."""
        what = self.file
        return what == "-" or (os.path.exists(what) and not (os.path.isfile(what) or os.path.isdir(what)))

    def open(self, rows: int = ROWS, features: int | None = None) -> Stream:
        """The stream of a file, data set or pipe; ``features`` overrides the flag."""
        if self.data_set is not None:
            self._refuse_roles("a data set")
            return _data_set(self.file, rows, features)
        self._refuse_absent()
        if self.form == "svmlight":
            return self._svmlight(rows, self.features if features is None else features)
        for flag in ("features", "zero_based"):
            if getattr(self, flag):
                name = flag.replace("_", "-")
                raise UsageError(f"--{name} is only for svmlight text, but {self.file} is {self.form}.")
        return streams.table(
            self.file,
            **vars(self.roles),
            on_error=self.on_error,
            rows=rows,
            numeric_target=self.numeric_target,
            format=self.form,
            delimiter=self.delimiter,
        )

    def open_labelled(self, rows: int = ROWS, features: int | None = None) -> Stream:
        """As `open`, but a table must have a column of labels."""
        stream = self.open(rows, features)
        if isinstance(stream, TableStream | JsonLinesStream) and stream.target is None:
            columns = f"; the columns are {listed(stream.features)}" if stream.features else ""
            raise UsageError(
                f"{self.file}: --target COLUMN, the column of labels, must be given for a table{columns}."
            )
        return stream

    def _refuse_absent(self) -> None:
        what = self.file
        if is_address(what):
            raise UsageError(
                "messages of a broker are read by run and serve only; save them to a file first."
            )
        if what != "-" and not os.path.exists(what):
            beside = glob(os.path.join(escape(os.path.dirname(what)), "*"), include_hidden=True)
            near = nearest(what, [*datasets.names(), *beside], otherwise="see budgetron data list.")
            raise FileNotFoundError(f"{what}: there is no file and no data set of that name; {near}")
        if what == "-" and sys.stdin is None:
            raise UsageError("- reads the standard input, which is closed.")

    def _svmlight(self, rows: int, columns: int | None) -> Stream:
        self._refuse_roles("svmlight text")
        if self.delimiter:
            raise UsageError(f"--delimiter is only for CSV files, but {self.file} is svmlight text.")
        if columns is None and self.is_pipe:
            raise UsageError("a pipe of svmlight text needs --features N, the number of columns.")
        return streams.from_svmlight(
            self.file, columns, rows=rows, zero_based=self.zero_based, on_error=self.on_error
        )

    def _refuse_roles(self, kind: str) -> None:
        for flag in self.roles.flags()[::2]:
            if flag != "--target":
                raise UsageError(f"{flag} is only for tables, but {self.file} is {kind}.")

    @property
    def columns_unknown(self) -> bool:
        """Whether the number of columns must be found by reading the rows."""
        if self.data_set is not None:
            return self.data_set.columns is None
        return self.form == "svmlight" and self.features is None

    def survey(self, *, verbose: bool) -> tuple[int, int] | tuple[None, None]:
        """Read a file once to find its numbers of rows and columns.

        They are None if that of columns need not be found: it is given by ``--features``, the header of a
        table, or the catalogue.
        """
        if self.is_pipe or not self.columns_unknown:
            return None, None
        stream = self.open_labelled(features=WIDEST)
        if verbose or sys.stderr.isatty():
            say(f"{self.file} is read twice, first to find the number of columns (--features).")
        rows, features = 0, 1
        for block in stream:
            rows += len(block)
            if block.X.nnz:
                features = max(features, int(block.X.indices.max()) + 1)
        return rows, features

    def first_rows(self, steps: list[Transform], rows: int) -> tuple[Block, Stream]:
        """The first rows after the transforms, and their stream. Columns of svmlight are those of them."""
        wide = self.columns_unknown and not any(isinstance(step, streams.Dense) for step in steps)
        stream = self.open_labelled(features=WIDEST if wide else None)
        blocks, read = list[Block](), 0
        for block in stream.through(*steps):
            blocks.append(block)
            read += len(block)
            if read >= rows:
                break
        first = self._joined(blocks).part(0, rows)
        if not wide:
            return first, stream
        columns = int(first.X.indices.max()) + 1 if first.X.nnz else 1
        parts = (first.X.data, first.X.indices, first.X.indptr)
        return replace(first, X=sparse.csr_matrix(parts, shape=(first.X.shape[0], columns))), stream

    def load(self, steps: list[Transform]) -> tuple[Block, Stream]:
        """All rows after the transforms, and their stream."""
        stream = self.open_labelled(rows=50_000)
        return self._joined(list(stream.through(*steps))), stream

    def _joined(self, blocks: list[Block]) -> Block:
        if not blocks:
            raise streams.DataError(f"{self.file}: has no rows.")
        block = joined(blocks)
        labelled = ~block.unlabelled
        if labelled.all():
            return block
        if not labelled.any():
            raise streams.DataError(f"{self.file}: has no row with a label.")
        say(f"{self.file}: rows left out because they have no label: {int((~labelled).sum())}.")
        return block.chosen(labelled, block.start)


def bad_rows(stream: Stream) -> BadRows:
    """The rows of a stream that could not be read."""
    bad: BadRows = getattr(stream, "bad_rows", BadRows())
    return bad


def say_bad_rows(stream: Stream) -> None:
    """Report how many rows could not be read."""
    bad = bad_rows(stream)
    rows, were = ("1 row", "was") if bad.count == 1 else (f"{bad.count} rows", "were")
    where = "" if bad.path is None else f": see {bad.path}"
    if bad.count:
        say(f"{rows} that cannot be read {were} skipped{where}.")


def say_unlabelled(rows: int) -> None:
    """Report how many rows had no label."""
    if rows:
        have = "1 row has" if rows == 1 else f"{rows} rows have"
        say(f"{have} no label: predicted, but neither learned nor counted.")


def data_set(name: str) -> datasets.DataSet | None:
    """The data set of that name, if there is one."""
    try:
        return datasets.describe(name)
    except streams.DataError:
        return None


class Concatenated(Stream):
    """Several streams, concatenated."""

    n_features = 0

    def __init__(self, parts: list[Stream], n_features: int) -> None:
        self.parts, self.rows, self.n_features = parts, parts[0].rows, n_features

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
    if not datasets.describe(name).is_read:
        return streams.from_arrays(*datasets.load(name), rows=rows)
    paths, columns = datasets.files(name), datasets.describe(name).columns or features
    if columns is None:
        columns = max(streams.from_svmlight(path).n_features for path in paths)
    return Concatenated([streams.from_svmlight(path, columns, rows=rows) for path in paths], columns)
