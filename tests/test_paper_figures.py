"""Figures of the papers: what they show, and whether what the texts say of them is judged rightly."""

import dataclasses

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

from budgetron import Gaussian, OnlineClassifier, papers, rbp, sgd  # noqa: E402
from budgetron.evaluate import Comparison, Record  # noqa: E402
from budgetron.papers import KEYS, Cell, Reproduction, Result, claims, figures, report, table  # noqa: E402
from budgetron.papers import zhao2012b as bduols  # noqa: E402
from budgetron.papers.figures import (  # noqa: E402
    judges,
    le2016,
    le2016_settings,
    le2016_sizes,
    lu2016,
    lu2016_budgets,
    lu2016_shares,
    orabona2008,
    runs,
)
from budgetron.papers.preparation import Prepared  # noqa: E402
from budgetron.streams import DataError  # noqa: E402
from command import called  # noqa: E402

ALL = [(key, number) for key in KEYS for number in figures.numbers(key)]


@pytest.fixture(autouse=True)
def _closed():
    runs.compared.cache_clear()
    runs._stream.cache_clear()
    runs._searched.cache_clear()
    yield
    runs.compared.cache_clear()
    runs._stream.cache_clear()
    runs._searched.cache_clear()
    pyplot.close("all")


def few(what, source):
    """A few rows in the place of any data set."""
    X = np.random.default_rng(0).normal(size=(1200 if what.key == "orabona2008" else 80, 5))
    y = (X[:, 0] > 0) * 1.0
    if what.task == "regression":
        y = X[:, 0] ** 2
    elif what.key == "lu2016" and what.task == "multiclass":
        y += X[:, 1] > 0
    return Prepared(what, source, ((X, y),), testing=(X, y), tuning=(X, y) if source.half else None)


@pytest.fixture
def tiny(monkeypatch):
    for module in (runs, le2016_settings):
        monkeypatch.setattr(module, "prepared", few)


def drawn_lines(ax):
    return [line for line in ax.get_lines() if len(line.get_xdata())]


PICTURES = {  # axes with lines, and how many each has
    ("orabona2008", 1): [7],
    ("orabona2008", 2): [7],
    ("orabona2008", 3): [7],
    ("zhao2012b", 2): [7] * 3,
    ("zhao2012b", 3): [7] * 3,
    ("lu2016", 1): [10] * 6 + [8] * 3,
    ("lu2016", 2): [10] * 6 + [8] * 3,
    ("lu2016", 3): [4] * 4,
    ("lu2016", 4): [8] * 8,
    ("lu2016", 5): [9] * 6 + [6] * 3,
    ("lu2016", 6): [9] * 6 + [6] * 3,
    ("le2016", 1): [3] * 3,
    ("le2016", 2): [3, 1, 3, 1],
}


@pytest.mark.parametrize(("key", "number"), ALL)
@pytest.mark.usefixtures("tiny")
def test_every_figure_shows_every_line(key, number, monkeypatch, tmp_path):
    pictures = []
    monkeypatch.setattr(pyplot, "close", pictures.append)
    drawn = figures.draw(key, number, tmp_path)
    [picture] = pictures
    panels = [ax for ax in picture.axes if ax.get_lines()]
    assert [len(drawn_lines(ax)) for ax in panels] == PICTURES[key, number]
    assert drawn.path == tmp_path / f"{key}_fig{number}.png"
    height, width = pyplot.imread(drawn.path).shape[:2]
    assert 1000 <= width <= 1400
    assert height < width
    assert drawn.path.stat().st_size < 200_000
    assert [each.claim for each in drawn.claims] == [
        claim.text for claim in figures.figure(key, number).claims
    ]
    assert all(type(each.holds) is bool and each.numbers for each in drawn.claims)
    assert figures.kept(key, number, tmp_path) == drawn
    drawn.path.unlink()
    assert figures.kept(key, number, tmp_path) is None


