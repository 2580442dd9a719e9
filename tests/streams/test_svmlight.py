"""The native svmlight reader, against scikit-learn's, against Python's own numbers, and on bad input."""

import io
import lzma
import math
import struct
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from budgetron import _core
from budgetron.streams import DataError, from_svmlight
from fuzz import svmlight as fuzz
from tests.helpers.cases import each
from tests.helpers.data_sets import FOLDER

FILES = sorted(FOLDER.glob("*.svm.xz"))
TEXT = (
    b"# a comment line\r\n"
    b"+1 1:0.5  3:2\t7:-1e-3 # a comment\n"
    b"\n"
    b"  -1.5e3\tqid:12 2:.25 2147483646:3.\r\n"
    b" \t\r\n"
    b"0#1:1\n"
    b"-0 0000000000000000004:+7"
)
ROWS = [
    (1.0, [1, 3, 7], [0.5, 2.0, -0.001]),
    (-1500.0, [2, 2147483646], [0.25, 3.0]),
    (0.0, [], []),
    (-0.0, [4], [7.0]),
]


def rows(text, piece=None, block=3, first=1, last=2**31 - 2):
    """The rows of a text fed in pieces, and the position of its error."""
    piece = piece or len(text) or 1
    pieces = (text[i : i + piece] for i in range(0, len(text), piece))
    return fuzz.native(pieces, first, last, block)


def same(a, b):
    return fuzz.bits(a) == fuzz.bits(b)


@pytest.mark.skipif(not FILES, reason="needs NAME.svm.xz files in the folder that BUDGETRON_DATA names")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("size", [500_000, pytest.param(6_000_000, marks=pytest.mark.slow)])
def test_same_arrays_as_scikit_learn(path, size):
    """The first bytes of each file; 6 MB are all of it, but for six files."""
    with lzma.open(path) as file:
        text = file.read(size)
    text = text[: text.rindex(b"\n") + 1]
    X, y = load_svmlight_file(io.BytesIO(text))
    blocks = list(from_svmlight(io.BytesIO(text), rows=20_000))
    assert [b.start for b in blocks] == list(range(0, X.shape[0], 20_000))
    ours = sparse.vstack([b.X for b in blocks], format="csr")
    assert ours.shape == X.shape
    np.testing.assert_array_equal(ours.indptr, X.indptr)
    np.testing.assert_array_equal(ours.indices, X.indices)
    assert ours.data.tobytes() == X.data.tobytes()
    assert np.concatenate([b.y for b in blocks]).tobytes() == y.tobytes()


def test_pieces_of_every_size():
    for piece in range(1, len(TEXT) + 1):
        got, problem = rows(TEXT, piece)
        assert same(got, ROWS)
        assert problem is None


numbers = st.floats(allow_nan=False, allow_infinity=False)
written = st.tuples(numbers, st.dictionaries(st.integers(1, 2**31 - 2), numbers, max_size=6))
ends = st.sampled_from(["\n", "\r\n", " # c\n", "\n\n"])


@given(st.lists(written, max_size=8), st.integers(1, 50), ends)
def test_what_is_written_is_read_back_exactly(table, piece, end):
    table = [(y, sorted(pairs), [pairs[i] for i in sorted(pairs)]) for y, pairs in table]
    lines = [
        " ".join([repr(y), *(f"{i}:{v!r}" for i, v in zip(indices, values, strict=True))])
        for y, indices, values in table
    ]
    got, problem = rows("".join(line + end for line in lines).encode(), piece)
    assert problem is None
    assert same(got, table)


digits = st.text("0123456789", max_size=40)
exponents = st.one_of(
    st.just(""), st.integers(-400, 400).map("e{}".format), st.integers().map("E{:+d}".format)
)


@given(st.sampled_from(["", "-", "+"]), digits, st.sampled_from(["", "."]), digits, exponents)
def test_numbers_are_rounded_as_python_rounds_them(sign, whole, point, places, exponent):
    text = sign + whole + point + places + exponent
    got, problem = rows(f"1 1:{text}\n".encode())
    if not whole + places or math.isinf(float(text)):
        assert (got, problem) == ([], (1, 5))
    else:
        assert same(got, [(1.0, [1], [float(text)])])


HARD = [
    *("9007199254740993", "9007199254740992.5", "9007199254740991e22", "1e22", "1e23"),
    *("123456789012345678e-22", "0.1", "2.2250738585072011e-308", "2.2250738585072014e-308"),
    *("5e-324", "2.5e-324", "2.4e-324", "1e-400", "-1e-999999", "0e999999999999999999999"),
    *("1.7976931348623157e308", "1.7976931348623158e308", "1" + "0" * 300, "0" * 5000 + "3"),
    *("0." + "0" * 70000 + "7e70001", "7" + "0" * 70000 + "e-70000", "1." + "0" * 800 + "1"),
]


