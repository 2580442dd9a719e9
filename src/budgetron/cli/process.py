"""The process: messages, exit codes, and signals that ask it to stop."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Self, TypeVar

from budgetron._text import printable
from budgetron.cli import COMMANDS

T = TypeVar("T")

FAILED, USAGE, BAD_DATA, BAD_MODEL = 1, 2, 3, 4
STOPPING = (signal.SIGINT, signal.SIGTERM)


class Usage(Exception):
    """The command was called wrongly; the message says how, and what to do."""


class Interrupted(BaseException):
    """A signal asked to stop, and what had to be saved was saved."""

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal


def say(sentence: str) -> None:
    """A message on stderr; names and labels from outside in it cannot command the terminal."""
    print(f"budgetron: {printable(sentence)}", file=sys.stderr)


def told(error: BaseException, arguments: list[str]) -> int:
    """Says what happened, and returns the exit code. Re-raises errors it does not recognise."""
    code, sentence = _code(error), str(error)
    if code is None:
        raise error
    if isinstance(error, KeyboardInterrupt):
        sentence = "interrupted."
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        sentence = f"{error.filename}: {error.strerror}."
    say(" ".join(sentence.splitlines()))
    if code == USAGE:
        command = next((f" {word}" for word in arguments[:1] if word in COMMANDS), "")
        say(f"see budgetron{command} --help.")
    return code


def _code(error: BaseException) -> int | None:
    if isinstance(error, Usage):
        return USAGE  # without loading what follows
    if isinstance(error, Interrupted):
        return 128 + error.signal
    from budgetron import ModelFileError
    from budgetron.streams import DataError

    codes: dict[type[BaseException], int] = {
        KeyboardInterrupt: 128 + signal.SIGINT,
        DataError: BAD_DATA,
        ModelFileError: BAD_MODEL,
        OSError: FAILED,
        ValueError: FAILED,
        ImportError: FAILED,
        MemoryError: FAILED,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), None)


class Stopped(BaseException):
    """Raised while waiting for rows."""


class Signals:
    """Inside the context a signal is kept in ``asked``; a second one ends the process as usual.

    A signal that comes while rows are waited for ends the wait. One that comes while a block is learned
    waits until the model and its counts agree.
    """

    def __init__(self) -> None:
        self.asked: int | None = None
        self._waiting = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in STOPPING}
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
