"""The last rows of a stream."""

from collections import deque
from collections.abc import Callable

import numpy as np

from budgetron.evaluate.metrics.sums import Rows


class Window:
    """Holds the last ``size`` rows, in the pieces in which they came."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pieces: deque[Rows] = deque()
        self._held = 0

    def add(self, rows: Rows) -> None:
        """Add rows; pieces that are older than the window are dropped."""
        kept = {name: column[-self.size :].copy() for name, column in rows.items()}
        if not _length(kept):
            return
        self._pieces.append(kept)
        self._held += _length(kept)
        while self._held - _length(self._pieces[0]) >= self.size:
            self._held -= _length(self._pieces.popleft())

    def rows(self) -> Rows:
        """The rows, oldest first, in one piece; no columns if there are no rows."""
        if not self._pieces:
            return {}
        columns = {name: [piece[name] for piece in self._pieces] for name in self._pieces[0]}
        joined = {name: np.concatenate(column)[-self.size :] for name, column in columns.items()}
        self._pieces, self._held = deque([joined]), _length(joined)
        return joined

    def change(self, change: Callable[[Rows], Rows]) -> None:
        """Replace the rows by changed ones."""
        if self._pieces:
            self._pieces = deque([change(self.rows())])


def _length(rows: Rows) -> int:
    return len(rows["weight"])
