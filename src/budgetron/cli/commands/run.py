"""``budgetron run``: run one learner over a stream."""

import os
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from budgetron import SaveError, algorithms
from budgetron.cli import checkpoint, input, learners, output
from budgetron.cli.arguments import Parser, add_metrics, seed, whole
from budgetron.cli.output import Document, Predictions, Table
from budgetron.cli.process import Interrupted, Signals, UsageError, say
from budgetron.cli.session import Run, plan
from budgetron.evaluate import Session
from budgetron.progress import Progress
from budgetron.serialization.durable import obstacle
from budgetron.streams import DataError

EXAMPLES = """\
  budgetron run rbp train.svm.xz --budget 100 --sigma 8
  budgetron run nogd prices.csv --target price --regression --budget 100 --rank 20 --standardise
  budgetron run transactions.csv --target label --time when --id number --on-error skip --save model
  budgetron run auto train.csv --target label --metrics kappa,auc,log_loss --every 10000
  budgetron run bpa_nn log.svm --budget 200 --save model --checkpoint-every 10000 --resume
  xzcat train.svm.xz | budgetron run rbp - --budget 100 --features 54 --classes 1,2,3,4,5,6,7 --json
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
        help="an algorithm from the list below, default auto; a file, a data set, or - for a pipe",
    )
    rows = input.add_arguments(made)
    input.add_transforms(rows)
    rows.add_argument("--block", type=whole(1), metavar="N", help="read N rows at a time; default 1000")
    rows.add_argument(
        "--verbose",
        action="store_true",
        help="report on stderr if a file is read twice, and why; on a terminal always",
    )
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
    learners.add_flags(made)
    return made


def main(argv: list[str]) -> None:
    args = parser().parse_intermixed_args(argv)
    args.algorithm, args.file = _named(args.words)
    _check(args)
    run = plan(args)
    session, resumed, entered = run.session, run.session.rows, run.session.entered
    report = (Document if args.json else Table)(args, resumed)
    with closing(Predictions(args.predictions, resumed)) as predictions, Signals() as signals:
        session.predictions = predictions.write
        save = partial(_save, args, run, predictions)
        with Progress(run.total, args.algorithm) as progress:
            progress.advance(resumed)
            try:
                ended = run.learn(signals, report.add, _between(args, session, save, progress))
            except (DataError, UsageError) as error:
                if args.save is None or session.broken or session.entered == entered or not save():
                    raise
                raise type(error)(
                    f"{error} The rows before it are learned and saved to {args.save}."
                ) from error
        if not ended:
            raise _interrupted(args, session, save, signals.received or 0)
        if session.rows == 0:
            raise DataError(f"{args.file}: has no rows.")
        save()
    report.finish(session, run.bad_rows)
    input.say_bad_rows(run.source)
    if not args.regression and len(session.estimator.classes_) == 1:
        [only] = session.estimator.classes_.tolist()
        say(f"{args.file}: all rows have the label {output.label(only)}.")


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


def _check(args: Namespace) -> None:
    if args.save is None and (args.checkpoint_every or args.resume):
        raise UsageError("--checkpoint-every and --resume need --save MODEL.")
    if args.json and args.predictions == "-":
        raise UsageError("--json and --predictions - both write to stdout: give --predictions a file.")
    places = [Path(place) for place in (args.save, args.predictions) if place not in (None, "-")]
    for place in places:
        output.check_place(place)
        if place.exists() and os.path.exists(args.file) and place.samefile(args.file):
            raise UsageError(f"{place} is the file that the rows are read from: write to another file.")
    if args.save is not None and (why := obstacle(args.save)):
        raise SaveError(f"{args.save}: cannot be written: {why}.")
    if len(places) == 2 and _same_file(*places):
        raise UsageError(f"--save and --predictions are the same file, {args.save}: give two files.")


def _same_file(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def _between(
    args: Namespace, session: Session, save: Callable[[], object], progress: Progress
) -> Callable[[], None]:
    """A function to call after each block: it saves a checkpoint if due and updates the progress."""
    last = session.entered + session.drained

    def between() -> None:
        nonlocal last
        now = session.entered + session.drained
        if args.checkpoint_every and now - last >= args.checkpoint_every:
            last = now
            save()
        _show(progress, session)

    return between


def _save(args: Namespace, run: Run, predictions: Predictions) -> bool:
    """Save the run. Returns False before the first row is learned, when there is no model yet."""
    if not run.session.started:
        return False
    predictions.sync()
    if run.origin is not None:
        checkpoint.save(run.session, run.origin, args.save)
    return True


def _interrupted(args: Namespace, session: Session, save: Callable[[], bool], signal: int) -> Interrupted:
    after = f"stopped after {session.rows} rows"
    if (args.checkpoint_every or args.resume) and save():
        return Interrupted(signal, f"{after}; saved to {args.save}: continue with --resume.")
    return Interrupted(signal, f"{after}; nothing was saved.")


def _show(progress: Progress, session: Session) -> None:
    if session.rows:
        error = session.loss if session.mistakes is None else 100 * session.mistakes
        unit = "mse" if session.mistakes is None else "% mistakes"
        support = session.estimator.n_support_
        rest = "" if progress.total else ", rows"  # without a total, the number of rows follows
        progress.label = f"{(error or 0) / session.rows:.4g} {unit}, {support} support vectors{rest}"
    progress.advance(session.rows - progress.done)
