"""A run of ``budgetron run``: start it or resume it from a file, and learn the rows."""

import os
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from unicodedata import category

import numpy as np

from budgetron import OnlineClassifier, OnlineRegressor, datasets
from budgetron.cli import checkpoint, input, learners
from budgetron.cli.arguments import classes_of, metrics
from budgetron.cli.checkpoint import Origin
from budgetron.cli.messages import open_messages
from budgetron.cli.process import Signals, UsageError, say
from budgetron.evaluate import Record, Session
from budgetron.learners.learner import Learner
from budgetron.model.files import model_files
from budgetron.parts.tasks import Labels, Targets
from budgetron.streams import Block, DataError, Stream
from budgetron.streams.bad_rows import BadRows
from budgetron.streams.brokers.messages import MessageStream

UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line and paragraph separators


@dataclass
class Run:
    """A session and its rows. ``total`` is their number, if known; a run that is saved has an origin."""

    session: Session
    source: Stream
    origin: Origin | None
    total: int | None = None
    limit: int | None = None  # of rows, at which it ends

    @property
    def bad_rows(self) -> BadRows:
        """The rows that could not be read."""
        return input.bad_rows(self.source)

    def learn(
        self, signals: Signals, on_record: Callable[[Record], None], between: Callable[[], None]
    ) -> bool:
        """Learn the remaining rows. Returns whether the end was reached, not interrupted by a signal.

        ``between`` is called after each block; the run can be saved then.
        """
        session, name = self.session, self.session.name
        checks: list[Callable[[Block], None]] = [TimeOrder(name)]
        if isinstance(session.estimator, OnlineClassifier):
            checks += [Labelled(name, listed=session.classes is not None)]
        for block in signals.waiting(self._blocks()):
            for check in checks:
                check(block)
            if session.over:
                raise DataError(
                    f"{name}: has more rows than the {session.entered} that the run ended with, and a run "
                    "with --shuffle or --delay cannot continue after its end: start again without --resume."
                )
            if isinstance(self.source, MessageStream):
                self._feed_messages(self.source, block, on_record)
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
        if isinstance(self.source, MessageStream):
            yield from self.source
            return
        session = self.session
        if self.limit is not None and session.entered >= self.limit:
            return
        for block in checkpoint.rows_after(self.source, session.entered, self.origin, session.name):
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
        self, source: MessageStream, block: Block, on_record: Callable[[Record], None]
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
                source.settle(row)
                if source.bad_rows.stop:
                    raise
                source.refuse(row, str(error.__cause__ or error).rstrip("."))
                session.skip_refused()
                row += 1
        source.settle(row)

    def note_position(self) -> None:
        """Bring the position in the messages up to date, before a checkpoint."""
        if isinstance(self.source, MessageStream) and self.origin is not None:
            self.origin.messages = self.source.state()

    def commit(self) -> None:
        """Tell the broker the position, after a checkpoint."""
        if isinstance(self.source, MessageStream):
            self.source.commit()

    def close(self) -> None:
        """Disconnect from the broker."""
        if isinstance(self.source, MessageStream):
            self.source.close()


def plan(args: Namespace) -> Run:
    """A new run, or with ``--resume`` the one in the model file."""
    if input.is_data_set(args.file) and datasets.describe(args.file).task == "regression":
        args.regression = True
    learner = learners.build([args.algorithm], learners.given_flags(args))[args.algorithm]
    learner = input.scaled(learner, args)
    estimator = (OnlineRegressor if args.regression else OnlineClassifier)(learner, random_state=args.seed)
    names = metrics(args.metrics, args.regression)
    options = {"delay": args.delay, "every": args.every, "name": args.file}
    options |= {"metrics": names, "window": args.window}
    origin = None if args.save is None else Origin.from_args(args)
    if args.resume and os.path.exists(args.save):
        assert origin is not None
        return _resumed(args, estimator, origin, options)
    classes = classes_of(args.classes)
    if args.address is not None:
        _check_buildable(args, learner, classes, 1)
        session = Session(estimator, input.transforms(args), classes=classes, **options)
        return Run(session, open_messages(args, _block(args)), origin, args.rows)
    survey = input.survey(args.file, args)
    features = None if survey is None else survey.features
    source = input.open_labelled(args.file, args, rows=_block(args), features=features)
    _check_buildable(args, learner, classes, source.n_features)
    session = Session(estimator, input.transforms(args), classes=classes, **options)
    total = args.rows if survey is None else min(survey.rows, args.rows or survey.rows)
    return Run(session, source, origin, total, args.rows)


