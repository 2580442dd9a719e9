"""Runs are kept as they end: a stopped reproduction goes on where it was."""

import json
import signal
import subprocess
import threading
import time

import pytest

from budgetron_reproduction.cases import Outcome
from budgetron_reproduction.store import Job, Store
from called import process as command
from tests.helpers import forked
from tests.helpers.command import PATIENCE


def jobs(ran, n=6, fails=None):
    """Jobs that record that they ran."""

    def run(i):
        if i == fails:
            raise ValueError("the third one fails")
        ran.append(i)
        return Outcome(float(i), 0.5, support=3.0)

    return [Job({"i": i}, lambda i=i: run(i)) for i in range(n)]


@pytest.mark.parametrize("threads", [1, 3])
def test_only_what_is_not_known_runs(tmp_path, threads):
    path, ran = tmp_path / "deep" / "runs.jsonl", []
    first = Store(path).outcomes(jobs(ran, 4), threads)
    assert sorted(ran) == [0, 1, 2, 3]
    ran.clear()
    again = Store(path)
    assert again.outcomes(jobs(ran), threads)[:4] == first
    assert sorted(ran) == [4, 5]
    assert again.taken == 4


def test_the_same_job_twice_runs_once(tmp_path):
    ran = []
    outcomes = Store(tmp_path / "runs.jsonl").outcomes(jobs(ran, 2) + jobs(ran, 2))
    assert sorted(ran) == [0, 1]
    assert [outcome.value for outcome in outcomes] == [0, 1, 0, 1]


def test_without_a_file_nothing_is_kept():
    ran = []
    Store(None).outcomes(jobs(ran, 2))
    Store(None).outcomes(jobs(ran, 2))
    assert sorted(ran) == [0, 0, 1, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_ended_before_a_failure_is_kept(tmp_path, threads):
    path, ran = tmp_path / "runs.jsonl", []
    with pytest.raises(ValueError, match="the third one fails"):
        Store(path).outcomes(jobs(ran, fails=2), threads)
    before = set(ran)
    assert {0, 1} <= before
    ran.clear()
    assert len(Store(path).outcomes(jobs(ran))) == 6
    assert not before & set(ran)


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_cut_short_is_run_again_and_spoils_no_other(tmp_path, cut):
    path, ran = tmp_path / "runs.jsonl", []
    Store(path).outcomes(jobs(ran, 3))
    path.write_bytes(path.read_bytes()[:-cut])
    ran.clear()
    outcomes = Store(path).outcomes(jobs(ran, 4))
    assert sorted(ran) == ([3] if cut == 1 else [2, 3])
    assert [outcome.value for outcome in outcomes] == [0, 1, 2, 3]
    ran.clear()
    Store(path).outcomes(jobs(ran, 4))
    assert not ran


def test_only_what_is_concerned_is_forgotten(tmp_path):
    path, ran = tmp_path / "runs.jsonl", []
    Store(path).outcomes(jobs(ran, 4))
    ran.clear()
    store = Store(path)
    store.forget(lambda job: job["i"] in (1, 2))
    store.outcomes(jobs(ran, 4))
    assert sorted(ran) == [1, 2]
    ran.clear()
    Store(path).outcomes(jobs(ran, 4))
    assert not ran


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "[]",
        "null",
        "\x00",
        '{"job": {"i": 0}, "outcome": 3}',
        '{"job": {"i": 0}, "outcome": {"value": 1}}',
        '{"job": {"i": 0}, "outcome": {"value": "x", "seconds": 1}}',
        '{"job": {"i": 0}, "outcome": {"value": null, "seconds": 1}}',
    ],
)
def test_lines_that_are_no_outcomes_are_passed_over(tmp_path, line):
    path, ran = tmp_path / "runs.jsonl", []
    path.write_text(line + "\n")
    assert len(Store(path).outcomes(jobs(ran, 2))) == 2
    assert sorted(ran) == [0, 1]


def test_an_outcome_is_the_same_after_the_file(tmp_path):
    outcome = Outcome(0.1 + 0.2, 1e-9, None, 7.25)
    Store(tmp_path / "runs.jsonl").outcomes([Job({"a": 1}, lambda: outcome)])
    assert Store(tmp_path / "runs.jsonl").outcomes([Job({"a": 1}, lambda: None)]) == [outcome]


def test_threads_write_whole_lines(tmp_path):
    path, gate = tmp_path / "runs.jsonl", threading.Barrier(4)

    def run(i):
        gate.wait()
        return Outcome(float(i), 0.0)

    Store(path).outcomes([Job({"i": i}, lambda i=i: run(i)) for i in range(40)], workers=4)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(line["job"]["i"] for line in lines) == list(range(40))


def test_a_killed_reproduction_goes_on_where_it_was(tmp_path):
    """The resumed run has the same results as one that was never stopped."""
    words = command("orabona2008", "--table", "3", "--permutations", "4")
    path = tmp_path / "a" / "orabona2008.jsonl"
    first = forked.Popen([*words, "--store", str(tmp_path / "a")], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.stat().st_size > 500) and time.monotonic() < deadline:
        time.sleep(0.01)
    first.kill()
    first.wait()
    kept = path.read_text().count("\n")
    assert 0 < kept < 48
    forked.run([*words, "--store", str(tmp_path / "a")], check=True, stdout=subprocess.DEVNULL)
    forked.run([*words, "--store", str(tmp_path / "b")], check=True, stdout=subprocess.DEVNULL)

    def values(name):
        lines = (tmp_path / name / "orabona2008.jsonl").read_text().splitlines()
        entries = (json.loads(line) for line in lines if line.endswith("}}"))
        return {json.dumps(entry["job"]): entry["outcome"]["value"] for entry in entries}

    assert values("a") == values("b")
    assert len(values("a")) == 48


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interrupt_waits_for_what_is_running_and_a_second_one_does_not(tmp_path, signals):
    """The exit code is 130 in both cases, and the file is complete."""
    words = command("orabona2008", "--table", "3", "--jobs", "2", "--store", tmp_path)
    path = tmp_path / "orabona2008.jsonl"
    process = forked.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.stat().st_size > 500) and time.monotonic() < deadline:
        time.sleep(0.01)
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode in (130, -signal.SIGINT)  # the second may come when all has ended
    assert "Traceback" not in said
    assert "terminate" not in said
    for line in path.read_text().splitlines():
        assert json.loads(line)["outcome"]["value"] > 0
