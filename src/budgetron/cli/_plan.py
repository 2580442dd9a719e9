"""From the arguments of ``budgetron run`` to a run that can begin: new, or taken up from a file."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from unicodedata import category

from budgetron import OnlineClassifier, OnlineRegressor, datasets, model_files
from budgetron._tasks import Labels, Targets
from budgetron.cli import _checkpoint, _learners, _origin, _source, _steps
from budgetron.cli._exits import Usage
from budgetron.cli._learning import Learning
from budgetron.learners import Learner
from budgetron.streams import DataError, Stream

UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")  # controls, surrogates, ends of lines and paragraphs


@dataclass
class Plan:
    """A run before its first row, or in the middle; ``total`` rows if that is known."""

    learning: Learning
    source: Stream
    total: int | None


def planned(args: Namespace) -> Plan:
    """The run that the arguments ask for."""
    if _source.named(args.file) and datasets.describe(args.file).task == "regression":
        args.regression = True
    learner = _learners.learners([args.algorithm], _learners.given(args))[args.algorithm]
    estimator = (OnlineRegressor if args.regression else OnlineClassifier)(learner, random_state=args.seed)
    learning = Learning(estimator, None, _steps.from_flags(args), args.delay)
    learning.every = args.every or 0
    learning.origin = None if args.save is None else _origin.asked(args)
    if args.resume and os.path.exists(args.save):
        return _resumed(args, learning)
    classes, survey = _classes(args.classes), None
    if _source.piped(args.file) and classes is None and not args.regression:
        raise Usage("--classes (all labels there will be) or --regression must be given for a pipe.")
    if not _source.piped(args.file) and _unknown(args, classes):
        survey = _source.surveyed(args.file, args, labels=classes is None and not args.regression)
        classes = classes if classes or args.regression else survey.labels
    refuse_unprintable(args.file, classes or [])
    learning.classes = classes
    source = _source.opened(
        args.file, args, rows=_block(args), features=survey.features if survey else None
    )
    _probe(args, learner, classes, source.n_features)
    if learning.origin is not None:
        learning.origin.columns = _source.names_of(source)
    return Plan(learning, source, survey.rows if survey else None)


def _resumed(args: Namespace, learning: Learning) -> Plan:
    file = model_files.read(args.save)
    _checkpoint.restore(learning, file)
    asked = _classes(args.classes)
    if asked is not None and sorted(asked) != learning.classes:
        raise Usage(f"{file.path} cannot go on with other labels: it has {learning.classes}.")
    columns = learning.estimator.n_features_in_
    if args.features not in (None, columns):
        raise Usage(f"{file.path} cannot go on with --features {args.features}: its rows have {columns}.")
    names = None if learning.origin is None else learning.origin.columns
    source = _source.opened(args.file, args, rows=_block(args), features=columns, names=names)
    return Plan(learning, source, None)


def _unknown(args: Namespace, classes: Any) -> bool:
    """Whether a pass over the file must tell what the arguments do not."""
    return _source.width_is_open(args.file, args) or (classes is None and not args.regression)


def _block(args: Namespace) -> int:
    """Rows at a time; a shuffle buffer is moved once for each block, so they go with its size."""
    if args.block is not None:
        return int(args.block)
    return max(_source.ROWS, (args.shuffle or 0) // 4)


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


def _probe(args: Namespace, learner: Learner, classes: Any, columns: int) -> None:
    """Whether the learner can be built, found out before the first row."""
    if classes is not None and len(classes) < 2:
        what = f"only the label {classes[0]!r}" if classes else "no rows"
        raise DataError(f"{args.file}: has {what}, expected two labels or more (--classes names them).")
    task = Targets() if classes is None else Labels(len(classes))
    _learners.check(learner, task, columns, args.seed)
