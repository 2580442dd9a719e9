"""What the command says about a wrong word, and what to write instead."""

import pytest

from tests.helpers.cases import each
from tests.helpers.command import called, written


@each(
    ("argv", "code", "message"),
    [
        ("rum", 2, "there is no command 'rum'; did you mean run?"),
        (
            "frobnicate",
            2,
            "there is no command 'frobnicate'; expected one of run, predict, compare, study,",
        ),
        ("run rbp synthetic --budgt 9", 2, "there is no flag --budgt; did you mean --budget?"),
        ("run rbp synthetic --budgt=9", 2, "there is no flag --budgt; did you mean --budget?"),
        ("run rbp synthetic --xyzzy 9", 2, "there is no flag --xyzzy; the help lists all."),
        ("compare rbp --dta synthetic", 2, "there is no flag --dta; did you mean --data?"),
        (
            "run rbp sinthetic --budget 9",
            1,
            "no data set of that name; did you mean synthetic?",
        ),
        ("run rbp rows.smv --budget 9", 1, "did you mean rows.svm?"),
        ("run rbp ./rows.smv --budget 9", 1, "did you mean ./rows.svm?"),
        ("run rbp qqqqqq --budget 9", 1, "data set of that name; see budgetron data list."),
        ("data describe germann", 2, "there is no data set 'germann'; did you mean german?"),
        ("run forgetorn synthetic", 2, "there is no algorithm 'forgetorn'; did you mean forgetron?"),
        (
            "tune synthetic --learner forgetorn",
            2,
            "there is no algorithm 'forgetorn'; did you mean forgetron?",
        ),
        ("run ogd synthetic --kernel rbf", 2, "--kernel: there is no 'rbf'; did you mean gaussian?"),
        (
            "run ogd synthetic --kernel gausian",
            2,
            "--kernel: there is no 'gausian'; did you mean gaussian?",
        ),
        ("run ogd synthetic --loss log-loss", 2, "--loss: there is no 'log-loss'; did you mean logistic?"),
        ("run ogd synthetic --metrics kapa", 2, "'kapa' is no metric of labels: did you mean kappa?"),
        (
            "run ogd rows.svm --delimiter ;",
            2,
            "--delimiter is only for CSV files, but rows.svm is svmlight",
        ),
        ("predict nomodel rows.svm", 1, "nomodel: there is no model file of that name."),
        ("inspect nomodel", 1, "nomodel: there is no model file of that name."),
    ],
)
def test_wrong_words(argv, code, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "rows.svm", 20)
    ended = called(capsys, *argv.split())
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_columns_of_a_table(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    file = tmp_path / "prices.csv"
    file.write_text("Size,Rooms,Price\n1,2,3\n4,5,6\n")
    command = ["run", "ogd", file, "--regression"]
    code, _, err = called(capsys, *command)
    assert code == 2
    assert "--target COLUMN, the column of labels, must be given for a table; the columns are Size," in err
    code, _, err = called(capsys, *command, "--target", "Prise")
    assert code == 3
    assert "there is no column 'Prise' among: Size, Rooms, Price; did you mean Price?" in err
    code, _, err = called(capsys, *command, "--target", "zzz")
    assert err.endswith("there is no column 'zzz' among: Size, Rooms, Price.\n")


def test_the_other_spelling_of_standardise(capsys):
    outputs = {
        called(capsys, "run", "rbp", "synthetic", "--budget", 9, flag, "--json").out.split('"seconds"')[0]
        for flag in ("--standardise", "--standardize")
    }
    assert len(outputs) == 1


def test_missing_probabilities(tmp_path, capsys):
    model = tmp_path / "model"
    assert called(capsys, "run", "rbp", "synthetic", "--budget", 9, "--save", model).code == 0
    code, out, err = called(capsys, "predict", model, "synthetic", "--proba")
    assert (code, out) == (2, "")
    assert "has no probabilities: learn with auto, or an algorithm that has --loss with" in err
