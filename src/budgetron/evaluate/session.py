"""Session, the online loop: predict each row, then learn it. All other kinds of run use it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import thread_time
from typing import Any

import numpy as np

from budgetron._util import check
from budgetron._util.errors import DivergedError
from budgetron._util.text import shown
from budgetron.estimators import OnlineClassifier, OnlineRegressor
from budgetron.estimators.online import begin
from budgetron.evaluate.delayed import Delayed, Estimator, Labels
from budgetron.evaluate.metrics import Metrics
from budgetron.evaluate.records import Record
from budgetron.learners.learner import Learner
from budgetron.model.labels import Scored
from budgetron.records.table import Table
from budgetron.streams import Block, DataError, Transform, described
from budgetron.streams.stream import as_arrays, from_arrays, joined, transformed

HEAD = 1000
"""The number of rows from which parameters such as gamma="scale" are computed."""
PIECE = 1000
"""The number of rows taken from a buffer at a time after the end of the stream."""

Flushed = tuple[int, dict[str, Any], Block]
"""The index of a flushed transform, its state before the flush, and the rows that it returned."""


@dataclass(frozen=True)
class Predicted:
    """The predictions of a block, their scores, the labels, and what the model knew of labels."""

    predicted: Labels
    pieces: list[Scored]
    y: Labels
    known: Any


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
        The number of rows predicted.
    metrics : Metrics
        The metrics of the rows predicted so far; `record` brings them up to date.

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
        self.rows = 0
        self.mistakes: int | None = 0 if isinstance(estimator, OnlineClassifier) else None
        self.loss: float | None = None if isinstance(estimator, OnlineClassifier) else 0.0
        self.seconds = 0.0
        self.time: float | None = None  # of the last row
        targets = isinstance(estimator, OnlineRegressor)
        self.metrics = Metrics(metrics, targets=targets, window=check.count(name, "window", window))
        self._named = metrics is not None
        self._uncounted: list[Predicted] = []  # small blocks, until there are enough for `metrics`
        self._head: list[Block] = []  # the first rows, until there are enough to start the model
        self._delayed = Delayed(self.delay)
        self._flushed: Flushed | None = None
        self._finished = False
        self._between_blocks = True
        self._stopped_at_row = False

    @property
    def started(self) -> bool:
        """Whether the model exists, that is, the first rows have been learned."""
        return self.estimator.__sklearn_is_fitted__()

    @property
    def broken(self) -> bool:
        """Whether an error ended the session, so that its state cannot be saved."""
        return not (self._between_blocks or self._stopped_at_row)

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
                self._stopped_at_row = self.started and self.rows >= self.entered
                self.entered = max(self.rows, self.entered)
            raise
        self.entered += len(block)
        self._between_blocks = True

    def skip_refused(self) -> None:
        """After an error at a row that the model refuses: go on with the rows after it.

        Raises a ValueError if that cannot be, which `broken` tells.
        """
        if not self._stopped_at_row:
            self._refuse_inside_block()
        self._between_blocks, self._stopped_at_row = True, False

    def drain(self) -> Iterator[Record]:
        """After the end of the stream: learn the next 1000 held-back rows. Iterate to the end.

        `finish` calls it as long as there are such rows. To save or stop in between, call it yourself while
        `holding` is true.
        """
        self._enter_block()
        self._finished = True
        if self._buffered():
            place, piece = self._next_piece()
            yield from self._learn(transformed(piece, self.transforms[place + 1 :]))
            self.drained += len(piece)
        elif self._head:
            yield from self._start()
        self._between_blocks = True

    def finish(self) -> list[Record]:
        """End the stream: learn all held-back rows. Returns their records and a last one."""
        return list(self.finishing())

    def finishing(self) -> Iterator[Record]:
        """As `finish`, but yields each record when its row is learned. Iterate to the end."""
        while self.holding:
            yield from self.drain()
        self._enter_block()
        late, first = len(self._delayed), self.rows - len(self._delayed)
        self._timed(partial(self._delayed.learn_all, self.estimator), first, late)
        self._flushed, self.drained, self._finished = None, 0, True
        self._between_blocks = True
        if self.rows and (late or self.every is None or self.rows % self.every):
            yield self.record()

    def record(self) -> Record:
        """The present counts."""
        self._measure()
        size, memory = self.estimator.n_support_, self.estimator.memory_bytes_
        window = {"rows": min(self.metrics.rows, self.metrics.window)} | self.metrics.windowed()
        metrics = {"running": self.metrics.running(), "window": window}
        return Record(self.rows, self.mistakes, self.loss, size, self.seconds, memory, metrics, self.time)

    def state(self) -> dict[str, Any]:
        """Everything but the estimator and the times, as plain data and arrays.

        ``estimator.save(path, extra={"session": session.state()})`` writes both to one file. To resume,
        make a session with that estimator and the same parameters, and call `restore`. It continues as if
        it had never stopped, bit for bit.
        """
        if self.broken:
            self._refuse_inside_block()
        self._measure()
        states = [transform.state() for transform in self.transforms]
        if self._flushed is not None:
            states[self._flushed[0]] = self._flushed[1]
        state = {
            "entered": self.entered,
            "drained": self.drained,
            "rows": self.rows,
            "mistakes": self.mistakes,
            "loss": self.loss,
            "delay": self.delay,
            "steps": [
                {"what": described(transform), "state": self._coded(state)}
                for transform, state in zip(self.transforms, states, strict=True)
            ],
            "waiting": self._saved(self._delayed.blocks),
            "metrics": self.metrics.state(),
        }
        state |= {} if self.time is None else {"time": self.time}
        return state | ({"head": self._saved(self._head)} if self._head else {})

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state. If this fails, the session is unusable: make a new one.

        In a state that was saved without metrics, they begin with the next row.
        """
        check_state(state)
        steps = [step["what"] for step in state["steps"]]
        if state["delay"] != self.delay or steps != list(map(described, self.transforms)):
            raise ValueError("its delay or transforms differ from those of the session")
        if [type(state[name]) for name in ("mistakes", "loss")] != [type(self.mistakes), type(self.loss)]:
            raise ValueError("it is of a classifier where a regressor is expected, or the reverse")
        columns = self.estimator.n_features_in_ if self.started else None
        for transform, part in zip(self.transforms, state["steps"], strict=True):
            own = self._decoded(part["state"])
            _blocks(own, columns)
            transform.restore(own)
        self.entered, self.drained, self.rows = state["entered"], state["drained"], state["rows"]
        self.mistakes, self.loss = state["mistakes"], state["loss"]
        self.time = state.get("time")
        self._restore_metrics(state.get("metrics"))
        self._delayed = Delayed(self.delay, _blocks(self._decoded(state["waiting"]), columns))
        self._head = _blocks(self._decoded(state.get("head", {})), columns)
        if self.drained and not any(transform.held for transform in self.transforms):
            raise ValueError("it has drained rows, but no transform holds rows")
        self._flushed = self._flush() if self.drained else None
        # Before the end of a stream, the first buffer holds rows and so does the queue of delayed rows.
        emptied = self.entered > 0 and any(buffer.held == 0 for buffer in self._buffers()[:1])
        answered = self.rows > 0 and self.delay > 0 and not self._delayed.blocks
        self._finished = self.drained > 0 or emptied or answered

    def _buffers(self) -> list[Transform]:
        return [each for each in self.transforms if type(each).flush is not Transform.flush]

    def _refuse_inside_block(self) -> None:
        if not self._between_blocks:
            why = "an error occurred, or an iteration was not finished"
            raise ValueError(f"{self.name}: the session has ended, because {why}: make a new one.")

    def _enter_block(self) -> None:
        self._refuse_inside_block()
        self._between_blocks = False

    def _buffered(self) -> bool:
        left = self._flushed is not None and self.drained < len(self._flushed[2])
        return left or any(transform.held for transform in self.transforms)

    def _flush(self) -> Flushed:
        place = next(i for i, transform in enumerate(self.transforms) if transform.held)
        before, rest = self.transforms[place].state(), self.transforms[place].flush()
        assert rest is not None
        return place, before, rest

    def _next_piece(self) -> tuple[int, Block]:
        """The next rows of the first transform that holds rows, and the index of that transform.

        The transform is flushed at once, in an order that depends on its state. Until all these rows are
        learned, `state` saves its state before the flush and the number of rows drained.
        """
        if self._flushed is None or self.drained >= len(self._flushed[2]):
            self._flushed, self.drained = self._flush(), 0
        place, _, rest = self._flushed
        return place, rest.part(self.drained, self.drained + PIECE)

    def _learn(self, block: Block) -> Iterator[Record]:
        if len(block) == 0:
            return
        block = replace(block, y=np.asarray(block.y))
        if self.started:
            yield from self._learn_pieces(block)
            return
        self._head.append(block)
        if not self._parameters_from_rows() or sum(map(len, self._head)) >= HEAD:
            yield from self._start()

    def _parameters_from_rows(self) -> bool:
        """Whether a parameter of the learner is computed from the first rows."""
        return parameters_from_rows(self.estimator.learner)

    def _start(self) -> Iterator[Record]:
        """Start the model from the first rows, then learn them."""
        head, self._head = self._head, []
        X = joined(head).X
        classes = {} if self.classes is None else {"classes": self.classes}
        try:
            if classes or self._parameters_from_rows():
                self.estimator.start(X[: HEAD if self._parameters_from_rows() else 1], **classes)
            if self.delay or head[0].weights is not None:  # the first row may be predicted, but not learned
                begin(self.estimator, head[0].X[:1], head[0].y[:1])
        except ValueError as error:
            raise self._refused(error, head[0].start, min(X.shape[0], HEAD), 0) from error
        for block in head:
            yield from self._learn_pieces(block)

    def _learn_pieces(self, block: Block) -> Iterator[Record]:
        """Learn a block in pieces that end where a record is due.

        A piece that the estimator refuses as a whole is cut in half again and again, until the rows before
        the refused one are learned.
        """
        at, most, first = 0, len(block), None
        while at < len(block):
            due = len(block) if self.every is None else self.every - self.rows % self.every
            piece = block.part(at, at + min(due, most))
            work = partial(self._delayed.predict_learn, self.estimator, piece)
            try:
                predicted, pieces = self._timed(work, piece.start, len(piece))
            except DataError as error:
                first = first or error
                if not self.delay and len(piece) > 1 and not isinstance(error.__cause__, DivergedError):
                    most = len(piece) // 2
                    continue
                if not self.delay:
                    self._count_before(error.__cause__, piece)
                first.rows_learned = error.rows_learned  # type: ignore[attr-defined]
                raise first from first.__cause__
            self._take(predicted, pieces, piece)
            at += len(piece)
            if self.every is not None and self.rows % self.every == 0:
                yield self.record()

    def _count_before(self, error: Any, piece: Block) -> None:
        """Count the rows of a piece that were learned before one made the learner diverge."""
        if pieces := getattr(error, "scored", []):
            predicted = self.estimator.fitted_.answers.predictions(pieces)
            self._take(predicted, pieces, piece.part(0, len(predicted)))

    def _take(self, predicted: Labels, pieces: list[Scored], piece: Block) -> None:
        """Count the predictions of a piece, and pass them on."""
        self._count(predicted, piece.y)
        self._note(predicted, pieces, piece.y)
        if piece.times is not None:
            self.time = float(piece.times[-1])
        if self.predictions is not None:
            self.predictions(predicted, *([] if piece.ids is None else [piece.ids]))

    def _timed(self, work: Callable[[], Any], start: int, rows: int) -> Any:
        """Call ``work``, add its processor time to ``seconds``, and name the rows in its errors."""
        began, learned = thread_time(), self.rows - len(self._delayed)
        try:
            return work()
        except ValueError as error:
            raise self._refused(error, start, rows, learned) from error
        finally:
            self.seconds += thread_time() - began

    def _refused(self, error: ValueError, start: int, rows: int, learned: int) -> DataError:
        where = f"{self.name}, rows {start} to {start + rows - 1} (the first is 0)"
        refused = DataError(f"{where}: {error}")
        refused.rows_learned = learned + getattr(error, "rows_learned", 0)  # type: ignore[attr-defined]
        return refused

    def _count(self, predicted: Labels, y: Labels) -> None:
        self.rows += len(y)
        if self.mistakes is not None:
            self.mistakes += int(np.count_nonzero(predicted != y))
        else:  # summed in order: blocks of other sizes give the same bits
            squares = np.square(predicted - y)
            self.loss = float(np.add.accumulate(np.concatenate([[self.loss], squares]))[-1])

    def _note(self, predicted: Labels, pieces: list[Scored], y: Labels) -> None:
        """Keep the predictions of a block for `_measure`, which is slow for single rows."""
        known = self.estimator.fitted_.labels
        if self._uncounted and self._uncounted[0].known is not known:
            self._measure()
        kept = pieces if self.metrics.needs_scores else []
        self._uncounted.append(Predicted(predicted, kept, np.array(y), known))
        if sum(len(each.y) for each in self._uncounted) >= PIECE:
            self._measure()

    def _measure(self) -> None:
        """Add the predictions since the last call to the metrics."""
        if not self._uncounted:
            return
        parts, self._uncounted = self._uncounted, []
        y, predicted = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "predicted")
        )
        model, known = self.estimator, parts[0].known
        if isinstance(model, OnlineRegressor) or not self.metrics.needs_scores:
            self.metrics.update(y, predicted)
            return
        pieces = [piece for part in parts for piece in part.pieces]
        scores = known.score_table(pieces)
        proba = np.exp(known.log_probabilities(pieces)) if hasattr(model, "predict_proba") else None
        self.metrics.update(y, predicted, classes=known.classes, scores=scores, proba=proba)

    def _restore_metrics(self, state: Any) -> None:
        self._uncounted = []
        if state is None:
            return
        if not self._named:
            self.metrics = Metrics(state["names"], targets=self.metrics.targets, window=self.metrics.window)
        self.metrics.restore(state)

    def _saved(self, blocks: Sequence[Block]) -> dict[str, Any]:
        return self._coded(as_arrays(joined(blocks))) if blocks else {}

    def _coded(self, rows: dict[str, Any]) -> dict[str, Any]:
        """Replace string labels by their places in a list, since model files have no arrays of strings."""
        if "y" not in rows or rows["y"].dtype.kind not in "OU":
            return rows
        labels, codes = np.unique(rows["y"].astype(object), return_inverse=True)
        others = {name: array for name, array in rows.items() if name != "y"}
        found = others | {"codes": codes.reshape(-1), "labels": labels.tolist()}
        return found | ({} if rows["y"].dtype == object else {"one_width": True})

    def _decoded(self, rows: dict[str, Any]) -> dict[str, Any]:
        if "codes" not in rows:
            return rows
        labels = rows["labels"] if "labels" in rows else self.estimator.classes_.tolist()
        y = np.array(labels, dtype=str if rows.get("one_width") is True else object)[rows["codes"]]
        own = ("codes", "labels", "one_width")
        return {name: array for name, array in rows.items() if name not in own} | {"y": y}