@given(st.sampled_from(["", "-", "+"]), digits, st.sampled_from(["", "."]), digits, exponents)
def test_platforms_without_from_chars_read_the_same_numbers(sign, whole, point, places, exponent):
    text = (sign + whole + point + places + exponent).encode()
    assert repr(_core.decimal(text, True)) == repr(_core.decimal(text, False))


@each("text", HARD, ids=lambda text: text[:25])
def test_platforms_without_from_chars_read_the_same_hard_numbers(text):
    assert (
        repr(_core.decimal(text.encode(), True))
        == repr(_core.decimal(text.encode(), False))
        == repr(float(text))
    )


@each("text", ["1e309", "-1" + "0" * 400, "", ".", "+", "e5", "1x", "nan", "0x10", "1,5"])
def test_platforms_without_from_chars_refuse_the_same_texts(text):
    assert _core.decimal(text.encode(), True) is _core.decimal(text.encode(), False) is None


@each("text", HARD, ids=lambda text: text[:25])
def test_hard_numbers(text):
    got, problem = rows(f"{text} 1:{text}\n".encode(), piece=1000)
    assert problem is None
    assert same(got, [(float(text), [1], [float(text)])])


NO_0 = "an index from 1 to 2147483646 (zero_based=True reads files that count from 0)"
BAD = [  # text, line, column, expected, got
    (b"abc 1:1\n", 1, 1, "a label (a finite decimal number)", "'abc'"),
    (b"1 1:1\n\n  1x 1:1\n", 3, 3, "a label (a finite decimal number)", "'1x'"),
    (b"1:1 2:1\n", 1, 1, "a label (a finite decimal number)", "'1:1'"),
    (b"nan 1:1\n", 1, 1, "a label (a finite decimal number)", "'nan'"),
    (b"-inf 1:1\n", 1, 1, "a label (a finite decimal number)", "'-inf'"),
    (b"1e309\n", 1, 1, "a label (a finite decimal number)", "'1e309'"),
    (b"\xef\xbb\xbf1 1:1\n", 1, 1, "a label (a finite decimal number)", r"'\xef\xbb\xbf1'"),
    (b"\x00\n", 1, 1, "a label (a finite decimal number)", r"'\x00'"),
    (b"1,2 1:1\n", 1, 1, "one label (rows with several labels cannot be read)", "'1,2'"),
    (b"1 qid:x 1:1\n", 1, 3, "qid: and a whole number", "'qid:x'"),
    (b"1 1:1 qid:3\n", 1, 7, "index:value", "'qid:3'"),
    (b"1 abc:1\n", 1, 3, "index:value", "'abc:1'"),
    (b"1 -1:1\n", 1, 3, "index:value", "'-1:1'"),
    (b"1 1:1 2\n", 1, 7, "index:value", "'2'"),
    (b"1 1 :1\n", 1, 3, "index:value", "'1'"),
    (b"1 1:1\r 2:1\n", 1, 5, "a finite decimal number", r"'1\r'"),
    (b"1 1:1 \r 2:1\n", 1, 7, "index:value", r"'\r'"),
    (b"1 1:1\r\r\n", 1, 5, "a finite decimal number", r"'1\r'"),
    (b"1 1:\n", 1, 5, "a finite decimal number", "nothing"),
    (b"1 1:#2\n", 1, 5, "a finite decimal number", "nothing"),
    (b"1 1: 2\n", 1, 5, "a finite decimal number", "nothing"),
    (b"1 1:nan\n", 1, 5, "a finite decimal number", "'nan'"),
    (b"1 1:-Infinity\n", 1, 5, "a finite decimal number", "'-Infinity'"),
    (b"1 1:0x10\n", 1, 5, "a finite decimal number", "'0x10'"),
    (b"1 1:1_0\n", 1, 5, "a finite decimal number", "'1_0'"),
    (b"1 1:1e\n", 1, 5, "a finite decimal number", "'1e'"),
    (b"1 1:.\n", 1, 5, "a finite decimal number", "'.'"),
    (b"1 1:1:1\n", 1, 5, "a finite decimal number", "'1:1'"),
    (b"1 1:2 12:" + b"7" * 99 + b"x\n", 1, 10, "a finite decimal number", "'" + "7" * 40 + "'"),
    (b"1 2:1 2:1\n", 1, 7, "an index above the one before it", "'2:1'"),
    (b"1 1:1 3:1 2:1\n", 1, 11, "an index above the one before it", "'2:1'"),
    (b"1 0:1\n", 1, 3, NO_0, "'0:1'"),
    (b"1 2147483647:1\n", 1, 3, "an index from 1 to 2147483646", "'2147483647:1'"),
    (b"1 18446744073709551617:1\n", 1, 3, "an index from 1 to 2147483646", "'18446744073709551617:1'"),
]


