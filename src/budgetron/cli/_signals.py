"""Being asked to stop: at once while waiting for rows, else as soon as the model and its counts agree."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Self, TypeVar

T = TypeVar("T")

ASKED = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """Raised while waiting for rows."""


class Signals:
    """Inside the context a signal is kept in ``asked``; a second one ends the process as ever."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self._waiting = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in ASKED}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def waiting(self, blocks: Iterable[T]) -> Iterator[T]:
        """The blocks, until a signal comes; a read that may never return does not hold it up."""
        source = iter(blocks)
        try:
            while self.asked is None:
                self._waiting = True
                if self.asked is not None:  # it came between the two lines above
                    return
                block = next(source, None)
                self._waiting = False
                if block is None:
                    return
                yield block
        except Stopped:
            return
        finally:
            self._waiting = False

    def _take(self, number: int, _: FrameType | None) -> None:
        if self.asked is not None:
            self.__exit__()
            signal.raise_signal(number)
            return
        self.asked = number
        if self._waiting:
            raise Stopped
