"""``budgetron predict``: predict rows with a saved model."""

import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from budgetron import model_files
from budgetron.cli import checkpoint, input, output
from budgetron.cli.arguments import Parser, whole
from budgetron.cli.process import UsageError, say
from budgetron.cli.session import refuse_unprintable
from budgetron.streams import DataError

EXAMPLES = """\
  budgetron predict model test.svm.xz > predictions
  budgetron predict model new.csv --target label --proba
  tail -f log.svm | budgetron predict model - --block 1
"""


def parser() -> Parser:
    made = Parser(
        "predict",
        "MODEL FILE [FLAGS]",
        "Print the predictions of a saved model, one line per row.",
        EXAMPLES,
    )
    made.add_argument("model", metavar="MODEL", help="a model file")
    made.add_argument("file", metavar="FILE", help="a file, the name of a data set, or - for a pipe")
    what = made.add_mutually_exclusive_group()
    what.add_argument(
        "--scores",
        action="store_true",
        help="print scores f(x) instead of labels; one per class for more than two classes",
    )
    what.add_argument(
        "--proba",
        action="store_true",
        help="print class probabilities, where the learner has them, as auto",
    )
    rows = input.add_arguments(made)
    rows.add_argument(
        "--block", type=whole(1), default=1000, metavar="N", help="read N rows at a time; default 1000"
    )
    return made


def main(argv: list[str]) -> None:
    args = parser().parse_args(argv)
    file = model_files.read(args.model)
    checkpoint.refuse_scaling_outside(file)
    model = file.estimator()
    columns = model.n_features_in_
    if args.features not in (None, columns):
        raise UsageError(f"--features {args.features}: expected {columns}, as {args.model} has.")
    if not (args.scores or args.proba):
        refuse_unprintable(args.model, getattr(model, "classes_", ()))
    names = checkpoint.columns_of(file) or getattr(model, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    source = input.open_stream(args.file, args, rows=args.block, features=columns, names=names)
    if source.n_features != columns:
        raise DataError(f"{args.file}: has {source.n_features} columns of features, expected {columns}.")
    if (names is None) != (input.names_of(source) is None):
        which = args.file if names is None else args.model
        say(f"only {which} has column names: columns are matched by position.")
    predict = _function(model, args)
    write = _numbers if args.scores or args.proba else output.lines
    for block in source:
        try:
            text = write(predict(block.X))
        except ValueError as error:
            where = f"{args.file}, rows {block.start} to {block.stop - 1} (the first is 0)"
            raise DataError(f"{where}: {error}") from error
        sys.stdout.write(text)
        sys.stdout.flush()


def _function(model: Any, args: Namespace) -> Callable[[Any], Any]:
    """The method of the model that the flags ask for."""
    if args.proba and not hasattr(model, "predict_proba"):
        raise UsageError(
            f"--proba: {args.model} has no probabilities: learn with auto, or an algorithm that has "
            "--loss with --loss logistic; in Python, Stacked(learner) gives any learner some."
        )
    name = "predict_proba" if args.proba else "decision_function" if args.scores else "predict"
    function: Callable[[Any], Any] = getattr(model, name, model.predict)
    return function


def _numbers(values: Any) -> str:
    """One line per row, numbers separated by tabs and printed in full precision."""
    rows = np.asarray(values).reshape(len(values), -1).tolist()
    return "".join("\t".join(map(repr, row)) + "\n" for row in rows)
