"""``budgetron run``: run one learner over a stream."""

import os

from budgetron.cli import learners
from budgetron.cli.arguments import Parser, add_metrics, add_rows, add_transforms, seed, whole
from budgetron.cli.process import UsageError
from budgetron.learners import algorithms

EXAMPLES = """\
  budgetron run rbp train.svm.xz --budget 100 --sigma 8
  budgetron run nogd prices.csv --target price --regression --budget 100 --rank 20 --standardise
  budgetron run transactions.csv --target label --time when --id number --on-error skip --save model
  budgetron run auto train.csv --target label --metrics kappa,auc,log_loss --every 10000
  budgetron run bpa_nn log.svm --budget 200 --save model --checkpoint-every 10000 --resume
  xzcat train.svm.xz | budgetron run rbp - --budget 100 --features 54 --classes 1,2,3,4,5,6,7 --json
  budgetron run redis://localhost/orders --target label --save model --checkpoint-every 10000 --resume
"""


def parser() -> Parser:
    made = Parser(
        "run",
        "[ALGORITHM] FILE [FLAGS]",
        "Predict each row, then learn it. The algorithm is auto, unless one is given. CSV and Parquet\n"
        "files may have numbers, texts, dates and blanks. A file of svmlight text is read twice, first\n"
        "for its number of columns, unless --features gives it.",
        EXAMPLES,
    )
    made.add_argument(
        "words",
        metavar="[ALGORITHM] FILE",
        nargs="+",
        help="an algorithm from the list below, default auto; a file, a data set, - for a pipe, or a "
        "stream of messages: redis://HOST/STREAM, nats://HOST/STREAM, kafka://HOST/TOPIC",
    )
    _add_rows(made)
    _add_task(made)
    _add_results(made)
    learners.add_flags(made)
    return made


def _add_rows(made: Parser) -> None:
    rows = add_rows(made)
    add_transforms(rows)
    rows.add_argument("--rows", type=whole(1), metavar="N", help="end after N rows, learned before or now")
    rows.add_argument("--until-end", action="store_true", help="end when a broker has no more messages")
    rows.add_argument("--block", type=whole(1), metavar="N", help="read N rows at a time; default 1000")
    rows.add_argument(
        "--verbose",
        action="store_true",
        help="report on stderr if a file is read twice, and why; on a terminal always",
    )


def _add_task(made: Parser) -> None:
    task = made.add_argument_group("task")
    kind = task.add_mutually_exclusive_group()
    add = task.add_argument
    kind.add_argument("--classes", metavar="A,B,...", help="all labels; others are refused")
    kind.add_argument("--regression", action="store_true", help="the labels are real-valued targets")
    add(
        "--delay",
        type=whole(0),
        default=0,
        metavar="N",
        help="the label of a row arrives N rows later; default 0",
    )
    add("--seed", type=seed, default=0, metavar="N", help="the seed of all random choices; default 0")


def _add_results(made: Parser) -> None:
    add = made.add_argument_group("results").add_argument
    add("--every", type=whole(1), metavar="N", help="print a line every N rows, not only at the end")
    add("--json", action="store_true", help="print a JSON document instead of a table")
    add_metrics(add)
    add(
        "--predictions",
        metavar="FILE",
        help="write predictions, one per line; with - they go to stdout and the table to stderr",
    )
    add("--save", metavar="MODEL", help="write the model and the state of the run to a file")
    add(
        "--checkpoint-every",
        type=whole(1),
        metavar="N",
        help="also save after the first block that ends N or more rows later",
    )
    add("--resume", action="store_true", help="continue the run in MODEL, if the file exists")


def main(argv: list[str]) -> None:
    args = parser().parse_intermixed_args(argv)
    algorithm, file = _named(args.words)
    from budgetron.cli.runs import run  # not above: --help does not wait for SciPy and scikit-learn

    run(algorithm, file, args)


def _named(words: list[str]) -> tuple[str, str]:
    """The algorithm and the file."""
    if len(words) > 2:
        raise UsageError(f"expected [ALGORITHM] FILE, got {' '.join(words)}.")
    if len(words) == 2:
        return learners.algorithm_name(words[0]), words[1]
    [file] = words
    if file in algorithms.__all__ and not os.path.exists(file):
        raise UsageError("the following arguments are required: FILE.")
    return "auto", file
