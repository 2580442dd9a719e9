"""A run of ``budgetron run``: start it or resume it from a file, and learn the rows."""

import os
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from unicodedata import category

from budgetron import OnlineClassifier, OnlineRegressor, datasets, model_files
from budgetron._tasks import Labels, Targets
from budgetron.cli import checkpoint, input, learners
from budgetron.cli.arguments import metrics
from budgetron.cli.checkpoint import Origin
from budgetron.cli.process import Signals, UsageError
from budgetron.evaluate import Record, Session
from budgetron.learners import Learner
from budgetron.streams import DataError, Stream

UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line and paragraph separators


@dataclass
class Run:
    """A session and its rows. ``total`` is their number, if known; a run that is saved has an origin."""

    session: Session
    source: Stream
    origin: Origin | None
    total: int | None = None

    def learn(
        self, signals: Signals, on_record: Callable[[Record], None], between: Callable[[], None]
    ) -> bool:
        """Learn the remaining rows. Returns whether the end was reached, not interrupted by a signal.

        ``between`` is called after each block; the run can be saved then.
        """
        session, name = self.session, self.session.name
        rows = checkpoint.rows_after(self.source, session.entered, self.origin, name)
        for block in signals.waiting(rows):
            if session.over:
                raise DataError(
                    f"{name}: has more rows than the {session.entered} that the run ended with, and a run "
                    "with --shuffle or --delay cannot continue after its end: start again without --resume."
                )
            if self.origin is not None:
                self.origin.checksum = checkpoint.added(self.origin.checksum, block)
            for record in session.feeding(block):
                on_record(record)
            between()
        while signals.received is None and session.holding:
            for record in session.drain():
                on_record(record)
            between()
        if signals.received is None:
            session.finish()
        return signals.received is None


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
    classes, survey = _surveyed(args)
    features = None if survey is None else survey.features
    source = input.open_labelled(args.file, args, rows=_block(args), features=features)
    _check_buildable(args, learner, classes, source.n_features)
    if origin is not None:
        origin.columns = input.names_of(source)
    session = Session(estimator, input.transforms(args), classes=classes, **options)
    return Run(session, source, origin, None if survey is None else survey.rows)


def _resumed(args: Namespace, estimator: Any, origin: Origin, options: dict[str, Any]) -> Run:
    file = model_files.read(args.save)
    session, origin = checkpoint.restored(file, estimator, input.transforms(args), origin, **options)
    classes, model = classes_of(args.classes), session.estimator
    if classes is not None and sorted(classes) != model.classes_.tolist():
        known = model.classes_.tolist()
        raise UsageError(f"{file.path}: cannot resume with other --classes: the file has {known}.")
    columns = model.n_features_in_
    if args.features not in (None, columns):
        raise UsageError(
            f"{file.path}: cannot resume with --features {args.features}: the file has {columns}."
        )
    source = input.open_labelled(args.file, args, rows=_block(args), features=columns, names=origin.columns)
    return Run(session, source, origin)


def _surveyed(args: Namespace) -> tuple[list[Any] | None, input.Survey | None]:
    """The labels (None in regression), and the survey of the file, if one was needed."""
    classes = classes_of(args.classes)
    unknown = classes is None and not args.regression
    if unknown and input.is_pipe(args.file):
        raise UsageError("a pipe needs --classes A,B,... (all labels) or --regression.")
    survey = input.survey(args.file, args, labels=unknown)
    if unknown and survey is not None:
        classes = survey.labels
    refuse_unprintable(args.file, classes or [])
    return classes, survey


def _block(args: Namespace) -> int:
    """The rows in a block. Each block copies the shuffle buffer, so blocks grow with the buffer."""
    if args.block is not None:
        return int(args.block)
    return max(input.ROWS, (args.shuffle or 0) // 4)


def classes_of(text: str | None) -> list[Any] | None:
    """The labels of ``--classes``; numbers if all are numbers."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    try:
        labels: list[Any] = [float(word) for word in words]
    except ValueError:
        labels = words
    if len(set(labels)) < len(labels) or "" in words or len(labels) < 2:
        raise UsageError(
            f"--classes: expected two or more different labels, separated by commas, got {text!r}."
        )
    return labels


def refuse_unprintable(file: str, classes: Iterable[Any]) -> None:
    """Refuse labels with line ends or control characters, since each prediction is printed as a line."""
    for label in classes:
        if isinstance(label, str) and any(category(sign) in UNPRINTABLE for sign in label):
            raise DataError(
                f"{file}: the label {label!a} contains a line end or control character, which cannot be "
                "printed as one line: rename the label."
            )


def _check_buildable(args: Namespace, learner: Learner, classes: Any, columns: int) -> None:
    """Check that there are two labels and that the learner can be built, before any row is learned."""
    if classes is not None and len(classes) < 2:
        what = f"only the label {classes[0]!r}" if classes else "no rows"
        raise DataError(f"{args.file}: has {what}, expected two or more labels (or give --classes).")
    task = Targets() if classes is None else Labels(len(classes))
    learners.check(learner, task, columns, args.seed)
