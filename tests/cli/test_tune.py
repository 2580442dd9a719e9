"""budgetron tune: the printed command works and has the printed error, flags carry over, bad usage."""

import json
import shlex

import numpy as np
import pytest

from tests.helpers.cases import each
from tests.helpers.command import called, ran, rows, spawned, written


def last_line(out):
    return shlex.split(out.splitlines()[-1])[1:]


@each(
    "flags",
    [
        ["--learner", "bpa_nn", "--budget", "20"],
        ["--learner", "rbp", "--budget", "20", "--standardise", "--seed", "3"],
        ["--learner", "fogd", "--components", "20", "--min-max", "--dense", "--loss", "logistic"],
        [
            "--learner",
            "bsgd",
            "--budget",
            "20",
            "--kernel",
            "laplacian",
            "--maintenance",
            "project-smallest",
        ],
        ["--learner", "bogd", "--budget", "20", "--shuffle", "100", "--features", "5", "--classes=2,1,0"],
        ["--learner", "ogd", "--regression", "--standardise"],
    ],
    ids=" ".join,
)
def test_the_printed_command_has_the_printed_error(flags, tmp_path, capsys):
    """The file has as many rows as are learned, so that the run makes the same mistakes."""
    file = written(tmp_path / "a file.svm", 800)
    ended = called(capsys, "tune", file, *flags, "--candidates", 8)
    assert ended.code == 0, ended.err
    best = ended.out.splitlines()[1].split()
    assert best[-2] == "800"
    again = called(capsys, *last_line(ended.out), "--json")
    assert again.code == 0, again.err
    rate = json.loads(again.out)["rate"] * (1 if "--regression" in flags else 100)
    assert float(best[-1]) == pytest.approx(rate, rel=1e-3, abs=0.006)


def test_a_pipe(tmp_path):
    """The command has the number of columns, which a run over a pipe needs."""
    text = written(tmp_path / "rows.svm", 300).read_text()
    ended = spawned("tune", "-", "--learner", "rbp", "--budget", 9, "--candidates", 4, input=text)
    command = last_line(ended.out)
    assert command[-2:] == ["--features", "4"]
    assert ran(*command, input=text).code == 0


def test_json(tmp_path, capsys):
    file = written(tmp_path / "rows.svm", 400)
    found = json.loads(called(capsys, "tune", file, "--learner", "rbp", "--budget", 9, "--json").out)
    assert found["command"].startswith(f"budgetron run rbp {file} ")
    assert len(found["candidates"]) == 32
    assert found["candidates"][0]["rows"] == 400
    assert found["gap"] >= 0


def test_a_table_and_its_target(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    X, y = rows(300)
    file = tmp_path / "rows.csv"
    np.savetxt(file, np.column_stack([X, y]), delimiter=",", header="a,b,c,d,the label", comments="")
    command = ["tune", file, "--learner", "rbp", "--budget", 9]
    code, _, err = called(capsys, *command)
    assert code == 2
    assert "the columns are a, b, c, d, the label." in err
    ended = called(capsys, *command, "--target", "the label")
    assert called(capsys, *last_line(ended.out)).code == 0


def test_what_a_column_is(tmp_path, capsys):
    """A code that looks like a number says the label as a category, and nothing as a number."""
    codes = np.random.default_rng(0).integers(0, 12, 400)
    file = tmp_path / "codes.csv"
    np.savetxt(
        file, np.column_stack([codes, codes % 2]), delimiter=",", header="code,y", comments="", fmt="%d"
    )
    command = ["tune", file, "--learner", "ogd", "--target", "y", "--candidates", 2]
    best = {}
    for flags in ([], ["--column", "code=category", "--most-values", 16]):
        found = json.loads(called(capsys, *command, *flags, "--json").out)
        again = called(capsys, *found["command"].split()[1:], "--json")
        assert again.code == 0
        best[bool(flags)] = found["candidates"][0]["error"]
    assert best[True] < 0.1 < 0.3 < best[False]
    ended = called(capsys, *command, "--column", "code")
    assert ended.code == 2
    assert "expected NAME=KIND" in ended.err


def test_only_the_first_rows_are_read(tmp_path, capsys):
    """A bad row behind them does not matter, nor does the number of columns."""
    file = written(tmp_path / "rows.svm", 2500)
    file.write_bytes(file.read_bytes() + b"what is this\n")
    assert called(capsys, "tune", file, "--learner", "rbp", "--budget", 9, "--rows", 300).code == 0
    assert called(capsys, "tune", file, "--learner", "rbp", "--budget", 9).code == 3


@each(
    ("argv", "code", "message"),
    [
        (["--learner", "auto"], 2, "auto() has no parameter to search: there is nothing to tune."),
        (["--learner", "rbp"], 2, "rbp needs --budget."),
        (["--learner", "rbp", "--budget", "9", "--rank", "3"], 2, "--rank is not for rbp"),
        (["--learner", "rbp", "--budget", "-9"], 2, "budget must be a whole number above 0"),
        (["--learner", "perceptron", "--gamma", "1"], 2, "there is nothing to tune."),
        (["--learner", "norma"], 2, "NORMA is defined for regression only."),
        (["--learner", "rbp", "--budget", "9", "--jobs", "0"], 2, "--jobs: expected a whole number"),
        (["--learner", "rbp", "--budget", "9", "--rows", "1"], 3, "the first 1 rows have only the label"),
        ([], 2, "the following arguments are required: --learner."),
    ],
    ids=repr,
)
def test_bad_usage(argv, code, message, tmp_path, capsys):
    ended = called(capsys, "tune", written(tmp_path / "rows.svm", 50), *argv)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_an_empty_file(tmp_path, capsys):
    (tmp_path / "none.svm").write_bytes(b"")
    ended = called(capsys, "tune", tmp_path / "none.svm", "--learner", "rbp", "--budget", 9)
    assert ended.code == 3
    assert "has no rows." in ended.err


def test_too_many_labels_for_classes(tmp_path, capsys):
    file = tmp_path / "targets.svm"
    file.write_text("".join(f"{i} 1:{i % 7}\n" for i in range(1500)))
    code, _, err = called(capsys, "tune", file, "--learner", "rbp", "--budget", 9)
    assert code == 2
    assert "has more than 1000 different labels: give --regression if they are targets." in err
