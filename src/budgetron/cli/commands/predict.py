"""``budgetron predict``: predict rows with a saved model."""

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import sparse

from budgetron import OnlineRegressor
from budgetron.cli import checkpoint, input, output
from budgetron.cli.arguments import BLOCK, COSTS, FILE, JOBS, MODEL, Parser, add, add_rows, costs
from budgetron.cli.input import NamedRows, Roles
from budgetron.cli.process import UsageError, say
from budgetron.cli.row_checks import refuse_unprintable
from budgetron.model.files import model_files
from budgetron.records.encoding import Encoding
from budgetron.records.table import Column, Table
from budgetron.streams import Block, DataError, Stream
from budgetron.streams.json_lines import JsonLinesStream
from budgetron.streams.tables import TableStream, chosen, listed

EXAMPLES = """\
  budgetron predict model test.svm.xz > predictions
  budgetron predict model new.csv --target label --proba
  budgetron predict model new.csv --explain | head -1
  tail -f log.svm | budgetron predict model - --block 1
"""


SHOWN = {
    "--scores": "print scores f(x) instead of labels; one per class for more than two classes",
    "--cover": "print for each row how many labels its set has, which may be 0, and these; or the ends of "
    "its interval; the model must have been learned with --coverage",
    "--proba": "print class probabilities, where the learner has them, as auto",
    "--explain": "print a line of JSON for each row: its score, and what each column adds to it",
    "--novelty": "print after each label how unlike the rows learned the row is, from 0 to 1",
}


def parser() -> Parser:
    command = Parser(
        "predict",
        "MODEL FILE [FLAGS]",
        "Print the predictions of a saved model, one line per row.",
        EXAMPLES,
    )
    add(command, MODEL | FILE)
    add(command.add_mutually_exclusive_group(), SHOWN)
    add(add_rows(command), BLOCK | JOBS | COSTS, block=1000, jobs=1)
    return command


def main(argv: list[str]) -> None:
    args = parser().parse_args(argv)
    file = model_files.read(args.model)
    model = file.estimator()
    model.n_jobs = args.jobs
    known = None if isinstance(model, OnlineRegressor) else model.classes_.tolist()
    if (given := costs(args, known)) is not None:
        if isinstance(model, OnlineRegressor) or not model.learner_.probabilistic:
            raise UsageError(
                f"--cost and --threshold need probabilities, which {args.model} does not have."
            )
        model.costs = given
        for word in dict.fromkeys(map(output.label, given)):
            if word not in map(output.label, known or ()):
                say(f"{args.model} has not learned the label {word}, for which a cost is given.")
    columns = model.n_features_in_
    if args.features not in (None, columns):
        raise UsageError(f"--features {args.features}: expected {columns}, as {args.model} has.")
    if args.cover and model.coverage is None:
        raise UsageError(f"--cover: {args.model} was not learned with --coverage.")
    if not _are_numbers(model, args):
        refuse_unprintable(args.model, getattr(model, "classes_", ()))
    learned = checkpoint.roles_of(file)
    source = _open(NamedRows.of(args.file, args), args.block, learned, columns)
    rows_of = _matcher(args, model, source)
    texts_of = _texts(model, args)
    for block in source:
        try:
            texts = texts_of(rows_of(block))
        except ValueError as error:
            where = f"{args.file}, rows {block.start} to {block.stop - 1} (the first is 0)"
            raise DataError(f"{where}: {error}") from error
        sys.stdout.write(output.lines(texts, block.ids))
        sys.stdout.flush()
    input.say_bad_rows(source)


def _open(given: NamedRows, block: int, learned: Roles, columns: int) -> Stream:
    """The rows to predict. Columns are for what they were in the run, unless the flags say otherwise."""
    if given.form == "svmlight" or given.data_set is not None:
        return given.open(block, columns)
    if given.form == "jsonl":
        return replace(given, roles=_for_new_rows(given.roles, learned)).open(block)
    source = replace(given, roles=Roles()).open(block)
    assert isinstance(source, TableStream)
    asked, names = given.roles, source.names
    time = asked.time or (learned.time if learned.time in names else None)
    row_id = asked.id or (learned.id if learned.id in names else None)
    only = asked.only
    if only is None and learned.only is not None:
        only = tuple(name for name in learned.only if name in names)
    unused = [name for name in (*learned.drop, learned.target, learned.weight) if name in names]
    used = (None, time, row_id, *(only or ()))
    drop = tuple(name for name in (*asked.drop, asked.target, *unused) if name not in used)
    source.columns = chosen(source.source.name, names, drop=drop, only=only, time=time, id=row_id)
    return source


def _for_new_rows(asked: Roles, learned: Roles) -> Roles:
    """What the members of JSON lines are for: as the flags say, else as in the run; labels are ignored."""
    drop = [name for name in (asked.target, learned.target, learned.weight) if name is not None]
    time, row_id = asked.time or learned.time, asked.id or learned.id
    only = learned.only if asked.only is None else asked.only
    drop = [*asked.drop, *(name for name in (*drop, *learned.drop) if name not in (time, row_id))]
    return Roles(drop=tuple(drop), only=only, time=time, id=row_id)