def _resumed(args: Namespace, estimator: Any, origin: Origin, options: dict[str, Any]) -> Run:
    file = model_files.read(args.save)
    session, origin = checkpoint.restored(file, estimator, input.transforms(args), origin, **options)
    classes, model = classes_of(args.classes), session.estimator
    if classes is not None and sorted(classes) != model.classes_.tolist():
        known = model.classes_.tolist()
        raise UsageError(f"{file.path}: cannot resume with other --classes: the file has {known}.")
    if args.address is not None:
        numeric = args.regression or model.classes_.dtype.kind in "fiub"
        rows, state = _block(args), origin.messages
        source = open_messages(args, rows, start=session.entered, state=state, numeric=numeric)
        return Run(session, source, origin, args.rows)
    columns = model.n_features_in_
    if model.encoding_ is None and args.features not in (None, columns):
        raise UsageError(
            f"{file.path}: cannot resume with --features {args.features}: the file has {columns}."
        )
    table = input.open_labelled(args.file, args, rows=_block(args), features=columns)
    return Run(session, table, origin, args.rows, args.rows)


def _block(args: Namespace) -> int:
    """The rows in a block. Each block copies the shuffle buffer, so blocks grow with the buffer."""
    if args.block is not None:
        return int(args.block)
    return max(input.ROWS, (args.shuffle or 0) // 4)


def refuse_unprintable(file: str, classes: Iterable[Any]) -> None:
    """Refuse labels with line ends or control characters, since each prediction is printed as a line."""
    for label in classes:
        if isinstance(label, str) and any(category(sign) in UNPRINTABLE for sign in label):
            raise DataError(
                f"{file}: the label {label!a} contains a line end or control character, which cannot be "
                "printed as one line: rename the label."
            )


def _check_buildable(args: Namespace, learner: Learner, classes: Any, columns: int) -> None:
    """Check that the learner can be built, before any row is learned."""
    task = Targets() if args.regression else Labels(2 if classes is None else len(classes))
    learners.check_buildable(learner, task, max(columns, 1))


class Labelled:
    """Checks labels as they come: they must be printable, and must not look like targets."""

    def __init__(self, name: str, listed: bool) -> None:
        self._name = name
        self._listed = listed  # whether the command line has listed them
        self._seen: set[Any] = set()

    def __call__(self, block: Block) -> None:
        new = set(block.y.tolist()) - self._seen
        if not new or self._listed:
            return
        refuse_unprintable(self._name, new)
        targets = sorted(label for label in new if isinstance(label, float) and not label.is_integer())
        if targets:
            raise UsageError(
                f"{self._name}: the label {targets[0]!r} is a number with decimals: give --regression if "
                "the labels are targets."
            )
        self._seen |= new
        if len(self._seen) > input.MOST_LABELS:
            raise UsageError(
                f"{self._name} has more than {input.MOST_LABELS} different labels: give --regression if "
                "they are targets, or list them with --classes."
            )


class TimeOrder:
    """Says once if rows go back in time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last = -np.inf
        self._told = False

    def __call__(self, block: Block) -> None:
        if block.times is None or self._told:
            return
        before = np.maximum.accumulate(np.concatenate([[self._last], block.times]))
        back = np.flatnonzero(block.times < before[:-1])
        self._last = before[-1]
        if len(back):
            self._told = True
            row = block.start + int(back[0])
            say(
                f"{self._name}: row {row} (the first is 0) is earlier than a row before it: rows are "
                "learned in the order of the file."
            )
