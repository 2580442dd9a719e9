"""Sources of rows: blocks, skipping, compressed files, pipes."""

import io
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy import sparse

from budgetron import streams
from budgetron.streams import DataError
from tests.helpers.cases import each
from tests.helpers.stream_rows import (
    PACK,
    TEXT,
    X,
    Y,
    arrow_table,
    assert_rows,
    csv_text,
    dense,
    piped,
    rows_of,
    zstandard,
)


def opened(kind, folder, **more):
    """The same rows from every kind of source."""
    if kind == "dense":
        return streams.from_arrays(X, Y, **more)
    if kind == "csr":
        return streams.from_arrays(sparse.csr_array(X), Y, **more)
    path = folder / "rows"
    if kind == "svmlight":
        path.write_bytes(TEXT)
        return streams.from_svmlight(path, **more)
    pytest.importorskip("pyarrow")
    if kind == "csv":
        path.write_bytes(csv_text())
        return streams.table(path, target="label", **more)
    from pyarrow import parquet

    parquet.write_table(arrow_table(), path, row_group_size=12)
    return streams.table(path, target="label", format="parquet", **more)


KINDS = ["dense", "csr", "svmlight", "csv", "parquet"]


@each("kind", KINDS)
@each("rows", [1, 7, 50, 1000])
def test_every_source_gives_all_rows_in_blocks(kind, rows, tmp_path):
    stream = opened(kind, tmp_path, rows=rows)
    assert stream.n_features == 4
    assert_rows(stream)
    assert {len(b) for b in list(stream)[:-1]} <= {rows}


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_skips(kind, tmp_path):
    stream = opened(kind, tmp_path, rows=8)
    for n in range(50):
        got, labels = rows_of(stream.skip(n))
        np.testing.assert_array_equal(got, X[n:])
        np.testing.assert_array_equal(labels, Y[n:])
    first = next(iter(stream.skip(2).skip(3)))
    assert (first.start, first.stop) == (5, 13)
    assert list(stream.skip(50)) == []
    with pytest.raises(DataError, match="cannot skip 51 rows, there are only 50"):
        list(stream.skip(51))
    for bad in (-1, 1.5, True):
        with pytest.raises(ValueError, match="skip: rows must be a whole number"):
            stream.skip(bad)
    assert_rows(stream)


@each("kind", KINDS)
def test_rows_in_a_block_are_checked(kind, tmp_path):
    with pytest.raises(ValueError, match="rows must be a whole number above 0, got 0"):
        opened(kind, tmp_path, rows=0)


def test_arrays_are_checked():
    with pytest.raises(ValueError, match="X must have two dimensions, got 1"):
        streams.from_arrays([1.0, 2.0])
    with pytest.raises(ValueError, match=r"y must have 50 labels, as X has rows, got shape \(49,\)"):
        streams.from_arrays(X, Y[:-1])
    assert [b.y for b in streams.from_arrays(X, rows=30)] == [None, None]


@each("pack", PACK)
@each("name", ["rows", "rows.gz"])
def test_packed_files_are_known_by_content(pack, name, tmp_path):
    (tmp_path / name).write_bytes(PACK[pack](TEXT))
    assert_rows(streams.from_svmlight(tmp_path / name))
    assert_rows(streams.from_svmlight(io.BytesIO(PACK[pack](TEXT))))


@each("pack", PACK)
def test_packed_files_in_several_parts(pack):
    cut = TEXT.index(b"\n", 300) - 3
    assert_rows(streams.from_svmlight(io.BytesIO(PACK[pack](TEXT[:cut]) + PACK[pack](TEXT[cut:]))))


