"""What an estimator has learned: parts that belong together, in one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from budgetron._util.errors import ROW, RefusedRow, note_rows
from budgetron._util.rows import Matrix
from budgetron._util.threads import learning_lock
from budgetron.learners.learner import Floats
from budgetron.model import class_weights
from budgetron.model.batch import Batch, Growth
from budgetron.model.conformal import Conformal
from budgetron.model.labels import AnyTarget, KnownLabels, Scored, as_known_before, core_codes
from budgetron.model.model import Learned, Model, run_together
from budgetron.records.encoding import Encoding


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with its labels, the encoding of its records, its column names and its class counts.

    An estimator replaces the whole value in one assignment. So a reader, a copy, a file or a forked process
    never has the parts of two moments. Rows without anything new are learned in place, by the native model,
    whose lock lets others read between two rows. A batch that brings columns or labels is learned by a
    copy, from the first of them on.
    """

    model: Model
    labels: KnownLabels | None = None  # None for targets
    encoding: Encoding | None = None  # how records become rows; None for a model of arrays
    names: npt.NDArray[Any] | None = None  # the column names of the frame that came first
    counts: class_weights.ClassCounts | None = None  # if class weights need them
    conformal: Conformal | None = None  # if sets or intervals are to cover

    @cached_property
    def answers(self) -> KnownLabels | AnyTarget:
        """The known labels, or that any target will do."""
        return AnyTarget() if self.labels is None else self.labels

    @cached_property
    def n_labels(self) -> int:
        """The number of known labels; 0 for targets."""
        return 0 if self.labels is None else len(self.labels)

    @cached_property
    def outputs(self) -> int:
        """The number of scores of a row."""
        return self.model.task.outputs

    @property
    def gamma(self) -> float | None:
        """The kernel's gamma, if the kernel has one."""
        return getattr(getattr(self.model.learner, "kernel", None), "gamma", None)

    def state(self) -> tuple[dict[str, npt.NDArray[Any]], Floats | None]:
        """The arrays of the model and the class counts, both of one moment."""
        if self.counts is None:
            return self.model.state(), None
        with learning_lock(self.counts):
            state, rows = self.model.state_and_rows()
            return state, self.counts.at(rows)

    def copy(self) -> Self:
        """The same, to learn separately. Encodings and labels are shared, since they never change."""
        with self.held():
            conformal = None if self.conformal is None else self.conformal.copy()
            if self.counts is None:
                return replace(self, model=copy(self.model), conformal=conformal)
            state, counts = self.state()
        assert counts is not None
        counted = class_weights.ClassCounts(counts)
        return replace(self, model=self.model.in_state(state), counts=counted, conformal=conformal)

    def still(self) -> Self:
        """The same, or a copy if model, counts and misfits could be of two moments."""
        return self if self.counts is None and self.conformal is None else self.copy()

    def held(self) -> AbstractContextManager[Any]:
        """In it, the misfits are those of the rows that the model has learned."""
        return nullcontext() if self.conformal is None else learning_lock(self.conformal)

    def __reduce__(self) -> tuple[Any, ...]:
        still = self.still()
        parts = (still.model, still.labels, still.encoding, still.names, still.counts, still.conformal)
        return Fitted, parts

    # ---- learning

    def learn(self, batch: Batch, class_weight: Any = None, private: bool = False) -> Outcome:
        """Learn the stretches of a batch; each has the columns and labels known at its first row.

        A model that is ``private``, because nobody else has it, is widened without a copy.
        """
        now, pieces = self, list[Scored]()
        for cut, growth in batch.stretches():
            known = now.n_labels
            try:
                now = now if growth is None else self._own(now, private)._grown(growth, batch)
                learned, fresh = now._learn_and_note(batch, cut, class_weight, known)
            except BaseException as error:
                learned, fresh = Learned(np.empty((0, 1)), error), []
            pieces += fresh
            if learned.error is not None:
                rows = cut.start + len(learned.scores)
                if growth is not None and not len(learned.scores):
                    now, rows = self._learned_again(batch, cut.start, class_weight, private)
                return Outcome(now._encoding_after(batch, rows), pieces, rows, learned.error)
        return Outcome(now._encoding_after(batch, batch.X.shape[0]), pieces, batch.X.shape[0])

    def _own(self, now: Fitted, private: bool) -> Fitted:
        """What a batch may widen: a copy, unless it was copied before."""
        return now.copy() if now.model is self.model and not private else now

    def _grown(self, growth: Growth, batch: Batch) -> Self:
        """With more columns or labels. The model is widened in place, so nobody else may have it."""
        try:
            classes = max(2, growth.n_labels) if growth.n_labels else None
            self.model.widen(growth.n_features, classes, batch.dates)
        except ValueError as error:  # a learner of two classes
            raise RefusedRow(str(error), growth.row) from error
        if batch.labels is None:
            return self
        counts = None if self.counts is None else self.counts.wider(self.model.rows_done, growth.n_labels)
        return replace(self, labels=batch.labels.first(growth.n_labels), counts=counts)

    def _learned_again(
        self, batch: Batch, stop: int, class_weight: Any, private: bool
    ) -> tuple[Fitted, int]:
        """The model before it was widened for a row that was then refused, and the rows it has learned.

        A model cannot be narrowed. This is rare, so the rows before are learned again, with the same bits,
        from the first growth of the batch on; those before that were learned in place. An interrupt may end
        this early too.
        """
        before, start = (self._unlearned(), 0) if private else (self, batch.growth[0].row)
        if start == stop:
            return before, stop
        again = before.learn(batch.between(start, stop), class_weight)
        return again.fitted, start + again.rows

    def _unlearned(self) -> Fitted:
        """The same before its first row."""
        conformal = None if self.conformal is None else Conformal(self.conformal.coverage)
        fresh = replace(self, model=self.model.unlearned(), counts=None, conformal=conformal)
        return fresh if self.counts is None else fresh.counting()

    def _learn_and_note(
        self, batch: Batch, cut: slice, class_weight: Any, known: int
    ) -> tuple[Learned, list[Scored]]:
        """Learn rows in which nothing is new, and note their misfits, if they count."""
        if self.conformal is None:
            learned = self._learn_stretch(batch, cut, class_weight)
            return learned, self._pieces(learned.scores, known)
        with self.held():
            if self.labels is None and self.model.engine.has_deviations:
                return self._learn_by_row(batch, cut, self.conformal)
            learned = self._learn_stretch(batch, cut, class_weight)
            pieces = self._pieces(learned.scores, known)
            if pieces and (self.labels is None or self.n_labels):
                self._note(
                    self.conformal,
                    pieces,
                    batch.y[cut],
                    None if batch.weights is None else batch.weights[cut],
                )
            return learned, pieces

    def _note(self, conformal: Conformal, pieces: list[Scored], y: Any, weights: Floats | None) -> None:
        """Note the misfits of rows that were learned, from their scores of before."""
        n = sum(len(piece.scores) for piece in pieces)
        if self.labels is None:
            misfits = np.abs(y[:n] - np.concatenate([piece.scores[:, 0] for piece in pieces]))
        else:
            shares = self.labels.log_probabilities(pieces)
            misfits = 1 - np.exp(shares[np.arange(n), np.argsort(self.labels.order)[y[:n]]])
            if y[0] >= pieces[0].known:  # no set could have this label
                misfits[0] = np.inf
        conformal.add(misfits if weights is None else misfits[weights[:n] > 0])

    def _learn_by_row(self, batch: Batch, cut: slice, conformal: Conformal) -> tuple[Learned, list[Scored]]:
        """Learn targets one by one, since the deviation of each is needed before it is learned."""
        rows, scores, error = batch.rows(cut, self.model.n_features), list[Floats](), None
        for i in range(cut.stop - cut.start):
            row, at = rows[i : i + 1], slice(cut.start + i, cut.start + i + 1)
            deviation = self.model.deviations(row)
            weights = None if batch.weights is None else batch.weights[at]
            learned = self.model.run(row, batch.y[at], weights, at.start, batch.threads)
            if (error := learned.error) is not None:
                break
            scores.append(learned.scores)
            if weights is None or weights[0] > 0:
                conformal.add(np.abs(batch.y[at] - learned.scores[:, 0]) / above_zero(deviation))
        whole = np.concatenate(scores) if scores else np.empty((0, 1))
        return Learned(whole, error), self._pieces(whole, 0)

    def sets(self, pieces: list[Scored]) -> list[npt.NDArray[Any]]:
        """For each row the labels whose misfit is covered, the most probable first; there may be none."""
        assert self.labels is not None
        assert self.conformal is not None
        shares = np.exp(self.labels.log_probabilities(pieces))
        order = np.argsort(-shares, axis=1, kind="stable")
        sizes = (1 - shares <= self.conformal.limit).sum(axis=1)
        labels = self.labels.classes
        return [labels[row[:size]] for row, size in zip(order, sizes.tolist(), strict=True)]

    def covering(self, coverage: float) -> Self:
        """With sets and intervals that cover this share; misfits that are known are kept."""
        now = self.conformal
        if now is not None and now.coverage == coverage:
            return self
        return replace(self, conformal=Conformal(coverage) if now is None else now.of(coverage))

    def _learn_stretch(self, batch: Batch, cut: slice, class_weight: Any) -> Learned:
        """Learn rows of a batch in which nothing is new."""
        rows, y = batch.rows(cut, self.model.n_features), batch.y[cut]
        weights = None if batch.weights is None else batch.weights[cut]
        if self.labels is None:
            return self.model.run(rows, y, weights, cut.start, batch.threads)
        numbers = core_codes(y, len(self.labels))
        if class_weight is None:
            return self.model.run(rows, numbers, weights, cut.start, batch.threads)
        assert self.counts is not None
        before = self.counts.begin(self.model.rows_done, y, weights)
        by_class = class_weights.online(class_weight, self.labels, y, weights, before)
        learned = self.model.run(rows, numbers, by_class, cut.start, batch.threads)
        self.counts.begin(self.model.rows_done)
        return learned

    def counting(self) -> Self:
        """With class counts, if it has none."""
        if self.counts is not None or self.labels is None:
            return self
        return replace(self, counts=class_weights.ClassCounts(np.zeros(len(self.labels))))

    def _pieces(self, scores: Floats, known: int) -> list[Scored]:
        """The scores of a stretch, before which this many labels were known.

        If its first row has brought a label, the prediction of that row must not know it.
        """
        now = self.n_labels
        if not len(scores):
            return []
        if known == now:
            return [Scored(scores, now)]
        return [as_known_before(scores[:1], known, now), Scored(scores[1:], now)]

    def _learned(self, batch: Batch, learned: Learned) -> Outcome:
        """What became of a batch that brings nothing new."""
        rows = len(learned.scores)
        pieces = self._pieces(learned.scores, self.n_labels)
        return Outcome(self._encoding_after(batch, rows), pieces, rows, learned.error)

    def _encoding_after(self, batch: Batch, rows: int) -> Fitted:
        """With the encoding as it is after these rows of the batch."""
        if batch.encoded is None:
            return self
        return replace(self, encoding=batch.encoded.first(rows))

    def scores(self, X: Matrix, threads: int = 1) -> list[Scored]:
        """The scores of checked rows. A row with a score that is not finite is refused."""
        scores = self.model.scores(X, threads)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores).all(axis=1)))
            raise RefusedRow(f"Row {ROW} of X gives a score that is not finite: scale the features.", row)
        return [Scored(scores, self.n_labels)]

    # ---- one row

    def learn_one(self, x: Any, y: Any, weight: float = 1.0, scores: Floats | None = None) -> bool:
        """Learn a row in which nothing is new: a dict, or a sequence of numbers.

        Returns False, with nothing changed, if a column, a value or the label is new, if rows are weighted
        by class, or if the row is refused. The scores from before go into ``scores``, if given.
        """
        try:
            number = self._number(y)
        except TypeError:  # it cannot be a label
            return False
        if number is None or self.counts is not None or self.conformal is not None:
            return False
        reader = self._reader
        if reader is not None and self.model.engine.learn_record(reader, x, number, scores, weight):
            return True
        row = self._known_row(x)
        return row is not None and self.model.learn_row(row, number, scores, weight)

    def scores_one(self, x: Any) -> list[float] | None:
        """The scores of a row; None if something in it is new, or a score is not finite."""
        reader = self._reader
        if reader is not None and (known := self.model.engine.score_record(reader, x)) is not None:
            return known
        row, scores = self._known_row(x, learned=False), np.empty(self.outputs)
        return None if row is None or not self.model.score_row(row, scores) else scores.tolist()

    def _known_row(self, x: Any, learned: bool = True) -> Floats | None:
        """The row of a record or of a sequence of numbers, if nothing in it is new."""
        if self.encoding is None:
            row = self._numbers(x)
        else:
            row = self.encoding.known_one(x, learned) if isinstance(x, Mapping) else None
        return None if row is None or len(row) != self.model.n_features else row

    def _numbers(self, x: Any) -> Floats | None:
        kind = getattr(getattr(x, "dtype", None), "kind", "f")
        if self.names is not None or type(x) is dict or kind not in "biuf":
            return None
        try:
            row: Floats = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        return np.ascontiguousarray(row) if row.ndim == 1 else None

    @cached_property
    def _number(self) -> Callable[[Any], float | None]:
        """What the core takes for a known label or a target; None for others."""
        return AnyTarget().number if self.labels is None else self.labels.core_numbers.get

    @cached_property
    def _reader(self) -> Any:
        """Reads dicts straight into rows of the engine."""
        encoding = self.encoding
        if encoding is None or encoding.width != self.model.n_features or self.model.dtype == np.float32:
            return None  # it reads doubles
        return encoding.reader


