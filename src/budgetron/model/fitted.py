"""What an estimator has learned: parts that belong together, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from budgetron._util.errors import RefusedRow, note_rows
from budgetron._util.rows import Matrix
from budgetron._util.threads import learning_lock
from budgetron.learners.learner import Floats
from budgetron.model import class_weights
from budgetron.model.batch import Batch, Growth
from budgetron.model.labels import KnownLabels, Scored, as_known_before, core_codes
from budgetron.model.model import Learned, Model
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

    @property
    def n_labels(self) -> int:
        """The number of known labels; 0 for targets."""
        return 0 if self.labels is None else len(self.labels)

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
        if self.counts is None:
            return replace(self, model=copy(self.model))
        state, counts = self.state()
        assert counts is not None
        return replace(self, model=self.model.in_state(state), counts=class_weights.ClassCounts(counts))

    def still(self) -> Self:
        """The same, or a copy if model and counts could be of two moments."""
        return self if self.counts is None else self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        still = self.still()
        return Fitted, (still.model, still.labels, still.encoding, still.names, still.counts)

    # ---- learning

    def learn(self, batch: Batch, class_weight: Any = None) -> Outcome:
        """Learn the parts of a batch; each has the columns and labels known at its first row."""
        now, pieces = self, list[Scored]()
        for cut, growth in batch.parts():
            known = now.n_labels
            try:
                now = now if growth is None else self._own(now)._grown(growth, batch)
                learned = now._learn_part(batch, cut, class_weight)
            except BaseException as error:
                learned = Learned(np.empty((0, 1)), error)
            pieces += now._pieces(learned.scores, known)
            if learned.error is not None:
                rows = cut.start + len(learned.scores)
                if growth is not None and not len(learned.scores):
                    now, rows = self._learned_again(batch, cut.start, class_weight)
                return Outcome(now._encoding_after(batch, rows), pieces, rows, learned.error)
        return Outcome(now._encoding_after(batch, batch.X.shape[0]), pieces, batch.X.shape[0])

    def _own(self, now: Fitted) -> Fitted:
        """What a batch may widen: a copy, unless it was copied before."""
        return now.copy() if now.model is self.model else now

    def _grown(self, growth: Growth, batch: Batch) -> Self:
        """With more columns or labels. The model is widened in place, so nobody else may have it."""
        self.model.widen(growth.n_features, max(2, growth.n_labels) if growth.n_labels else None)
        if batch.labels is None:
            return self
        counts = None if self.counts is None else self.counts.wider(self.model.rows_done, growth.n_labels)
        return replace(self, labels=batch.labels.first(growth.n_labels), counts=counts)

    def _learned_again(self, batch: Batch, stop: int, class_weight: Any) -> tuple[Fitted, int]:
        """The model before it was widened for a row that was then refused, and the rows it has learned.

        A model cannot be narrowed. This is rare, so the rows before are learned again, with the same bits,
        from the first growth of the batch on; those before that were learned in place. An interrupt may end
        this early too.
        """
        start = batch.growth[0].row
        if start == stop:
            return self, stop
        again = self.learn(batch.part(start, stop), class_weight)
        return again.fitted, start + again.rows

    def _learn_part(self, batch: Batch, cut: slice, class_weight: Any) -> Learned:
        weights = None if batch.weights is None else batch.weights[cut]
        rows = batch.rows(cut, self.model.n_features)
        return self.learn_rows(rows, batch.y[cut], weights, cut.start, class_weight)

    def learn_rows(
        self,
        X: Matrix,
        y: npt.NDArray[Any],
        weights: Floats | None = None,
        first: int = 0,
        class_weight: Any = None,
    ) -> Learned:
        """Learn checked rows without anything new, with targets or codes; errors count from ``first``."""
        if self.labels is None:
            return self.model.run(X, y, weights, first)
        coded = core_codes(y, len(self.labels))
        if class_weight is None:
            return self.model.run(X, coded, weights, first)
        assert self.counts is not None
        before = self.counts.begin(self.model.rows_done, y, weights)
        by_class = class_weights.online(class_weight, self.labels, y, weights, before)
        learned = self.model.run(X, coded, by_class, first)
        self.counts.begin(self.model.rows_done)
        return learned

    def counting(self) -> Self:
        """With class counts, if it has none."""
        if self.counts is not None or self.labels is None:
            return self
        return replace(self, counts=class_weights.ClassCounts(np.zeros(len(self.labels))))

    def _pieces(self, scores: Floats, known: int) -> list[Scored]:
        """The scores of a part, before which this many labels were known.

        If its first row has brought a label, the prediction of that row must not know it.
        """
        now = self.n_labels
        if not len(scores):
            return []
        if known == now:
            return [Scored(scores, now)]
        return [as_known_before(scores[:1], known, now), Scored(scores[1:], now)]

    def _encoding_after(self, batch: Batch, rows: int) -> Fitted:
        """With the encoding as it is after these rows of the batch."""
        if batch.encoded is None:
            return self
        return replace(self, encoding=batch.encoded.first(rows))

    # ---- one row

    def row_of(self, x: Any) -> Floats | None:
        """The row of one record or sequence of numbers, if nothing in it is new; else None."""
        if type(x) is dict or isinstance(x, Mapping):
            row = None if self.encoding is None else self.encoding.known_one(x)
        else:
            row = self._row_of_numbers(x)
        return None if row is None or len(row) != self.model.n_features else row

    def _row_of_numbers(self, x: Any) -> Floats | None:
        if self.encoding is not None or self.names is not None:
            return None
        try:
            row: Floats = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        return np.ascontiguousarray(row) if row.ndim == 1 else None


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
