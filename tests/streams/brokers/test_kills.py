"""kill -9 at any moment: each message is learned once, and the files are those of a run without kills."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers import forked
from tests.helpers.broker_runs import POISON, rows

MODULES = ("budgetron.cli.runs", "redis", "nats", "confluent_kafka")
LOADED = os.environ | {"PRELOADED": " ".join(name for name in MODULES if find_spec(name.split(".")[0]))}
SMALL = ["--components", "10", "--gamma", "0.5"]


def survive(server, stream, folder, kills, seed, learner="fogd", flags=SMALL):
    """Kill a run again and again. `killed.py` compares the model, the predictions and the bad messages."""
    paths = [folder / "model", folder / "said", folder / "bad" / "bad_rows.jsonl"]
    argv = [
        "run",
        learner,
        server.url(stream),
        *flags,
        "--target",
        "label",
        "--id",
        "number",
        "--until-end",
    ]
    argv += ["--save", paths[0], "--predictions", paths[1], "--on-error", paths[2].parent, "--resume"]
    argv += ["--checkpoint-every", "200", "--block", "100"]
    script = Path(__file__).parents[2] / "helpers" / "killed.py"
    words = [sys.executable, script, kills, seed, *paths, "--", *argv]
    done = forked.run(
        list(map(str, words)), capture_output=True, text=True, timeout=1800, check=False, env=LOADED
    )
    assert done.returncode == 0, done.stderr
    return list(map(int, done.stdout.split()))


def with_poison(bodies):
    """Every now and then a message that cannot be read."""
    for i in range(0, len(bodies), 331):
        bodies.insert(i, POISON[i % len(POISON)])
    return bodies


def test_kill_at_any_moment(server, stream, tmp_path):
    server.publish(stream, with_poison(rows(2000)))
    kills, ends = survive(server, stream, tmp_path, 5, 0)
    assert kills == 5
    assert ends >= 1
    assert server.committed(stream) == 2007


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "flags"), [("fogd", SMALL), ("auto", ["--size", "10"])], ids=["fogd", "auto"]
)
def test_kill_at_any_moment_50_times(server, stream, learner, flags, tmp_path):
    server.publish(stream, with_poison(rows(4000)))
    kills, ends = survive(server, stream, tmp_path, 50, 1, learner, flags)
    print(
        f"{server.kind}, {learner}: {kills} kills, {ends} runs came to their end, all with the same bytes"
    )
    assert kills == 50
    assert ends >= 1
