"""Comparisons and searches on executors: the results of a serial run, also if a worker is lost."""

import os
import signal
import threading
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier

from budgetron import Gaussian, auto, evaluate, executors, forgetron, rbp
from budgetron._util.progress import Progress
from tests.helpers.cases import each

DATA = load_breast_cancer(return_X_y=True)
LEARNERS = {
    "rbp": rbp(Gaussian(1e-6), budget=30),
    "auto": auto(size=10),
    "sklearn": SGDClassifier(random_state=0),
}


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2) as pool:
        yield pool


def untimed(comparison):
    """The records without their times."""
    return {
        name: [[replace(record, seconds=0.0) for record in run] for run in runs]
        for name, runs in comparison.records.items()
    }


def test_processes_compare_as_one_thread_does(processes):
    serial = evaluate.compare(LEARNERS, DATA, permutations=2)
    assert untimed(evaluate.compare(LEARNERS, DATA, permutations=2, executor=processes)) == untimed(serial)


def test_processes_tune_as_one_thread_does(processes):
    options = {"budget": 30, "candidates": 6}
    serial = evaluate.tune("bpa_nn", DATA, n_jobs=1, **options)
    assert evaluate.tune("bpa_nn", DATA, executor=processes, **options) == serial


def test_progress_counts_all_rows(processes, monkeypatch):
    done = []
    monkeypatch.setattr(Progress, "advance", lambda _, rows=1: done.append(rows))
    evaluate.compare({"rbp": LEARNERS["rbp"]}, DATA, permutations=3, executor=processes)
    assert done == [len(DATA[1])] * 3
    done.clear()
    evaluate.tune("rbp", DATA, budget=5, candidates=4, executor=processes)
    # half of the rows by four candidates, the rest by the better two
    assert sum(done) == 4 * (len(DATA[1]) // 2) + 2 * (len(DATA[1]) - len(DATA[1]) // 2)


def test_the_error_of_a_task_is_raised_and_names_the_learner(processes):
    learners = {"forgetron": forgetron(Gaussian(1e-6), budget=-1)}
    with pytest.raises(ValueError, match=r"compare, forgetron on permutation 0: .*budget"):
        evaluate.compare(learners, DATA, permutations=1, executor=processes)


def test_what_is_no_executor_is_refused():
    with pytest.raises(
        TypeError, match=r"compare: executor must be an executor of concurrent.futures.*got 3"
    ):
        evaluate.compare(LEARNERS, DATA, executor=3)
    with pytest.raises(TypeError, match="tune: executor must be"):
        evaluate.tune("rbp", DATA, budget=5, executor="threads")


# ---- lost workers


def square(shared, i, path):
    """Task 1 kills its process the first time."""
    if i == 1 and not os.path.exists(path):
        with open(path, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return shared * i * i


def test_the_tasks_of_a_killed_process_run_again(tmp_path):
    finished = []
    with ProcessPoolExecutor(2) as pool:
        tasks = [(i, str(tmp_path / "killed")) for i in range(6)]
        results = executors.results(pool, square, 10, tasks, lambda i, result: finished.append((i, result)))
    assert results == [0, 10, 40, 90, 160, 250]
    assert sorted(finished) == list(enumerate(results))


class Losing(Executor):
    """Loses every task that many times."""

    def __init__(self, times):
        self.times, self.submitted, self.pool = times, [], ThreadPoolExecutor(1)

    def submit(self, task, /, *args):
        self.submitted.append(args)
        if self.submitted.count(args) > self.times:
            return self.pool.submit(task, *args)
        future = Future()
        future.set_exception(BrokenExecutor("lost"))
        return future


@each(("times", "submitted"), [(0, 1), (1, 2), (2, 3), (5, 3)])
def test_a_task_is_submitted_three_times_and_then_run_here(times, submitted):
    where, executor = [], Losing(times)

    def task(shared, i):
        where.append(threading.current_thread() is threading.main_thread())
        return shared + i

    assert executors.results(executor, task, 1, [(5,)]) == [6]
    assert len(executor.submitted) == submitted
    assert where == [times >= 3]


def test_other_tasks_are_cancelled_after_an_error():
    started = []

    def task(_, i):
        started.append(i)
        if i == 0:
            raise ValueError("task 0")
        threading.Event().wait(0.05)

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="task 0"):
            executors.results(pool, task, None, [(i,) for i in range(50)])
        assert pool.submit(int, "7").result() == 7  # it stays open
    assert len(started) < 50
