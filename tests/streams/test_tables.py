"""Streams from CSV and Parquet files. test_streams.py tests what all sources share."""

import io
import sys

import numpy as np
import pytest

from budgetron import streams
from budgetron.streams import DataError
from tests.helpers.stream_rows import PACK, TEXT, X, arrow_table, assert_rows, csv_text, piped, rows_of


@pytest.mark.parametrize("pack", PACK)
def test_csv_packed_and_piped(pack):
    pytest.importorskip("pyarrow")
    assert_rows(streams.from_csv(io.BytesIO(PACK[pack](csv_text())), target="label"))
    with piped(PACK[pack](csv_text()), 100) as file:
        stream = streams.from_csv(file, target="label", rows=9)
        np.testing.assert_array_equal(rows_of(stream)[0], X)
        with pytest.raises(DataError, match="a pipe can be read only once"):
            list(stream)


def test_csv_with_other_marks_and_chosen_columns():
    pytest.importorskip("pyarrow")
    text = "\ufeffid;b;a;kind\r\nq;1;2.5;yes\r\nr;3;4;'no'\r\n".encode()
    [block] = streams.from_csv(io.BytesIO(text), target="kind", features=["a", "b"], delimiter=";")
    np.testing.assert_array_equal(block.X, [[2.5, 1], [4, 3]])
    assert block.y.tolist() == ["yes", "'no'"]
    [block] = streams.from_csv(io.BytesIO(text), features=["b"], delimiter=";")
    assert block.y is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            b"a,y\n1,1\n,1\n",
            r"stream, row 1 \(the first is 0\), column 'a': expected a finite value",
        ),
        (
            b"a,y\n1,1\n2,\n",
            r"stream, row 1 \(the first is 0\), column 'y': expected a finite value",
        ),
        (b"a,y\n1,1\ninf,1\n", r"row 1 \(the first is 0\), column 'a'"),
        (b"a,y\n1,1\nx,1\n", r"stream: .*invalid value 'x'"),
        (b"a,y\n1,1\n2,z\n", r"stream: .*invalid value 'z'"),
        (b"a,y\n1,1\n2\n", r"stream: .*Expected 2 columns, got 1"),
        (b"a,b\n1,1\n", r"stream: there is no column 'y' among: a, b\.$"),
        (b"a,a,y\n1,1,1\n", r"stream: there is more than one column 'a' among: a, a, y\.$"),
        (b"", r"stream: there is no column 'y' among: \.$"),
        (
            b"a,y\n1,u\n2,\n",
            r"row 1 \(the first is 0\), column 'y': expected a finite value",
        ),
        (
            b"a,y\n1,\n2,u\n",
            r"row 0 \(the first is 0\), column 'y': expected a finite value",
        ),
        (b"a,y\n1,NA\n2,1\n", r"row 0 \(the first is 0\), column 'y'"),
        (b"a,y\n1,nan\n2,1\n", r"row 0 \(the first is 0\), column 'y'"),
        (b"a,y\n1,inf\n2,1\n", r"row 0 \(the first is 0\), column 'y'"),
        (b"a,y\n1,1\n2,9007199254740993\n", r"row 1 .*: expected a label below 2\^53"),
        (b"y\n1\n2\n", r"stream: there are no columns of features, expected one or more\.$"),
    ],
)
def test_bad_csv(text, sentence):
    pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=sentence):
        list(streams.from_csv(io.BytesIO(text), target="y"))


@pytest.mark.parametrize("gap", [b"\n", b"\r\n\r\n", b"\r"])
def test_empty_lines_do_not_tell_the_type_of_labels(gap):
    pytest.importorskip("pyarrow")
    [block] = streams.from_csv(io.BytesIO(b"a,y\n" + gap + b"1,1\n2,10\n"), target="y")
    assert block.y.tolist() == [1.0, 10.0]
    [block] = streams.from_csv(io.BytesIO(b"a,y\n" + gap + b"1,u\n2,10\n"), target="y")
    assert block.y.tolist() == ["u", "10"]


def test_large_whole_numbers_are_no_labels(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table(
        {"a": [1.0, 2.0], "i": [1, -(2**53) - 1], "f": [1.0, 1e300], "s": ["9" * 20, "8" * 20]}
    )
    parquet.write_table(table, tmp_path / "t")
    with pytest.raises(DataError, match=r"t, row 1 .*, column 'i': expected a label below 2\^53"):
        list(streams.from_parquet(tmp_path / "t", target="i", features=["a"]))
    for target, last in (("f", 1e300), ("s", "8" * 20)):
        [block] = streams.from_parquet(tmp_path / "t", target=target, features=["a"])
        assert block.y[-1] == last


def test_parquet_types(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table(
        {"i": [1, 2], "b": [True, False], "f": pa.array([0.5, 1], pa.float32()), "s": ["u", "v"]}
    )
    parquet.write_table(table, tmp_path / "t")
    [block] = streams.from_parquet(tmp_path / "t", target="s")
    np.testing.assert_array_equal(block.X, [[1, 1, 0.5], [2, 0, 1]])
    assert block.y.tolist() == ["u", "v"]
    with pytest.raises(DataError, match="column 's' must hold numbers, got string"):
        list(streams.from_parquet(tmp_path / "t", target="i"))
    (tmp_path / "u").write_bytes(b"no table at all")
    with pytest.raises(DataError, match="Parquet magic bytes"):
        streams.from_parquet(tmp_path / "u")
    with piped(TEXT, 10) as file, pytest.raises(ValueError, match="Parquet is read from its end"):
        streams.from_parquet(file)


def test_tables_need_pyarrow(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for read in (streams.from_csv, streams.from_parquet):
        with pytest.raises(
            ImportError, match=rf"{read.__name__} needs pyarrow: pip install 'budgetron\[arrow\]'"
        ):
            read(tmp_path / "t")


@pytest.mark.parametrize("pack", [p for p in PACK if p != "plain"])
def test_csv_cut_off(pack):
    pytest.importorskip("pyarrow")
    packed = PACK[pack](b"x0,x1,x2,x3,label\n" + csv_text()[18:] * 2000)
    with pytest.raises(DataError, match="damaged or truncated"):
        list(streams.from_csv(io.BytesIO(packed[: len(packed) // 2]), target="label"))
    whole = streams.from_csv(io.BytesIO(packed), target="label")
    assert sum(map(len, whole)) == 50 * 2000


def test_parquet_without_rows(tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(arrow_table()[:0], tmp_path / "t")
    assert list(streams.from_parquet(tmp_path / "t", target="label")) == []
