"""The online protocol over a stream: predict each row, then learn it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from numbers import Integral
from time import thread_time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from budgetron import _check
from budgetron._rows import Matrix
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.evaluate.records import Record
from budgetron.learners import Learner
from budgetron.streams import Block, DataError, Stream, from_arrays

Estimator = OnlineClassifier | OnlineRegressor
Labels = npt.NDArray[Any]

HEAD = 1000
"""How many rows decide what a learner leaves open, such as gamma="scale"."""


def prequential(
    estimator: Estimator,
    stream: Stream | Iterable[Block] | tuple[Any, Any],
    *,
    every: int = 1000,
    classes: Any = None,
    delay: int = 0,
    predictions: Callable[[Labels], object] | None = None,
) -> Iterator[Record]:
    """Predict each row, then learn it; a `Record` after each ``every`` rows, and one at the end.

    How the rows are cut into blocks changes nothing. What a learner leaves open (``gamma="scale"``) is
    taken from the first 1000 rows; a learner that leaves nothing open starts with the first block.

    Parameters
    ----------
    estimator : OnlineClassifier or OnlineRegressor
        What learns; one that has learned before goes on.
    stream : Stream, iterable of blocks, or pair (X, y)
        The rows and their labels.
    every : int
        The rows from one record to the next.
    classes : array, optional
        All labels there will be. A pair (X, y) and a classifier that has learned before do without.
    delay : int
        The label of a row arrives so many rows later: with delay k, row t is predicted by a model that has
        learned the rows before t - k. The labels that are still out at the end are learned then, which a
        last record shows.
    predictions : callable, optional
        Gets all predictions, as arrays for some rows at a time.

    Examples
    --------
    >>> from budgetron import OnlineRegressor, evaluate
    >>> X, y = [[0.0], [1.0]] * 50, [0.0, 1.0] * 50
    >>> [now, later] = [list(evaluate.prequential(OnlineRegressor(), (X, y), delay=k))[-1] for k in (0, 9)]
    >>> now.rows, now.rate < later.rate
    (100, True)
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"prequential: estimator must be an OnlineClassifier or an OnlineRegressor, got {estimator!r}."
        )
    if isinstance(delay, bool) or not isinstance(delay, Integral) or delay < 0:
        raise ValueError(f"prequential: delay must be a whole number of at least 0, got {delay!r}.")
    every = _check.count("prequential", "every", every)
    blocks = _blocks(stream)
    first = _first_call(estimator, None if blocks is stream else blocks.y, classes)
    labels = Delayed(estimator, int(delay)) if delay else Immediate(estimator)
    started = _started(estimator, iter(blocks), first)
    return _records(Tally(estimator), labels, started, every, predictions)


class Immediate:
    """The label of a row is there as soon as it was predicted."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator

    def predict_learn(self, X: Matrix, y: Labels) -> Labels:
        """The predictions of some rows, each made before it was learned."""
        return self.estimator.progressive_predict(X, y)

    def finish(self) -> bool:
        """Learn what is still to be learned; whether there was something."""
        return False


class Delayed:
    """The label of a row arrives ``delay`` rows later; until then the row waits.

    A row of weight 0 is predicted and not learned. So each row goes in twice, now with weight 0 and again
    when its label arrives, and one native pass takes both kinds in turns.
    """

    def __init__(self, estimator: Estimator, delay: int) -> None:
        self.estimator = estimator
        self.delay = delay
        self._pieces: deque[tuple[Matrix, Labels]] = deque()
        self._waiting = 0

    def predict_learn(self, X: Matrix, y: Labels) -> Labels:
        """The predictions of some rows, each made before the row whose label arrived then was learned."""
        n = len(y)
        self._pieces.append((X, y))
        self._waiting += n
        due = self._take(max(0, self._waiting - self.delay))
        X, y = _stacked([(X, y), *due])
        late = np.arange(len(y) - n) + n - (len(y) - n)  # the row of X after which each one is due
        order = np.argsort(np.concatenate([2 * np.arange(n), 2 * late + 1]))
        learned = order >= n
        predicted = self.estimator.progressive_predict(X[order], y[order], sample_weight=learned * 1.0)
        return np.asarray(predicted[~learned])

    def finish(self) -> bool:
        """Learn the rows that wait."""
        rest = self._take(self._waiting)
        if rest:
            self.estimator.partial_fit(*_stacked(rest))
        return bool(rest)

    def _take(self, n: int) -> list[tuple[Matrix, Labels]]:
        """The n rows that have waited longest, in pieces."""
        self._waiting -= n
        taken = []
        while n:
            X, y = self._pieces.popleft()
            if len(y) > n:
                self._pieces.appendleft((X[n:], y[n:]))
            taken.append((X[:n], y[:n]))
            n -= min(n, len(y))
        return taken


class Tally:
    """What is counted while an estimator runs."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator
        self.rows = 0
        self.mistakes: int | None = 0 if isinstance(estimator, OnlineClassifier) else None
        self.loss: float | None = None if isinstance(estimator, OnlineClassifier) else 0.0
        self.seconds = 0.0

    def count(self, predicted: Labels, y: Labels) -> None:
        """Some more rows were predicted."""
        self.rows += len(y)
        if self.mistakes is not None:
            self.mistakes += int(np.count_nonzero(predicted != y))
        else:  # summed in order, so that the cut does not show in the last bits
            squares = np.square(predicted - y)
            self.loss = float(np.add.accumulate(np.concatenate([[self.loss], squares]))[-1])

    def record(self) -> Record:
        """The run as it is now."""
        model = self.estimator
        size, memory = model.n_support_, model.memory_bytes_
        return Record(self.rows, self.mistakes, self.loss, size, self.seconds, memory)


