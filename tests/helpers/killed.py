"""Kill and resume runs of the command line at random moments.

A process of its own loads everything once, and forks for each run: what is killed is learning or saving,
not loading modules. It prints how many were killed and how many came to their end.
"""

import os
import random
import signal
import sys
import time
from importlib import import_module

import budgetron.cli.commands.run  # noqa: F401
from budgetron.cli import main


def forked(argv):
    """A child that runs the command."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = main(argv)
        finally:
            os._exit(code)
    return child


def ended(child):
    """Wait for the child. Returns whether it succeeded; else it must have been killed."""
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "a resumed run failed"
    return True


def contents(paths):
    """Read the files and remove them."""
    kept = [open(path, "rb").read() for path in paths]  # noqa: SIM115
    for path in paths:
        os.unlink(path)
    return kept


def killed(argv, paths, kills, seed):
    """Kill ``kills`` runs, each of which resumes the one before."""
    began = time.perf_counter()
    assert ended(forked(argv))
    took, expected = time.perf_counter() - began, contents(paths)
    draw, done, complete = random.Random(seed), 0, 0
    while done < kills:
        child = forked(argv)
        time.sleep(draw.uniform(0, took))
        os.kill(child, signal.SIGKILL)
        if not ended(child):
            done += 1
            continue
        assert contents(paths) == expected, "a resumed run ended with other bytes"
        complete += 1
    assert ended(forked(argv))
    assert contents(paths) == expected, "a resumed run ended with other bytes"
    return done, complete + 1


if __name__ == "__main__":
    for module in os.environ.get("PRELOADED", "").split():
        import_module(module)
    kills, seed, *rest = sys.argv[1:]
    split = rest.index("--")
    print(*killed(rest[split + 1 :], rest[:split], int(kills), int(seed)))