def learn_together(begun: Sequence[tuple[Fitted, Batch]]) -> list[Outcome]:
    """`Fitted.learn` of the same rows, which bring nothing new, by models on a card at the same time.

    Nobody else may have the models.
    """
    first, batch = begun[0]
    y = batch.y if first.labels is None else core_codes(batch.y, len(first.labels))
    models = [fitted.model for fitted, _ in begun]
    runs = run_together(models, batch.X, y, batch.weights, batch.threads)
    return [fitted._learned(own, run) for (fitted, own), run in zip(begun, runs, strict=True)]


def above_zero(deviations: Floats) -> Floats:
    """Deviations to divide by: 1 where there is none yet."""
    return np.where(np.isfinite(deviations) & (deviations > 0), deviations, 1.0)


class Outcome(NamedTuple):
    """What became of a batch: what is known after it, the scores of the rows learned, and their number."""

    fitted: Fitted
    pieces: list[Scored]
    rows: int
    error: BaseException | None = None  # what ended it before its last row

    def checked(self) -> list[Scored]:
        """The scores of all rows; raises what ended it early, with what was learned."""
        if self.error is None:
            return self.pieces
        note_rows(self.error, self.rows)
        if isinstance(self.error, RefusedRow):
            self.error.scored = self.pieces
        raise self.error
