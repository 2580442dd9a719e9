"""kill -9 at any moment: every message is learned once, and the model file has the bytes of an unkilled run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.brokers.conftest import POISON, rows

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
    script = Path(__file__).parents[1] / "helpers" / "killed.py"
    words = [sys.executable, script, kills, seed, *paths, "--", *argv]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=900, check=False)
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
    server.publish(stream, with_poison(rows(10_000)))
    kills, ends = survive(server, stream, tmp_path, 50, 1, learner, flags)
    print(
        f"{server.kind}, {learner}: {kills} kills, {ends} runs came to their end, all with the same bytes"
    )
    assert kills == 50
    assert ends >= 1
