"""A run of ``budgetron run``: start it or resume it from a file, learn the rows, report, and save."""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from budgetron import OnlineClassifier, OnlineRegressor, SaveError
from budgetron._util.progress import Progress
from budgetron.cli import checkpoint, input, learners, output
from budgetron.cli.arguments import costs, encoder, metrics
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
    written = session.predicted
    names = session.metrics.names if args.metrics else ()
    table = partial(Table, resumed, names, args.predictions)
    report = Document(resumed, algorithm, file, args.save) if args.json else table()
    with (
        closing(this),
        closing(Predictions(args.predictions, written)) as predictions,
        Signals() as signals,
    ):
        session.predictions, this.on_record = predictions.write, report.add
        save = partial(this.save, args.save, predictions)
        try:
            with Progress(this.total, algorithm) as progress:
                progress.advance(written)
                _learn(this, signals, save, args.checkpoint_every, progress)
        except (DataError, UsageError) as error:
            if args.save is None or session.broken or session.entered == entered or not save():
                raise
            raise type(error)(
                f"{error} The rows before it are learned and saved to {args.save}."
            ) from error
        if signals.received is not None:
            resumable = args.checkpoint_every or args.resume or (address is not None and args.save)
            how = "nothing was saved."
            if resumable and save():
                how = f"saved to {args.save}: continue with --resume."
            raise Interrupted(signals.received, f"stopped after {session.rows} rows; {how}")
        if session.rows == 0:
            raise DataError(f"{file}: has no rows{' with a label' if session.unlabelled else ''}.")
        save()
    report.finish(session, input.bad_rows(this.rows))
    input.say_bad_rows(this.rows)
    input.say_unlabelled(session.unlabelled)
    if args.coverage is not None and (covered := session.estimator.covered_) is not None:
        say(f"{covered:.1%} of the last rows were covered, {args.coverage:.1%} are asked.")
    _say_kinds(session)
    classes = [] if session.metrics.targets else session.estimator.classes_.tolist()
    _say_unused(session.estimator, classes, file)
    if len(classes) == 1:
        say(f"{file}: all rows have the label {output.label(classes[0])}.")


def _say_unused(model: Any, classes: list[Any], file: str) -> None:
    """Say which labels with a cost have not come."""
    words = dict.fromkeys(map(output.label, getattr(model, "costs", None) or ()))
    for word in words.keys() - set(map(output.label, classes)):
        say(f"{file}: no row has the label {word}, for which a cost is given.")


def _say_kinds(session: Session) -> None:
    """Say what columns were read as, of those that are neither numbers, categories nor ISO dates."""
    encoding = session.estimator.encoding_
    for name, kind in ({} if encoding is None else encoding.kinds).items():
        if kind.asks:
            why = "is the day first? Dates are left out until that is clear"
            say(f"{kind.line(name)}: {why}: --column {name}=dmy says it.")
        elif kind.kind not in ("number", "category", None) and (kind.kind != "date" or kind.order):
            say(f"{kind.line(name)}.")


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


def _learn(
    this: "Run", signals: Signals, save: Callable[[], object], every: int | None, progress: Progress
) -> None:
    """Learn the rows. After each block, save a checkpoint if due, and show the progress."""
    session, last = this.session, this.taken
    for _ in this.learn(signals):
        if every and this.taken - last >= every:
            last = this.taken
            save()
        if session.rows:  # without a total, the number of rows follows
            progress.label = partial(_shown, session, "" if progress.total else ", rows")
        progress.advance(session.predicted - progress.done)


def _shown(session: Session, rest: str) -> str:
    """The label of the progress bar."""
    rate = session.metrics.running()["rate"] or 0.0
    error = f"{rate:.4g} mse" if session.metrics.targets else f"{100 * rate:.4g} % mistakes"
    return f"{error}, {session.estimator.n_support_} support vectors{rest}"


# ---- the plan


