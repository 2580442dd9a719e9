"""What ``budgetron run`` does after its arguments are read."""

import os
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from budgetron import SaveError
from budgetron._util.progress import Progress
from budgetron.cli import checkpoint, input, messages, output
from budgetron.cli.output import Document, Predictions, Table
from budgetron.cli.process import Interrupted, Signals, UsageError, say
from budgetron.cli.session import Run, plan
from budgetron.evaluate import Session
from budgetron.model.files.durable import obstacle
from budgetron.streams import DataError


def run(args: Namespace) -> None:
    """Predict and learn the rows, report, and save."""
    args.address = messages.address_of(args.file)
    if args.address is not None:
        args.file = str(args.address)  # without the password
    messages.check_flags(args)
    _check(args)
    made = plan(args)
    session, resumed, entered = made.session, made.session.rows, made.session.entered
    report = (Document if args.json else Table)(args, resumed)
    with (
        closing(made),
        closing(Predictions(args.predictions, resumed)) as predictions,
        Signals() as signals,
    ):
        session.predictions = predictions.write
        save = partial(_save, args, made, predictions)
        with Progress(made.total, args.algorithm) as progress:
            progress.advance(resumed)
            try:
                ended = made.learn(signals, report.add, _between(args, session, save, progress))
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
    report.finish(session, made.bad_rows)
    input.say_bad_rows(made.source)
    if not args.regression and len(session.estimator.classes_) == 1:
        [only] = session.estimator.classes_.tolist()
        say(f"{args.file}: all rows have the label {output.label(only)}.")


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
        if session.rows:  # without a total, the number of rows follows
            progress.label = partial(_shown, session, "" if progress.total else ", rows")
        progress.advance(session.rows - progress.done)

    return between


def _save(args: Namespace, run: Run, predictions: Predictions) -> bool:
    """Save the run. Returns False before the first row is learned, when there is no model yet."""
    if not run.session.started:
        return False
    predictions.sync()
    if run.origin is not None:
        run.note_position()
        checkpoint.save(run.session, run.origin, args.save)
        run.commit()
    return True


def _interrupted(args: Namespace, session: Session, save: Callable[[], bool], signal: int) -> Interrupted:
    after = f"stopped after {session.rows} rows"
    endless = args.address is not None and args.save is not None
    if (args.checkpoint_every or args.resume or endless) and save():
        return Interrupted(signal, f"{after}; saved to {args.save}: continue with --resume.")
    return Interrupted(signal, f"{after}; nothing was saved.")


def _shown(session: Session, rest: str) -> str:
    """The label of the progress bar."""
    rate = session.metrics.running()["rate"] or 0.0
    error = f"{rate:.4g} mse" if session.metrics.targets else f"{100 * rate:.4g} % mistakes"
    return f"{error}, {session.estimator.n_support_} support vectors{rest}"
