"""A run that stops and resumes at any row: 10 tables of ``python -m fuzz.any_cut_run``, which has 1,000."""

import pytest

from tests.helpers.command import called

pytest.importorskip("pyarrow")

from fuzz.any_cut_run import differences

TABLES = {
    "rows without any value first": "a,b,weight,label\n,,1,x\n,,1,y\n,p,1,y\n3,q,1,x\n",
    "rows of weight 0": "a,b,weight,label\n1,,0,x\n,p,1,y\n2,q,1,x\n",
    "rows of weight 0 alone first": "a,b,weight,label\n1,,0,x\n,p,0,y\n2,q,1,x\n3,p,1,y\n",
}


@pytest.mark.parametrize("number", range(10))
def test_random_tables(number, tmp_path):
    assert differences(number, tmp_path) == []


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_stopped_after_each_row(text, tmp_path, capsys):
    file, whole, parts = tmp_path / "rows.csv", tmp_path / "whole", tmp_path / "parts"
    file.write_text(text)
    argv = ["run", file, "--size", "3", "--target", "label", "--weight", "weight", "--save"]
    assert called(capsys, *argv, whole).code == 0
    for rows in range(1, text.count("\n")):
        assert called(capsys, *argv, parts, "--resume", "--rows", rows).code == 0
    assert parts.read_bytes() == whole.read_bytes()