def test_which_figures_there_are():
    assert figures.numbers("zhao2012") == ()
    with pytest.raises(figures.UnknownFigure, match=r"^zhao2012 has no Figure 1 here; it has none\.$"):
        figures.figure("zhao2012", 1)
    with pytest.raises(figures.UnknownFigure, match=r"^le2016 has no Figure 3 here; it has: 1, 2\.$"):
        figures.draw("le2016", 3, "nowhere")
    with pytest.raises(figures.UnknownFigure, match=r"^there is no paper 'le2015'; there are: orabona2008"):
        figures.numbers("le2015")


def absent(*names):
    def load(what, source):
        if not names or source.name in names:
            raise DataError(f"datasets: {source.name} is not there.")
        return few(what, source)

    return load


def test_missing_data_sets(monkeypatch, tmp_path):
    monkeypatch.setattr(runs, "prepared", absent("mg", "year"))
    drawn = figures.draw("lu2016", 5, tmp_path)
    assert drawn.departs[-1] == "Not drawn, since their rows are not at hand: mg, year."
    runs.compared.cache_clear()
    monkeypatch.setattr(runs, "prepared", absent())
    sentence = r"^orabona2008, Figure 1: none of its data sets has a file here \(adult9\)\.$"
    with pytest.raises(DataError, match=sentence):
        figures.draw("orabona2008", 1, tmp_path)
    assert not (tmp_path / "orabona2008_fig1.png").exists()


def comparison(**learners):
    """Made up: for every learner its mistakes, support vectors and seconds after 1000, 2000, ... rows."""
    records = {}
    for name, (mistakes, size, seconds) in learners.items():
        steps = enumerate(zip(mistakes, size, seconds, strict=True), 1)
        records[name.replace("_", "-").replace("PP", "++")] = (
            tuple(Record(1000 * i, m, None, s, t, 8) for i, (m, s, t) in steps),
        )
    return Comparison("classification", dict.fromkeys(records, "code"), records)


def ends(mistakes, seconds=1.0):
    return [mistakes], [10], [seconds]


def verdicts(key, number, shown):
    return [claim.check(shown)[0] for claim in figures.figure(key, number).claims]


ROWS = np.arange(1, 17)


def grows(rate, size):
    """Mistakes at a rate in percent, by thousands of rows, and a size as a function of them."""
    return (10 * rate * ROWS).astype(int), [size(i) for i in ROWS], ROWS * 0.1


def projectrons(**changed):
    """Sixteen thousand rows that are as the paper says, but for what is changed."""
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
    assert numbers == "forgetron at 8,000, rbp at 8,000 rows (6,000 to 9,000 asked for)"


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


def test_figures_of_the_same_runs_run_once(tiny, monkeypatch, tmp_path):  # noqa: ARG001
    counted = []
    compare = runs.compare
    monkeypatch.setattr(runs, "compare", lambda *a, **more: counted.append(1) or compare(*a, **more))
    for number in (1, 2, 3):
        figures.draw("orabona2008", number, tmp_path)
    assert counted == [1]


