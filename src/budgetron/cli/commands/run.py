"""``budgetron run``: run one learner over a stream."""

import os

from budgetron.cli import learners
from budgetron.cli.arguments import (
    BLOCK,
    COSTS,
    COVERAGE,
    DELAY,
    ENCODER,
    JOBS,
    JSON,
    METRICS,
    Parser,
    add,
    add_learning,
)
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


READING = {
    "--rows N": "end after N rows, learned before or now",
    "--until-end": "end when a broker has no more messages",
    **BLOCK,
    "--verbose": "report on stderr if a file is read twice, and why; on a terminal always",
}
RESULTS = {
    "--every N": "print a line every N rows, not only at the end",
    **JSON,
    **METRICS,
    "--predictions FILE": "write predictions, one per line; with - they go to stdout and the table to "
    "stderr",
    "--save MODEL": "write the model and the state of the run to a file",
    "--checkpoint-every N": "also save after the first block that ends N or more rows later",
    "--resume": "continue the run in MODEL, if the file exists",
}


def parser() -> Parser:
    command = Parser(
        "run",
        "[ALGORITHM] FILE [FLAGS]",
        "Predict each row, then learn it. The algorithm is auto, unless one is given. CSV and Parquet\n"
        "files may have numbers, texts, dates and blanks. A file of svmlight text is read twice, first\n"
        "for its number of columns, unless --features gives it.",
        EXAMPLES,
    )
    command.add_argument(
        "words",
        metavar="[ALGORITHM] FILE",
        nargs="+",
        help="an algorithm from the list below, default auto; a file, a data set, - for a pipe, or a "
        "stream of messages: redis://HOST/STREAM, nats://HOST/STREAM, kafka://HOST/TOPIC",
    )
    add(add_learning(command, DELAY | JOBS | COSTS | COVERAGE), READING, delay=0, jobs=1)
    add(command.add_argument_group("columns of tables"), ENCODER)
    add(command.add_argument_group("results"), RESULTS, window=1000)
    learners.add_flags(command)
    return command


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
