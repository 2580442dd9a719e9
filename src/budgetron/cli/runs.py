"""A run of ``budgetron run``: start it or resume it from a file, learn the rows, report, and save."""

import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from budgetron import OnlineClassifier, OnlineRegressor, SaveError
from budgetron._util.progress import Progress
from budgetron.cli import checkpoint, input, learners, output
from budgetron.cli.arguments import metrics
from budgetron.cli.checkpoint import Origin
from budgetron.cli.input import NamedRows
from budgetron.cli.messages import address_of, check_flags, open_messages
from budgetron.cli.output import Document, Predictions, Table
from budgetron.cli.process import Interrupted, Signals, UsageError, say
from budgetron.cli.row_checks import LabelCheck, TimeCheck
from budgetron.evaluate import Record, Session
from budgetron.model.files import model_files
from budgetron.model.files.durable import obstacle
from budgetron.parts.tasks import Labels, Targets
from budgetron.streams import Block, DataError, Stream
from budgetron.streams.brokers.address import Address
from budgetron.streams.brokers.messages import MessageStream


def run(algorithm: str, file: str, args: Namespace) -> None:
    """Predict and learn the rows, report, and save."""
    address = address_of(file)
    check_flags(args, file)
    file = file if address is None else str(address)  # without the password
    _check_places(args, file)
    this = _planned(algorithm, NamedRows.of(file, args), address, args)
    session, resumed, entered = this.session, this.session.rows, this.session.entered
    names = session.metrics.names if args.metrics else ()
    table = partial(Table, resumed, names, args.predictions)
    report = Document(resumed, algorithm, file, args.save) if args.json else table()
    with (
        closing(this),
        closing(Predictions(args.predictions, resumed)) as predictions,
        Signals() as signals,
    ):
        session.predictions = predictions.write
        save = partial(this.save, args.save, predictions)
        with Progress(this.total, algorithm) as progress:
            progress.advance(resumed)
            try:
                ended = this.learn(signals, report.add, _between(args, session, save, progress))
            except (DataError, UsageError) as error:
                if args.save is None or session.broken or session.entered == entered or not save():
                    raise
                raise type(error)(
                    f"{error} The rows before it are learned and saved to {args.save}."
                ) from error
        if not ended:
            resumable = args.checkpoint_every or args.resume or (address is not None and args.save)
            saved = args.save if resumable and save() else None
            raise _interrupted(session.rows, saved, signals.received or 0)
        if session.rows == 0:
            raise DataError(f"{file}: has no rows.")
        save()
    report.finish(session, input.bad_rows(this.rows))
    input.say_bad_rows(this.rows)
    classes = [] if session.metrics.targets else session.estimator.classes_.tolist()
    if len(classes) == 1:
        say(f"{file}: all rows have the label {output.label(classes[0])}.")


def _check_places(args: Namespace, file: str) -> None:
    if args.save is None and (args.checkpoint_every or args.resume):
        raise UsageError("--checkpoint-every and --resume need --save MODEL.")
    if args.json and args.predictions == "-":
        raise UsageError("--json and --predictions - both write to stdout: give --predictions a file.")
    places = [Path(place) for place in (args.save, args.predictions) if place not in (None, "-")]
    for place in places:
        output.check_place(place)
        if place.exists() and os.path.exists(file) and place.samefile(file):
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


def _shown(session: Session, rest: str) -> str:
    """The label of the progress bar."""
    rate = session.metrics.running()["rate"] or 0.0
    error = f"{rate:.4g} mse" if session.metrics.targets else f"{100 * rate:.4g} % mistakes"
    return f"{error}, {session.estimator.n_support_} support vectors{rest}"


def _interrupted(rows: int, saved: str | None, signal: int) -> Interrupted:
    how = "nothing was saved." if saved is None else f"saved to {saved}: continue with --resume."
    return Interrupted(signal, f"stopped after {rows} rows; {how}")


# ---- the plan


