"""Run the command line in the test's process or in its own; and make rows for it."""

import signal
import subprocess
import sys
from typing import NamedTuple

import numpy as np

from budgetron.cli import main
from tests.helpers import forked
from tests.helpers.stream_rows import svmlight

COLUMNS = ["--features", "4"]


class Ended(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


def called(capsys, *argv, main=main):
    """Run the command in this process."""
    capsys.readouterr()
    code = main([str(word) for word in argv])
    return Ended(code, *capsys.readouterr())


def command(*argv, module="budgetron"):
    """The arguments for `subprocess` that run the command."""
    return [sys.executable, "-m", module, *map(str, argv)]


PATIENCE = 300
"""Seconds after which a process counts as hanging, even on a busy machine."""


def heed_interrupts():
    """A ``preexec_fn`` that restores SIGINT, which background jobs of a shell ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def spawned(*argv, run=subprocess.run, **more):
    """Run the command in its own process, as a user starts it."""
    done = run(command(*argv), capture_output=True, text=True, timeout=PATIENCE, check=False, **more)
    return Ended(done.returncode, done.stdout, done.stderr)


def ran(*argv, **more):
    """Run the command in its own process, which has imported everything already."""
    return spawned(*argv, run=forked.run, **more)


def rows(n, labels=3, seed=0):
    """Rows of 4 columns, with labels computed from them."""
    random = np.random.default_rng(seed)
    X = np.where(random.random((n, 4)) < 0.8, random.standard_normal((n, 4)).round(3), 0)
    return X, (np.abs(X).sum(axis=1) * 0.7).astype(int).clip(0, labels - 1).astype(float)


def written(path, n, **more):
    """An svmlight file of such rows."""
    path.write_bytes(svmlight(*rows(n, **more)))
    return path
