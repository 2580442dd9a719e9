"""A progress bar."""

import shutil
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import Self, TextIO

_OPEN: list["Progress"] = []
_TURN = threading.Lock()


class Progress:
    """A progress bar on the standard error, for work that takes longer than a second.

    The bar is drawn only on a terminal and at most ten times a second. It is erased at the end. Several
    threads may advance it. While one is open, others that are opened are not drawn.

    >>> from budgetron import Progress
    >>> with Progress(total=3, label="reading") as progress:
    ...     for _ in range(3):
    ...         progress.advance()

    Parameters
    ----------
    total : int, optional
        The number of steps. Without it, the bar shows only how many are done.
    label : str, or function that returns one
        The text before the bar.
    file : text file, optional
        Where the bar is drawn; by default the standard error.
    patience : float
        The bar appears after this many seconds.
    """

    def __init__(
        self,
        total: int | None = None,
        label: str | Callable[[], str] = "",
        file: TextIO | None = None,
        patience: float = 1.0,
    ) -> None:
        self.total = total
        self.label = label
        self.done = 0
        self._file = sys.stderr if file is None else file
        self._terminal = self._file is not None and self._file.isatty()
        self._began = monotonic()
        self._next_draw = self._began + patience
        self._drawn = False
        self._lock = threading.Lock()

    def advance(self, by: int = 1) -> None:
        """Add ``by`` finished steps."""
        with self._lock:
            self.done += by
            now = monotonic()
            if self._terminal and now >= self._next_draw:
                self._next_draw = now + 0.1
                self._draw(now - self._began)

    def close(self) -> None:
        """Erase the bar."""
        with self._lock:
            if self._drawn:
                self._write("\r\x1b[K")
            self._terminal = self._drawn = False
        with _TURN:
            if self in _OPEN:
                _OPEN.remove(self)

    def __enter__(self) -> Self:
        with _TURN:
            self._terminal = self._terminal and not _OPEN
            _OPEN.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _draw(self, seconds: float) -> None:
        columns = shutil.get_terminal_size().columns
        label = self.label if isinstance(self.label, str) else self.label()
        text = self._bar(label, seconds, columns) if self.total else f"{label} {self.done:,}"
        self._write(f"\r{text.strip()[: columns - 1]}\x1b[K")
        self._drawn = True

    def _bar(self, label: str, seconds: float, columns: int) -> str:
        assert self.total
        share = min(self.done / self.total, 1.0)
        left = f"{seconds * (1 - share) / share:,.0f} s left" if share else ""
        end = f" {share:4.0%} {left:>12}"
        room = min(40, columns - len(label) - len(end) - 4)
        full = int(share * room)
        bar = f" [{'#' * full}{'.' * (room - full)}]" if room > 4 else ""
        return f"{label}{bar}{end}"

    def _write(self, text: str) -> None:
        try:
            self._file.write(text)
            self._file.flush()
        except OSError:  # a closed terminal must not end the run
            self._terminal = self._drawn = False
