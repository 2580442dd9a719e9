"""Streams from CSV and Parquet files. test_streams.py tests what all sources share."""

import io
import json
import re
import sys

import numpy as np
import pytest

from budgetron import streams
from budgetron.streams import DataError
from tests.helpers.cases import each
from tests.helpers.stream_rows import (
    PACK,
    TEXT,
    X,
    arrow_table,
    assert_rows,
    csv_text,
    dense,
    piped,
    rows_of,
)


@each("pack", PACK)
def test_csv_packed_and_piped(pack):
    pytest.importorskip("pyarrow")
    assert_rows(streams.table(io.BytesIO(PACK[pack](csv_text())), target="label"))
    with piped(PACK[pack](csv_text()), 100) as file:
        stream = streams.table(file, target="label", rows=9)
        np.testing.assert_array_equal(rows_of(stream)[0], X)
        with pytest.raises(DataError, match="a pipe can be read only once"):
            list(stream)


def test_csv_with_other_marks_and_chosen_columns():
    pytest.importorskip("pyarrow")
    text = "\ufeffid;b;a;kind\r\nq;1;2.5;yes\r\nr;3;4;'no'\r\n".encode()
    [block] = streams.table(io.BytesIO(text), target="kind", only=["a", "b"], delimiter=";")
    np.testing.assert_array_equal(dense(block.X), [[2.5, 1], [4, 3]])
    assert block.y.tolist() == ["yes", "'no'"]
    [block] = streams.table(io.BytesIO(text), only=["b"], delimiter=";")
    assert block.y is None


@each(
    ("text", "sentence"),
    [
        (b"a,y\n1,1\ninf,1\n", r"line 3: column 'a': expected a number up to 1e150, got inf\.$"),
        (b"a,y\n1,1\n\n-1e200,1\n", r"line 4: column 'a': expected a number up to 1e150, got -1e\+200\.$"),
        (b"a,y\n1,1\n2,z\n", r"stream, line 3: column 'y': expected a number, got 'z'\.$"),
        (b"a,y\n1,1\n2\n", r"stream, line 3: expected 2 cells, got 1\.$"),
        (b"a,y\n1,1\n2,3,4\n", r"stream, line 3: expected 2 cells, got 3\.$"),
        (b"a,y\n1,1\n\xff,3\n", r"stream, line 3: expected text in UTF-8, got other bytes\.$"),
        (b'a,y\n1,1\n"2,3\n4,1\n', r"stream, line 3: expected 2 cells, got 1\.$"),
        (b"a,b\n1,1\n", r"stream: there is no column 'y' among: a, b\.$"),
        (b"a,Y\n1,1\n", r"stream: there is no column 'y' among: a, Y\.$"),
        (b"a,a,y\n1,1,1\n", r"stream: there is more than one column 'a' among: a, a, y\.$"),
        (b"", r"stream: is empty, expected a line with the names of the columns\.$"),
        (b"\xff\xfea\x00,\x00", r"stream, line 1: expected text in UTF-8, got other bytes\.$"),
        (b"a;y\n1;1\n", r"stream: its cells are separated by semicolons, not by ',': give delimiter ';'"),
        (b"a\ty\n1\t1\n", r"stream: its cells are separated by tabs, not by ',': give delimiter '\\t'"),
        (b"a,y\n1,inf\n2,1\n", r"line 2: column 'y': expected a finite number, got inf"),
        (b"a,y\n1,1\n2,9007199254740993\n", r"line 3: .*: expected a label below 2\^53"),
        (b"y\n1\n2\n", r"stream: there are no columns of features, expected one or more\.$"),
    ],
)
def test_bad_csv(text, sentence):
    pytest.importorskip("pyarrow")
    read = []
    with pytest.raises(DataError, match=sentence):
        read += streams.table(io.BytesIO(text), target="y")
    line = re.search(r"line (\d)", sentence)
    before = [] if line is None else text.split(b"\n")[1 : int(line[1]) - 1]
    assert sum(map(len, read)) == sum(map(bool, before))  # all rows before the bad one


@pytest.mark.parametrize("gap", [b"\n", b"\r\n\r\n", b"\r"])
def test_empty_lines_do_not_tell_the_type_of_labels(gap):
    pytest.importorskip("pyarrow")
    [block] = streams.table(io.BytesIO(b"a,y\n" + gap + b"1,1\n2,10\n"), target="y")
    assert block.y.tolist() == [1.0, 10.0]
    [block] = streams.table(io.BytesIO(b"a,y\n" + gap + b"1,u\n2,10\n"), target="y")
    assert block.y.tolist() == ["u", "10"]


