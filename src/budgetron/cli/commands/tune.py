"""``budgetron tune``: choose the parameters of an algorithm on the first rows of a stream."""

import math
import shlex
from argparse import Namespace
from dataclasses import replace
from typing import Any

import numpy as np

from budgetron.cli import input, learners, output
from budgetron.cli.arguments import ENCODER, FILE, JSON, Parser, add, add_learning, encoder, names
from budgetron.cli.process import UsageError
from budgetron.cli.row_checks import refuse_many, refuse_unprintable
from budgetron.evaluate import Tuning, tune
from budgetron.streams import DataError

EXAMPLES = """\
  budgetron tune train.svm.xz --learner bpa_nn --budget 100 --standardise
  budgetron tune prices.csv --target price --regression --learner nogd --budget 100 --rank 20 --standardise
  budgetron tune train.svm.xz --learner rbp --budget 100 --rows 50000 --candidates 64 | tail -1 | sh
"""


SEARCH = {
    "--rows N": "read at most N rows; default 10000",
    "--candidates N": "the number at the start; default 32",
    "--jobs N": "the number of threads; default one per processor",
    **JSON,
}


def parser() -> Parser:
    command = Parser(
        "tune",
        "FILE --learner ALGORITHM [FLAGS]",
        "Choose the parameters of an algorithm on the first rows, by successive halving: all candidates\n"
        "learn, the worse half is dropped, the others learn twice as many rows, until one is left. Flags\n"
        "that are given are not searched. The last line of the output is the command that runs the winner.",
        EXAMPLES,
    )
    add(command, FILE)
    about = "an algorithm from the list below"
    command.add_argument("--learner", metavar="ALGORITHM", required=True, help=about)
    add_learning(command, {}, classes="all labels; default those of the rows read")
    add(command.add_argument_group("search"), SEARCH, rows=10_000, candidates=32, jobs=-1)
    add(command.add_argument_group("columns of tables"), ENCODER)
    learners.add_flags(command)
    return command


def main(argv: list[str]) -> None:
    args = parser().parse_args(argv)
    name = learners.algorithm_name(args.learner)
    flags = learners.given_flags(args)
    learners.build([name], flags)  # refuses wrong values before the rows are read
    kernel, values = learners.arguments([name], flags)
    source = input.NamedRows.of(args.file, args)
    regression = args.regression or source.is_regression
    first, stream = source.first_rows(input.transforms(args), args.rows)
    if not regression:
        _refuse_labels(args, first.y)
    try:
        tuning = tune(
            name,
            [first],
            kernel=kernel,
            scaling=None if name == "auto" and not args.standardise else input.scaling(args, source),
            rows=args.rows,
            candidates=args.candidates,
            task="regression" if regression else "classification",
            classes=args.classes,
            seed=args.seed,
            n_jobs=args.jobs,
            encoder=encoder(args),
            **values[name],
        )
    except DataError as error:
        raise DataError(f"{args.file}: {error}") from error
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
    input.say_bad_rows(stream)
    if source.is_pipe and source.form == "svmlight" and source.features is None:
        source = replace(source, features=first.X.shape[1])  # the printed command needs it
    command = _command(source, args, tuning)
    text = "\n".join([tuning.table(), "", tuning.confidence(), tuning.python, command])
    print(_document(args.file, command, tuning) if args.json else text)


def _refuse_labels(args: Namespace, y: Any) -> None:
    refuse_many(args.file, y)
    labels = np.unique(y)
    if len(labels) < 2 and args.classes is None:
        raise DataError(
            f"{args.file}: the first {len(y)} rows have only the label {labels.tolist()[0]!r}, expected "
            "two or more: give a larger --rows, or shuffle the file."
        )
    refuse_unprintable(args.file, labels)


def _command(source: input.NamedRows, args: Namespace, tuning: Tuning) -> str:
    """The command that runs the winner over the same rows."""
    assert tuning.shell is not None
    values = {"--features": source.features, "--format": args.format, "--delimiter": source.delimiter}
    values |= {"--shuffle": args.shuffle, "--seed": args.seed or None}
    values["--on-error"] = None if source.on_error == "stop" else source.on_error
    flags = [word for flag, v in values.items() if v is not None for word in (flag, str(v))]
    flags += source.roles.flags()
    flags += [word for name in names(args.column) for word in ("--column", name)]
    sizes = {"--most-columns": args.most_columns, "--most-values": args.most_values}
    flags += [f"{flag}={value}" for flag, value in sizes.items() if value is not None]
    flags += [] if args.classes is None else [f"--classes={','.join(map(output.label, args.classes))}"]
    switches = {"--zero-based": source.zero_based, "--dense": args.dense, "--no-scaling": args.no_scaling}
    switches["--regression"] = tuning.task == "regression"
    flags += [flag for flag, given in switches.items() if given]
    return shlex.join([source.file if word == "FILE" else word for word in tuning.shell.split()] + flags)


def _document(file: str, command: str, tuning: Tuning) -> str:
    head = {"data": file, "learner": tuning.python, "command": command, "task": tuning.task}
    gap = {"gap": _finite(tuning.gap), "gap_error": tuning.gap_error}
    candidates = [
        {"parameters": dict(each.parameters), "rows": each.rows, "error": _finite(each.error)}
        for each in tuning.candidates
    ]
    return output.document({**head, **gap, "candidates": candidates})


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
