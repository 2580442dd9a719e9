"""Messages for the brokers, and runs of the command that learn them."""

import json
import os
import random
import subprocess
import time
from contextlib import contextmanager

import pytest

from budgetron import model_files
from tests.helpers import forked
from tests.helpers.brokers import broker, missing
from tests.helpers.command import PATIENCE, called, command, heed_interrupts

REQUIRED = os.environ.get("BUDGETRON_BROKERS") == "required"
POISON = [
    b"",
    b"{",
    b"[1]",
    b"\xff",
    b'{"a": 1, "label": {"is": "in"}}',
    b'{"a": [1], "label": "in"}',
    b'{"a": 1e400, "label": "in"}',
]
FLAGS = ["--target", "label", "--drop", "number"]
SMALL = ["fogd", "--components", "10", "--gamma", "0.5"]


@contextmanager
def running(kind, folders):
    """A running broker of this kind; the tests that need it are skipped if there cannot be one."""
    why = missing(kind)
    if why is not None:
        assert not REQUIRED, why
        pytest.skip(why)
    with broker(kind, folders.mktemp(kind)) as made:
        made.kind = kind
        yield made


def rows(n, seed=0):
    """Messages: two numbers, a text, and a label computed from them."""
    draw, made = random.Random(seed), []
    for number in range(n):
        a, b = round(draw.gauss(0, 1), 3), round(draw.gauss(0, 1), 3)
        kind = draw.choice(["x", "y", "z"])
        label = "in" if a * a + b * b < 1.4 else "out"
        made.append(json.dumps({"number": number, "a": a, "b": b, "kind": kind, "label": label}).encode())
    return made


def run(capsys, server, stream, *more, learner=SMALL):
    return called(capsys, "run", learner[0], server.url(stream), *learner[1:], *FLAGS, *more)


def learned(path):
    """The state of the run in a model file."""
    return model_files.read(path).extra["run"]


def started(server, stream, model, *more):
    """A run in a process of its own that waits for messages."""
    words = ["run", SMALL[0], server.url(stream), *SMALL[1:], *FLAGS, "--save", model, *more]
    return forked.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )


def wait_for(what, process=None):
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)