def test_large_whole_numbers_are_no_labels(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table(
        {"a": [1.0, 2.0], "i": [1, -(2**53) - 1], "f": [1.0, 1e300], "s": ["9" * 20, "8" * 20]}
    )
    parquet.write_table(table, tmp_path / "t")
    with pytest.raises(DataError, match=r"t, row 1 .*: column 'i': expected a label below 2\^53"):
        list(streams.table(tmp_path / "t", target="i", only=["a"], format="parquet"))
    for target, last in (("f", 1e300), ("s", "8" * 20)):
        [block] = streams.table(tmp_path / "t", target=target, only=["a"], format="parquet")
        assert block.y[-1] == last


def test_parquet_types(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table(
        {
            "i": [1, 2],
            "b": [True, False],
            "f": pa.array([0.5, None], pa.float32()),
            "s": ["u", "7"],
            "d": pa.array([0, 86400], pa.timestamp("s")),
            "c": pa.array(["x", "y"]).dictionary_encode(),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    [block] = streams.table(tmp_path / "t.parquet", target="s")
    assert list(block.X.records()) == [
        {"i": 1.0, "b": 1.0, "f": 0.5, "d": 0.0, "c": "x"},
        {"i": 2.0, "b": 0.0, "d": 86400.0, "c": "y"},
    ]
    assert block.y.tolist() == ["u", "7"]
    for target, labels in (("c", ["x", "y"]), ("b", [1.0, 0.0])):
        [block] = streams.table(tmp_path / "t.parquet", target=target)
        assert block.y.tolist() == labels
    [block] = streams.table(tmp_path / "t.parquet", target="f")
    assert (block.y[0], block.unlabelled.tolist()) == (0.5, [False, True])
    with pytest.raises(DataError, match="column 'd': expected labels that are numbers or texts"):
        list(streams.table(tmp_path / "t.parquet", target="d"))
    (tmp_path / "u").write_bytes(b"no table at all")
    with pytest.raises(DataError, match="Parquet magic bytes"):
        streams.table(tmp_path / "u", format="parquet")
    with piped(TEXT, 10) as file, pytest.raises(ValueError, match="Parquet is read from its end"):
        streams.table(file, format="parquet")


def test_tables_need_pyarrow(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "t"
    path.write_text("a,y\n1,2\n")
    with pytest.raises(ImportError, match=r"table needs pyarrow: pip install 'pyarrow>=15'\."):
        streams.table(path)


@each(
    ("text", "unlabelled"),
    [
        (b"a,y\n1,1\n2,\n3,  \n4,nan\n", [False, True, True, True]),
        (b"a,y\n1,\n2,u\n3,\n", [True, False, True]),
        (b"a,y\n1,\n2,\n", [True, True]),
    ],
)
def test_rows_without_a_label(text, unlabelled):
    pytest.importorskip("pyarrow")
    [block] = streams.table(io.BytesIO(text), target="y")
    assert block.unlabelled.tolist() == unlabelled


TARGETS = {"12.5": 12.5, "$1,234.50": 1234.5, "(3 %)": -3.0, "N/A": np.nan, "": np.nan, "1 200 EUR": 1200.0}


def test_targets_as_people_write_them():
    pytest.importorskip("pyarrow")
    cells = [*TARGETS] * 2
    expected = [TARGETS[cell] for cell in cells]
    as_csv = "a,y\n" + "".join(f'1,"{cell}"\n' for cell in cells)
    as_lines = "".join(json.dumps({"a": 1, "y": cell}) + "\n" for cell in cells)
    for text, form in ((as_csv, "csv"), (as_lines, "jsonl")):
        for rows in (1, 1000):
            file = io.BytesIO(text.encode())
            blocks = streams.table(file, "y", format=form, numeric_target=True, rows=rows)
            np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), expected)


def test_a_decimal_comma_in_targets_is_refused():
    pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match="line 3: column 'y': expected a number, got '0,5'"):
        list(streams.table(io.BytesIO(b'a,y\n1,2\n1,"0,5"\n'), "y", numeric_target=True))


@each("rows", [1, 3, 1000])
def test_words_for_nothing_do_not_tell_the_type_of_labels(rows):
    pytest.importorskip("pyarrow")
    text = b"a,y\n" + b"1,N/A\n2,null\n" * 3 + b"3,1\n4,0\n5,n/a\n"
    labels = [y for block in streams.table(io.BytesIO(text), "y", rows=rows) for y in block.y]
    assert [y for y in labels if y != "" and y == y] == [1.0, 0.0]


@pytest.mark.parametrize("pack", [p for p in PACK if p != "plain"])
def test_csv_cut_off(pack):
    pytest.importorskip("pyarrow")
    packed = PACK[pack](b"x0,x1,x2,x3,label\n" + csv_text()[18:] * 2000)
    with pytest.raises(DataError, match="damaged or truncated"):
        list(streams.table(io.BytesIO(packed[: len(packed) // 2]), target="label"))
    whole = streams.table(io.BytesIO(packed), target="label")
    assert sum(map(len, whole)) == 50 * 2000


def test_parquet_without_rows(tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(arrow_table()[:0], tmp_path / "t")
    assert list(streams.table(tmp_path / "t", target="label", format="parquet")) == []


@pytest.mark.parametrize("cell", ["05", " 05", '"05"', "  05"])
def test_a_code_is_a_text_wherever_a_file_is_cut(cell):
    """Later parts of a file are read as numbers at once, unless there may be codes."""
    pytest.importorskip("pyarrow")
    text = "a,b\n" + "0.5,10.05\n" * 120_000 + f"1,{cell}\n"
    [block] = streams.table(io.BytesIO(text.encode()), rows=200_000)
    *others, last = block.X.columns["b"].values()
    assert last == "05"
    assert set(others) == {10.05}
