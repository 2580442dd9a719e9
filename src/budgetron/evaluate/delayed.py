"""Labels that arrive later than their rows."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from budgetron._util.errors import DivergedError
from budgetron.evaluate.progressive import Estimator, Learned, predict_learn
from budgetron.model.labels import selected
from budgetron.streams import Block
from budgetron.streams.stream import joined


class Delayed:
    """The queue of rows whose labels have not arrived: a label arrives ``delay`` rows after its row.

    A row of weight 0 is predicted but not learned. So each row is passed to the estimator twice: first with
    weight 0, and again when its label arrives. One native call takes both kinds, interleaved.
    """

    def __init__(self, delay: int, blocks: Sequence[Block] = ()) -> None:
        self.delay = delay
        self.blocks = deque(blocks)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def predict_learn(self, estimator: Estimator, block: Block) -> Learned:
        """Predict the rows, and learn those whose labels arrive."""
        if not self.delay:
            return predict_learn(estimator, block)
        n = len(block)
        self.blocks.append(block)
        both = joined([block, *self._take(max(0, len(self) - self.delay))])
        late = np.arange(len(both) - n) + n - (len(both) - n)  # the row after which each label arrives
        order = np.argsort(np.concatenate([2 * np.arange(n), 2 * late + 1]))
        learned = order >= n
        weights = learned * (1.0 if both.weights is None else both.weights[order])
        try:
            step = predict_learn(estimator, replace(both.chosen(order, block.start), weights=weights))
        except DivergedError as error:
            error.rows_learned = int(np.count_nonzero(learned[: error.rows_learned]))
            error.scored = []
            raise
        return Learned(step.predicted[~learned], selected(step.pieces, ~learned), step.y[~learned])

    def learn_all(self, estimator: Estimator) -> None:
        if self.blocks:
            rest = joined(self._take(len(self)))
            estimator.partial_fit(rest.X, rest.y, sample_weight=rest.weights)

    def _take(self, n: int) -> list[Block]:
        """Remove the n oldest rows from the queue and return them, in blocks."""
        taken = []
        while n:
            block = self.blocks.popleft()
            if len(block) > n:
                self.blocks.appendleft(block.part(n))
            taken.append(block.part(0, n))
            n -= len(taken[-1])
        return taken