@each(("text", "line", "column", "expected", "got"), BAD)
@each("before", [b"", b"2 5:1\r\n# ok\n"])
def test_the_first_bad_token_is_reported(before, text, line, column, expected, got):
    line += before.count(b"\n")
    blocks, seen = from_svmlight(io.BytesIO(before + text + b"7 1:1\n"), rows=1), []
    with pytest.raises(DataError) as caught:
        seen.extend(block.y.item() for block in blocks)
    assert str(caught.value) == f"stream, line {line}, column {column}: expected {expected}, got {got}."
    assert (caught.value.line, caught.value.column) == (line, column)
    assert seen == [2.0] * bool(before) + [1.0] * text.startswith(b"1 1:1\n")


def test_the_last_line_may_be_the_bad_one():
    with pytest.raises(DataError, match=r"line 2, column 5: expected a finite decimal number, got 'x'"):
        list(from_svmlight(io.BytesIO(b"1 1:1\n1 1:x")))


def test_a_bad_line_is_the_end():
    parser = _core.SvmlightParser(1, 9)
    parser.feed(b"1 1:1\n2 x\n3 1:1\n")
    place = (parser.problem.line, parser.problem.column)
    parser.feed(b"4 1:1\n5")
    parser.finish()
    assert place == (parser.problem.line, parser.problem.column) == (2, 3)
    assert parser.ready == 1
    assert parser.take(10)[3].tolist() == [1.0]
    assert parser.ready == 0
    parser.feed(b"\n")
    assert [a.tolist() for a in parser.take(10)] == [[], [], [0], []]


def test_indices_from_0():
    [block] = from_svmlight(io.BytesIO(b"1 0:5 2:6\n"), zero_based=True)
    np.testing.assert_array_equal(block.X.toarray(), [[5, 0, 6]])


def test_an_index_beyond_n_features_is_refused():
    with pytest.raises(DataError, match=r"7: expected an index from 1 to 3 \(n_features is 3\), got"):
        list(from_svmlight(io.BytesIO(b"1 3:1 4:1\n"), n_features=3))
    with pytest.raises(DataError, match=r"7: expected an index from 0 to 2 \(n_features is 3\), got"):
        list(from_svmlight(io.BytesIO(b"1 2:1 3:1\n"), n_features=3, zero_based=True))


def test_a_line_of_a_million_values():
    values = np.random.default_rng(0).integers(1, 1000, 1_000_000)
    text = ("1 " + " ".join(f"{i}:{v}" for i, v in enumerate(values, 1))).encode()
    [(_, indices, data)], problem = rows(text, piece=10_007)
    assert problem is None
    np.testing.assert_array_equal(indices, np.arange(1, 1_000_001))
    np.testing.assert_array_equal(data, values)


@given(st.binary(max_size=200), st.integers(1, 30))
def test_any_bytes(text, piece):
    slow, place = fuzz.plain(text, 1, 2**31 - 2)
    got, problem = rows(text, piece)
    assert same(got, slow)
    assert problem == place


def test_the_fuzzer_for_a_moment():
    assert all(fuzz.agree(seed=0, case=case) for case in range(2000))


def test_the_fuzzer_would_notice(monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "NUMBER", fuzz.re.compile(rb"[0-9.]+"))
    assert not all(fuzz.agree(seed=0, case=case) for case in range(200))
    assert "native" in capsys.readouterr().out


def text_of_rows(n, d):
    r = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=0.3, rng=r, format="csr")
    lines = []
    for i in range(n):
        cut = slice(X.indptr[i], X.indptr[i + 1])
        pairs = zip(X.indices[cut].tolist(), X.data[cut].tolist(), strict=True)
        lines.append(" ".join([f"{r.choice([-1, 1]):+d}", *(f"{j + 1}:{v:.6g}" for j, v in pairs)]))
    return "\n".join(lines).encode()


def seconds(work, repeat):
    best = math.inf
    for _ in range(repeat):
        start = process_time()
        work()
        best = min(best, process_time() - start)
    return best


@pytest.mark.timing
def test_several_times_as_fast_as_scikit_learn():
    text = text_of_rows(10_000, 60)
    theirs = seconds(lambda: load_svmlight_file(io.BytesIO(text)), 5)
    ours = seconds(lambda: list(from_svmlight(io.BytesIO(text), n_features=60)), 15)
    print(f"{len(text) / 1e6 / ours:.0f} MB/s, {theirs / ours:.1f} times as fast as scikit-learn")
    assert theirs / ours >= 5


def test_bits_tell_zeros_apart():
    assert not same([(0.0, [], [])], [(-0.0, [], [])])
    assert struct.pack("d", 0.0) != struct.pack("d", -0.0)
