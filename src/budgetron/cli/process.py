"""Messages, exit codes and signals of the process."""

import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self, TypeVar

from budgetron._util.text import printable
from budgetron.cli import COMMANDS

T = TypeVar("T")

FAILED, USAGE, BAD_DATA, BAD_MODEL = 1, 2, 3, 4
STOPPING = (signal.SIGINT, signal.SIGTERM)


class UsageError(Exception):
    """Wrong usage of the command. The message says what is wrong and what to do."""


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn the errors of values that were given as flags into errors of usage."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error


class Interrupted(BaseException):
    """The run ended after a signal, and was saved if possible."""

    def __init__(self, signal: int, message: str) -> None:
        super().__init__(message)
        self.signal = signal


def say(sentence: str) -> None:
    """Print a message on stderr, with control characters escaped."""
    print(f"budgetron: {printable(sentence)}", file=sys.stderr)


def report_error(error: BaseException, arguments: list[str]) -> int:
    """Print the message of an error and return the exit code. Re-raises unexpected errors."""
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
    if isinstance(error, UsageError):
        return USAGE  # before the imports below, which are slow
    if isinstance(error, Interrupted):
        return 128 + error.signal
    from budgetron import ModelFileError
    from budgetron.streams import DataError

    codes = {KeyboardInterrupt: 128 + signal.SIGINT, DataError: BAD_DATA, ModelFileError: BAD_MODEL}
    codes |= dict.fromkeys((OSError, ValueError, ImportError, MemoryError), FAILED)
    return next((code for kind, code in codes.items() if isinstance(error, kind)), None)


class Stopped(BaseException):
    """Raised by a signal while the process waits for rows."""


class Signals:
    """A context in which SIGINT and SIGTERM set ``received``. A second signal ends the process.

    A signal that arrives while the process waits for rows ends the wait. If it arrives while a block is
    learned, the block is learned to its end first.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._waiting = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in STOPPING}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def waiting(self, blocks: Iterable[T]) -> Iterator[T]:
        """Yield the blocks until a signal arrives. A signal interrupts a read that blocks."""
        source = iter(blocks)
        try:
            while self.received is None:
                self._waiting = True
                if self.received is not None:  # the signal arrived between the two lines above
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
        if self.received is not None:
            self.__exit__()
            signal.raise_signal(number)
            return
        self.received = number
        if self._waiting:
            raise Stopped
