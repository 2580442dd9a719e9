"""Engines that learn the same rows on one card at the same time: one program, and a twin for each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy.typing as npt

from budgetron import _core
from budgetron.learners.cuda.engine import CardEngine
from budgetron.learners.cuda.experts import Program
from budgetron.learners.learner import Floats


class Scores:
    """The scores of several models, cut to the same rows."""

    def __init__(self, each: Sequence[Floats]) -> None:
        self.each = each

    def __getitem__(self, cut: slice) -> Scores:
        return Scores([scores[cut] for scores in self.each])


class Twins:
    """The twins of several engines as one. One that refuses a row takes no part from then on."""

    def __init__(self, engines: Sequence[CardEngine]) -> None:
        self.engines, self.active = engines, list(range(len(engines)))
        self.outputs = engines[0].outputs
        self._begun = [engine.rows_done for engine in engines]
        self._rows = 0  # learned by all that are active

    @property
    def rows_done(self) -> int:
        return min(self._begun) + self._rows

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """That of one; rows are scaled alike in all."""
        state: dict[str, npt.NDArray[Any]] = self.engines[self.active[0]].twin.state()
        return state

    def run(self, rows: _core.Rows, y: Floats, weights: Floats | None, scores: Scores, threads: int) -> int:
        """Learn the rows; fewer if all refuse one. After an interrupt it can be called again."""
        for k in self.active:
            if self._learned(k) == self._rows:
                self.engines[k].twin.run(rows, y, weights, scores.each[k], threads)
        before, after = self._rows, self._rows + len(y)
        self.active = [k for k in self.active if self._learned(k) == after]
        self._rows = after if self.active else max(map(self._learned, range(len(self.engines))))
        return self._rows - before

    def _learned(self, k: int) -> int:
        return self.engines[k].rows_done - self._begun[k]


class Together(CardEngine):
    """Engines as one, until `end`. Their experts run side by side, and equal maps have one Z and one Z Z'.

    All are `alike`, have begun nothing on the card, and nobody else uses them meanwhile.
    """

    twin: Twins

    def __init__(self, engines: Sequence[CardEngine]) -> None:
        first = engines[0]
        self.arrays, self.learner = first.arrays, first.learner
        self.task, self.n_features = first.task, first.n_features
        self._start(Twins(engines), [member for engine in engines for member in engine.members])

    @property
    def _takes_scores(self) -> bool:
        return all(isinstance(engine.twin, _core.Outside) for engine in self.twin.engines)

    def _maps(self) -> list[Hashable]:
        maps = [(learner, handle.inner.map) for learner, handle in self.members]
        return [
            id(native) if native.learns else self._drawn(learner, native).digest for learner, native in maps
        ]

    def _lifted(self) -> Program:
        if self._program is None:
            engines = [self.twin.engines[k] for k in self.twin.active]
            self.members = [member for engine in engines for member in engine.members]
        return super()._lifted()

    def end(self) -> None:
        """Bring back what each has learned."""
        self._native()
