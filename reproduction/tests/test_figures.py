"""Figures: which there are, that they show every line, and when they are drawn again."""

import dataclasses
from importlib import import_module

import numpy as np
import pytest
from matplotlib import pyplot

from budgetron import Gaussian, rbp
from budgetron.evaluate import compare
from budgetron.streams import DataError
from budgetron_reproduction import KEYS, Reproduction, command, figures, report, table
from budgetron_reproduction.figures import (
    le2016,
    le2016_settings,
    le2016_sizes,
    lu2016,
    lu2016_budgets,
    lu2016_shares,
    orabona2008,
    runs,
)
from budgetron_reproduction.learners import zhao2012b as bduols
from called import called
from made_up_runs import few

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


@pytest.fixture
def tiny(monkeypatch):
    def little(*args, permutations, every, **more):
        return compare(*args, permutations=min(permutations, 2), every=4 * every, **more)

    monkeypatch.setattr(runs, "compare", little)
    for module in (runs, le2016_settings):
        monkeypatch.setattr(module, "prepared", few)


@pytest.fixture
def unpainted(monkeypatch):
    """Figures whose PNG is empty: how it looks is what `test_every_figure_shows_every_line` tests."""
    drawing = import_module("budgetron_reproduction.figures.figure")  # a function has the same name
    monkeypatch.setattr(drawing, "_png", lambda picture: pyplot.close(picture) or b"")


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


LIKE_ANOTHER = {("orabona2008", 2), ("orabona2008", 3), ("zhao2012b", 3), ("lu2016", 2), ("lu2016", 6)}
"""Figures of the runs of the one before, with another quantity on an axis."""


@pytest.mark.parametrize(
    ("key", "number"),
    [pytest.param(*one, marks=pytest.mark.slow) if one in LIKE_ANOTHER else one for one in ALL],
)
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


@pytest.mark.usefixtures("tiny", "unpainted")
def test_missing_data_sets(monkeypatch, tmp_path):
    monkeypatch.setattr(runs, "prepared", absent("mg", "year"))
    drawn = figures.draw("lu2016", 5, tmp_path)
    assert drawn.departs[-1] == "Not drawn, because the data is missing: mg, year."
    runs.compared.cache_clear()
    monkeypatch.setattr(runs, "prepared", absent())
    sentence = r"^orabona2008, Figure 1: the files of its data sets are missing \(adult9\)\.$"
    with pytest.raises(DataError, match=sentence):
        figures.draw("orabona2008", 1, tmp_path)
    assert not (tmp_path / "orabona2008_fig1.png").exists()


def test_figures_of_the_same_runs_run_once(tiny, unpainted, monkeypatch, tmp_path):  # noqa: ARG001
    counted = []
    compare = runs.compare
    monkeypatch.setattr(runs, "compare", lambda *a, **more: counted.append(1) or compare(*a, **more))
    for number in (1, 2, 3):
        figures.draw("orabona2008", number, tmp_path)
    assert counted == [1]


@pytest.mark.usefixtures("tiny")
def test_the_command(capsys, tmp_path):
    ended = called(capsys, "orabona2008", "--figure", 2, "--report", tmp_path)
    picture = tmp_path / "figures" / "orabona2008_fig2.png"
    assert ended.code == 0
    assert picture.exists()
    assert f"![orabona2008, Figure 2]({picture})" in ended.out
    assert "Support vectors against rows" in ended.out
    assert ended.out.count("\n* ") == 1 + 3  # where it departs, and the claims
    assert "**Does not hold**: " in ended.out
    for more, sentence in [
        (["--figure", 2, "--table", 1], "--figure and --table cannot be combined."),
        (["--figure", 2, "--quick"], "--figure and --quick cannot be combined."),
        (["--figure", 2, "--afresh"], "--figure and --afresh cannot be combined."),
        (
            ["--figure", 2, "--report", tmp_path, "--store", tmp_path],
            "--figure and --store cannot be combined.",
        ),
        (["--figure", 9], "orabona2008 has no Figure 9 here; it has: 1, 2, 3."),
        (["--figure", 0], "--figure: expected a whole number of at least 1, got '0'."),
    ]:
        ended = called(capsys, "orabona2008", *more)
        assert ended.code == 2
        assert sentence in ended.err
    ended = called(capsys, "all", "--figure", 2)
    assert ended.code == 2
    assert "--figure needs one paper, got 'all'; there are: orabona2008, " in ended.err
    assert called(capsys, "orabona2008", "--figure", 2, "--store", tmp_path / "s").code == 0
    assert (tmp_path / "s" / "figures" / "orabona2008_fig2.png").exists()


@pytest.mark.usefixtures("tiny", "unpainted")
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
    assert (tmp_path / "REPORT.md").read_text() == text


@pytest.mark.parametrize("more", [(), ("--table", 1), ("--dataset", "adult9")])
def test_figures_are_in_reports_of_whole_papers(more, capsys, monkeypatch, tmp_path):
    nothing = Reproduction(table("orabona2008", 1), (), {}, {})
    monkeypatch.setattr(command, "reproduce", lambda *_, **__: nothing)
    asked = []
    monkeypatch.setattr(report, "_drawn_now", lambda *_: asked.append(1))
    ended = called(capsys, "orabona2008", *more, "--store", tmp_path, "--report", tmp_path)
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


@pytest.mark.usefixtures("tiny", "unpainted")
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
