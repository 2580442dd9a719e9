"""One learner over a stream, in a form that can stop after any block and go on from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import thread_time
from typing import Any

import numpy as np

from budgetron.cli._signals import Signals
from budgetron.evaluate import Record
from budgetron.evaluate.protocol import Delayed, Immediate, Tally
from budgetron.streams import Block, DataError, ShuffleBuffer, Step, Stream

HEAD = 1000  # rows that decide what a learner leaves open, as in evaluate.prequential


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
    ``drained`` have come out; until the last has, the buffer's own state stays what it was before.
    """

    def __init__(self, estimator: Any, classes: Any, steps: list[Step], delay: int) -> None:
        self.estimator = estimator
        self.classes = classes
        self.steps = steps
        self.delay = delay
        self.tally = Tally(estimator)
        self.labels: Immediate = Waiting(estimator, delay) if delay else Immediate(estimator)
        self.entered = 0
        self.drained = 0
        self.buffered: dict[str, Any] | None = None
        self.every = 0
        self.on_predictions: Callable[[Any], object] = lambda _: None
        self.on_record: Callable[[Record], object] = lambda _: None

    def run(self, source: Stream, signals: Signals, between: Callable[[], object]) -> bool:
        """Learn the stream from where it was; whether its end was reached. ``between`` blocks all is consistent."""
        name = str(getattr(getattr(source, "source", None), "name", "data"))
        if not self.drained:
            for block in signals.waiting(source.skip(self.entered)):
                self._learn(self._passed(block, 0), name)
                self.entered = block.stop
                between()
        if signals.asked is None:
            for piece in self._rest():
                self._learn(self._passed(piece, 1), name)
                self.drained += len(piece)
                between()
                if signals.asked is not None:
                    return False
            self._finish()
        return signals.asked is None

    def record(self) -> Record:
        """The run as it is now."""
        return self.tally.record()

    def _finish(self) -> None:
        self.drained, self.buffered = 0, None
        began = thread_time()
        if hasattr(self.estimator, "n_features_in_"):
            self.labels.finish()
        self.tally.seconds += thread_time() - began

    def _rest(self) -> Iterator[Block]:
        """What the shuffle buffer still has when the stream is over, from where a run before stopped."""
        if not self.steps or not isinstance(self.steps[0], ShuffleBuffer):
            return
        self.buffered = self.steps[0].state()
        rest = self.steps[0].flush()
        for start in range(self.drained, 0 if rest is None else len(rest), HEAD):
            assert rest is not None
            cut = slice(start, start + HEAD)
            yield Block(rest.X[cut], rest.y[cut], rest.start + start)

    def _passed(self, block: Block, first: int) -> Block:
        """The block after the steps from that one on."""
        if block.y is None:
            raise DataError(f"row {block.start} (the first is 0) has no label: name their column by --target.")
        for step in self.steps[first:]:
            block = step.learn_transform(block)
        return block

    def _learn(self, block: Block, name: str) -> None:
        for piece in self._cut(block):
            began = thread_time()
            try:
                self._start(block)
                predicted = self.labels.predict_learn(piece.X, piece.y)
            except ValueError as error:
                where = f"{name}, rows {self.tally.rows} to {self.tally.rows + len(piece) - 1} (the first is 0)"
                raise DataError(f"{where}: {error}") from error
            self.tally.seconds += thread_time() - began
            self.tally.count(predicted, piece.y)
            self.on_predictions(predicted)
            if self.every and self.tally.rows % self.every == 0:
                self.on_record(self.record())

    def _start(self, block: Block) -> None:
        """Make the model before the first row; rows of weight 0 teach it nothing."""
        if not hasattr(self.estimator, "n_features_in_"):
            known = {} if self.classes is None else {"classes": self.classes}
            self.estimator.partial_fit(block.X[:HEAD], block.y[:HEAD], **known, sample_weight=0.0)

    def _cut(self, block: Block) -> Iterator[Block]:
        """The block in pieces that end where a record is due."""
        at = 0
        while at < len(block):
            due = self.every - self.tally.rows % self.every if self.every else len(block)
            piece = slice(at, min(len(block), at + due))
            yield Block(block.X[piece], np.asarray(block.y[piece]), block.start + at)
            at = piece.stop
