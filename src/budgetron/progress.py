"""A bar that tells how far a long run is."""

from __future__ import annotations

import shutil
import sys
import threading
from time import monotonic
from typing import Self, TextIO


class Progress:
    """A bar on the standard error for anything that takes longer than a second.

    It is drawn only on a terminal, at most ten times a second, and erased at the end. Several threads may
    advance it.

    >>> from budgetron.progress import Progress
    >>> with Progress(total=3, label="reading") as progress:
    ...     for _ in range(3):
    ...         progress.advance()

    Parameters
    ----------
    total : int, optional
        How much there is to do; without it the bar says how much is done.
    label : str
        What is being done.
    file : text file, optional
        Where to; the standard error.
    patience : float
        The seconds before it appears.
    """

    def __init__(
        self, total: int | None = None, label: str = "", file: TextIO | None = None, patience: float = 1.0
    ) -> None:
        self.total = total
        self.label = label
        self.done = 0
        self._file = sys.stderr if file is None else file
        self._terminal = self._file is not None and self._file.isatty()
        self._began = monotonic()
        self._next = self._began + patience
        self._drawn = False
        self._turn = threading.Lock()

    def advance(self, by: int = 1) -> None:
        """So much more is done."""
        with self._turn:
            self.done += by
            now = monotonic()
            if self._terminal and now >= self._next:
                self._next = now + 0.1
                self._draw(now - self._began)

    def close(self) -> None:
        """Erase the bar."""
        with self._turn:
            if self._drawn:
                self._write("\r\x1b[K")
            self._terminal = self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _draw(self, seconds: float) -> None:
        columns = shutil.get_terminal_size().columns
        text = self._share(seconds, columns) if self.total else f"{self.label} {self.done:,}"
        self._write(f"\r{text.strip()[: columns - 1]}\x1b[K")
        self._drawn = True

    def _share(self, seconds: float, columns: int) -> str:
        assert self.total
        share = min(self.done / self.total, 1.0)
        left = f"{seconds * (1 - share) / share:,.0f} s left" if share else ""
        end = f" {share:4.0%} {left:>12}"
        room = min(40, columns - len(self.label) - len(end) - 4)
        full = int(share * room)
        bar = f" [{'#' * full}{'.' * (room - full)}]" if room > 4 else ""
        return f"{self.label}{bar}{end}"

    def _write(self, text: str) -> None:
        try:
            self._file.write(text)
            self._file.flush()
        except OSError:  # a terminal that went away must not end the run
            self._terminal = self._drawn = False