def _records(
    tally: Tally,
    labels: Immediate | Delayed,
    blocks: Iterator[Block],
    every: int,
    predictions: Callable[[Labels], object] | None,
) -> Iterator[Record]:
    for block in blocks:
        for piece in _cut(block, tally.rows, every):
            began = thread_time()
            predicted = _learned(labels, piece)
            tally.seconds += thread_time() - began
            tally.count(predicted, piece.y)
            if predictions is not None:
                predictions(predicted)
            if tally.rows % every == 0:
                yield tally.record()
    began = thread_time()
    more = labels.finish()
    tally.seconds += thread_time() - began
    if more or tally.rows % every:
        yield tally.record()


def _learned(labels: Immediate | Delayed, piece: Block) -> Labels:
    try:
        return labels.predict_learn(piece.X, piece.y)
    except ValueError as error:
        where = f"prequential, rows {piece.start} to {piece.stop - 1} (the first is 0)"
        raise DataError(f"{where}: {error}") from error


def _cut(block: Block, rows: int, every: int) -> Iterator[Block]:
    """The block in pieces that end where a record is due, ``rows`` having gone before."""
    at = 0
    while at < len(block):
        piece = slice(at, min(len(block), at + every - (rows + at) % every))
        yield Block(block.X[piece], block.y[piece], block.start + at)
        at = piece.stop


def _blocks(stream: Any) -> Iterable[Block]:
    """The blocks of whatever was given."""
    if isinstance(stream, tuple | list) and len(stream) == 2 and not isinstance(stream[0], Block):
        return from_arrays(*stream)
    if not isinstance(stream, Iterable):
        raise TypeError(f"prequential: expected a stream, blocks or a pair (X, y), got {stream!r}.")
    return stream


def _first_call(estimator: Estimator, whole: Any, classes: Any) -> dict[str, Any]:
    """What the first call needs beside the rows, of which ``whole`` are all labels where they are known."""
    if isinstance(estimator, OnlineRegressor):
        if classes is not None:
            raise ValueError("prequential: classes are for a classifier, the estimator is a regressor.")
        return {}
    if classes is None and not _learned_before(estimator):
        if whole is None:
            raise ValueError(
                "prequential: classes must be given for a stream: all labels that it will have."
            )
        classes = whole
    return {"classes": classes}


def _learned_before(estimator: Estimator) -> bool:
    return hasattr(estimator, "learner_")


def _started(estimator: Estimator, blocks: Iterator[Block], first: dict[str, Any]) -> Iterator[Block]:
    """The blocks, after the model was made from the first of them; rows of weight 0 teach it nothing."""
    blocks = _labelled(blocks)
    rows = HEAD if _leaves_open(estimator) else 1
    head = _head(blocks, rows)
    if not head:
        raise DataError("prequential: the stream has no rows.")
    X, y = _stacked([(block.X, block.y) for block in head])
    X = X[:rows]
    estimator.partial_fit(X, np.repeat(y[:1], X.shape[0]), **first, sample_weight=0.0)
    yield from chain(head, blocks)


def _head(blocks: Iterator[Block], rows: int) -> list[Block]:
    """The first blocks, until there are so many rows."""
    head: list[Block] = []
    while sum(map(len, head)) < rows and (block := next(blocks, None)) is not None:
        head.append(block)
    return head


def _leaves_open(estimator: Estimator) -> bool:
    """Whether a parameter of the learner is still to be taken from the rows."""
    learner = estimator.learner
    if _learned_before(estimator):
        return False
    return not isinstance(learner, Learner) or learner.fitted(np.zeros((1, 1))) != learner


def _labelled(blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.y is None:
            raise DataError(f"prequential: row {block.start} (the first is 0) has no label.")
        if len(block):
            yield Block(block.X, np.asarray(block.y), block.start)


def _stacked(pieces: list[tuple[Matrix, Labels]]) -> tuple[Matrix, Labels]:
    """Some rows and their labels in one piece."""
    if len(pieces) == 1:
        return pieces[0]
    rows = [X for X, _ in pieces]
    X = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
    return X, np.concatenate([y for _, y in pieces])
