"""The command ``budgetron-reproduce``."""

import pytest

from called import called


def reproduce(capsys, tmp_path, *words):
    return called(capsys, *words, "--store", tmp_path / "store")


def test_a_table_goes_to_stdout_as_markdown(capsys, tmp_path):
    done = reproduce(capsys, tmp_path, "orabona2008", "--table", "3", "--permutations", "1")
    assert done.code == 0
    assert done.out.startswith("### orabona2008, Table 3")
    lines = [line for line in done.out.splitlines() if line.startswith("| synthetic")]
    assert len(lines) == 12
    assert lines[0].split("|")[2].strip() == "perceptron"
    assert "18.80 ± 0.25" in lines[0]
    assert "**Departs from the paper.**" in done.out
    assert (tmp_path / "store" / "orabona2008.jsonl").exists()


def test_kept_runs_are_taken_and_afresh_forgets_them(capsys, tmp_path):
    words = ("orabona2008", "--table", "3", "--permutations", "1")
    first = reproduce(capsys, tmp_path, *words)
    path = tmp_path / "store" / "orabona2008.jsonl"
    path.write_text(path.read_text().replace('"support": 1000.0', '"support": 1001.0'))
    assert reproduce(capsys, tmp_path, *words).out != first.out
    afresh = reproduce(capsys, tmp_path, *words, "--afresh")
    without_times = [line.split("|")[:9] for line in first.out.splitlines()]
    assert [line.split("|")[:9] for line in afresh.out.splitlines()] == without_times


def test_all_tables_end_with_a_summary(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    done = reproduce(capsys, tmp_path, "orabona2008", "--quick", "--permutations", "1", "--jobs", "2")
    assert done.code == 0
    assert "orabona2008, Table 1, adult9 is left out: datasets: a9a.train.svm" in done.err
    assert done.out.splitlines()[-1].startswith("| orabona2008, Table 3 | 12 |")


def test_afresh_forgets_only_what_is_asked_for(capsys, tmp_path):
    """A run of another table in the same file is kept."""
    other = (
        '{"job": {"dataset": "adult9", "i": 0, "table": 1}, "outcome": {"seconds": 1.0, "value": 2.0}}\n'
    )
    path = tmp_path / "store" / "orabona2008.jsonl"
    path.parent.mkdir()
    path.write_text(other)
    reproduce(capsys, tmp_path, "orabona2008", "--table", "3", "--permutations", "1")
    reproduce(capsys, tmp_path, "orabona2008", "--table", "3", "--permutations", "1", "--afresh")
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 13
    assert other in lines


def test_what_cannot_be_written_is_refused_before_anything_runs(capsys, tmp_path):
    (tmp_path / "store").write_text("a file")
    done = reproduce(capsys, tmp_path, "orabona2008", "--table", "3")
    assert done.code == 1
    assert "cannot be written" in done.err
    done = called(capsys, "orabona2008", "--report", tmp_path / "store" / "deeper")
    assert done.code == 1
    assert not done.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["all", "--table", "99"], "no paper has a Table 99 here."),
        (["lu2017"], "there is no paper 'lu2017'"),
        (["lu2016", "--table", "4"], "lu2016 has no Table 4 here"),
        (["lu2016", "--dataset", "vowel"], "has no data set 'vowel'"),
        (["lu2016", "--permutations", "0"], "expected a whole number of at least 1"),
        (["lu2016", "--jobs", "0"], "--jobs: expected a whole number of at least 1, or -1, got 0."),
        ([], "KEY"),
    ],
)
def test_wrong_usage_is_one_sentence(capsys, tmp_path, words, sentence):
    done = reproduce(capsys, tmp_path, *words)
    assert done.code == 2
    assert sentence in done.err
    assert not done.out


def test_rows_asked_for_and_not_there(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    done = reproduce(capsys, tmp_path, "lu2016", "--table", "5", "--dataset", "german")
    assert done.code == 3
    assert "german.svm" in done.err
    assert not done.out