@pytest.mark.usefixtures("tiny")
def test_the_command(capsys, tmp_path):
    ended = called(capsys, "reproduce", "orabona2008", "--figure", 2, "--report", tmp_path)
    picture = tmp_path / "figures" / "orabona2008_fig2.png"
    assert ended.code == 0
    assert picture.exists()
    assert f"![orabona2008, Figure 2]({picture})" in ended.out
    assert "Support vectors against rows" in ended.out
    assert ended.out.count("\n* ") == 1 + 3  # where it departs, and the claims
    assert "**Does not hold**: " in ended.out
    for more, sentence in [
        (["--figure", 2, "--table", 1], "--figure: --table does not go with it."),
        (["--figure", 2, "--quick"], "--figure: --quick does not go with it."),
        (["--figure", 2, "--afresh"], "--figure: --afresh does not go with it."),
        (
            ["--figure", 2, "--report", tmp_path, "--store", tmp_path],
            "--figure: --store does not go with it.",
        ),
        (["--figure", 9], "orabona2008 has no Figure 9 here; it has: 1, 2, 3."),
        (["--figure", 0], "--figure: expected a whole number of at least 1, got '0'."),
    ]:
        ended = called(capsys, "reproduce", "orabona2008", *more)
        assert ended.code == 2
        assert sentence in ended.err
    ended = called(capsys, "reproduce", "all", "--figure", 2)
    assert ended.code == 2
    assert "--figure needs one paper, got 'all'; there are: orabona2008, " in ended.err
    assert called(capsys, "reproduce", "orabona2008", "--figure", 2, "--store", tmp_path / "s").code == 0
    assert (tmp_path / "s" / "figures" / "orabona2008_fig2.png").exists()


@pytest.mark.usefixtures("tiny")
def test_the_report_keeps_figures(monkeypatch, tmp_path):
    done = [Reproduction(table("orabona2008", 1), (), {}, {})]
    report.write(done, tmp_path)
    text = (tmp_path / "REPORT.md").read_text()
    assert text.index("### orabona2008, Table 1") < text.index("![orabona2008, Figure 1]")
    for number in (1, 2, 3):
        assert f"(figures/orabona2008_fig{number}.png)" in text
    assert "| orabona2008, Figure 1 | 4 | " in text
    asked = []
    draw = figures.draw
    monkeypatch.setattr(figures, "draw", lambda *words: asked.append(words[1]) or draw(*words))
    (tmp_path / "figures" / "orabona2008_fig3.json").unlink()
    report.write(done, tmp_path)
    assert asked == [3]
    assert (tmp_path / "REPORT.md").read_text() == text
    report.write(done, tmp_path, afresh=True)
    assert asked == [3, 1, 2, 3]
    report.write(done, tmp_path, whole=False)
    assert asked == [3, 1, 2, 3]
    assert "Figure" not in (tmp_path / "REPORT.md").read_text()


@pytest.mark.parametrize("more", [(), ("--table", 1), ("--dataset", "adult9")])
def test_figures_are_in_reports_of_whole_papers(more, capsys, monkeypatch, tmp_path):
    nothing = Reproduction(table("orabona2008", 1), (), {}, {})
    monkeypatch.setattr(papers, "reproduce", lambda *_, **__: nothing)
    asked = []
    monkeypatch.setattr(report, "_drawn", lambda *_: asked.append(1) or {})
    ended = called(capsys, "reproduce", "orabona2008", *more, "--store", tmp_path, "--report", tmp_path)
    assert ended.code == 0
    assert bool(asked) == (not more)


def otherwise(what, algorithm, **setting):
    """The table with another setting of an algorithm."""
    settings = {**what.settings, algorithm: {**what.settings.get(algorithm, {}), **setting}}
    return dataclasses.replace(what, settings=settings)


