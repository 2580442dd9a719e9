"""Files that are long, wide, damaged or malicious."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest

import budgetron
from budgetron import streams
from budgetron._util.text import printable, shown
from budgetron.streams import DataError
from tests.helpers import forked
from tests.helpers.cases import each
from tests.helpers.command import called, written
from tests.helpers.stream_rows import PACK

ROWS = b"1 1:1\n" * 10
ESCAPE = "\x1b[31m"
RBP = ("rbp", "--budget", "3")


def count(stream):
    return sum(map(len, stream))


# ---- long and wide


@pytest.mark.parametrize(
    "text",
    [
        b"a,y\n1," + b"x" * 200_000 + b"\n",
        b"a,y\n1,u\n1," + b"x" * 500_000 + b"\n1,v\n",
        b"a,y," + b"n" * 3_000_000 + b"\n1,2,3\n",
    ],
    ids=["label", "later", "name"],
)
def test_long_csv_fields(text):
    pytest.importorskip("pyarrow")
    assert count(streams.table(io.BytesIO(text), target="y", only=["a"])) == text.count(b"\n") - 1


def test_a_line_that_is_far_longer_than_the_first_ones():
    pytest.importorskip("pyarrow")
    text = b"a,y\n1,u\n1," + b"x" * 3_000_000 + b"\n"
    assert count(streams.table(io.BytesIO(text), target="y")) == 2


LIMITED = """
import io, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]),) * 2)  # of the processor: others do not count
from budgetron import streams
name = sys.argv[2]
if name == "line":
    text = b"a,y\\n1," + b"x" * 20_000_000 + b"\\n"
    read = lambda: streams.table(io.BytesIO(text), target="y")
elif name == "columns":
    names, row = ",".join(f"c{i}" for i in range(20_000)), ",".join(["1.5"] * 20_000)
    text = "\\n".join([names, *[row] * 100]).encode()
    read = lambda: streams.table(io.BytesIO(text), target="c1")
elif name == "svmlight":
    text = b"1 " + b" ".join(b"%d:1" % i for i in range(1, 2_000_000))
    read = lambda: streams.from_svmlight(io.BytesIO(text))
print(sum(map(len, read())))
"""


@pytest.mark.timing
@pytest.mark.parametrize(("name", "rows"), [("line", 1), ("columns", 100), ("svmlight", 1)])
def test_long_lines_and_many_columns_take_seconds(name, rows):
    """Quadratic reading would take 22 s for a line of 20 MB, and 40 s for 20,000 columns."""
    pytest.importorskip("pyarrow")
    words = [sys.executable, "-c", LIMITED, "15", name]
    done = forked.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == rows


def test_rows_of_any_length_come_in_blocks_as_asked():
    """The size of pyarrow's batches does not matter."""
    pytest.importorskip("pyarrow")
    wide = np.arange(60 * 500).reshape(60, 500) / 8
    text = "\n".join([",".join(f"c{i}" for i in range(500)), *(",".join(map(str, r)) for r in wide)])
    for rows in (1, 7, 60, 100):
        for first in (0, 13, 60):
            blocks = list(streams.table(io.BytesIO(text.encode()), rows=rows).skip(first))
            assert [b.start for b in blocks] == list(range(first, 60, rows))
            assert all(len(b) == rows for b in blocks[:-1])
            if blocks:
                columns = [[b.X.columns[f"c{i}"].numbers for b in blocks] for i in range(500)]
                np.testing.assert_array_equal([np.concatenate(parts) for parts in columns], wide[first:].T)


# ---- packed


@each("pack", [p for p in PACK if p != "plain"])
@each("garbage", [b"garbage", b"\0\0\0\0x", b"\n"])
def test_other_bytes_behind_packed_rows_are_refused(pack, garbage):
    seen = []
    stream = streams.from_svmlight(io.BytesIO(PACK[pack](ROWS) + garbage), rows=5)
    with pytest.raises(DataError, match="damaged or truncated"):
        seen.extend(map(len, stream))
    assert sum(seen) == 10  # what came before is not lost


