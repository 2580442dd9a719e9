"""One learner over a stream, in a form that can stop after any block and go on from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import thread_time
from typing import Any

import numpy as np

from budgetron.cli._origin import Origin, behind
from budgetron.cli._signals import Signals
from budgetron.cli._source import stacked
from budgetron.evaluate import Record
from budgetron.evaluate.protocol import HEAD, Delayed, Immediate, Tally
from budgetron.streams import Block, DataError, ShuffleBuffer, Step, Stream

PIECE = 1000  # rows that are learned before a signal is looked for, when the shuffle buffer is emptied


class Waiting(Delayed):
    """Labels that arrive later, with the rows that wait for theirs to be kept and put back."""

    def pieces(self) -> list[tuple[Any, Any]]:
        """The rows that wait, in pieces."""
        return list(self._pieces)

    def put_back(self, X: Any, y: Any) -> None:
        """Rows that waited before."""
        self._pieces.append((X, y))
        self._waiting += len(y)


class Learning:
    """The estimator, the steps before it, the counts, and how far the stream has come.

    ``entered`` rows of the source went in. When it is over the shuffle buffer still has rows, of which
    ``drained`` have come out; until the last has, its state is what it was before, in ``buffered``.
    """

    def __init__(self, estimator: Any, classes: Any, steps: list[Step], delay: int) -> None:
        self.estimator = estimator
        self.classes = classes
        self.steps = steps
        self.delay = delay
        self.tally = Tally(estimator)
        self.labels: Immediate | Waiting = Waiting(estimator, delay) if delay else Immediate(estimator)
        self.entered = 0
        self.drained = 0
        self.buffered: dict[str, Any] | None = None
        self.origin: Origin | None = None  # of a run that is saved
        self.every = 0
        self.on_predictions: Callable[[Any], object] = lambda _: None
        self.on_record: Callable[[Record], object] = lambda _: None
        self._head: list[Block] = []  # rows that wait until there are enough to make the model

    def run(
        self, source: Stream, name: str, signals: Signals, between: Sequence[Callable[[], None]]
    ) -> bool:
        """Learn the stream from where it was; whether its end was reached.

        ``between`` are called after each block, when model and counts agree.
        """
        try:
            return self._run(source, name, signals, between)
        except Refused as error:
            where = f"{name}, rows {self.tally.rows} to {self.tally.rows + error.rows - 1} (the first is 0)"
            raise DataError(f"{where}: {error}") from error

    def record(self) -> Record:
        """The run as it is now."""
        return self.tally.record()

    @property
    def started(self) -> bool:
        """Whether there is a model."""
        return hasattr(self.estimator, "n_features_in_")

    def _run(
        self, source: Stream, name: str, signals: Signals, between: Sequence[Callable[[], None]]
    ) -> bool:
        over = self._was_over()
        for block in signals.waiting(behind(source, self.entered, self.origin, name)):
            if over:
                raise DataError(
                    f"{name}: has more than the {self.entered} rows that the run ended with, and one with "
                    "--shuffle or --delay cannot go on behind its end: learn them all without --resume."
                )
            if self.origin is not None:
                self.origin.add(block)
            self._take(self._passed(block, self.steps))
            self.entered = block.stop
            _call(between)
        if signals.asked is not None:
            return False
        for piece in self._rest():
            self._take(self._passed(piece, self.steps[1:]))
            self.drained += len(piece)
            _call(between)
            if signals.asked is not None:
                return False
        self._finish()
        return True

    def _was_over(self) -> bool:
        """Whether an end was reached that a longer stream would not have had: what waited came out.

        In the middle of a stream there are always rows in the buffer, and rows that wait for their labels.
        """
        if not self.entered:
            return False
        shuffles = bool(self.steps) and isinstance(self.steps[0], ShuffleBuffer)
        empty = shuffles and set(self.steps[0].state()) == {"counts"}
        answered = isinstance(self.labels, Waiting) and not self.labels.pieces()
        return self.drained > 0 or empty or answered

    def _rest(self) -> Iterator[Block]:
        """What the shuffle buffer still has when the stream is over, from where a run before stopped."""
        if not self.steps or not isinstance(self.steps[0], ShuffleBuffer):
            return
        self.buffered = self.steps[0].state()
        rest = self.steps[0].flush()
        for start in range(self.drained, 0 if rest is None else len(rest), PIECE):
            assert rest is not None
            cut = slice(start, start + PIECE)
            yield Block(rest.X[cut], rest.y[cut], rest.start + start)

    def _finish(self) -> None:
        """The stream is over: nothing waits any longer."""
        if self._head:
            self._begin()
        self.drained, self.buffered = 0, None
        began = thread_time()
        self.labels.finish()
        self.tally.seconds += thread_time() - began

    @staticmethod
    def _passed(block: Block, steps: list[Step]) -> Block:
        for step in steps:
            block = step.learn_transform(block)
        return block

    def _take(self, block: Block) -> None:
        if self.started:
            self._learn(block)
        elif len(block):
            self._head.append(block)
            if not self._leaves_open() or sum(map(len, self._head)) >= HEAD:
                self._begin()

    def _leaves_open(self) -> bool:
        """Whether a parameter of the learner is to be taken from the first rows."""
        learner = self.estimator.learner
        return bool(learner.fitted(np.zeros((1, 1))) != learner)

    def _begin(self) -> None:
        """Make the model from the first rows, as `evaluate.prequential` does; then learn them."""
        head, self._head = self._head, []
        X, y = stacked([(block.X, block.y) for block in head])
        known = {} if self.classes is None else {"classes": self.classes}
        try:  # rows of weight 0 teach it nothing
            self.estimator.partial_fit(X[:HEAD], y[:HEAD], **known, sample_weight=0.0)
        except ValueError as error:
            raise Refused(error, min(len(y), HEAD)) from error
        for block in head:
            self._learn(block)

    def _learn(self, block: Block) -> None:
        for X, y in self._cut(block):
            began = thread_time()
            try:
                predicted = self.labels.predict_learn(X, y)
            except ValueError as error:
                raise Refused(error, len(y)) from error
            self.tally.seconds += thread_time() - began
            self.tally.count(predicted, y)
            self.on_predictions(predicted)
            if self.every and self.tally.rows % self.every == 0:
                self.on_record(self.record())

    def _cut(self, block: Block) -> Iterator[tuple[Any, Any]]:
        """The block in pieces that end where a record is due."""
        at = 0
        while at < len(block):
            due = self.every - self.tally.rows % self.every if self.every else len(block)
            piece = slice(at, min(len(block), at + due))
            yield block.X[piece], np.asarray(block.y[piece])
            at = piece.stop


def _call(functions: Sequence[Callable[[], None]]) -> None:
    for function in functions:
        function()


class Refused(Exception):
    """Some of the next rows cannot be learned."""

    def __init__(self, error: ValueError, rows: int) -> None:
        super().__init__(str(error))
        self.rows = rows
