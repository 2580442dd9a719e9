"""``budgetron study``: a file of learners and data sets; killed and resumed, nothing runs twice."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from budgetron.cli import study_file
from budgetron.cli.process import UsageError
from budgetron.evaluate import Study
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.command import PATIENCE, called, command, spawned

EXAMPLE = Path(__file__).parents[2] / "examples" / "study" / "study.toml"
SMALL = """
[study]
orders = 2
budgets = [5, 15]

[learner]
gamma = 0.2
eta = 0.3

[learners]
rbp = {}
"my forgetron" = { algorithm = "forgetron", gamma = 0.5 }
ogd = {}

[datasets]
wine = { sklearn = "load_wine", learner = { scaling = "standardise", gamma = 0.05 } }
moons = { sklearn = "make_moons", arguments = { n_samples = 120, random_state = 0 } }
iris = { sklearn = "load_iris" }
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_the_files_of_a_study(small, capsys):
    done = called(capsys, "study", small)
    assert done.code == 0, done.err
    folder = small.with_suffix("")
    made = {path.name for path in folder.iterdir()}
    assert {"runs.jsonl", "study.json", "cells.csv"} <= made
    for budget in (5, 15):
        assert {f"errors-{budget}.{kind}" for kind in ("md", "tex")} <= made
        assert {f"ranks-{budget}.png", f"curves-{budget}.pdf", f"tests-{budget}.txt"} <= made
    assert "3 learners on 3 data sets" in done.out
    assert "small/moons" not in done.err
    result = Study.load(folder / "study.json")
    assert "Gaussian(gamma=0.05)" in result.cell("wine", "rbp", 5).described
    assert "Standardised" in result.cell("wine", "my forgetron", 5).described
    assert "Gaussian(gamma=0.5)" in result.cell("iris", "my forgetron", 5).described
    assert "Standardised" not in result.cell("iris", "ogd", 5).described
    assert result.cell("iris", "rbp", 15).support_vectors == 15
    again = called(capsys, "study", small, "--no-figures")
    assert "wine, 1 of 3: 12 runs, 12 of them from before." in again.err
    assert again.out == done.out


def test_json_and_to(small, tmp_path, capsys):
    done = called(
        capsys, "study", small, "--to", tmp_path / "x" / "y", "--json", "--no-figures", "--jobs", 2
    )
    assert Study.from_dict(json.loads(done.out)).budgets == (5, 15)
    assert not list((tmp_path / "x" / "y").glob("*.png"))