@each("pack", [p for p in PACK if p != "plain"])
def test_packed_files_may_be_joined_and_padded(pack):
    packed = PACK[pack]
    assert count(streams.from_svmlight(io.BytesIO(packed(ROWS) + packed(ROWS)))) == 20
    assert count(streams.from_svmlight(io.BytesIO(packed(ROWS) + b"\0" * 8))) == 10
    with pytest.raises(DataError, match="damaged or truncated"):
        list(streams.from_svmlight(io.BytesIO(packed(ROWS) + packed(ROWS)[:-3])))


@pytest.mark.parametrize("compress", [bz2.compress, gzip.compress, lzma.compress])
def test_what_is_packed_tightly_is_unpacked_in_pieces(compress):
    """A megabyte compressed to a few bytes is decompressed in pieces."""
    source = streams.sources.Source(io.BytesIO(compress(b"\n" * 3_000_000)))
    sizes = list(map(len, source.pieces()))
    assert sum(sizes) == 3_000_000
    assert max(sizes) <= 1 << 18


# ---- what a terminal obeys


def test_printable():
    assert printable("Straße, 数 'x'") == "Straße, 数 'x'"
    assert printable("a\x1b[0m\n\x00\u202e\udcff") == r"a\x1b[0m\n\x00\u202e\udcff"
    assert shown(10**5000) == "a value of type int that is too long to print"
    assert shown("x" * 500) == "'" + "x" * 199 + "..."


def plain(text):
    return all(c.isprintable() for c in text.rstrip("\n").replace("\n", " "))


@each(
    "text",
    [
        f"{ESCAPE}a,b\n1,2\n",
        f"a,y\n{ESCAPE},2\n",
        f"a,y\n1,u\n2,{ESCAPE}\n",
        f"a,y,{ESCAPE}\n1,2,x\n",
        f"a,y\n1,2,{ESCAPE}\n",
    ],
)
def test_control_characters_of_a_table_do_not_reach_the_terminal(text, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.csv"
    path.write_text(text)
    ended = called(capsys, "run", "rbp", path, "--budget", "3", "--target", "y")
    assert plain(ended.err)
    assert ended.err.startswith("budgetron: ")
    with pytest.raises(ValueError, match=r".") as caught:
        list(streams.table(path, target="y").through(streams.EncodeLabels(classes=["u", "v"])))
    assert plain(str(caught.value))


def test_control_characters_of_a_file_name_do_not_reach_the_terminal(tmp_path, capsys):
    path = tmp_path / f"{ESCAPE}\udcff.svm"
    path.write_bytes(b"1 1:x\n")
    for argv in (
        ("run", *RBP, path),
        ("run", *RBP, tmp_path / ESCAPE),
        ("inspect", path),
        ("predict", path, path),
    ):
        ended = called(capsys, *argv)
        assert ended.code != 0
        assert r"\x1b[31m" in ended.err
        assert plain(ended.err)
    for read in (streams.from_svmlight, budgetron.load):
        with pytest.raises(ValueError, match=r"\\x1b\[31m\\udcff\.svm") as caught:
            list(read(path))
        assert plain(str(caught.value))


def test_labels_of_a_model_do_not_reach_the_terminal(tmp_path, capsys):
    rows = written(tmp_path / "rows.svm", 20)
    model = budgetron.OnlineClassifier(budgetron.rbp(budgetron.Gaussian(1.0), budget=5))
    model.fit(np.eye(4), ["a", ESCAPE, "a", "b"]).save(tmp_path / "model")
    ended = called(capsys, "predict", tmp_path / "model", rows)
    assert ended.code == 3
    assert ended.out == ""
    assert plain(ended.err)
    assert "control character" in ended.err
    assert called(capsys, "predict", tmp_path / "model", rows, "--scores").code == 0
