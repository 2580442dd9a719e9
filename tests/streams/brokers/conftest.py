"""Brokers for the tests of this folder, one of each kind for a module."""

import json
import os
import random
from collections import Counter
from contextlib import contextmanager

import pytest

from tests.helpers.brokers import KINDS, broker, missing

REQUIRED = os.environ.get("BUDGETRON_BROKERS") == "required"


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


@pytest.fixture(scope="module", params=KINDS)
def server(request, tmp_path_factory):
    """A running broker of each kind."""
    with running(request.param, tmp_path_factory) as made:
        yield made


_streams = Counter()


@pytest.fixture
def stream(server):
    """The name of a stream that nobody has used."""
    _streams[server.kind] += 1
    return f"orders{_streams[server.kind]}"


def rows(n, seed=0):
    """Messages: two numbers, a text, and a label computed from them."""
    draw, made = random.Random(seed), []
    for number in range(n):
        a, b = round(draw.gauss(0, 1), 3), round(draw.gauss(0, 1), 3)
        kind = draw.choice(["x", "y", "z"])
        label = "in" if a * a + b * b < 1.4 else "out"
        made.append(json.dumps({"number": number, "a": a, "b": b, "kind": kind, "label": label}).encode())
    return made


POISON = [
    b"",
    b"{",
    b"[1]",
    b"\xff",
    b'{"a": 1}',
    b'{"a": [1], "label": "in"}',
    b'{"a": 1e400, "label": "in"}',
]
