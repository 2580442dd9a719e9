"""Tuning: the halving, the candidates, how the winner is written, and bad arguments."""

import inspect
import math
import shlex
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import budgetron
import budgetron as bt
from budgetron.evaluate.candidates import drawn
from tests.helpers import members
from tests.helpers.cases import each
from tests.helpers.members import filled
from tests.helpers.refusals import refused


def moons(n, seed=0):
    """Two classes that a wide kernel cannot separate."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n, 2)) * 3
    return X, (np.sin(2 * X[:, 0]) > X[:, 1] / 2).astype(int)


def same(a, b):
    return (a.learner, a.python, a.candidates, a.gap) == (b.learner, b.python, b.candidates, b.gap)


def online_error(learner, X, y, after):
    model = bt.OnlineClassifier(learner, random_state=0).start(X[:1000], np.unique(y))
    return (model.progressive_predict(X, y) != y)[after:].mean()


def test_the_winner_errs_less_than_the_defaults_on_the_rest_of_the_stream():
    X, y = bt.datasets.synthetic(10_000)
    for name in ("bpa_nn", "bogd", "bsgd"):
        default = getattr(bt.algorithms, name)(bt.Gaussian(), budget=50)
        found = bt.evaluate.tune(name, (X, y), budget=50, rows=3000)
        assert online_error(found.learner, X, y, 3000) < online_error(default, X, y, 3000) - 0.005


def test_half_goes_on_with_twice_the_rows():
    found = bt.evaluate.tune("bpa_nn", moons(3000), budget=20, rows=1600, candidates=16)
    assert [each.rows for each in found.candidates] == [1600] * 2 + [800] * 2 + [400] * 4 + [200] * 8
    for rows in (1600, 800, 400, 200):
        errors = [each.error for each in found.candidates if each.rows == rows]
        assert errors == sorted(errors)


def test_a_candidate_goes_on_learning():
    """Its error is that of one pass over its rows."""
    X, y = moons(800)
    found = bt.evaluate.tune("bpa_nn", (X, y), budget=20, candidates=8, seed=3)
    for one in found.candidates:
        gamma, C = one.parameters.get("gamma", "scale"), one.parameters.get("C", 1.0)
        model = bt.OnlineClassifier(bt.bpa_nn(bt.Gaussian(gamma), budget=20, C=C), random_state=3)
        rows = slice(one.rows)
        assert (model.start(X, y).progressive_predict(X[rows], y[rows]) != y[rows]).mean() == one.error


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_threads_and_blocks_change_nothing(container):
    X, y = moons(1000)
    X = container(X)
    first = bt.evaluate.tune("bogd", (X, y), budget=20, n_jobs=1, seed=5)
    assert same(first, bt.evaluate.tune("bogd", (X, y), budget=20, n_jobs=4, seed=5))
    assert same(
        first, bt.evaluate.tune(bt.algorithms.bogd, bt.streams.from_arrays(X, y, rows=7), budget=20, seed=5)
    )
    assert not same(first, bt.evaluate.tune("bogd", (X, y), budget=20, seed=6))


def test_no_more_rows_are_read_than_needed():
    X, y = moons(1000)
    read = []

    def blocks():
        for block in bt.streams.from_arrays(X, y, rows=100):
            read.append(len(block))
            yield block

    assert bt.evaluate.tune("rbp", blocks(), budget=9, rows=250).candidates[0].rows == 250
    assert sum(read) == 300


@each("name", sorted(set(bt.algorithms.__all__) - {"auto"}))
def test_every_algorithm_can_be_tuned(name):
    """And its line of Python makes the winner."""
    function = getattr(bt.algorithms, name)
    task = "regression" if name in ("norma", "krls") else "binary"
    found = bt.evaluate.tune(
        name, members.data(task, 300), candidates=6, scaling="standardise", **filled(function)
    )
    names = {key: getattr(budgetron, key) for key in budgetron.__all__}
    assert eval(found.python, names) == found.learner
    assert found.shell.startswith(f"budgetron run {name} FILE --standardise")
    assert set(found.candidates[-1].parameters or found.candidates[0].parameters) <= {
        "gamma",
        *inspect.signature(function).parameters,
    }


def test_regression():
    X, y = members.data("regression", 1000)
    found = bt.evaluate.tune("ogd", (X, y), candidates=16)
    assert found.task == "regression"
    assert set(found.candidates[0].parameters) == {"gamma", "eta", "lam", "epsilon"}
    error = np.square(
        bt.OnlineRegressor(found.learner, random_state=0).progressive_predict(X, y) - y
    ).mean()
    assert error == pytest.approx(found.candidates[0].error, rel=1e-12)
    assert "mse" in found.table()


@each(
    ("arguments", "searched"),
    [
        ({}, {"gamma", "C"}),
        ({"C": 0.5}, {"gamma"}),
        ({"kernel": bt.Gaussian(0.5)}, {"C"}),
        ({"kernel": "linear"}, {"C"}),
        ({"kernel": bt.Laplacian()}, {"gamma", "C"}),
    ],
    ids=["nothing", "C", "gamma", "linear", "laplacian"],
)
def test_what_is_given_is_not_searched(arguments, searched):
    found = bt.evaluate.tune("bpa_nn", moons(300), budget=9, candidates=4, **arguments)
    assert {name for each in found.candidates for name in each.parameters} == searched


def test_the_step_of_the_projectron_is_not_its_threshold():
    found = bt.evaluate.tune("projectron", members.data("regression", 300), budget=9, candidates=4)
    assert {name for each in found.candidates for name in each.parameters} == {"gamma", "step", "epsilon"}


def test_a_learner_of_parts():
    learner = bt.Averaged(bt.Mapped(bt.RandomFourier(bt.Gaussian(3.0), components=10), bt.AROW()))
    found = bt.evaluate.tune(learner, moons(300), candidates=4)
    names = {"learner__features__kernel__gamma", "learner__rule__r"}
    assert {name for each in found.candidates for name in each.parameters} == names
    assert found.shell is None
    assert eval(found.python, {key: getattr(budgetron, key) for key in budgetron.__all__}) == found.learner
    assert learner.learner.features.kernel == bt.Gaussian(3.0)


def test_an_algorithm_without_a_kernel_to_choose():
    def mine(*, budget, gamma="scale"):
        return bt.Stacked(
            bt.rbp(bt.Gaussian(gamma), budget=budget), bt.bpa_nn(bt.Gaussian(gamma), budget=budget)
        )

    found = bt.evaluate.tune(mine, moons(300), budget=9, candidates=4, scaling="min-max")
    assert {name for each in found.candidates for name in each.parameters} == {"gamma"}
    best = found.candidates[0].parameters
    assert found.learner == bt.Ranged(mine(budget=9, **best))

    def fixed(*, budget):
        return bt.rbp(bt.Gaussian(), budget=budget)

    with refused("tune: fixed(budget=9) has no parameter to search: there is nothing to tune."):
        bt.evaluate.tune(fixed, moons(300), budget=9)


def test_an_algorithm_of_ones_own_without_ranges():
    def mine(kernel, *, budget, C=1.0):
        return bt.bpa_nn(kernel, budget=budget, C=2 * C)  # no argument is PA's C

    found = bt.evaluate.tune(mine, moons(300), budget=9, candidates=4)
    assert {name for each in found.candidates for name in each.parameters} == {"gamma"}
    assert found.shell is None


@each(
    ("name", "arguments", "words"),
    [
        ("bpa_nn", {"kernel": bt.Laplacian(2.0)}, "--kernel laplacian --gamma 2.0 --budget 9"),
        ("bsgd", {"maintenance": bt.Merge}, "--budget 9 --maintenance merge"),
        ("bsgd", {"maintenance": partial(bt.ProjectSmallest, neighbours=3)}, "smallest --neighbours 3"),
        ("bsgd", {"loss": "logistic"}, "--loss logistic"),
        ("ogd", {"loss": bt.Logistic(), "epsilon": 0.0}, "--loss logistic --epsilon 0.0"),
    ],
)
def test_the_command(name, arguments, words):
    more = {"budget": 9} if name != "ogd" else {}
    found = bt.evaluate.tune(name, moons(300), candidates=3, **more, **arguments)
    assert shlex.split(found.shell)[:4] == ["budgetron", "run", name, "FILE"]
    assert words in found.shell


def test_a_learner_that_no_flags_describe_has_no_command():
    loss = bt.EpsilonInsensitive(0.5)
    assert bt.evaluate.tune("ogd", members.data("regression", 200), candidates=3, loss=loss).shell is None


def test_values_are_spread_over_the_range():
    values = [each["C"] for each in drawn({"C": (0.01, 100.0)}, 40, seed=0)]
    assert np.histogram(np.log10(values), bins=4, range=(-2, 2))[0].tolist() == [10] * 4


def test_a_candidate_that_diverges_is_dropped():
    X = np.linspace(0, 3000, 400)[:, None]
    found = bt.evaluate.tune(
        bt.ogd(bt.Linear(), eta=1e-8), (X, X[:, 0] / 3000), task="regression", candidates=8
    )
    assert math.isinf(found.candidates[-1].error)
    assert math.isfinite(found.candidates[0].error)


def test_the_gap_is_that_of_the_rows_of_both():
    X, y = moons(900)
    found = bt.evaluate.tune("bpa_nn", (X, y), budget=20, candidates=8)
    best, second = found.candidates[:2]
    assert best.rows == second.rows == 900
    assert found.gap == pytest.approx(second.error - best.error)
    assert found.gap_error > 0
    assert "on 900 rows" in found.confidence()


def test_one_candidate_is_the_learner_itself():
    found = bt.evaluate.tune("bpa_nn", moons(300), budget=9, candidates=1)
    assert found.learner == bt.bpa_nn(bt.Gaussian(), budget=9)
    assert found.confidence() == "There is no runner-up."


@each(
    ("arguments", "culprits"),
    [
        (("forgetorn",), ["there is no algorithm 'forgetorn'; did you mean forgetron?"]),
        (("auto",), ["auto() has no parameter to search: there is nothing to tune"]),
        ((bt.auto(),), ["Auto(size=50, drift=True, wide=0) has no parameter to search"]),
        ((3,), ["learner must be a name, a function or a Learner, got 3"]),
        ((bt.rbp,), ["missing 1 required keyword-only argument: 'budget'"]),
        ((bt.rbp(bt.Gaussian(), budget=3), {"budget": 9}), ["budget is for an algorithm"]),
        ((bt.rbp, {"budget": -1}), ["budget must be a whole number above 0"]),
        (
            (bt.rbp, {"budget": 9, "kernel": "rbf"}),
            ["be a Kernel, got 'rbf'; did you mean Gaussian()?"],
        ),
        (
            (bt.rbp, {"budget": 9, "scaling": "robust"}),
            ["scaling must be 'standardise', 'min-max' or None"],
        ),
        ((bt.rbp, {"budget": 9, "rows": 0}), ["tune: rows must be a whole number above 0"]),
        ((bt.rbp, {"budget": 9, "candidates": 0}), ["tune: candidates must be a whole number above 0"]),
        ((bt.rbp, {"budget": 9, "n_jobs": 0}), ["tune: n_jobs must be"]),
        ((bt.rbp, {"budget": 9, "seed": -1}), ["tune: seed must be"]),
        ((bt.rbp, {"budget": 9, "task": "ranking"}), ["tune: task must be"]),
    ],
)
def test_bad_arguments(arguments, culprits):
    learner, *more = arguments
    with refused(*culprits):
        bt.evaluate.tune(learner, moons(300), **(more[0] if more else {}))


@each(
    ("data", "culprits"),
    [
        (([[1.0]] * 3, [1, 1, 1]), ["at least two classes"]),
        ((np.empty((0, 2)), []), ["tune: the stream has no rows"]),
        (bt.streams.from_arrays([[1.0], [2.0]]), ["row 0 (the first is 0) has no label"]),
        (5, ["expected a stream, blocks, pairs (x, y) or a pair (X, y)"]),
        (np.ones((9, 2)), ["item 0 must be a pair (x, y)"]),
        (([["a"], ["b"]] * 99, [0, 1] * 99), ["could not convert string to float"]),
        ((np.array([[1.0, np.nan]] * 300), [0, 1] * 150), ["NaN"]),
    ],
    ids=["one class", "none", "no labels", "number", "no pair", "texts", "nan"],
)
def test_bad_rows(data, culprits):
    with refused(*culprits, ours=False):
        bt.evaluate.tune(bt.rbp, data, budget=3)


def test_a_bad_row_later_on_is_named():
    X, y = moons(2000)
    X[1900, 0] = np.nan
    with pytest.raises(bt.DataError) as caught:
        bt.evaluate.tune(bt.rbp, (X, y), budget=3)
    where = "tune, rows 1000 to 1999 (the first is 0)"
    assert str(caught.value) == f"{where}: every candidate refuses a row: Input X contains NaN."
    found = bt.evaluate.tune(
        bt.rbp, (X, y), budget=3, scaling="standardise"
    )  # NaN is a missing value there
    assert isinstance(found.learner, bt.Standardised)
    assert found.candidates[0].rows == 2000


def test_parts_state_their_ranges():
    assert bt.PA.ranges == {"C": (0.01, 10.0)}
    assert bt.bsgd(bt.Gaussian(), budget=3).rule.ranges == {"lam": (1e-6, 0.1)}


def test_pairs_of_a_row_and_its_label_are_a_stream():
    rng = np.random.default_rng(0)
    rows = [{"a": float(a), "b": "xy"[i % 2]} for i, a in enumerate(rng.normal(size=200))]
    y = ["u" if row["a"] > 0 else "v" for row in rows]
    options = {"budget": 20, "candidates": 4, "scaling": "standardise"}
    pairs = bt.evaluate.tune("bpa_nn", zip(rows, y, strict=True), **options)
    assert pairs == bt.evaluate.tune("bpa_nn", (rows, y), **options)
    assert pairs == bt.evaluate.tune("bpa_nn", list(zip(rows, y, strict=True)), **options)