@each("pack", [p for p in PACK if p != "plain"])
def test_packed_files_cut_off(pack):
    """A truncated file gives only rows that are in it, and then an error."""
    text = TEXT * 200
    packed = PACK[pack](text)
    seen = []
    stream = streams.from_svmlight(io.BytesIO(packed[: len(packed) * 3 // 4]), n_features=4, rows=10)
    with pytest.raises(DataError, match=r"stream: the compressed data is damaged or truncated \(.*\)\.$"):
        seen.extend(stream)
    got = sum(len(b) for b in seen)
    assert got < 50 * 200
    for i, block in enumerate(seen):
        np.testing.assert_array_equal(dense(block.X), np.tile(X, (200, 1))[10 * i : 10 * i + len(block)])
    if pack == "gzip":
        assert got > 0


@each("pack", [p for p in PACK if p != "plain"])
def test_damaged_files(pack):
    packed = bytearray(PACK[pack](TEXT * 20))
    packed[len(packed) // 2 :] = bytes(255 - b for b in packed[len(packed) // 2 :])
    with pytest.raises(DataError):
        list(streams.from_svmlight(io.BytesIO(packed), n_features=4))


def test_zstandard_needs_its_package(monkeypatch):
    pytest.importorskip("zstandard")
    packed = zstandard(TEXT)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    with pytest.raises(ImportError, match=r"needs the package zstandard: pip install 'zstandard>=0\.22'\."):
        list(streams.from_svmlight(io.BytesIO(packed)))


@each("pack", PACK)
@each("step", [1, 4096])
def test_pipes(pack, step):
    with piped(PACK[pack](TEXT), step) as file:
        stream = streams.from_svmlight(file, n_features=4, rows=9)
        got, labels = rows_of(stream)
        np.testing.assert_array_equal(got, X)
        np.testing.assert_array_equal(labels, Y)
        with pytest.raises(DataError, match="a pipe can be read only once"):
            list(stream)


def test_a_pipe_needs_its_width():
    needs = r"\d+ is a pipe, which needs n_features"
    with piped(TEXT, 4096) as file, pytest.raises(ValueError, match=needs):
        streams.from_svmlight(file)


def test_a_pipe_gives_rows_as_they_come():
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as out:
        blocks = iter(streams.from_svmlight(file, n_features=4, rows=1))
        out.write(b"0 1:1\n1 1:")  # the next line is under way
        assert next(blocks).y == [0]
        out.write(b"1\n2 1:")
        assert next(blocks).y == [1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "rows")
    with pytest.raises(ValueError, match="is a pipe, which needs n_features"):
        streams.from_svmlight(tmp_path / "rows")
    threading.Thread(target=(tmp_path / "rows").write_bytes, args=[TEXT], daemon=True).start()
    got, _ = rows_of(streams.from_svmlight(tmp_path / "rows", n_features=4))
    np.testing.assert_array_equal(got, X)


def test_the_standard_input():
    stream = "streams.from_svmlight('-', n_features=4)"
    program = f"from budgetron import streams; print(sum(len(b) for b in {stream}))"
    done = subprocess.run([sys.executable, "-c", program], input=TEXT, capture_output=True, check=True)
    assert done.stdout.strip() == b"50"


def test_a_file_object_is_read_from_where_it_stands():
    file = io.BytesIO(b"not a row\n" + TEXT)
    file.readline()
    assert_rows(streams.from_svmlight(file))


def test_a_file_object_cannot_be_read_twice_at_once(tmp_path):
    text = TEXT * 1000  # longer than a piece
    stream = streams.from_svmlight(io.BytesIO(text), n_features=4)
    with pytest.raises(DataError, match="cannot be read twice at once"):
        list(zip(stream, stream, strict=True))
    (tmp_path / "rows").write_bytes(text)
    stream = streams.from_svmlight(tmp_path / "rows", n_features=4)
    assert all(np.array_equal(a.y, b.y) for a, b in zip(stream, stream, strict=True))


def test_what_is_no_source(tmp_path):
    with pytest.raises(FileNotFoundError):
        streams.from_svmlight(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError, match="expected a file, got a folder"):
        streams.from_svmlight(tmp_path)
    with pytest.raises(TypeError, match="expected a path, a binary file or '-', got 3"):
        streams.from_svmlight(3)
    with pytest.raises(TypeError, match="expected a blocking binary file, its read gave str"):
        list(streams.from_svmlight(io.StringIO("1 1:1\n")))


def test_no_rows_and_no_features():
    assert list(streams.from_svmlight(io.BytesIO(b""))) == []
    assert list(streams.from_svmlight(io.BytesIO(b"# nothing\n\n"))) == []
    [block] = streams.from_svmlight(io.BytesIO(b"1\n2\n"))
    assert block.X.shape == (2, 1)
    assert block.X.nnz == 0


def test_the_width_of_a_bad_file_is_that_of_its_good_rows():
    stream = streams.from_svmlight(io.BytesIO(b"1 5:1\n2 3:1\n3 9:x\n4 77:1\n"))
    blocks = []
    with pytest.raises(DataError, match="line 3, column 5"):
        blocks.extend(stream)
    assert [b.X.shape for b in blocks] == [(2, 5)]


def test_data_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(DataError("rows, line 3, column 5: bad.", 3, 5)))
    assert (str(error), error.line, error.column) == ("rows, line 3, column 5: bad.", 3, 5)


def test_a_file_that_grows_wider(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"1 2:1\n")
    stream = streams.from_svmlight(path)
    assert stream.n_features == 2
    path.write_bytes(b"1 2:1\n1 3:1\n")
    with pytest.raises(
        DataError, match="the file has more columns than when it was first read; give n_features"
    ):
        list(stream)


def test_a_bad_line_among_those_to_skip_is_reported():
    with pytest.raises(DataError, match="line 2, column 1"):
        list(streams.from_svmlight(io.BytesIO(b"1 1:1\nx\n2 1:1\n")).skip(3))
