"""How a command ends when it does not end well: one sentence on stderr, and an exit code."""

from __future__ import annotations

import sys
from signal import Signals

from budgetron._text import printable
from budgetron.cli import COMMANDS

FAILED, USAGE, BAD_DATA, BAD_MODEL = 1, 2, 3, 4


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
    """Says what happened; the exit code. What is none of ours is raised again."""
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
        KeyboardInterrupt: 128 + Signals.SIGINT,
        DataError: BAD_DATA,
        ModelFileError: BAD_MODEL,
        OSError: FAILED,
        ValueError: FAILED,
        ImportError: FAILED,
        MemoryError: FAILED,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), None)
