"""Studies: every cell is what compare gives, in one run that can be stopped."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from budgetron import (
    DualProjection,
    Gaussian,
    Kernelized,
    Perceptron,
    PythonBudget,
    Standardised,
    bduol,
    datasets,
    evaluate,
    forgetron,
    ogd,
    rbp,
    stoptron,
)
from tests.helpers.cases import each
from tests.helpers.trajectories import stream

K = Gaussian(0.2)
LEARNERS = {"rbp": rbp(K, budget=10), "stoptron": stoptron(K, budget=10)}
DATA = {f"draw {i}": stream("binary", 150, seed=i) for i in range(6)}
MIXED = {task: stream(task, 150, seed=1) for task in ("binary", "multiclass", "regression")}


class Oldest(PythonBudget):
    budget: int

    def insert(self, f, term):
        if f.size == self.budget:
            f.remove(f.oldest)
        f.append(term)


def errors(result, budget=None):
    return {(c.dataset, c.learner): c.errors.tolist() for c in result.cells if budget in (None, c.budget)}


def test_cells_are_those_of_compare():
    result = evaluate.study(LEARNERS, MIXED, 3)
    for name, rows in MIXED.items():
        expected = evaluate.compare(LEARNERS, rows, permutations=3, metrics=())
        for learner in LEARNERS:
            cell = result.cell(name, learner)
            assert [run[-1].error for run in cell.runs] == [
                run[-1].error for run in expected.records[learner]
            ]
        assert [row.mean for row in result.comparison(name).rows] == [row.mean for row in expected.rows]


def test_budgets_are_set_everywhere():
    learners = {"inner": Standardised(rbp(K, budget=99)), "none": ogd(K, eta=0.2)}
    result = evaluate.study(learners, {"a": DATA["draw 0"]}, 2, budgets=[5, 15])
    assert [result.cell("a", "inner", b).support_vectors for b in (5, 15)] == [5, 15]
    first, second = (result.cell("a", "none", b) for b in (5, 15))
    assert first.runs == second.runs  # it ran once
    assert result.by_budget("a").keys() == {5, 15}
    with pytest.raises(ValueError, match="budget must be one of 5, 15, got None"):
        result.table()


@each("n_jobs", [1, 3])
def test_a_finished_study_runs_nothing(tmp_path, monkeypatch, n_jobs):
    path = tmp_path / f"{n_jobs}.jsonl"
    first = evaluate.study(LEARNERS, DATA, 2, store=path, n_jobs=n_jobs, tune_rows=30, candidates=4)
    content = path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("budgetron.evaluate.comparison.Orders.run", None)
        patched.setattr("budgetron.evaluate.studies.tasks.tune", None)
        again = evaluate.study(LEARNERS, DATA, 2, store=path, tune_rows=30, candidates=4)
    assert again == first
    assert path.read_bytes() == content


def test_more_orders_and_learners_run_only_what_is_new(tmp_path):
    path = tmp_path / "runs.jsonl"
    evaluate.study(LEARNERS, DATA, 2, store=path)
    more = LEARNERS | {"forgetron": forgetron(K, budget=10)}
    result = evaluate.study(more, DATA, 3, store=path)
    assert len(path.read_text().splitlines()) == 6 * 3 * 3
    assert errors(result) == errors(evaluate.study(more, DATA, 3))


CHANGES = {
    "rows": lambda: evaluate.study(LEARNERS, {"draw 0": stream("binary", 150, seed=9)}, 2),
    "seed": lambda: evaluate.study(LEARNERS, {"draw 0": DATA["draw 0"]}, 2, seed=5),
    "learner": lambda: evaluate.study({"rbp": rbp(K, budget=11)}, {"draw 0": DATA["draw 0"]}, 2),
    "delay": lambda: evaluate.study(LEARNERS, {"draw 0": DATA["draw 0"]}, 2, delay=3),
    "metrics": lambda: evaluate.study(LEARNERS, {"draw 0": DATA["draw 0"]}, 2, metrics=["kappa"]),
    "tuning": lambda: evaluate.study(LEARNERS, {"draw 0": DATA["draw 0"]}, 2, tune_rows=20, candidates=2),
}


@each("what", CHANGES)
def test_what_an_outcome_depends_on_is_in_its_labels(tmp_path, monkeypatch, what):
    path = tmp_path / f"{what}.jsonl"
    evaluate.study(LEARNERS, {"draw 0": DATA["draw 0"]}, 2, store=path)
    monkeypatch.setattr(evaluate, "study", partial(evaluate.study, store=path))
    before = len(path.read_text().splitlines())
    result = CHANGES[what]()
    assert len(path.read_text().splitlines()) - before >= 2 * len(result.learners)


def test_a_changed_python_part_is_another_learner(tmp_path):
    path = tmp_path / "runs.jsonl"
    learners = {"mine": Kernelized(K, Perceptron(), Oldest(10))}
    evaluate.study(learners, {"draw 0": DATA["draw 0"]}, 2, store=path)

    class Oldest2(PythonBudget):
        budget: int

        def insert(self, f, term):
            if f.size == self.budget:
                f.remove(0)
            f.append(term)

    Oldest2.__name__ = Oldest2.__qualname__ = "Oldest"
    other = {"mine": Kernelized(K, Perceptron(), Oldest2(10))}
    assert repr(other["mine"]) == repr(learners["mine"])
    evaluate.study(other, {"draw 0": DATA["draw 0"]}, 2, store=path)
    assert len(path.read_text().splitlines()) == 4


# ---- tuning


def test_no_order_has_the_rows_of_the_tuning():
    """A data set whose rows are all different: those of the tuning are in no order."""
    seen, X, y = [], *DATA["draw 0"]
    X = X + np.arange(150)[:, None] * 1e-9

    class Looking(SGDClassifier):
        def partial_fit(self, X, y, classes=None, sample_weight=None):
            seen.extend(map(tuple, X))
            return super().partial_fit(X, y, classes, sample_weight)

    result = evaluate.study(
        {"looking": Looking(), **LEARNERS}, {"a": (X, y)}, 2, tune_rows=40, candidates=4
    )
    assert len(set(seen)) == 110
    assert {cell.rows for cell in result.cells} == {110}
    assert result.cell("a", "looking").tuned is None
    assert result.cell("a", "rbp").tuned is not None
    again = evaluate.study(LEARNERS, {"a": (X, y)}, 2, tune_rows=40, candidates=4, n_jobs=2)
    assert again.cell("a", "rbp").tuned == result.cell("a", "rbp").tuned


def test_at_most_a_third_is_for_tuning():
    result = evaluate.study(LEARNERS, {"a": DATA["draw 0"]}, 1, tune_rows=10_000, candidates=2)
    assert result.cells[0].rows == 100


def test_a_label_that_only_the_tuning_has():
    X, y = DATA["draw 0"]
    for row in range(6):  # one of them is a row for tuning
        alone = np.where(np.arange(150) == 20 * row, 7, y)
        result = evaluate.study(LEARNERS, {"a": (X, alone)}, 1, tune_rows=50, candidates=2)
        assert not result.failures


def test_tuned_parameters_are_in_the_learner():
    result = evaluate.study(LEARNERS, {"a": DATA["draw 0"]}, 1, tune_rows=50, candidates=16)
    cell = result.cell("a", "rbp")
    for path, value in cell.tuned.items():
        assert f"{path.rpartition('__')[2]}={value}" in cell.described


# ---- what fails


def test_a_learner_that_cannot_run_is_left_out_there(tmp_path):
    learners = LEARNERS | {"bduol": bduol(K, budget=9, maintenance=DualProjection)}
    path = tmp_path / "runs.jsonl"
    result = evaluate.study(learners, DATA | MIXED, 2, store=path)
    assert result.failures.keys() == {("multiclass", "bduol", None), ("regression", "bduol", None)}
    assert "two classes" in result.failures["multiclass", "bduol", None]
    assert len(result.ranks().datasets) == 7
    assert "Cells without a result: 2" in result.latex(bold="best")
    again = evaluate.study(learners, DATA | MIXED, 2, store=path)  # failures are tried again
    assert again.failures == result.failures


def test_a_function_of_the_data_set():
    def widths(dataset, budget):
        return rbp(Gaussian(0.1 if dataset == "draw 0" else 0.5), budget=budget)

    result = evaluate.study({"rbp": widths}, DATA, 1, budgets=[10])
    assert "gamma=0.1" in result.cell("draw 0", "rbp").described
    assert "gamma=0.5" in result.cell("draw 1", "rbp").described


WRONG = {
    "no learners": ({"learners": {}}, "learners is empty"),
    "a text": ({"learners": "rbp"}, "learners must be a dict"),
    "an algorithm": (
        {"learners": {"rbp": rbp}},
        "rbp is the function of an algorithm: give a learner, such",
    ),
    "no learner": ({"learners": {"a": 3}}, "a must be a Learner"),
    "returns none": ({"learners": {"a": lambda *_: 3}}, "a must return a learner for a"),
    "no data": ({"datasets": {}}, "datasets is empty"),
    "a near name": ({"datasets": ["germen"]}, "no data set 'germen'; did you mean german"),
    "no pair": ({"datasets": {"a": 3}}, "the data set a must be a name, a pair"),
    "returns no pair": ({"datasets": {"a": lambda: 3}}, r"must be a pair \(X, y\), got int"),
    "no rows": ({"datasets": {"a": (np.zeros((0, 2)), [])}}, "must have rows and labels, got none"),
    "orders": ({"orders": 0}, "orders must be a whole number above 0"),
    "budgets": ({"budgets": [5, 5]}, "one or more different numbers"),
    "budget": ({"budgets": [0]}, "budgets must be a whole number above 0"),
    "executor": ({"executor": 4}, "executor must be an executor"),
}


@each("case", WRONG)
def test_wrong_arguments(case):
    arguments, message = WRONG[case]
    given = {"learners": LEARNERS, "datasets": {"a": DATA["draw 0"]}, "orders": 1} | arguments
    with pytest.raises((TypeError, ValueError), match=message):
        evaluate.study(**given)


# ---- workers


class Dying(PythonBudget):
    """Kills its process the first time; the file remembers that."""

    path: str

    def insert(self, f, term):
        if not os.path.exists(self.path):
            with open(self.path, "w"):
                os.kill(os.getpid(), signal.SIGKILL)
        f.append(term)


def test_the_runs_of_a_lost_worker_are_run_again(tmp_path):
    learners = LEARNERS | {"dying": Kernelized(K, Perceptron(), Dying(str(tmp_path / "died")))}
    with ProcessPoolExecutor(2) as pool:
        result = evaluate.study(learners, {"a": DATA["draw 0"]}, 3, executor=pool, store=tmp_path / "runs")
    assert (tmp_path / "died").exists()
    assert not result.failures
    assert errors(result) == errors(evaluate.study(learners, {"a": DATA["draw 0"]}, 3))


def test_an_interrupt_keeps_whole_runs(tmp_path, monkeypatch):
    path = tmp_path / "runs.jsonl"
    whole = evaluate.study(LEARNERS, DATA, 2)
    original, count = evaluate.comparison.Orders.run, [0]

    def run(self, *arguments):
        count[0] += 1
        if count[0] == 8:
            raise KeyboardInterrupt
        return original(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr("budgetron.evaluate.comparison.Orders.run", run)
        with pytest.raises(KeyboardInterrupt):
            evaluate.study(LEARNERS, DATA, 2, store=path)
    assert len(path.read_text().splitlines()) == 7
    assert errors(evaluate.study(LEARNERS, DATA, 2, store=path)) == errors(whole)


# ---- results


def test_saved_and_read_back(tmp_path):
    result = evaluate.study(LEARNERS, MIXED, 2, tune_rows=30, candidates=3)
    result.save(tmp_path / "study.json")
    again = evaluate.Study.load(tmp_path / "study.json")
    assert again == result
    assert again.cells[0].tuned == result.cells[0].tuned
    assert again.cite() == result.cite()


def test_one_data_set_is_loaded_at_a_time():
    loaded = []

    def load(i):
        loaded.append(i)
        return DATA[f"draw {i}"]

    said = []
    evaluate.study(LEARNERS, {f"{i}": partial(load, i) for i in range(3)}, 2, say=said.append)
    assert loaded == [0, 1, 2]
    assert said[1] == "1, 2 of 3: 4 runs, 0 of them from before."


def test_the_catalogue_tells_the_task(monkeypatch):
    monkeypatch.setattr(datasets, "load", lambda _: (MIXED["regression"][0], np.arange(150)))
    result = evaluate.study(LEARNERS, ["abalone"], 1)
    assert {cell.task for cell in result.cells} == {"regression"}


def test_records_are_rows():
    X, y = DATA["draw 0"]
    records = [dict(zip("abcde", map(float, x), strict=True)) | {"f": f"{i % 3}"} for i, x in enumerate(X)]
    result = evaluate.study(LEARNERS, {"records": (records, y)}, 2, tune_rows=30, candidates=2)
    assert not result.failures
