"""``budgetron predict`` and ``budgetron inspect``."""

import json
import subprocess

import numpy as np
import pytest

import budgetron
from budgetron import model_files
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.command import PATIENCE, called, command, ran, rows, spawned, written

N = 1500


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows, and models that have learned them: with transforms, with probabilities, for targets."""
    folder = tmp_path_factory.mktemp("models")
    file = written(folder / "rows.svm", N)
    for argv in (
        ["rbp", file, "--budget", "20", "--save", folder / "plain"],
        [
            "rbp",
            file,
            "--budget",
            "20",
            "--dense",
            "--standardise",
            "--shuffle",
            "90",
            "--save",
            folder / "scaled",
        ],
        ["ogd", file, "--loss", "logistic", "--save", folder / "logistic"],
        ["ogd", file, "--regression", "--save", folder / "targets"],
    ):
        assert budgetron.cli.main(["run", *map(str, argv)]) == 0
    return folder


def test_predictions_as_a_process_of_its_own(folder):
    ended = spawned("predict", folder / "plain", folder / "rows.svm")
    assert (ended.code, ended.err) == (0, "")
    X, _ = rows(N)
    predicted = budgetron.load(folder / "plain").predict(X)
    assert ended.out == "".join(f"{int(label)}\n" for label in predicted)


def test_a_broken_model_as_a_process_of_its_own(folder, tmp_path):
    damaged = bytearray((folder / "plain").read_bytes())
    damaged[-9] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    ended = ran("predict", tmp_path / "damaged", folder / "rows.svm")
    assert (ended.code, ended.out) == (4, "")
    assert ended.err.startswith(f"budgetron: {tmp_path / 'damaged'}: ")
    assert ended.err.count("\n") == 1


def test_a_pipe(folder, capsys):
    text = (folder / "rows.svm").read_bytes()
    done = forked.run(
        command("predict", folder / "plain", "-"), input=text, capture_output=True, check=True
    )
    assert done.stdout.decode() == called(capsys, "predict", folder / "plain", folder / "rows.svm").out


def test_a_live_pipe_answers_each_row(folder):
    """With blocks of one row, each prediction is printed before the next row arrives."""
    process = forked.Popen(
        command("predict", folder / "plain", "-", "--block", "1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in (folder / "rows.svm").read_text().splitlines()[:3]:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        assert process.stdout.readline().strip() in ("0", "1", "2")
    process.stdin.close()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == 0


def test_rows_are_scaled_as_those_learned(folder, capsys):
    """The scaling is part of the model: `load` gives what the command line gives, on raw rows."""
    X, _ = rows(N)
    model = budgetron.load(folder / "scaled")
    assert model.fitted_.model.state()["scaled.rows"] == N
    ended = called(capsys, "predict", folder / "scaled", folder / "rows.svm", "--scores")
    scores = np.array([line.split("\t") for line in ended.out.splitlines()], dtype=float)
    np.testing.assert_array_equal(scores, model.decision_function(X))
    assert np.abs(model.decision_function(X) - model.decision_function(10 * X)).max() > 0.1


def test_scores_and_probabilities(folder, capsys):
    X, _ = rows(N)
    model = budgetron.load(folder / "logistic")
    ended = called(capsys, "predict", folder / "logistic", folder / "rows.svm", "--proba")
    shares = np.array([line.split("\t") for line in ended.out.splitlines()], dtype=float)
    np.testing.assert_array_equal(shares, model.predict_proba(X))
    ended = called(capsys, "predict", folder / "targets", folder / "rows.svm")
    np.testing.assert_array_equal(
        np.array(ended.out.split(), dtype=float), budgetron.load(folder / "targets").predict(X)
    )
    assert called(capsys, "predict", folder / "targets", folder / "rows.svm", "--scores").out == ended.out


def test_a_table_without_labels(folder, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    X, _ = rows(N)
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,c,d", *(",".join(map(repr, x)) for x in X.tolist()), ""]))
    ended = called(capsys, "predict", folder / "plain", path)
    assert ended.out == called(capsys, "predict", folder / "plain", folder / "rows.svm").out
    ended = called(capsys, "predict", folder / "plain", path, "--target", "d")
    assert ended.code == 3
    assert "has 3 columns of features, expected 4." in ended.err


@each(
    ("argv", "code", "message"),
    [
        (["none", "rows.svm"], 1, "none: there is no model file of that name."),
        (["rows.svm", "rows.svm"], 4, "rows.svm: "),
        (["plain", "none.svm"], 1, "none.svm: there is no file and no data set"),
        (["plain"], 2, "the following arguments are required: FILE."),
        (["plain", "rows.svm", "--proba"], 2, "--proba: plain has no probabilities"),
        (["targets", "rows.svm", "--proba"], 2, "--proba: targets has no probabilities"),
        (["plain", "rows.svm", "--proba", "--scores"], 2, "not allowed with argument"),
        (["plain", "rows.svm", "--features", "5"], 2, "--features 5: expected 4, as plain has."),
        (["plain", "wide.svm"], 3, "wide.svm, line 1, column 7: expected an index from 1 to 4"),
        (["plain", "large.svm"], 3, "large.svm, rows 0 to 0 (the first is 0): Row 0 of X is too large"),
        (["scaled", "large.svm"], 3, "large.svm, rows 0 to 0 (the first is 0): Row 0 of X is too large"),
    ],
)
def test_bad_input(argv, code, message, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "wide.svm").write_text("1 1:1 5:1\n")
    (folder / "large.svm").write_text("1 1:1e200\n")
    ended = called(capsys, "predict", *argv)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


# ---- inspect


def test_inspect_as_a_process_of_its_own(folder, capsys):
    ended = spawned("inspect", folder / "scaled")
    assert (ended.code, ended.err) == (0, "")
    for text in (
        "estimator      OnlineClassifier(",
        "budget=RemoveRandom(budget=20)",
        "n_features_in  4",
        "classes        0, 1, 2",
        f"rows           {N}",
        "step           ShuffleBuffer(seed=0, size=90)",
        "Standardised(",
        "state/learner.expansion.alpha.0",
    ):
        assert text in ended.out
    assert called(capsys, "inspect", folder / "rows.svm").code == 4


def test_inspect_as_json(folder, capsys):
    document = json.loads(called(capsys, "inspect", folder / "plain", "--json").out)
    assert list(document) == ["file", "budgetron_version", "estimator", "fitted", "extra", "arrays"]
    assert document["fitted"]["learner"]["budget"] == {"type": "RemoveRandom", "budget": 20}
    assert document["extra"]["run"]["rows"] == N
    assert document["arrays"]["classes"] == {"dtype": "float64", "shape": [3], "bytes": 24}


def test_inspect_builds_nothing_and_trusts_nothing(folder, tmp_path, capsys, monkeypatch):
    """Control characters of the file are escaped in the output."""
    model = budgetron.load(folder / "plain")
    model.save(tmp_path / "odd", extra={"run": {"\x1b[2J": "\x1b[31m", "steps": 3}, "\x1b]0;": [1]})
    monkeypatch.setattr(model_files.ModelFile, "estimator", lambda _: pytest.fail("a model was built"))
    ended = called(capsys, "inspect", tmp_path / "odd")
    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert "\\x1b[31m" in ended.out
    assert called(capsys, "inspect", folder / "scaled", "--json").code == 0


@each(("argv", "code"), [(["none"], 1), ([], 2), (["plain", "more"], 2), (["rows.svm"], 4)])
def test_inspect_bad_input(argv, code, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    ended = called(capsys, "inspect", *argv)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("budgetron: ")