def _planned(algorithm: str, source: NamedRows, address: Address | None, args: Namespace) -> "Run":
    """A new run, or with ``--resume`` the one in the model file."""
    regression, classes = args.regression or source.is_regression, args.classes
    learner = learners.build([algorithm], learners.given_flags(args))[algorithm]
    learner, steps = input.scaled(learner, args), input.transforms(args)
    estimator = (OnlineRegressor if regression else OnlineClassifier)(learner, random_state=args.seed)
    options = {"delay": args.delay, "every": args.every, "name": source.file}
    options |= {"metrics": metrics(args.metrics, regression), "window": args.window}
    # Each block copies the shuffle buffer, so blocks grow with the buffer.
    rows = args.block or max(input.ROWS, (args.shuffle or 0) // 4)
    messages: dict[str, Any] = {"regression": regression, "classes": classes, "rows": rows}
    messages |= {"limit": args.rows, "until_end": args.until_end}
    origin = None if args.save is None else Origin.of(source)
    total, stream = args.rows, None
    if origin is not None and args.resume and os.path.exists(args.save):
        file = model_files.read(args.save)
        session, origin = checkpoint.restored(file, estimator, steps, origin, **options)
        _refuse_others(file.path, session.estimator, classes, args.features)
        columns, numeric = session.estimator.n_features_in_, _are_numbers(session.estimator)
        messages |= {"numeric": numeric, "start": session.entered, "state": origin.messages}
    else:
        survey = None if address else source.survey(verbose=args.verbose)
        columns = None if survey is None else survey.features
        stream = None if address else source.open_labelled(rows, columns)
        task = Targets() if regression else Labels(2 if classes is None else len(classes))
        learners.check_buildable(learner, task, 1 if stream is None else max(stream.n_features, 1))
        session = Session(estimator, steps, classes=classes, **options)
        total = args.rows if survey is None else min(survey.rows, args.rows or survey.rows)
    if address is not None:
        return Run(session, open_messages(address, source, **messages), origin, total)
    return Run(session, stream or source.open_labelled(rows, columns), origin, total, args.rows)


def _are_numbers(model: Any) -> bool:
    return isinstance(model, OnlineRegressor) or model.classes_.dtype.kind in "fiub"


def _refuse_others(path: str, model: Any, classes: list[Any] | None, features: int | None) -> None:
    """Refuse other labels or columns than those of the file."""
    if classes is not None and sorted(classes) != model.classes_.tolist():
        known = model.classes_.tolist()
        raise UsageError(f"{path}: cannot resume with other --classes: the file has {known}.")
    columns = model.n_features_in_
    if model.encoding_ is None and features not in (None, columns):
        raise UsageError(f"{path}: cannot resume with --features {features}: the file has {columns}.")


# ---- the run


@dataclass
class Run:
    """A session and its rows. ``total`` is their number, if known; a run that is saved has an origin."""

    session: Session
    rows: Stream
    origin: Origin | None
    total: int | None = None
    limit: int | None = None  # of rows, at which it ends

    def learn(
        self, signals: Signals, on_record: Callable[[Record], None], between: Callable[[], None]
    ) -> bool:
        """Learn the remaining rows. Returns whether the end was reached, not interrupted by a signal.

        ``between`` is called after each block; the run can be saved then.
        """
        session, name = self.session, self.session.name
        checks: list[Callable[[Block], None]] = [TimeCheck(name)]
        if session.classes is None and isinstance(session.estimator, OnlineClassifier):
            checks.append(LabelCheck(name))
        for block in signals.waiting(self._blocks()):
            for check in checks:
                check(block)
            if session.over:
                raise DataError(
                    f"{name}: has more rows than the {session.entered} that the run ended with, and a run "
                    "with --shuffle or --delay cannot continue after its end: start again without --resume."
                )
            if isinstance(self.rows, MessageStream):
                self._feed_messages(self.rows, block, on_record)
            else:
                self._feed(block, on_record)
            between()
        while signals.received is None and session.holding:
            for record in session.drain():
                on_record(record)
            between()
        if signals.received is None:
            session.finish()
        return signals.received is None

    def _blocks(self) -> Iterator[Block]:
        """The blocks after those that are learned, up to the limit."""
        if isinstance(self.rows, MessageStream):
            yield from self.rows
            return
        session = self.session
        if self.limit is not None and session.entered >= self.limit:
            return
        for block in checkpoint.rows_after(self.rows, session.entered, self.origin, session.name):
            left = len(block) if self.limit is None else self.limit - session.entered
            yield block if left >= len(block) else block.part(0, left)
            if self.limit is not None and session.entered >= self.limit:
                return

    def _feed(self, block: Block, on_record: Callable[[Record], None]) -> None:
        session, entered = self.session, self.session.entered
        try:
            for record in session.feeding(block):
                on_record(record)
        finally:  # the model may have refused a row
            if self.origin is not None and session.entered > entered:
                learned = block.part(0, session.entered - entered)
                self.origin.checksum = checkpoint.added(self.origin.checksum, learned)

    def _feed_messages(
        self, messages: MessageStream, block: Block, on_record: Callable[[Record], None]
    ) -> None:
        """Learn a block. A message that the model refuses goes where bad messages go."""
        session, row = self.session, 0
        while row < len(block):
            entered = session.entered
            try:
                for record in session.feeding(block.part(row)):
                    on_record(record)
                row = len(block)
            except DataError as error:
                row += session.entered - entered
                if session.broken:
                    raise
                messages.settle(row)
                if messages.bad_rows.stop:
                    raise
                messages.refuse(row, str(error.__cause__ or error).rstrip("."))
                session.skip_refused()
                row += 1
        messages.settle(row)

    def save(self, path: str, predictions: Predictions) -> bool:
        """Save the run. Returns False before the first row is learned, when there is no model yet."""
        if not self.session.started:
            return False
        predictions.sync()
        if self.origin is not None:
            if isinstance(self.rows, MessageStream):
                self.origin.messages = self.rows.state()
            checkpoint.save(self.session, self.origin, path)
            if isinstance(self.rows, MessageStream):
                self.rows.commit()
        return True

    def close(self) -> None:
        """Disconnect from the broker."""
        if isinstance(self.rows, MessageStream):
            self.rows.close()
