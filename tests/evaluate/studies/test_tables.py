"""Tables of studies: what is bold, what is printed, and that LaTeX takes it."""

import csv
import io
import re
import shutil
import subprocess
from functools import partial

import numpy as np
import pytest

from budgetron import Gaussian, bogd, datasets, evaluate, forgetron, projectron, rbp, stoptron
from budgetron.evaluate import Record
from budgetron.evaluate.results import p_value
from budgetron.evaluate.studies import tables
from budgetron.evaluate.studies.results import Cell, Study
from tests.helpers.cases import each
from tests.helpers.trajectories import stream

NASTY = r"50% & more_\of{#1}$ ~^"


def cell(dataset, learner, rates, task="classification"):
    """A cell with these errors."""
    labels = task == "classification"
    runs = tuple(
        (Record(1000, round(1000 * r) if labels else None, None if labels else 1000 * r, 5, 0.01, 0),)
        for r in rates
    )
    return Cell(dataset, learner, None, learner, task, 1000, None, runs, None if runs else "it failed")


def made(**more):
    """Two data sets and three learners: b is near a, c is far; c fails on the second."""
    noise = np.array([0, 1, 0, 2, 1, 0, 1, 0]) / 1000
    errors = {"a": 0.1 + noise, "b": 0.1 + noise[::-1], "c": 0.3 + noise}
    cells = [cell("one", name, values) for name, values in errors.items()]
    cells += [cell("two", name, values if name != "c" else []) for name, values in errors.items()]
    return Study((*cells, *more.get("cells", ())), {"orders": 8, "seed": 0, "budgetron": "1"})


def bold(study, rule):
    grid = tables.grid(study, None, rule)
    return {
        name: [learner for learner, value in zip(grid.learners, line, strict=True) if value.bold]
        for name, line in grid.lines.items()
    }


def test_bold_by_the_stated_rule():
    assert bold(made(), "tied") == {"one": ["a", "b"], "two": ["a", "b"]}
    assert bold(made(), "best") == {"one": ["a", "b"], "two": ["a", "b"]}  # their means are equal
    better = made(cells=[cell("three", "a", [0.1] * 8), cell("three", "b", [0.11] * 8)])
    better = Study((*better.cells, cell("three", "c", [0.105, 0.1] * 4)), better.settings)
    assert bold(better, "best")["three"] == ["a"]
    assert bold(better, "tied")["three"] == ["a"]  # c is worse with p = 0.033
    assert p_value(np.array([105.0, 100] * 4), np.full(8, 100.0)) == pytest.approx(0.033, abs=1e-3)


def test_an_unknown_rule():
    with pytest.raises(ValueError, match="bold must be 'best' or 'tied', got 'all'"):
        made().table(bold="all")


def test_few_orders_warn_of_the_test_only():
    few = Study(tuple(cell("one", name, [0.1, 0.2]) for name in "ab"), {"orders": 2})
    with pytest.warns(UserWarning, match="over 2 orders says little: expected at least 6"):
        assert "2 orders are few" in few.table()
    few.table(bold="best")
    with pytest.warns(UserWarning, match="over 2 orders"):
        few.wilcoxon("one")


def test_text():
    assert made().table().splitlines() == [
        "data set               a               b               c",
        "--------------------------------------------------------",
        "one       10.06 ± 0.07 *  10.06 ± 0.07 *  30.06 ± 0.07",
        "two       10.06 ± 0.07 *  10.06 ± 0.07 *             -",
        "--------------------------------------------------------",
        "Mistakes in percent of the rows: mean ± standard deviation over 8 orders.",
        "* the best of the data set, and what is not significantly worse "
        "(paired t-test over the orders, p >= 0.05).",
        "Cells without a result: 1; failures says why.",
    ]


def test_markdown():
    lines = made().markdown().splitlines()
    assert lines[0] == "| data set | a | b | c |"
    assert lines[2] == "| one | **10.06 ± 0.07** | **10.06 ± 0.07** | 30.06 ± 0.07 |"
    assert lines[3].endswith("| - |")
    assert "Bold: the best of the data set" in lines[-1]


def test_csv_has_every_cell():
    rows = list(csv.DictReader(io.StringIO(made().csv())))
    assert [row["learner"] for row in rows] == ["a", "b", "c"] * 2
    assert float(rows[0]["mean"]) == pytest.approx(0.100625)
    assert rows[5]["failure"] == "it failed"
    assert rows[0]["sd"] != rows[5]["sd"] == ""


def test_frame():
    pandas = pytest.importorskip("pandas")
    frame = made().frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.groupby("learner")["mean"].mean()["a"] == pytest.approx(0.100625)


def test_errors_of_targets_keep_four_digits():
    cells = [cell("cadata", n, [r, 1.1 * r], "regression") for n, r in (("a", 5.1e9), ("b", 2.5e-5))]
    study = Study(tuple(cells), {"orders": 2})
    assert "5.355e+09" in study.table(bold="best")
    assert "2.625e-05" in study.latex(bold="best")
    assert "Mean squared errors" in study.latex(bold="best")


@each("text", [NASTY, "a\\b", "x_1", "100%"])
def test_special_characters(text):
    plain = tables.escaped(text)
    assert not re.search(r"(?<!\\)[&%$#_]", plain)


def test_cite():
    text = made().cite()
    assert "3 learners on 2 data sets, 8 random orders each (seeds 0 and following)" in text
    assert "Demšar" in text


def compiled(folder, table):
    """Compile a document with the table; the log."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    (folder / "a.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + table + "\\end{document}\n",
        encoding="utf-8",
    )
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, done.stdout
    assert (folder / "a.pdf").stat().st_size > 1000
    return done.stdout


def test_latex_takes_the_table(tmp_path):
    k = Gaussian(0.2)
    learners = {f.__name__: f(k, budget=10) for f in (rbp, forgetron, stoptron, bogd)}
    learners |= {NASTY: projectron(k, budget=10)}
    made = {f"draw_{i}": partial(datasets.synthetic, 200, seed=i) for i in range(4)}
    result = evaluate.study(learners, made | {NASTY: stream("regression", 100, seed=0)}, 6)
    table = result.latex()
    assert table.count(r"\textbf{") >= 5
    assert r"\toprule" in table
    compiled(tmp_path, table)