def _planned(algorithm: str, source: NamedRows, address: Address | None, args: Namespace) -> "Run":
    """A new run, or with ``--resume`` the one in the model file."""
    regression, classes = args.regression or source.is_regression, args.classes
    learner = learners.build([algorithm], learners.given_flags(args))[algorithm]
    learner, steps = input.scaled(learner, input.scaling(args, source), args), input.transforms(args)
    kind, given = OnlineRegressor if regression else OnlineClassifier, costs(args, classes)
    if given is not None and (regression or not learner.probabilistic):
        what = "labels, not targets" if regression else "a learner with probabilities, such as auto"
        raise UsageError(f"--cost and --threshold need {what}.")
    if args.coverage is not None and not (regression or learner.probabilistic):
        raise UsageError("--coverage needs a learner with probabilities, such as auto.")
    shared = {"random_state": args.seed, "n_jobs": args.jobs, "encoder": encoder(args)}
    estimator = kind(learner, coverage=args.coverage, **shared)
    if isinstance(estimator, OnlineClassifier):
        estimator.costs = given
    options = {"delay": args.delay, "every": args.every, "name": source.file}
    options |= {"metrics": metrics(args.metrics, regression), "window": args.window}
    # Each block copies the shuffle buffer, so blocks grow with the buffer.
    rows = args.block or max(input.ROWS, (args.shuffle or 0) // 4)
    origin = None if args.save is None else Origin.of(source)
    total, stream = args.rows, None
    if origin is not None and args.resume and os.path.exists(args.save):
        file = model_files.read(args.save)
        session, origin = checkpoint.restored(file, estimator, steps, origin, **options)
        _refuse_others(file.path, session.estimator, classes, args.features)
        columns = session.estimator.n_features_in_
    else:
        length, columns = (None, None) if address else source.survey(verbose=args.verbose)
        total = min((n for n in (length, args.rows) if n is not None), default=None)
        stream = None if address else source.open_labelled(rows, columns)
        task = Targets() if regression else Labels(2 if classes is None else len(classes))
        learners.check_buildable(learner, task, 1 if stream is None else max(stream.n_features, 1))
        session = Session(estimator, steps, classes=classes, **options)
    if address is not None:
        state = None if origin is None else origin.messages
        return Run(session, open_messages(address, source, args, session, state, rows), origin, total)
    return Run(session, stream or source.open_labelled(rows, columns), origin, total, args.rows)


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
    on_record: Callable[[Record], None] = lambda _: None

    @property
    def taken(self) -> int:
        """The number of rows taken from the stream, and from a buffer after its end."""
        return self.session.entered + self.session.drained

    def learn(self, signals: Signals) -> Iterator[None]:
        """Learn the remaining rows until a signal arrives; yield after each block, when it can be saved."""
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
                self._feed_messages(self.rows, block)
            else:
                self._feed(block)
            yield
        while signals.received is None and session.holding:
            self._report(session.drain())
            yield
        if signals.received is None:
            session.finish()

    def _report(self, records: Iterable[Record]) -> None:
        for record in records:
            self.on_record(record)

    def _blocks(self) -> Iterator[Block]:
        """The blocks after those that are learned, up to the limit."""
        session = self.session
        if isinstance(self.rows, MessageStream):
            yield from self.rows
            return
        blocks = checkpoint.rows_after(self.rows, session.entered, self.origin, session.name)
        left = sys.maxsize if self.limit is None else self.limit - session.entered
        while left > 0 and (block := next(blocks, None)) is not None:
            yield block if left >= len(block) else block.part(0, left)
            left -= len(block)

    def _feed(self, block: Block) -> None:
        session, entered = self.session, self.session.entered
        try:
            self._report(session.feeding(block))
        finally:  # the model may have refused a row
            if self.origin is not None and session.entered > entered:
                learned = block.part(0, session.entered - entered)
                self.origin.checksum = checkpoint.added(self.origin.checksum, learned)

    def _feed_messages(self, messages: MessageStream, block: Block) -> None:
        """Learn a block. A message that the model refuses goes where bad messages go."""
        session, row = self.session, 0
        while row < len(block):
            entered = session.entered
            try:
                self._report(session.feeding(block.part(row)))
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
