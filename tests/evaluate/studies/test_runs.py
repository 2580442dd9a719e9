"""Runs are kept as they end: stopped work goes on where it was."""

import json
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

import pytest

from budgetron.evaluate import Job, RunStore
from tests.helpers.cases import each


@dataclass(frozen=True)
class Outcome:
    value: float

    as_dict = asdict


@dataclass(frozen=True)
class NotKept:
    def as_dict(self):
        return None


def revive(kept):
    return Outcome(float(kept["value"]))


def outcome_of(i):
    return Outcome(float(i))


def jobs(ran, n=6, fails=None):
    """Jobs that record that they ran."""

    def run(i):
        if i == fails:
            raise ValueError("the third one fails")
        ran.append(i)
        return Outcome(float(i))

    return [Job({"i": i}, partial(run, i)) for i in range(n)]


@each("threads", [1, 3])
def test_only_what_is_not_known_runs(tmp_path, threads):
    path, ran = tmp_path / f"{threads}" / "runs.jsonl", []
    first = RunStore(path, revive).outcomes(jobs(ran, 4), threads)
    assert sorted(ran) == [0, 1, 2, 3]
    ran.clear()
    again = RunStore(path, revive)
    assert again.outcomes(jobs(ran), threads)[:4] == first
    assert sorted(ran) == [4, 5]
    assert again.taken == 4


def test_what_is_not_to_be_kept_runs_again(tmp_path):
    job = Job({"i": 0}, NotKept)
    assert RunStore(tmp_path / "runs.jsonl", revive).outcomes([job]) == [NotKept()]
    assert not RunStore(tmp_path / "runs.jsonl", revive).knows(job)


@each("threads", [1, 2])
def test_what_ended_before_a_failure_is_kept(tmp_path, threads):
    path, ran, stopped = tmp_path / f"{threads}.jsonl", [], []
    store = RunStore(path, revive)
    with pytest.raises(ValueError, match="the third one fails"):
        store.outcomes(jobs(ran, fails=2), threads, stop=lambda: stopped.append(1))
    before = set(ran)
    assert {0, 1} <= before
    assert stopped == [1]
    ran.clear()
    assert len(RunStore(path, revive).outcomes(jobs(ran))) == 6
    assert not before & set(ran)


@each("cut", [1, 20, 40])
def test_a_line_cut_short_is_run_again_and_spoils_no_other(tmp_path, cut):
    path, ran = tmp_path / f"{cut}.jsonl", []
    RunStore(path, revive).outcomes(jobs(ran, 3))
    path.write_bytes(path.read_bytes()[:-cut])
    ran.clear()
    outcomes = RunStore(path, revive).outcomes(jobs(ran, 4))
    assert sorted(ran) == ([3] if cut == 1 else [2, 3])
    assert [outcome.value for outcome in outcomes] == [0, 1, 2, 3]
    ran.clear()
    RunStore(path, revive).outcomes(jobs(ran, 4))
    assert not ran


LINES = ["{}", "[]", "null", "\x00", '{"job": {"i": 0}}', '{"job": {"i": 0}, "outcome": {}}', "\x85\x1c"]


@each("line", LINES)
def test_lines_that_are_no_outcomes_are_passed_over(tmp_path, line):
    path, ran = tmp_path / "runs.jsonl", []
    path.write_text(line + "\n")
    assert len(RunStore(path, revive).outcomes(jobs(ran, 2))) == 2
    assert sorted(ran) == [0, 1]


@each("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_on_an_executor(tmp_path, pool):
    path = tmp_path / f"{pool.__name__}.jsonl"
    work = [Job({"i": i}, partial(outcome_of, i)) for i in range(5)]
    with pool(2) as executor:
        assert RunStore(path, revive).outcomes(work, executor) == [Outcome(i) for i in range(5)]
    assert len(path.read_text().splitlines()) == 5


def test_threads_write_whole_lines(tmp_path):
    path, gate = tmp_path / "runs.jsonl", threading.Barrier(4)

    def run(i):
        gate.wait()
        return Outcome(float(i))

    RunStore(path, revive).outcomes([Job({"i": i}, partial(run, i)) for i in range(40)], workers=4)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(line["job"]["i"] for line in lines) == list(range(40))


def test_only_what_is_concerned_is_forgotten(tmp_path):
    path, ran = tmp_path / "runs.jsonl", []
    RunStore(path, revive).outcomes(jobs(ran, 4))
    ran.clear()
    store = RunStore(path, revive)
    store.forget(lambda job: job["i"] in (1, 2))
    store.outcomes(jobs(ran, 4))
    assert sorted(ran) == [1, 2]
