"""Engines whose parts are written in Python, which may fail or be interrupted in the middle of a step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from budgetron.learners.engine import Engine


class WholeCalls:
    """An engine that learns all rows of a call, or none: if one raises, its state from before is restored.

    Rows come in blocks of a tenth of a second, so this costs a copy of the state for each block.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._undone_rows = 0

    @property
    def rows_done(self) -> int:
        return self._engine.rows_done - self._undone_rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def state_and_rows(self) -> tuple[dict[str, Any], int]:
        state, rows = self._engine.state_and_rows()
        return state, rows - self._undone_rows

    def run(self, *arguments: Any) -> int:
        with self._undone():
            return self._engine.run(*arguments)

    def learn_one(self, *arguments: Any) -> bool:
        with self._undone():
            return self._engine.learn_one(*arguments)

    def learn_record(self, *arguments: Any) -> bool:
        with self._undone():
            return self._engine.learn_record(*arguments)

    @contextmanager
    def _undone(self) -> Iterator[None]:
        state, rows = self._engine.state_and_rows()
        try:
            yield
        except BaseException:
            self._engine.restore(state)
            self._undone_rows += self._engine.rows_done - rows
            raise
