"""Session, the online loop: predict each row, then learn it. All other kinds of run use it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from time import thread_time
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from budgetron._util import check
from budgetron._util.text import shown
from budgetron.estimators import OnlineRegressor
from budgetron.evaluate import progressive, session_state
from budgetron.evaluate.delayed import Delayed
from budgetron.evaluate.metrics import Metrics
from budgetron.evaluate.progressive import HEAD, Estimator, Learned, ProgressiveMetrics
from budgetron.evaluate.record import Record
from budgetron.model.labels import selected
from budgetron.streams import Block, DataError, Transform, described
from budgetron.streams.stream import joined, transformed

T = TypeVar("T")

PIECE = 1000
"""The number of rows taken from a buffer at a time after the end of the stream."""

BETWEEN, INSIDE, REFUSED = "between blocks", "inside a block", "at a refused row"
"""Where a session is. Inside a block, rows and the state of transforms may not agree."""

Flushed = tuple[int, dict[str, Any], Block]
"""The index of a flushed transform, its state before the flush, and the rows that it returned."""


class Session:
    """Predict and learn a stream block by block. A session can be saved after any block and resumed.

    Blocks may have sample weights, with which their rows are learned; the metrics count every row once. If
    they have times, the records have the time of the last row.

    The results do not depend on how the rows are divided into blocks. ``gamma="scale"`` is computed from
    the first 1000 rows after the transforms, so learning starts when these have arrived. With all
    parameters given as numbers, learning starts at the first row. A fitted estimator continues.

    An error ends the session. The rows before the refused row are learned; ``error.rows_learned`` is their
    number in this session. Without a delay, and without transforms that learn or hold back rows, `state` is
    then the one after these rows. To continue, make a new session and restore a state.

    Rows held back are not copied: do not change the arrays of a block after `feed`.

    Parameters
    ----------
    estimator : OnlineClassifier or OnlineRegressor
        The estimator.
    transforms : sequence of Transform
        The transforms of the rows, such as ``streams.Standardise()``.
    classes : array, optional
        All labels of the stream; others are refused. Without them, a classifier knows a label from the
        first row that has it.
    delay : int
        The label of a row arrives this many rows later. With delay k, row t is predicted by a model that
        has learned the rows before t - k. At the end of the stream the remaining labels arrive at once.
    every : int or None
        The number of rows between two records; None for a record only at the end.
    predictions : callable, optional
        A function that is called with each array of predictions. If the blocks have ``ids``, it is also
        called with those of the same rows.
    metrics : list of str, optional
        The names of the `Metrics` in the records. The default is a common set, or after `restore` those of
        the saved session; ``()`` is none but the rate.
    window : int
        The number of last rows for the metrics over a window.
    name : str
        The first words of error messages.

    Attributes
    ----------
    entered : int
        The number of rows fed.
    drained : int
        The number of rows taken from a buffer since the end of the stream.
    rows : int
        The number of rows predicted whose labels are known.
    unlabelled : int
        The number of rows without a label: NaN, None or "". They are predicted, but neither learned nor
        measured. Those before the first label have no prediction: it is NaN or "".
    metrics : Metrics
        The metrics of the rows predicted so far.

    Examples
    --------
    >>> from budgetron import Gaussian, OnlineRegressor, ogd, streams
    >>> from budgetron.evaluate import Session
    >>> session = Session(OnlineRegressor(ogd(Gaussian())), [streams.Standardise()], every=50)
    >>> for block in streams.from_arrays([[0.0], [1.0]] * 60, [0.0, 1.0] * 60, rows=40):
    ...     print([record.rows for record in session.feed(block)])
    []
    []
    []
    >>> [record.rows for record in session.finish()]  # gamma="scale" waits for 1000 rows or the end
    [50, 100, 120]
    """

    def __init__(
        self,
        estimator: Estimator,
        transforms: Sequence[Transform] = (),
        *,
        classes: Any = None,
        delay: int = 0,
        every: int | None = 1000,
        predictions: Callable[..., object] | None = None,
        metrics: Iterable[str] | None = None,
        window: int = 1000,
        name: str = "session",
    ) -> None:
        if not isinstance(estimator, Estimator):
            kinds = "an OnlineClassifier or an OnlineRegressor"
            raise TypeError(f"{name}: estimator must be {kinds}, got {shown(estimator)}.")
        self.estimator = estimator
        self.transforms = list(transforms)
        self.classes = _labels(estimator, classes, name)
        self.delay = check.whole(name, "delay", delay)
        self.every = None if every is None else check.count(name, "every", every)
        self.predictions = predictions
        self.name = name
        self.entered = 0
        self.drained = 0
        self.unlabelled = 0
        self.seconds = 0.0
        self.time: float | None = None  # of the last row
        self._named = metrics is not None
        self._measured = self._measuring(metrics, check.count(name, "window", window))
        self._head: list[Block] = []  # the first rows, until there are enough to start the model
        self._delayed = Delayed(self.delay)
        self._flushed: Flushed | None = None
        self._finished = False
        self._place = BETWEEN

    @property
    def rows(self) -> int:
        """The number of rows predicted whose labels are known."""
        return self._measured.rows

    @property
    def predicted(self) -> int:
        """The number of rows predicted, with and without labels."""
        return self.rows + self.unlabelled

    @property
    def metrics(self) -> Metrics:
        """The metrics of the rows predicted so far."""
        return self._measured.metrics

    @property
    def started(self) -> bool:
        """Whether the model exists, that is, the first rows have been learned."""
        return self.estimator.__sklearn_is_fitted__()

    @property
    def broken(self) -> bool:
        """Whether an error ended the session, so that its state cannot be saved."""
        return self._place == INSIDE

    @property
    def over(self) -> bool:
        """Whether held-back rows were learned at the end of the stream, so that no more rows can be fed."""
        return self._finished and (self.delay > 0 or bool(self._buffers()))

    @property
    def holding(self) -> bool:
        """Whether transforms hold back rows, or the model has not started; `drain` learns these rows."""
        return self._buffered() or bool(self._head)

    def feed(self, block: Block) -> list[Record]:
        """Predict each row of the block, then learn it. Returns the records of these rows."""
        return list(self.feeding(block))

    def feeding(self, block: Block) -> Iterator[Record]:
        """As `feed`, but yields each record when its row is learned. Iterate to the end."""
        if self.over:
            raise DataError(f"{self.name}: cannot feed rows after the end: the held-back rows are learned.")
        self._enter_block()
        if block.y is None:
            raise DataError(f"{self.name}: row {block.start} (the first is 0) has no label.")
        try:
            yield from self._learn(transformed(block, self.transforms))
        except DataError:
            if not self.delay and not any(step.state() for step in self.transforms):
                self._place = REFUSED if self.started and self.predicted >= self.entered else INSIDE
                self.entered = max(self.predicted, self.entered)
            raise
        self.entered += len(block)
        self._place = BETWEEN

    def skip_refused(self) -> None:
        """After an error at a row that the model refuses: go on with the rows after it.

        Raises a ValueError if that cannot be, which `broken` tells.
        """
        self._refuse(INSIDE)
        self._place = BETWEEN

    def drain(self) -> Iterator[Record]:
        """After the end of the stream: learn the next 1000 held-back rows. Iterate to the end.

        `finish` calls it as long as there are such rows. To save or stop in between, call it yourself while
        `holding` is true.
        """
        self._enter_block()
        self._finished = True
        if self._buffered():
            # A transform returns all its rows at once. Until all are learned, its state is that before.
            self._flushed = self._flushed or self._flush()
            place, _, rest = self._flushed
            piece = rest.part(self.drained, self.drained + PIECE)
            yield from self._learn(transformed(piece, self.transforms[place + 1 :]))
            self.drained += len(piece)
            if self.drained >= len(rest):
                self._flushed, self.drained = None, 0
        elif self._head:
            yield from self._start()
        self._place = BETWEEN

    def finish(self) -> list[Record]:
        """End the stream: learn all held-back rows. Returns their records and a last one."""
        return list(self.finishing())

    def finishing(self) -> Iterator[Record]:
        """As `finish`, but yields each record when its row is learned. Iterate to the end."""
        while self.holding:
            yield from self.drain()
        self._enter_block()
        late = len(self._delayed)
        self._timed(self.predicted - late, late, self._delayed.learn_all, self.estimator)
        self._finished, self._place = True, BETWEEN
        if self.rows and (late or self.every is None or self.rows % self.every):
            yield self.record()

    def record(self) -> Record:
        """The present counts."""
        model = self.estimator
        return self._measured.record(self.seconds, model.n_support_, model.memory_bytes_, self.time)

    def state(self) -> dict[str, Any]:
        """Everything but the estimator and the times, as plain data and arrays.

        ``estimator.save(path, extra={"session": session.state()})`` writes both to one file. To resume,
        make a session with that estimator and the same parameters, and call `restore`. It continues as if
        it had never stopped, bit for bit.
        """
        self._refuse(INSIDE)
        states = [transform.state() for transform in self.transforms]
        if self._flushed is not None:
            states[self._flushed[0]] = self._flushed[1]
        state = {
            "entered": self.entered,
            "drained": self.drained,
            "rows": self.rows,
            "unlabelled": self.unlabelled,
            "mistakes": self.metrics.mistakes,
            "loss": self.metrics.loss,
            "delay": self.delay,
            "steps": [
                {"what": described(transform), "state": session_state.coded(state)}
                for transform, state in zip(self.transforms, states, strict=True)
            ],
            "waiting": session_state.saved(self._delayed.blocks),
            "metrics": self.metrics.state(),
        }
        state |= {} if self.time is None else {"time": self.time}
        return state | ({"head": session_state.saved(self._head)} if self._head else {})

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state. If this fails, the session is unusable: make a new one."""
        session_state.check_state(state)
        steps = [step["what"] for step in state["steps"]]
        if state["delay"] != self.delay or steps != list(map(described, self.transforms)):
            raise ValueError("its delay or transforms differ from those of the session")
        if (state.get("mistakes") is None) != isinstance(self.estimator, OnlineRegressor):
            raise ValueError("it is of a classifier where a regressor is expected, or the reverse")
        columns = self.estimator.n_features_in_ if self.started else None
        for transform, part in zip(self.transforms, state["steps"], strict=True):
            session_state.restored(part["state"], columns)
            transform.restore(session_state.decoded(part["state"]))
        self.entered, self.drained, self.time = state["entered"], state["drained"], state.get("time")
        self.unlabelled = state["unlabelled"]
        if not self._named:
            self._measured = self._measuring(state["metrics"]["names"], self.metrics.window)
        self._measured.restore(state["metrics"])
        counts = (self.rows, self.metrics.mistakes, self.metrics.loss)
        if counts != (state["rows"], state["mistakes"], state.get("loss")):
            raise ValueError("its counts are not those of its metrics")
        self._delayed = Delayed(self.delay, session_state.restored(state["waiting"], columns))
        self._head = session_state.restored(state.get("head", {}), columns)
        if self.drained and not any(transform.held for transform in self.transforms):
            raise ValueError("it has drained rows, but no transform holds rows")
        self._flushed = self._flush() if self.drained else None
        # Before the end of a stream, the first buffer holds rows and so does the queue of delayed rows.
        emptied = self.entered > 0 and any(buffer.held == 0 for buffer in self._buffers()[:1])
        answered = self.predicted > 0 and self.delay > 0 and not self._delayed.blocks
        self._finished = self.drained > 0 or emptied or answered

    def _measuring(self, names: Any, window: int) -> ProgressiveMetrics:
        targets = isinstance(self.estimator, OnlineRegressor)
        metrics = Metrics(names, targets=targets, window=window)
        return ProgressiveMetrics(metrics, probable=hasattr(self.estimator, "predict_proba"))

    def _buffers(self) -> list[Transform]:
        return [each for each in self.transforms if type(each).flush is not Transform.flush]

    def _refuse(self, *places: str) -> None:
        if self._place in places:
            why = "an error occurred, or an iteration was not finished"
            raise ValueError(f"{self.name}: the session has ended, because {why}: make a new one.")

    def _enter_block(self) -> None:
        self._refuse(INSIDE, REFUSED)
        self._place = INSIDE

    def _buffered(self) -> bool:
        return self._flushed is not None or any(transform.held for transform in self.transforms)

    def _flush(self) -> Flushed:
        place = next(i for i, transform in enumerate(self.transforms) if transform.held)
        before, rest = self.transforms[place].state(), self.transforms[place].flush()
        assert rest is not None
        return place, before, rest

    def _learn(self, block: Block) -> Iterator[Record]:
        if len(block) == 0:
            return
        block = replace(block, y=np.asarray(block.y))
        if self.started:
            yield from self._learn_pieces(block)
            return
        if not self._head and not len(block := self._from_first_label(block)):
            return
        self._head.append(block)
        if not progressive.needs_rows(self.estimator) or sum(map(len, self._head)) >= HEAD:
            yield from self._start()

    def _from_first_label(self, block: Block) -> Block:
        """The block from its first label on. The rows before it have no prediction."""
        without = block.unlabelled
        first = len(block) if without.all() else int(np.argmin(without))
        if first:
            nothing = np.nan if isinstance(self.estimator, OnlineRegressor) else ""
            self._tell(np.full(first, nothing), block.part(0, first))
            self.unlabelled += first
        return block.part(first)

    def _start(self) -> Iterator[Record]:
        """Start the model from the first rows, then learn them."""
        head, self._head = self._head, []
        first, begin = joined(head), self.delay > 0 or head[0].weights is not None
        rows, start = min(len(first), HEAD), progressive.start
        self._timed(first.start, rows, start, self.estimator, first.X, first.y, self.classes, begin=begin)
        for block in head:
            yield from self._learn_pieces(block)

    def _learn_pieces(self, block: Block) -> Iterator[Record]:
        """Learn a block in pieces that end where a record is due. Rows without a label get the weight 0.

        If the estimator refuses a piece as a whole, the rows before the refused one are learned first. An
        error that does not tell the row cuts the piece in half, again and again.
        """
        without = block.unlabelled
        if without.any():
            block = self._with_a_label(block, without)
        at, most, first = 0, len(block), None
        while at < len(block):
            due = len(block) if self.every is None else self.every - self.rows % self.every
            piece = block.part(at, at + min(due, most))
            try:
                work = self._delayed.predict_learn
                learned = self._timed(piece.start, len(piece), work, self.estimator, piece)
            except DataError as error:
                first, cause = first or error, error.__cause__
                learned_some = self.delay or getattr(cause, "rows_learned", 0)
                most = 0 if learned_some else getattr(cause, "row", len(piece) // 2)
                if most:
                    continue
                before = progressive.learned_before(self.estimator, cause, piece)
                if before is not None:
                    self._take(before, piece.part(0, len(before.y)), without[at : at + len(before.y)])
                first.rows_learned = error.rows_learned  # type: ignore[attr-defined]
                raise first from first.__cause__
            rows = self.rows
            self._take(learned, piece, without[at : at + len(piece)])
            at += len(piece)
            if self.every is not None and self.rows > rows and self.rows % self.every == 0:
                yield self.record()

    def _with_a_label(self, block: Block, without: npt.NDArray[np.bool_]) -> Block:
        """The block with the weight 0, and some label, for the rows that have none."""
        targets = isinstance(self.estimator, OnlineRegressor)
        known = block.y[~without] if not self.started or targets else self.estimator.classes_
        y = block.y.astype(object) if block.y.dtype.kind == "U" else block.y.copy()
        y[without] = 0.0 if targets or not len(known) else known[0]
        return replace(block, y=y, weights=np.where(without, 0.0, block.weights_or_ones))

    def _take(self, learned: Learned, piece: Block, without: npt.NDArray[np.bool_]) -> None:
        """Count the predictions of a piece, and pass them on."""
        self._tell(learned.predicted, piece)
        if without.any():
            labelled = ~without
            pieces = selected(learned.pieces, labelled)
            learned = Learned(learned.predicted[labelled], pieces, learned.y[labelled])
            self.unlabelled += int(without.sum())
        if len(learned.y):
            self._measured.add(learned, self.estimator.fitted_.labels)

    def _tell(self, predicted: Any, piece: Block) -> None:
        """Pass predictions on, with the ids of their rows."""
        if piece.times is not None:
            self.time = float(piece.times[-1])
        if self.predictions is not None:
            self.predictions(predicted, *([] if piece.ids is None else [piece.ids]))

    def _timed(self, start: int, rows: int, work: Callable[..., T], *given: Any, **options: Any) -> T:
        """Call ``work``, add its processor time to ``seconds``, and name the rows in its errors."""
        began, learned = thread_time(), self.predicted - len(self._delayed)
        try:
            return work(*given, **options)
        except ValueError as error:
            where = f"{self.name}, rows {start} to {start + rows - 1} (the first is 0)"
            refused = DataError(f"{where}: {error}")
            refused.rows_learned = learned + getattr(error, "rows_learned", 0)  # type: ignore[attr-defined]
            raise refused from error
        finally:
            self.seconds += thread_time() - began


def _labels(estimator: Estimator, classes: Any, name: str) -> Any:
    """The classes that the estimator needs; None if it already knows them."""
    if classes is None:
        return None
    if isinstance(estimator, OnlineRegressor):
        raise ValueError(f"{name}: classes are for a classifier, got a regressor.")
    if not estimator.__sklearn_is_fitted__():
        return classes
    known = estimator.classes_
    if not np.array_equal(np.unique(classes), known):
        raise ValueError(f"{name}: classes differ from those of the fitted estimator, {known.tolist()}.")
    return None