CHANGES = {
    "orders": ("lu2016", 1, lambda patch: patch.setattr(lu2016, "ORDERS", 4)),
    "budget": ("orabona2008", 1, lambda patch: patch.setattr(orabona2008, "B", 1400)),
    "rows": ("lu2016", 4, lambda patch: patch.setattr(lu2016_budgets, "ROWS", 70)),
    "shares": ("lu2016", 3, lambda patch: patch.setattr(lu2016_shares, "RANKS", (0.02, 0.1, 0.4, 0.8))),
    "setting": (
        "lu2016",
        1,
        lambda patch: patch.setattr(
            runs, "table", lambda *which: otherwise(table(*which), "ogd", eta=0.01)
        ),
    ),
    "found": ("lu2016", 5, lambda patch: patch.setattr(runs.settings, "stored", lambda _: {})),
    "learner": (
        "zhao2012b",
        2,
        lambda patch: patch.setitem(bduols.LEARNERS, "rbp", lambda c: rbp(Gaussian(2.0), budget=c.B)),
    ),
    "lam": ("le2016", 1, lambda patch: patch.setattr(le2016_settings, "LAM", 0.5)),
    "betas": ("le2016", 2, lambda patch: patch.setattr(le2016_sizes, "BETAS", (0.5, 1.0))),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_figure_is_made_from_is_in_its_digest(what, monkeypatch):
    key, number, change = CHANGES[what]
    before = figures.figure(key, number).digest
    assert figures.figure(key, number).digest == before
    change(monkeypatch)
    assert figures.figure(key, number).digest != before


@pytest.mark.usefixtures("tiny")
def test_a_changed_setting_draws_a_figure_again(monkeypatch, tmp_path):
    done = [Reproduction(table("orabona2008", 1), (), {}, {})]
    report.write(done, tmp_path)
    asked = []
    draw = figures.draw
    monkeypatch.setattr(figures, "draw", lambda *words: asked.append(words[1]) or draw(*words))
    report.write(done, tmp_path)
    assert asked == []
    monkeypatch.setattr(orabona2008, "B", 1400)
    assert figures.kept("orabona2008", 1, tmp_path / "figures") is None
    report.write(done, tmp_path)
    assert asked == [1, 2, 3]
    report.write(done, tmp_path)
    assert asked == [1, 2, 3]


def test_no_two_figures_have_the_same_digest():
    assert len({figures.figure(*which).digest for which in ALL}) == len(ALL)


def bduol_runs(seconds=2.0, **changed):
    """At three budgets what the text of the BDUOL paper says, but for what is changed at the middle one."""
    made = {
        "rbp": ends(300),
        "forgetron": ends(305),
        "projectron": ends(290),
        "projectronPP": ends(280),
        "bduol_removal": ends(302),
        "bduol_nearest": ends(260),
        "bduol_approximate": ends(250, seconds),
    }
    return {"german": {B: comparison(**made | (changed if B == 48 else {})) for B in (24, 48, 96)}}


def test_tables_and_figures_judge_alike():
    what = table("zhao2012b", 3)
    changes = [
        {},
        {"rbp": ends(280)},
        {"projectronPP": ends(290)},
        {"bduol_removal": ends(900)},
        {"bduol_nearest": ends(250)},
        {"seconds": 0.5},
    ]
    held = []
    for change in changes:
        shown = bduol_runs(**change)
        results = [
            Result(
                what,
                Cell("german", row.name, budget=B),
                {},
                100 * row.mean,
                0.1,
                row.seconds,
                5.0,
                None,
                1,
                1,
            )
            for B, each in shown["german"].items()
            for row in [*each.rows, dataclasses.replace(each.rows[0], name="bduol-projection")]
        ]
        in_table = claims.verdicts(Reproduction(what, tuple(results), {}, {}))
        in_figure = [claim.verdict(shown) for claim in figures.figure("zhao2012b", 2).claims]
        assert in_table[:6] == in_figure[:6]
        held.append([verdict.holds for verdict in in_figure[:6]])
    assert held == [
        [True] * 6,
        [False, *[True] * 5],
        [True] * 6,  # two in three
        [True] * 6,  # neither the largest nor the smallest budget
        [*[True] * 4, False, True],
        [*[True] * 5, False],
    ]


def test_figures_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(le2016_settings, "prepared", few)
    one, two = (le2016._objectives("a9a", n) for n in (1, 2))
    for name in one:
        np.testing.assert_array_equal(one[name].total, two[name].total)
    used = []
    pool = le2016_settings.ThreadPoolExecutor
    monkeypatch.setattr(le2016_settings, "ThreadPoolExecutor", lambda n: used.append(n) or pool(n))
    figures.figure("le2016", 2).compute("a9a", 2)
    assert used == [2]
