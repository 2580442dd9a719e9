"""The command, called inside the test or as a process of its own."""

import signal
import sys
from typing import NamedTuple

from budgetron_reproduction.command import main

PATIENCE = 300
"""Seconds after which a process counts as hanging, also on a busy machine."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def called(capsys, *argv):
    """The command in this process."""
    capsys.readouterr()
    code = main([str(word) for word in argv])
    return Ended(code, *capsys.readouterr())


def process(*argv):
    """What to give to `subprocess` for the command."""
    return [sys.executable, "-m", "budgetron_reproduction", *map(str, argv)]


def heed_interrupts():
    """For ``preexec_fn``: in the background a shell ignores SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