def test_files_beside_the_study(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("a,b,c\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(60)))
    (tmp_path / "rows.svm").write_text("".join(f"{i % 2} 1:{i % 3} 2:{i % 5}\n" for i in range(60)))
    (tmp_path / "s.toml").write_text(
        "[study]\norders = 1\n[learners]\nperceptron = {}\n[datasets]\n"
        'csv = { file = "rows.csv", target = "c", drop = "b" }\n'
        'svm = { file = "rows.svm" }\n'
        'targets = { file = "rows.csv", target = "a", regression = true }\n'
    )
    done = called(capsys, "study", tmp_path / "s.toml", "--no-figures")
    assert done.code == 0, done.err
    result = Study.load(tmp_path / "s" / "study.json")
    assert [cell.task for cell in result.cells] == ["classification"] * 2 + ["regression"]
    assert result.cell("csv", "perceptron").described.startswith("Standardised")
    assert result.cell("svm", "perceptron").described.startswith("Kernelized")
    assert "No tests: Ranks: ranks need at least two data sets and two learners" in done.out


WINE = "\n[datasets]\nwine = {sklearn = 'load_wine'}"
OGD = "[learners]\nogd = {eta = 1}\n[datasets]\n"
WRONG = {
    "no toml": ("[study", "is not TOML"),
    "table": ("study = 3", "study: expected a table, got 3"),
    "section": ("[learnerz]", "there is no 'learnerz'; did you mean learner"),
    "setting": ("[study]\norder = 3", "there is no 'order'; did you mean orders"),
    "value": ("[study]\norders = true", "study.orders: expected a whole number, got True"),
    "list": ("[study]\nbudgets = 5", "study.budgets: expected a list, got 5"),
    "empty": ("", "expected at least one entry in [learners] and in [datasets]"),
    "algorithm": (f"[learners]\nrpb = {{}}{WINE}", "learners.rpb: there is no"),
    "flag": (f"[learners]\nrbp = {{budget = 5, gama = 1}}{WINE}", "rbp, on wine: --gama is not for rbp"),
    "common flag": (f"[learner]\nrank = 5\n[learners]\nrbp = {{budget = 5}}{WINE}", "there is no 'rank'"),
    "missing": (f"[learners]\nrbp = {{}}{WINE}", "rbp needs --budget"),
    "scaling": (
        f"[learners]\nogd = {{eta = 1, scaling = 'log'}}{WINE}",
        "scaling must be one of 'standardise', 'min-max', 'none', got 'log'",
    ),
    "list value": (f"[learners]\nogd = {{eta = [1]}}{WINE}", "eta must be a number, a text or a boolean"),
    "no data": (f"{OGD}wein = {{}}", "datasets.wein: datasets: 'wein' is not"),
    "two": (f"{OGD}a = {{data = 'x', file = 'y'}}", "data and file exclude"),
    "file": (f"{OGD}a = {{file = 'y.csv'}}", "there is no file"),
    "sklearn": (f"{OGD}a = {{sklearn = 'load_win'}}", "did you mean load_wine"),
    "fetch": (f"{OGD}a = {{sklearn = 'fetch_openml'}}", "has no 'fetch_openml'"),
    "arguments": (f"{OGD}a = {{sklearn = 'make_moons', arguments = {{n = 3}}}}", "make_moons: "),
    "no labels": (f"{OGD}a = {{sklearn = 'make_spd_matrix', arguments = {{n_dim = 3}}}}", "one label"),
    "target": (f"{OGD}a = {{data = 'synthetic', target = 'y'}}", "only for file"),
}


@each("case", WRONG)
def test_a_wrong_file_is_refused_before_anything_runs(tmp_path, capsys, case):
    text, message = WRONG[case]
    path = tmp_path / "s.toml"
    path.write_text(text)
    done = called(capsys, "study", path)
    assert done.code == 2
    assert message in done.err
    assert done.err.startswith(f"budgetron: {path}")
    assert not (tmp_path / "s").exists()


def test_a_missing_file(capsys):
    assert "no.toml: there is no file of that name." in called(capsys, "study", "no.toml").err


def test_the_example_can_be_read():
    """It runs in half a minute; here its learners are built, and its data sets made."""
    read = study_file.read(EXAMPLE)
    assert len(read.learners) == len(read.datasets) == 8


def test_the_page_shows_the_example():
    page = (EXAMPLE.parents[2] / "docs" / "studies.md").read_text()
    block = page.partition("```toml\n")[2].partition("```")[0]
    assert EXAMPLE.read_text().startswith(block)
    assert set(re.findall(r"`(\w+)`", page)) >= study_file.SETTINGS.keys()


def test_a_missing_data_set_is_named_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    path = tmp_path / "s.toml"
    path.write_text("[learners]\nogd = {eta = 1}\n[datasets]\ngerman = {}")
    with pytest.raises(UsageError, match="german"):
        study_file.read(path)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@each("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_study_goes_on_and_runs_nothing_twice(small, tmp_path, number):
    text = SMALL.replace("orders = 2", "orders = 12").replace(
        "[5, 15]", "[5, 15]\ntune_rows = 30\ncandidates = 4"
    )
    small.write_text(text)
    whole, broken = tmp_path / f"whole-{number}", tmp_path / f"broken-{number}"
    words = command("study", small, "--no-figures", "--jobs", 2)
    process = forked.Popen([*words, "--to", str(broken)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    runs, deadline = broken / "runs.jsonl", time.monotonic() + PATIENCE
    while not (runs.exists() and runs.read_bytes().count(b"\n") > 30) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    kept = runs.read_bytes().rpartition(b"\n")[0].splitlines()
    assert 30 < len(kept) < 12 * 15
    for folder in (broken, whole):
        forked.run([*words, "--to", str(folder)], check=True, stdout=subprocess.DEVNULL)
    for name in ("errors-5.tex", "errors-15.md", "tests-15.txt"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes()
    after = runs.read_bytes().splitlines()
    assert after[: len(kept)] == kept
    keys = [json.dumps(line["job"], sort_keys=True) for line in lines(runs) if line]
    assert len(set(keys)) == len(keys)
    assert sorted(keys) == sorted(
        json.dumps(each["job"], sort_keys=True) for each in lines(whole / "runs.jsonl")
    )


@pytest.mark.slow
def test_the_example(tmp_path):
    done = spawned("study", EXAMPLE, "--to", tmp_path)
    assert "8 learners on 8 data sets." in done.out
