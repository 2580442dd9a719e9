"""``budgetron compare``: several algorithms over random orders of the same rows."""

import os
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from budgetron._util.extras import pip_install
from budgetron.cli import input, learners, output
from budgetron.cli.arguments import (
    DELAY,
    ENCODER,
    FILE,
    JOBS,
    JSON,
    METRICS,
    Parser,
    add,
    add_learning,
    encoder,
    metrics,
)
from budgetron.cli.arguments import names as names_of
from budgetron.cli.process import UsageError, say
from budgetron.cli.row_checks import refuse_many
from budgetron.evaluate import Comparison, compare
from budgetron.parts.tasks import Labels, Targets

EXAMPLES = """\
  budgetron compare german --learners rbp,forgetron,bpa_nn --budget 50 --sigma 8
  budgetron compare prices.csv --target price --regression --learners auto,ogd,nogd --budget 100 --rank 20
  budgetron compare a9a --learners rbp,bogd --budget 100 --gamma 0.05 --figure a9a.png --json > a9a.json
"""


NAMES = {
    "--learners A,B,...": "algorithms from the list below; default auto",
    "--data FILE": "the file, if the words before the flags are the algorithms",
}
TASK = {
    "--seed N": "the seed of the first order; default 0",
    "--permutations N": "the number of orders; default 20",
    **JOBS,
}
RESULTS = {
    "--every N": "the number of rows between two points of the figure",
    "--figure FILE": "plot error, support vectors and time to FILE (.png, .svg or .pdf); default "
    "compare.png, if matplotlib is installed",
    "--no-figure": "do not plot",
}


def parser() -> Parser:
    command = Parser(
        "compare",
        "FILE --learners A,B,... [FLAGS]",
        "Run several algorithms over the same random orders of the rows, which are held in memory. Each\n"
        "algorithm uses the flags that it has; a flag that none of them has is an error.",
        EXAMPLES,
    )
    command.add_argument("words", metavar="FILE", nargs="*", help=FILE["FILE"])
    add(command, NAMES)
    add_learning(command, DELAY | TASK)
    add(command.add_argument_group("results"), RESULTS | METRICS | JSON)
    command.set_defaults(delay=0, permutations=20, jobs=1, window=1000)
    add(command.add_argument_group("columns of tables"), ENCODER)
    learners.add_flags(command)
    return command


def main(argv: list[str]) -> None:
    args = parser().parse_intermixed_args(argv)
    given, file = _named(args)
    algorithms = [learners.algorithm_name(word) for word in given]
    if len(set(algorithms)) < len(algorithms):
        raise UsageError("an algorithm is given twice: give each once.")
    competing = learners.build(algorithms, learners.given_flags(args))
    figure, source = _figure(args), input.NamedRows.of(file, args)
    how = input.scaling(args, source)
    competing = {name: input.scaled(learner, how, args) for name, learner in competing.items()}
    rows, stream = source.load(input.transforms(args))
    y, classes = rows.y, args.classes
    regression = args.regression or source.is_regression
    if not regression and source.data_set is None:
        refuse_many(file, y)
    task = Targets() if regression else Labels(max(2, len(np.unique(y if classes is None else classes))))
    names = metrics(args.metrics, regression)
    for learner in competing.values():
        learners.check_buildable(learner, task, max(stream.n_features, 1))
    comparison = compare(
        competing,
        (rows.X, y),
        permutations=args.permutations,
        seed=args.seed,
        n_jobs=args.jobs,
        every=args.every,
        task="regression" if regression else "classification",
        metrics=names,
        window=args.window,
        delay=args.delay,
        classes=classes,
        encoder=encoder(args),
        sample_weight=rows.weights,
    )
    input.say_bad_rows(stream)
    whole_document = {"data": file, "bad_rows": input.bad_rows(stream).count, **comparison.as_dict()}
    print(output.document(whole_document) if args.json else comparison.table(names or ()))
    if figure is not None:
        _draw(comparison, figure)
        say(f"the figure is {figure}.")


def _named(args: Namespace) -> tuple[list[str], str]:
    """The algorithms, and the file, which is the word of the command line, or that of --data."""
    learners_given = names_of(args.learners)
    if args.data is not None:
        if learners_given and args.words:
            raise UsageError(f"--data and {args.words[0]} are both a file: give one of them.")
        return learners_given or args.words or ["auto"], args.data
    if len(args.words) != 1:
        got = " ".join(args.words) or "nothing"
        raise UsageError(f"expected one FILE, and the algorithms as --learners A,B,..., got {got}.")
    return learners_given or ["auto"], args.words[0]


def _figure(args: Namespace) -> str | None:
    """The file of the figure, if there is to be one; checks the flags."""
    if args.no_figure and args.figure is not None:
        raise UsageError("--figure and --no-figure exclude each other.")
    drawable = find_spec("matplotlib") is not None
    if args.figure is None and (args.no_figure or not drawable):
        return None
    figure = "compare.png" if args.figure is None else str(args.figure)
    if Path(figure).suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(f"--figure: expected a name that ends with .png, .svg or .pdf, got {figure!r}.")
    output.check_place(Path(figure))
    if not drawable:
        raise UsageError(f"--figure needs matplotlib: {pip_install('plot')}.")
    return figure


def _draw(comparison: Comparison, path: str) -> None:
    os.environ.setdefault("MPLBACKEND", "agg")
    from budgetron import plots

    plots.overview(comparison).savefig(path)
