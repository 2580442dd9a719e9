"""Predictions as lines of a file, of which there are as many as rows were learned."""

from __future__ import annotations

import os
import sys
from typing import Any

from budgetron import SaveError
from budgetron.cli._printed import lines


class Predictions:
    """Where predictions go: a file, ``-`` for stdout, or nowhere for None.

    A resumed run goes on behind the line of the last row learned; what a run that was killed wrote after
    that is dropped.
    """

    def __init__(self, place: str | None, learned: int) -> None:
        self._file: Any = sys.stdout if place == "-" else None
        if place not in (None, "-"):
            self._file = _cut(str(place), learned) if learned else open(str(place), "w")  # noqa: SIM115
        self._own = place not in (None, "-")

    def write(self, predictions: Any) -> None:
        """Some more."""
        if self._file is not None:
            self._file.write(lines(predictions))

    def sync(self) -> None:
        """On disk, before a checkpoint says that they were made."""
        if self._file is not None:
            self._file.flush()
        if self._own:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close a file that is ours."""
        if self._own:
            self._file.close()


def _cut(place: str, learned: int) -> Any:
    """The file, opened behind its first lines."""
    file = open(place, "r+")  # noqa: SIM115
    for _ in range(learned):
        if not file.readline().endswith("\n"):
            file.close()
            raise SaveError(
                f"{place}: has fewer than {learned} predictions, which the resumed run has made."
            )
    file.seek(file.tell())
    file.truncate()
    return file
