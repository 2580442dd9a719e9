"""``budgetron run``: one learner over a stream."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from budgetron import SaveError
from budgetron._durable import obstacle
from budgetron.cli import _checkpoint, _learners, _source, _steps
from budgetron.cli._exits import Interrupted, Usage
from budgetron.cli._learning import Learning
from budgetron.cli._parser import Parser, seed, whole
from budgetron.cli._plan import planned
from budgetron.cli._predictions import Predictions
from budgetron.cli._report import Document, Table
from budgetron.cli._signals import Signals
from budgetron.progress import Progress
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
        "Predict each row, then learn it. A file is read once before unless --features and --classes tell.",
        EXAMPLES,
    )
    made.add_argument("algorithm", metavar="ALGORITHM", help="one of those listed below")
    made.add_argument("file", metavar="FILE", help="a file, a data set's name, or - for a pipe")
    rows = _source.add_arguments(made)
    _steps.add_arguments(rows)
    rows.add_argument(
        "--block", type=whole(1), metavar="N", help="rows that are read at a time; 1000 if not given"
    )
    task = made.add_argument_group("task")
    kind = task.add_mutually_exclusive_group()
    kind.add_argument("--classes", metavar="A,B,...", help="all labels there will be; needed for a pipe")
    kind.add_argument("--regression", action="store_true", help="labels are targets")
    task.add_argument(
        "--delay", type=whole(0), default=0, metavar="N", help="the label of a row comes N rows later"
    )
    task.add_argument("--seed", type=seed, default=0, metavar="N", help="of random choices; 0 if not given")
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
    results.add_argument("--save", metavar="MODEL", help="write the model, and all that --resume needs")
    results.add_argument(
        "--checkpoint-every", type=whole(1), metavar="N", help="also after N rows or some more"
    )
    results.add_argument("--resume", action="store_true", help="go on from MODEL if it is there")
    _learners.add_flags(made)
    return made


def main(argv: list[str]) -> None:
    """Run the command."""
    args = parser().parse_args(argv)
    args.algorithm = _learners.named(args.algorithm)
    _check(args)
    plan = planned(args)
    learning, resumed = plan.learning, plan.learning.tally.rows
    report = (Document if args.json else Table)(args, resumed)
    learning.on_record = report.add
    with closing(Predictions(args.predictions, resumed)) as predictions, Signals() as signals:
        learning.on_predictions = predictions.write
        keep = _keeper(args, learning, predictions)
        with Progress(plan.total, args.algorithm) as progress:
            progress.advance(resumed)
            ended = learning.run(plan.source, args.file, signals, [keep, lambda: _show(progress, learning)])
        if not ended:
            raise _interrupted(args, learning, predictions, signals.asked or 0)
        if learning.tally.rows == 0:
            raise DataError(f"{args.file}: there are no rows.")
        predictions.sync()
        if args.save is not None:
            _checkpoint.save(learning, args.save)
    report.finish(learning)


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


def _keeper(args: Namespace, learning: Learning, predictions: Predictions) -> Callable[[], None]:
    """Saves a checkpoint when so many rows have gone by since the last."""
    last = learning.entered + learning.drained

    def keep() -> None:
        nonlocal last
        now = learning.entered + learning.drained
        if args.checkpoint_every and now - last >= args.checkpoint_every:
            last = now
            _save(args, learning, predictions)

    return keep


def _save(args: Namespace, learning: Learning, predictions: Predictions) -> bool:
    """Whether there was something to save: before the first row comes out there is no model."""
    if not learning.started:
        return False
    predictions.sync()
    _checkpoint.save(learning, args.save)
    return True


def _interrupted(args: Namespace, learning: Learning, predictions: Predictions, signal: int) -> Interrupted:
    after = f"stopped after {learning.tally.rows} rows"
    if (args.checkpoint_every or args.resume) and _save(args, learning, predictions):
        return Interrupted(signal, f"{after}; {args.save} is saved, go on with --resume.")
    return Interrupted(signal, f"{after}; nothing was saved.")


def _show(progress: Progress, learning: Learning) -> None:
    tally = learning.tally
    if tally.rows:
        error = tally.loss if tally.mistakes is None else 100 * tally.mistakes
        unit = "mse" if tally.mistakes is None else "% mistakes"
        support = learning.estimator.n_support_
        rest = "" if progress.total else ", rows"  # where their number follows, and no bar
        progress.label = f"{(error or 0) / tally.rows:.4g} {unit}, {support} support vectors{rest}"
    progress.advance(learning.tally.rows - progress.done)