def _matcher(args: Namespace, model: Any, source: Stream) -> Callable[[Block], Any]:
    """A function that gives the rows of a block as the model knows them: by name if both have names."""
    columns, encoding = model.n_features_in_, model.encoding_
    if isinstance(source, JsonLinesStream):
        if encoding is not None:
            return lambda block: block.X
        names = list(map(str, getattr(model, "feature_names_in_", ())))
        if not names:
            raise DataError(f"{args.file}: has named values, but {args.model} knows columns by position.")
        return partial(_matrix, names=names)
    if encoding is not None and isinstance(source, TableStream):
        _say_missing(args, encoding, source)
        return lambda block: block.X
    if encoding is not None:
        names = encoding.columns
        if set(names) != set(encoding.names):
            raise DataError(
                f"{args.file}: has no column names, which {args.model} needs for its texts and dates."
            )
        say(f"only {args.model} has column names: columns are matched by position.")
        return lambda block: _table(block, names)
    rows_of: Callable[[Block], Any] = attrgetter("X")
    count = source.n_features
    if isinstance(source, TableStream):
        names = list(map(str, getattr(model, "feature_names_in_", source.features)))
        if not hasattr(model, "feature_names_in_"):
            say(f"only {args.file} has column names: columns are matched by position.")
        for name in names:
            if name not in source.features:
                raise DataError(
                    f"{args.file}: there is no column {name!r} among: {listed(source.features)}."
                )
        count, rows_of = len(names), partial(_matrix, names=names)
    if count != columns:
        raise DataError(f"{args.file}: has {count} columns of features, expected {columns}.")
    return rows_of


def _say_missing(args: Namespace, encoding: Encoding, source: TableStream) -> None:
    """Say which columns of the model the file does not have."""
    there = (*source.features, source.columns.time)
    missing = [name for name in encoding.names if name not in there]
    if missing:
        which = f"{'column' if len(missing) == 1 else 'columns'} {listed([repr(name) for name in missing])}"
        say(f"{args.file} has no {which}, which {args.model} has learned: the values count as missing.")


def _matrix(block: Block, names: list[str]) -> Any:
    X = np.full((len(block), len(names)), np.nan)
    for j, name in enumerate(names):
        column = block.X.columns.get(name)
        if column is not None and column.codes is not None and (column.codes >= 0).any():
            raise ValueError(f"column {name!r} must hold numbers, got the text {column.texts[0]!r}.")
        if column is not None and column.numbers is not None:
            X[:, j] = column.numbers
    return X


def _table(block: Block, names: list[str]) -> Table:
    X = block.X.toarray() if sparse.issparse(block.X) else block.X
    return Table(len(block), {name: Column(np.ascontiguousarray(X[:, j])) for j, name in enumerate(names)})


def _texts(model: Any, args: Namespace) -> Callable[[Any], Iterable[str]]:
    """A function that gives a text for each row, as the flags ask."""
    if args.explain:
        return lambda rows: [
            json.dumps(why.as_dict(), allow_nan=False, ensure_ascii=False) for why in model.explain(rows)
        ]
    predict = _function(model, args)
    if args.novelty:
        return lambda rows: list(map(_beside, predict(rows), model.novelty(rows).tolist()))
    numbers = _are_numbers(model, args)
    return lambda rows: list(_numbers(predict(rows)) if numbers else map(output.label, predict(rows)))


def _are_numbers(model: Any, args: Namespace) -> bool:
    return bool(args.scores or args.proba or (args.cover and isinstance(model, OnlineRegressor)))


def _beside(prediction: Any, novelty: float) -> str:
    return f"{output.label(prediction)}\t{novelty:.4f}"


def _counted(labels: Any) -> str:
    return "\t".join([str(len(labels)), *map(output.label, labels)])


def _function(model: Any, args: Namespace) -> Callable[[Any], Any]:
    """The method of the model that the flags ask for."""
    if args.proba and not hasattr(model, "predict_proba"):
        raise UsageError(
            f"--proba: {args.model} has no probabilities: learn with auto, or an algorithm that has "
            "--loss with --loss logistic; in Python, Stacked(learner) gives any learner some."
        )
    if args.cover and isinstance(model, OnlineRegressor):
        return model.predict_interval
    if args.cover:
        return lambda X: list(map(_counted, model.predict_set(X)))
    name = "predict_proba" if args.proba else "decision_function" if args.scores else "predict"
    function: Callable[[Any], Any] = getattr(model, name, model.predict)
    return function


def _numbers(values: Any) -> Iterator[str]:
    """A text for each row: its numbers in full precision, separated by tabs."""
    for row in np.asarray(values).reshape(len(values), -1).tolist():
        yield "\t".join(map(repr, row))
