"""``budgetron predict``: what a saved model says of rows."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from budgetron import model_files
from budgetron.cli import checkpoint, input, output
from budgetron.cli.arguments import Parser, whole
from budgetron.cli.process import Usage, say
from budgetron.cli.session import refuse_unprintable
from budgetron.streams import Block, DataError

EXAMPLES = """\
  budgetron predict model test.svm.xz > predictions
  budgetron predict model new.csv --target label --proba
  tail -f log.svm | budgetron predict model - --block 1
"""


def parser() -> Parser:
    """The arguments."""
    made = Parser(
        "predict",
        "MODEL FILE [FLAGS]",
        "Predictions on stdout, one line to a row. Rows are scaled as those that it has learned.",
        EXAMPLES,
    )
    made.add_argument("model", metavar="MODEL", help="a model file")
    made.add_argument("file", metavar="FILE", help="a file, a data set's name, or - for a pipe")
    what = made.add_mutually_exclusive_group()
    what.add_argument(
        "--scores", action="store_true", help="f(x) in place of labels; for more than two, one a class"
    )
    what.add_argument(
        "--proba", action="store_true", help="probabilities of the classes (models of the logistic loss)"
    )
    rows = input.add_arguments(made)
    rows.add_argument(
        "--block", type=whole(1), default=1000, metavar="N", help="rows at a time; 1000 if not given"
    )
    return made


def main(argv: list[str]) -> None:
    """Run the command."""
    args = parser().parse_args(argv)
    file = model_files.read(args.model)
    model, transforms = file.estimator(), checkpoint.transforms_of(file)
    columns = model.n_features_in_
    if args.features not in (None, columns):
        raise Usage(f"--features {args.features}: {args.model} has learned from {columns} columns.")
    if not (args.scores or args.proba):
        refuse_unprintable(args.model, getattr(model, "classes_", ()))
    names = checkpoint.columns_of(file) or getattr(model, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    source = input.opened(args.file, args, rows=args.block, features=columns, names=names)
    if source.n_features != columns:
        raise DataError(f"{args.file}: has {source.n_features} columns of features, expected {columns}.")
    if (names is None) != (input.names_of(source) is None):
        which = args.file if names is None else args.model
        say(f"only {which} names its columns: they are taken in their order.")
    said = _said(model, args)
    for block in source:
        sys.stdout.write(said(_scaled(block, transforms, args.file)))
        sys.stdout.flush()


def _scaled(block: Block, transforms: list[Any], name: str) -> Block:
    X = block.X
    try:
        for transform in transforms:
            X = transform.transform(X)
    except ValueError as error:
        raise DataError(
            f"{name}, rows {block.start} to {block.stop - 1} (the first is 0): {error}"
        ) from error
    return Block(X, block.y, block.start)


def _said(model: Any, args: Namespace) -> Callable[[Block], str]:
    """What turns a block into lines."""
    if args.scores:
        function = getattr(model, "decision_function", model.predict)
    elif args.proba:
        if not hasattr(model, "predict_proba"):
            raise Usage(
                f"--proba: {args.model} has no probabilities, which need a classifier of --loss logistic."
            )
        function = model.predict_proba
    else:
        function = model.predict
    write = _numbers if args.scores or args.proba else output.lines

    def lines(block: Block) -> str:
        try:
            return write(function(block.X))
        except ValueError as error:
            where = f"{args.file}, rows {block.start} to {block.stop - 1} (the first is 0)"
            raise DataError(f"{where}: {error}") from error

    return lines


def _numbers(values: Any) -> str:
    """A line to a row, tabs between numbers that read back as what they are."""
    rows = np.asarray(values).reshape(len(values), -1).tolist()
    return "".join("\t".join(map(repr, row)) + "\n" for row in rows)
