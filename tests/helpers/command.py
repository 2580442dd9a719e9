"""The command line, called inside the test or as a process of its own, and rows for it."""

import signal
import subprocess
import sys
from typing import NamedTuple

import numpy as np

from budgetron.cli import main
from tests.helpers.stream_rows import svmlight

COLUMNS = ["--features", "4", "--classes", "0,1,2"]


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


def command(*argv):
    """What to give to `subprocess` for the command."""
    return [sys.executable, "-m", "budgetron", *map(str, argv)]


PATIENCE = 300
"""Seconds after which a process is taken to hang, also on a machine that is busy with other work."""


def heed_interrupts():
    """For ``preexec_fn``: in the background a shell ignores SIGINT, and every process passes that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def spawned(*argv, **more):
    """The command as a process of its own."""
    done = subprocess.run(
        command(*argv), capture_output=True, text=True, timeout=PATIENCE, check=False, **more
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def rows(n, labels=3, seed=0):
    """Rows of 4 columns whose label follows from them."""
    random = np.random.default_rng(seed)
    X = np.where(random.random((n, 4)) < 0.8, random.standard_normal((n, 4)).round(3), 0)
    return X, (np.abs(X).sum(axis=1) * 0.7).astype(int).clip(0, labels - 1).astype(float)


def written(path, n, **more):
    """A svmlight file of such rows."""
    path.write_bytes(svmlight(*rows(n, **more)))
    return path
