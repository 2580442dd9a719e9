"""``budgetron compare``: several algorithms over random orders of the same rows."""

import os
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from budgetron import datasets
from budgetron._tasks import Labels, Targets
from budgetron.cli import input, learners, output
from budgetron.cli.arguments import Parser, add_metrics, metrics, seed, whole
from budgetron.cli.process import UsageError, say
from budgetron.evaluate import Comparison, compare

EXAMPLES = """\
  budgetron compare rbp forgetron bpa_nn --data german --budget 50 --sigma 8
  budgetron compare ogd nogd --data prices.csv --target price --regression --budget 100 --rank 20
  budgetron compare rbp bogd --data a9a --budget 100 --gamma 0.05 --figure a9a.png --json > a9a.json
"""


def parser() -> Parser:
    made = Parser(
        "compare",
        "ALGORITHM... --data FILE [FLAGS]",
        "Run several algorithms over the same random orders of the rows, which are held in memory. Each\n"
        "algorithm uses the flags that it has; a flag that none of them has is an error.",
        EXAMPLES,
    )
    made.add_argument("algorithms", metavar="ALGORITHM", nargs="+", help="algorithms from the list below")
    made.add_argument(
        "--data", metavar="FILE", required=True, help="a file, the name of a data set, or - for a pipe"
    )
    input.add_arguments(made)
    add = made.add_argument_group("task").add_argument
    add("--regression", action="store_true", help="the labels are real-valued targets")
    add("--permutations", type=whole(1), default=20, metavar="N", help="the number of orders; default 20")
    add("--seed", type=seed, default=0, metavar="N", help="the seed of the first order; default 0")
    add(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="the number of threads; -1 means one per processor; default 1",
    )
    add = made.add_argument_group("results").add_argument
    add("--every", type=whole(1), metavar="N", help="the number of rows between two points of the figure")
    add(
        "--figure",
        metavar="FILE",
        help="plot error, support vectors and time to FILE (.png, .svg or .pdf); default compare.png, if "
        "matplotlib is installed",
    )
    add("--no-figure", action="store_true", help="do not plot")
    add_metrics(add)
    add("--json", action="store_true", help="print a JSON document instead of a table")
    learners.add_flags(made)
    return made


def main(argv: list[str]) -> None:
    args = parser().parse_intermixed_args(argv)
    algorithms = [learners.algorithm_name(word) for word in args.algorithms]
    if len(set(algorithms)) < len(algorithms):
        raise UsageError("an algorithm is given twice: give each once.")
    competing = learners.build(algorithms, learners.given_flags(args))
    _check(args)
    X, y = input.load(args.data, args)
    regression = _regression(args, y)
    task = Targets() if regression else Labels(max(2, len(np.unique(y))))
    names = metrics(args.metrics, regression)
    for learner in competing.values():
        learners.check(learner, task, X.shape[1], args.seed)
    found = compare(
        competing,
        (X, y),
        permutations=args.permutations,
        seed=args.seed,
        n_jobs=args.jobs,
        every=args.every,
        task="regression" if regression else "classification",
        metrics=names,
        window=args.window,
    )
    whole_document = {"data": args.data, **found.as_dict()}
    print(output.document(whole_document) if args.json else found.table(names or ()))
    if args.figure is not None:
        _draw(found, args.figure)
        say(f"the figure is {args.figure}.")


def _check(args: Namespace) -> None:
    if args.jobs == 0 or args.jobs < -1:
        raise UsageError(f"--jobs: expected a whole number of at least 1, or -1, got {args.jobs}.")
    if args.no_figure and args.figure is not None:
        raise UsageError("--figure and --no-figure exclude each other.")
    if not args.no_figure and args.figure is None and find_spec("matplotlib") is not None:
        args.figure = "compare.png"
    if args.figure is not None:
        if Path(args.figure).suffix not in (".png", ".svg", ".pdf"):
            raise UsageError(
                f"--figure: expected a name that ends with .png, .svg or .pdf, got {args.figure!r}."
            )
        output.check_place(Path(args.figure))
        if find_spec("matplotlib") is None:
            raise UsageError("--figure needs matplotlib: pip install 'budgetron[plot]'.")


def _regression(args: Namespace, y: Any) -> bool:
    if args.regression or input.is_data_set(args.data):
        return bool(args.regression or datasets.describe(args.data).task == "regression")
    if len(np.unique(y)) > input.MOST_LABELS:
        raise UsageError(
            f"{args.data} has more than {input.MOST_LABELS} different labels: "
            "give --regression if they are targets."
        )
    return False


def _draw(found: Comparison, path: str) -> None:
    os.environ.setdefault("MPLBACKEND", "agg")
    from budgetron import plots

    plots.overview(found).savefig(path)
