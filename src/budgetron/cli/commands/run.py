"""``budgetron run``: one learner over a stream."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from budgetron import SaveError
from budgetron.cli import checkpoint, input, learners
from budgetron.cli.arguments import Parser, seed, whole
from budgetron.cli.output import Document, Predictions, Table
from budgetron.cli.process import Interrupted, Signals, Usage
from budgetron.cli.session import Run, planned
from budgetron.evaluate import Session
from budgetron.progress import Progress
from budgetron.serialization.durable import obstacle
from budgetron.streams import DataError

EXAMPLES = """\
  budgetron run rbp train.svm.xz --budget 100 --sigma 8
  budgetron run nogd prices.csv --target price --regression --budget 100 --rank 20 --standardise
  budgetron run bpa_nn log.svm --budget 200 --save model --checkpoint-every 10000 --resume
  xzcat train.svm.xz | budgetron run rbp - --budget 100 --features 54 --classes 1,2,3,4,5,6,7 --json
"""


def parser() -> Parser:
    """The arguments."""
    made = Parser(
        "run",
        "ALGORITHM FILE [FLAGS]",
        "Predict each row, then learn it. A file is read twice if the number of columns or the labels are\n"
        "not known: give --features (svmlight) and --classes or --regression to read it once.",
        EXAMPLES,
    )
    made.add_argument("algorithm", metavar="ALGORITHM", help="one of those listed below")
    made.add_argument("file", metavar="FILE", help="a file, a data set's name, or - for a pipe")
    rows = input.add_arguments(made)
    input.add_transforms(rows)
    rows.add_argument(
        "--block", type=whole(1), metavar="N", help="rows that are read at a time; 1000 if not given"
    )
    rows.add_argument(
        "--verbose",
        action="store_true",
        help="say on stderr if and why a file is read twice, as on a terminal",
    )
    task = made.add_argument_group("task")
    kind = task.add_mutually_exclusive_group()
    kind.add_argument("--classes", metavar="A,B,...", help="all labels there will be; needed for a pipe")
    kind.add_argument("--regression", action="store_true", help="labels are targets")
    task.add_argument(
        "--delay", type=whole(0), default=0, metavar="N", help="the label of a row arrives N rows later"
    )
    task.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="seed of random choices; 0 if not given"
    )
    results = made.add_argument_group("results")
    results.add_argument(
        "--every", type=whole(1), metavar="N", help="a line after every N rows, not only at the end"
    )
    results.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    results.add_argument(
        "--predictions",
        metavar="FILE",
        help="one to a line; - is stdout, and the table then goes to stderr",
    )
    results.add_argument("--save", metavar="MODEL", help="write the model, and what --resume needs")
    results.add_argument(
        "--checkpoint-every", type=whole(1), metavar="N", help="also save after every N rows, or a few more"
    )
    results.add_argument("--resume", action="store_true", help="continue from MODEL if it exists")
    learners.add_flags(made)
    return made


def main(argv: list[str]) -> None:
    """Run the command."""
    args = parser().parse_args(argv)
    args.algorithm = learners.named(args.algorithm)
    _check(args)
    run = planned(args)
    session, resumed = run.session, run.session.rows
    report = (Document if args.json else Table)(args, resumed)
    with closing(Predictions(args.predictions, resumed)) as predictions, Signals() as signals:
        session.predictions = predictions.write
        save = partial(_save, args, run, predictions)
        with Progress(run.total, args.algorithm) as progress:
            progress.advance(resumed)
            ended = run.learn(signals, report.add, _between(args, session, save, progress))
        if not ended:
            raise _interrupted(args, session, save, signals.asked or 0)
        if session.rows == 0:
            raise DataError(f"{args.file}: there are no rows.")
        save()
    report.finish(session)


def _check(args: Namespace) -> None:
    if args.save is None and (args.checkpoint_every or args.resume):
        raise Usage("--checkpoint-every and --resume need --save MODEL, the file that they are about.")
    if args.json and args.predictions == "-":
        raise Usage("--json and --predictions - cannot both have stdout: give --predictions a file.")
    for place in (args.save, args.predictions):
        if place not in (None, "-"):
            _check_place(Path(place), args.file)
    if args.save is not None and (why := obstacle(args.save)):
        raise SaveError(f"{args.save}: cannot be written: {why}.")
    places = [Path(place) for place in (args.save, args.predictions) if place not in (None, "-")]
    if len(places) == 2 and _same_file(*places):
        raise Usage(f"--save and --predictions are the same file, {args.save}: give each its own.")


def _check_place(place: Path, file: str) -> None:
    """Whether a file can go there, found out before the first row and not after the last."""
    folder = place.absolute().parent
    if not folder.is_dir():
        raise SaveError(f"{place}: cannot be written: there is no folder {folder}.")
    if place.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        why = "it is a folder" if place.is_dir() else "its folder is not writable"
        raise SaveError(f"{place}: cannot be written: {why}.")
    if place.exists() and os.path.exists(file) and place.samefile(file):
        raise Usage(f"{place} is the file that the rows are read from: write to another.")


def _same_file(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def _between(
    args: Namespace, session: Session, save: Callable[[], object], progress: Progress
) -> Callable[[], None]:
    """After each block: a checkpoint if enough rows have gone by, and the progress line."""
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
    """Whether there was a model to save: before the first row is learned there is none."""
    if not run.session.started:
        return False
    predictions.sync()
    if run.origin is not None:
        checkpoint.save(run.session, run.origin, args.save)
    return True


def _interrupted(args: Namespace, session: Session, save: Callable[[], bool], signal: int) -> Interrupted:
    after = f"stopped after {session.rows} rows"
    if (args.checkpoint_every or args.resume) and save():
        return Interrupted(signal, f"{after}; {args.save} is saved, go on with --resume.")
    return Interrupted(signal, f"{after}; nothing was saved.")


def _show(progress: Progress, session: Session) -> None:
    if session.rows:
        error = session.loss if session.mistakes is None else 100 * session.mistakes
        unit = "mse" if session.mistakes is None else "% mistakes"
        support = session.estimator.n_support_
        rest = "" if progress.total else ", rows"  # where their number follows, and no bar
        progress.label = f"{(error or 0) / session.rows:.4g} {unit}, {support} support vectors{rest}"
    progress.advance(session.rows - progress.done)