def parameters_from_rows(learner: Any) -> bool:
    """Whether a parameter of the learner is computed from the first rows."""
    if not isinstance(learner, Learner):
        return learner is not None
    try:
        learner.resolved(np.empty((0, 1)))
    except ValueError:
        return True
    return False


def _labels(estimator: Estimator, classes: Any, name: str) -> Any:
    """The classes that the estimator needs; None if it is a regressor or already knows them."""
    if isinstance(estimator, OnlineRegressor):
        if classes is not None:
            raise ValueError(f"{name}: classes are for a classifier, got a regressor.")
        return None
    if not estimator.__sklearn_is_fitted__():
        return classes
    known = estimator.classes_
    if classes is not None and not np.array_equal(np.unique(classes), known):
        raise ValueError(f"{name}: classes differ from those of the fitted estimator, {known.tolist()}.")
    return None


def _blocks(arrays: dict[str, Any], columns: int | None) -> list[Block]:
    """The saved rows as one block, or none."""
    block = from_arrays(arrays)
    if block is None:
        return []
    wrong = not isinstance(block.X, Table) and block.X.shape[1] != (columns or block.X.shape[1])
    if wrong or np.shape(block.y) != (len(block),):
        raise ValueError("its rows have an unexpected number of columns or labels")
    return [block]


def check_state(state: Any) -> None:
    """Check the keys and counts of a state. `Session.restore` checks its arrays."""
    if not isinstance(state, dict) or not isinstance(state.get("steps"), list):
        raise ValueError("it has no list of steps")
    for name in ("entered", "drained", "rows", "mistakes", "loss", "delay"):
        value = state.get(name)
        natural = type(value) is int and value >= 0
        if not natural and not (name in ("mistakes", "loss") and (value is None or type(value) is float)):
            raise ValueError(f"it has {name} {value!r}, expected a count")
    if not isinstance(state.get("time", 0.0), float | int):
        raise ValueError(f"it has the time {state['time']!r}, expected seconds")
    for part in state["steps"]:
        if not isinstance(part, dict) or not {"what", "state"} <= set(part):
            raise ValueError("it has a step without a description or a state")
