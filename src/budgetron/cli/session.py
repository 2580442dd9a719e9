"""A run of ``budgetron run``: new or continued from a file, and its way through the rows."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from unicodedata import category

from budgetron import OnlineClassifier, OnlineRegressor, datasets, model_files
from budgetron._tasks import Labels, Targets
from budgetron.cli import checkpoint, input, learners
from budgetron.cli.checkpoint import Origin
from budgetron.cli.process import Signals, Usage
from budgetron.evaluate import Record, Session
from budgetron.learners import Learner
from budgetron.streams import DataError, Stream

UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")  # controls, surrogates, ends of lines and paragraphs


@dataclass
class Run:
    """A session and its rows: ``total`` of them, if that is known. A run that is saved has an origin."""

    session: Session
    source: Stream
    origin: Origin | None
    total: int | None = None

    def learn(
        self, signals: Signals, on_record: Callable[[Record], None], between: Callable[[], None]
    ) -> bool:
        """Learn the rows after those that have entered; whether the end was reached.

        ``between`` is called after each block, when the run can be saved.
        """
        session, name = self.session, self.session.name
        rows = checkpoint.rows_after(self.source, session.entered, self.origin, name)
        for block in signals.waiting(rows):
            if session.over:
                raise DataError(
                    f"{name}: has more than the {session.entered} rows that the run ended with, and a run "
                    "with --shuffle or --delay cannot continue after its end: learn all without --resume."
                )
            if self.origin is not None:
                self.origin.checksum.add(block)
            for record in session.feeding(block):
                on_record(record)
            between()
        while signals.asked is None and session.holding:
            for record in session.drain():
                on_record(record)
            between()
        if signals.asked is None:
            session.finish()
        return signals.asked is None


def planned(args: Namespace) -> Run:
    """The run that the arguments ask for: new, or continued from a file."""
    if input.named(args.file) and datasets.describe(args.file).task == "regression":
        args.regression = True
    learner = learners.learners([args.algorithm], learners.given(args))[args.algorithm]
    estimator = (OnlineRegressor if args.regression else OnlineClassifier)(learner, random_state=args.seed)
    options = {"delay": args.delay, "every": args.every, "name": args.file}
    origin = None if args.save is None else Origin.asked(args)
    if args.resume and os.path.exists(args.save):
        assert origin is not None
        return _resumed(args, estimator, origin, options)
    classes, survey = _surveyed(args)
    features = None if survey is None else survey.features
    source = input.labelled(args.file, args, rows=_block(args), features=features)
    _check_buildable(args, learner, classes, source.n_features)
    if origin is not None:
        origin.columns = input.names_of(source)
    session = Session(estimator, input.transforms(args), classes=classes, **options)
    return Run(session, source, origin, None if survey is None else survey.rows)


def _resumed(args: Namespace, estimator: Any, origin: Origin, options: dict[str, Any]) -> Run:
    file = model_files.read(args.save)
    session, origin = checkpoint.restored(file, estimator, input.transforms(args), origin, **options)
    asked, model = _classes(args.classes), session.estimator
    if asked is not None and sorted(asked) != model.classes_.tolist():
        known = model.classes_.tolist()
        raise Usage(f"{file.path} cannot go on with other labels: it has {known}.")
    columns = model.n_features_in_
    if args.features not in (None, columns):
        raise Usage(f"{file.path} cannot go on with --features {args.features}: its rows have {columns}.")
    source = input.labelled(args.file, args, rows=_block(args), features=columns, names=origin.columns)
    return Run(session, source, origin)


def _surveyed(args: Namespace) -> tuple[list[Any] | None, input.Survey | None]:
    """The labels, None in regression; and what a pass over the file has found, if one was needed."""
    classes = _classes(args.classes)
    unknown = classes is None and not args.regression
    if unknown and input.piped(args.file):
        raise Usage("--classes (all labels there will be) or --regression must be given for a pipe.")
    survey = input.surveyed(args.file, args, labels=unknown)
    if unknown and survey is not None:
        classes = survey.labels
    refuse_unprintable(args.file, classes or [])
    return classes, survey


def _block(args: Namespace) -> int:
    """Rows at a time; a shuffle buffer is moved once for each block, so blocks grow with its size."""
    if args.block is not None:
        return int(args.block)
    return max(input.ROWS, (args.shuffle or 0) // 4)


def _classes(text: str | None) -> list[Any] | None:
    """The labels: numbers if all are."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    try:
        labels: list[Any] = [float(word) for word in words]
    except ValueError:
        labels = words
    if len(set(labels)) < len(labels) or "" in words or len(labels) < 2:
        raise Usage(f"--classes: expected two or more different labels with commas between, got {text!r}.")
    return labels


def refuse_unprintable(file: str, classes: Iterable[Any]) -> None:
    """A prediction is one line: a label must not break it, nor be something that a terminal obeys."""
    for label in classes:
        if isinstance(label, str) and any(category(sign) in UNPRINTABLE for sign in label):
            raise DataError(
                f"{file}: the label {label!a} has a line end or another control character in it, and "
                "predictions are one line to a row: give it another name."
            )


def _check_buildable(args: Namespace, learner: Learner, classes: Any, columns: int) -> None:
    """Whether the learner can be built, checked before the first row."""
    if classes is not None and len(classes) < 2:
        what = f"only the label {classes[0]!r}" if classes else "no rows"
        raise DataError(f"{args.file}: has {what}, expected two labels or more (--classes names them).")
    task = Targets() if classes is None else Labels(len(classes))
    learners.check(learner, task, columns, args.seed)
