"""What the texts say of figures, judged on made-up runs."""

import numpy as np
import pytest

from budgetron import Gaussian, OnlineClassifier, sgd
from budgetron_reproduction import figures
from budgetron_reproduction.figures import judges, le2016, le2016_sizes, runs
from made_up_runs import comparison, ends


def verdicts(key, number, shown):
    return [claim.check(shown)[0] for claim in figures.figure(key, number).claims]


ROWS = np.arange(1, 17)


def grows(rate, size):
    """Mistakes at a rate in percent, and sizes, after 1000, 2000, ... rows."""
    return (10 * rate * ROWS).astype(int), [size(i) for i in ROWS], ROWS * 0.1


def projectrons(**changed):
    """Runs over 16,000 rows that agree with the text, except for the changes."""
    made = {
        "perceptron": grows(22 - 0.1 * ROWS, lambda i: 200 * i),
        "pa_1": grows(18 - 0.1 * ROWS, lambda i: 400 * i),
        "projectron": grows(22 - 0.1 * ROWS, lambda i: int(300 * i**0.5)),
        "projectronPP": grows(20.5 - 0.1 * ROWS, lambda i: int(250 * i**0.5)),
        "forgetron": grows(22 + 0 * ROWS, lambda i: min(200 * i, 1500)),
        "rbp": grows(22 + 0 * ROWS, lambda i: min(200 * i, 1500)),
    }
    return {"adult9": comparison(**made | changed)}


def test_claims_about_the_projectron():
    as_said = projectrons()
    assert [verdicts("orabona2008", number, as_said) for number in (1, 2, 3)] == [
        [True] * 4,
        [True] * 3,
        [True],
    ]
    bad = grows(24 + 0 * ROWS, lambda i: 250 * i)
    otherwise = projectrons(
        projectron=bad,
        projectronPP=bad,
        perceptron=grows(23 - 0.1 * ROWS, lambda i: int(400 * i**0.5)),
        forgetron=grows(26 - 0.4 * ROWS, lambda i: min(100 * i, 1500)),
    )
    assert [verdicts("orabona2008", number, otherwise) for number in (1, 2, 3)] == [
        [False] * 4,
        [False] * 3,
        [False],
    ]
    _, numbers = figures.figure("orabona2008", 1).claims[1].check(as_said)
    assert numbers == "forgetron at 8,000, rbp at 8,000 rows (6,000 to 9,000 required)"


def test_an_order_is_judged_by_the_share_of_data_sets():
    shown = {
        "a": comparison(x=ends(100), y=ends(200)),
        "b": comparison(x=ends(300), y=ends(200)),
        "c": comparison(x=ends(100), y=ends(200)),
        "d": comparison(x=ends(100)),  # cannot tell
    }
    below = judges.below(("x",), ("y",))
    assert judges.counted(below, judges.MOST, runs.last)(shown) == (
        True,
        "2 of 3 data sets, in %. a: x 10 against y 20; b (not): x 30 against y 20; c: x 10 against y 20",
    )
    assert not judges.counted(below, judges.ALL, runs.last)(shown)[0]
    assert not judges.counted(below, judges.MOST, runs.last)({"d": shown["d"]})[0]
    values = {"x": 1.0, "y": 3.0, "z": 2.0, "w": 4.0}
    assert not judges.below(("x", "y"), ("z", "w"))(values)[0]
    assert judges.below(("x", "y"), ("z", "w"), worst=False)(values)[0]
    assert not judges.below(("x",), ("z",), by=2.5)(values)[0]


def classes(**changed):
    names = ("fogd", "nogd", "projectron", "projectronPP", "rbp", "forgetron", "bpa_s", "bogd")
    made = {name: ends(100 + 10 * i, 1 + i) for i, name in enumerate((*names, "ogd", "perceptron"))}
    return {"one": comparison(**made | changed)}


def test_claims_about_several_classes():
    assert verdicts("lu2016", 1, classes()) == [True] * 4
    worse = classes(ogd=ends(900), rbp=ends(50), nogd=ends(140), fogd=ends(190))
    assert verdicts("lu2016", 1, worse) == [False] * 4
    quick = {"rbp": 2, "forgetron": 2, "bogd": 2, "projectronPP": 3, "projectron": 3, "bpa_s": 4, "nogd": 1}
    times = {name: ends(100, seconds) for name, seconds in quick.items()}
    as_said = classes(**times, fogd=ends(100, 0.5), ogd=ends(100, 9), perceptron=ends(100, 8))
    assert verdicts("lu2016", 2, as_said) == [True] * 6 + [False]  # the paper's two programs disagree
    late = {"rbp": 7, "fogd": 20, "ogd": 5, "perceptron": 6}
    slow = times | {name: ends(100, seconds) for name, seconds in late.items()}
    assert verdicts("lu2016", 2, classes(**slow)) == [False] * 6 + [True]


def objectives(**totals):
    rows = np.array([1.0, 2.0])
    made = {
        name: le2016.Objective(rows, np.array([0.1, norm]), np.array([start, loss]), np.array([1.0, size]))
        for name, (start, loss, norm, size) in totals.items()
    }
    return {"a9a": made}


def test_claims_about_the_objective():
    good = objectives(sgd=(0.9, 0.5, 0.2, 900), bsgd=(0.8, 0.5, 0.1, 100), nbsgd=(0.6, 0.5, 0.05, 200))
    assert verdicts("le2016", 1, good) == [True] * 3
    bad = objectives(sgd=(0.5, 0.3, 0.2, 900), bsgd=(0.8, 0.5, 0.1, 100), nbsgd=(0.9, 0.5, 0.05, 200))
    assert verdicts("le2016", 1, bad) == [False] * 3


def test_claims_about_beta():
    share = np.array(le2016_sizes.BETAS)
    ends = {"sgd": np.array([[9, 900, 9.0]]), "nbsgd": np.array([[9, 200, 2.0]])}
    good = le2016_sizes.Sizes(ends, np.array([share, 1000 * (1.1 - share), 85 - share]).T)
    assert verdicts("le2016", 2, {"a9a": good}) == [True] * 4
    swapped = {"sgd": ends["nbsgd"], "nbsgd": ends["sgd"]}
    bad = le2016_sizes.Sizes(swapped, np.array([share, 1000 + share, 80 + 5 * share]).T)
    assert verdicts("le2016", 2, {"a9a": bad}) == [False] * 4


def test_the_objective_is_that_of_the_kernel_matrix():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "b", "a")
    lam, k = 0.1, Gaussian(0.5)
    model = OnlineClassifier(sgd(k, lam=lam)).fit(X, y)
    norm, loss = le2016.objective(model, X, y, lam)
    a, V = np.ravel(model.dual_coef_), model.support_vectors_
    assert norm == pytest.approx(lam / 2 * a @ k(V) @ a, rel=1e-9)
    f = k(X, V) @ a
    assert loss == pytest.approx(np.mean(np.maximum(0, 1 - np.where(y == "b", 1, -1) * f)), rel=1e-9)
