"""Dicts and frames give the same table; what is no number, text or date is refused by column and row."""

import datetime as dt
import enum
import subprocess
import sys
from collections import UserDict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetron import Encoder
from budgetron.records.reading import (
    from_arrow,
    from_dicts,
    holds_only_numbers,
    is_records,
    normal_record,
    to_table,
)
from budgetron.records.table import Table
from budgetron.records.values import RefusedValueError
from tests.helpers.cases import each
from tests.records.strategies import records

ZONE = dt.timezone(dt.timedelta(hours=2))
NOON = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)


class Colour(str, enum.Enum):  # noqa: UP042 - the older spelling has another str
    RED = "red"


def value_of(value):
    """A value in normal form, by way of a table."""
    [record] = from_dicts([{"c": value}]).records()
    return record.get("c")


@each(
    ("value", "normal"),
    [
        (1, 1.0),
        (True, 1.0),
        (np.bool_(False), 0.0),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.int8(-3), -3.0),
        (np.uint64(2**64 - 1), 2.0**64),
        (np.longdouble("0.5"), 0.5),
        (Decimal("0.1"), 0.1),
        (Decimal("sNaN"), None),
        (Fraction(1, 4), 0.25),
        (float("inf"), float("inf")),
        (Decimal("-Infinity"), -float("inf")),
        (None, None),
        (float("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
        (np.timedelta64("NaT"), None),
        ("", None),
        (" \t\n", None),
        ("DE", "DE"),
        (" DE", "DE"),
        ("12", 12.0),
        ("012", "012"),
        ("N/A", None),
        ("1970-01-02", 86400.0),
        (np.str_("DE"), "DE"),
        (Colour.RED, "red"),
        ("ß".encode(), "ß"),
        (b" ", None),
        (dt.date(1970, 1, 2), 86400.0),
        (dt.datetime(1970, 1, 1, 0, 0, 1, 500000), 1.5),
        (dt.datetime(1970, 1, 1, 2, tzinfo=ZONE), 0.0),
        (dt.time(1, 0, 0, 250000), 3600.25),
        (dt.timedelta(days=-1, seconds=0.5), -86399.5),
        (np.datetime64("1971"), 365 * 86400.0),
        (np.datetime64(1_500, "ps"), 1e-9),
        (np.timedelta64(90, "m"), 5400.0),
        (np.datetime64(5, "10s"), 50.0),
        (np.datetime64(2**62, "D"), 2.0**62 * 86400),
        (pd.Timestamp("1970-01-01 00:00:00.000000001"), 1e-9),
        (pd.Timestamp("1970-01-01 01:00", tz="Europe/Berlin"), 0.0),
        (pd.Timedelta(1, "ns"), 1e-9),
    ],
)
def test_values(value, normal):
    assert value_of(value) == normal
    assert normal_record({"c": value}).get("c") in (normal, (normal,))
    assert [*from_dicts([{"c": "text"}, {"c": value}]).records()][1].get("c") == normal


@each(
    ("value", "got"),
    [
        ([1], "a list"),
        ((1,), "a tuple"),
        (object(), "an object"),
        (1j, "a complex"),
        (np.complex128(1), "a complex128"),
        (np.zeros(1), "a ndarray"),
        (int, "a type"),
    ],
)
def test_other_values_are_refused_by_column_and_row(value, got):
    message = rf"^column 'tags', row 3: expected a number, a text or a date, got {got}\.$"
    rows = [{"tags": 1}, {}, {"tags": "x"}, {"tags": value}]
    for X in (rows, [{**row, "more": 1} for row in rows], pd.DataFrame(rows)):
        with pytest.raises(RefusedValueError, match=message) as caught:
            to_table(X)
        assert (caught.value.column, caught.value.row) == ("tags", 3)


def test_dicts_inside_are_columns_with_dots():
    rows = [{"a": 1, "b": {"c": 2, "d": {"e": "x"}}}, {"b": {"c": 3}, "f": {}}]
    plain = [{"a": 1, "b.c": 2, "b.d.e": "x"}, {"b.c": 3}]
    assert from_dicts(rows) == from_dicts(plain)
    assert list(map(normal_record, rows)) == list(map(normal_record, plain))
    assert to_table([UserDict(rows[0])]) == to_table(plain[:1])
    with pytest.raises(RefusedValueError, match=r"column 'a\.b', row 1: expected one value, got two"):
        from_dicts([{}, {"a": {"b": 1}, "a.b": 2}])
    with pytest.raises(RefusedValueError, match=r"column 'a\.b', row 1: .*, got a list"):
        from_dicts([{}, {"a": {"b": [1]}}])
    deep = {}
    for _ in range(10_000):
        deep = {"a": deep}
    for read in (normal_record, lambda row: from_dicts([row])):
        with pytest.raises(RefusedValueError, match="at most 100 dicts inside each other"):
            read(deep)


@each("value", [10**400, -(10**400), Decimal("1e400"), Fraction(10**400)])
def test_numbers_that_no_double_holds_are_refused(value):
    for rows in ([{"n": 1}, {"n": value}], [{"n": 1}, {"n": value}, {"n": None}]):
        with pytest.raises(RefusedValueError, match=r"column 'n', row 1: expected a number that a double"):
            from_dicts(rows)


def test_refused_bytes_and_names():
    with pytest.raises(RefusedValueError, match="column 'a', row 0: expected a time with a unit"):
        from_dicts([{"a": np.timedelta64(1)}])
    with pytest.raises(RefusedValueError, match=r"column 'a\\x1b', row 0: expected bytes that are UTF-8"):
        from_dicts([{"a\x1b": b"\xff"}])
    with pytest.raises(ValueError, match="more than one column '1'"):
        from_dicts([{1: 2, "1": 3}])
    with pytest.raises(ValueError, match="more than one column '1'"):
        from_dicts([{"a": 1}, {1: 2, "1": 3}])
    with pytest.raises(ValueError, match="more than one column 'a'"):
        to_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="more than one column 'a'"):
        to_table(pa.table([[1], [2]], names=["a", "a"]))
    with pytest.raises(TypeError, match="record 1 must be a dict, got 3"):
        from_dicts([{}, 3])
    for wrong in ({"a": 1}, 3, None, "text"):
        with pytest.raises(TypeError):
            to_table(wrong)


def test_columns_stand_in_the_order_of_their_first_values():
    rows = [{"x": None, "y": ""}, {"y": 1, "x": 2, "z": None}, {"w": 1, "z": 3}]
    assert list(from_dicts(rows).columns) == ["y", "x", "w", "z"]
    assert list(from_dicts([{1: 2.0, "a": "b"}]).columns) == ["1", "a"]
    assert to_table(iter(rows)) == from_dicts([UserDict(row) for row in rows]) == to_table(to_table(rows))


ROWS = [
    {
        "int": 1, "float": 0.5, "text": "a", "bool": True, "when": NOON, "day": dt.date(2300, 1, 1),
        "span": dt.timedelta(seconds=3.3), "clock": dt.time(3, 4, 5, 6), "money": Decimal("123456789.987"),
        "bytes": b"xy",
    },
    dict.fromkeys(["int", "float", "text", "bool", "when", "day", "span", "clock", "money", "bytes"]),
    {
        "int": -3, "float": 1e300, "text": "b", "bool": False, "when": dt.datetime(1, 1, 1), "money": None,
        "day": dt.date(1, 1, 1), "span": -dt.timedelta(1), "clock": dt.time(0), "bytes": b" ",
    },
]  # fmt: skip


@each("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist, pa.RecordBatch.from_pylist])
def test_frames_give_the_table_of_their_records(make):
    assert to_table(make(ROWS)) == from_dicts(ROWS)
    assert to_table(make(ROWS[:2])[:1]) == from_dicts(ROWS[:1])


KINDS = {
    "n": st.floats() | st.none(),
    "i": st.integers(-(2**53), 2**53),
    "t": st.sampled_from(["", " ", "a", "b", "ß"]) | st.none(),
    "d": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)) | st.none(),
    "b": st.booleans(),
}


@given(st.lists(st.fixed_dictionaries(KINDS), min_size=1, max_size=6))
def test_frames_of_any_values(rows):
    rows = [{name: row[name] for name in KINDS} for row in rows]
    table = from_dicts(rows)
    types = {"n": pa.float64(), "i": pa.int64(), "t": pa.string(), "d": pa.timestamp("us"), "b": pa.bool_()}
    arrow = pa.Table.from_pylist(rows, pa.schema(types))
    assert to_table(arrow) == table
    assert to_table(arrow.to_pandas()) == table
    assert to_table(pl.DataFrame(arrow)) == table
    assert to_table(pd.DataFrame(rows)) == table
    coded = [(name, arrow[name].dictionary_encode() if name == "t" else arrow[name]) for name in types]
    assert to_table(pa.table(dict(coded))) == table


@each(
    "series",
    [
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series(["a", None, "b"], dtype=pd.CategoricalDtype(["b", "", "a", "unused"])),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype=object),
        pd.Series(["a", "", "b"]),
        pd.Series(["a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
        pd.Series([b"a", b"", b"b"]),
        pl.Series(["a", None, "b"], dtype=pl.Categorical),
        pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a", "unused"])),
        pl.Series(["a", None, "b"], dtype=pl.String),
        pl.Series([b"a", None, b"b"]),
        pa.array(["a", None, "b"], pa.large_string()),
        pa.array(["a", None, "b"], pa.string_view()),
        pa.array([b"a", None, b"b"], pa.binary(1)),
        pa.array([b"a", None, b"b"], pa.large_binary()),
        pa.DictionaryArray.from_arrays(pa.array([2, None, 1], pa.uint8()), pa.array(["x", "b", "a"])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", None, "b"])),
        pa.chunked_array([["a"], [None, "b"]]),
    ],
)  # fmt: skip
def test_texts_of_every_kind(series):
    assert to_table(frame_of(series)) == from_dicts([{"c": "a"}, {}, {"c": "b"}])


@each(
    "series",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1, None, 3], dtype="Float32"),
        pd.Series([1, None, 3], dtype=object),
        pd.Series([1, np.nan, 3], dtype=pd.SparseDtype(float)),
        pd.Series([1, None, 3], dtype=pd.ArrowDtype(pa.int8())),
        pd.Series([Decimal(1), None, Decimal(3)]),
        pl.Series([1, None, 3], dtype=pl.UInt8),
        pl.Series([1, None, 3], dtype=pl.Int128),
        pl.Series([1, None, 3], dtype=pl.Decimal(10, 2)),
        pa.array([1, None, 3], pa.float16()),
        pa.array([1, None, 3], pa.decimal256(60, 3)),
        pa.array([1, None, 3], pa.time32("s")),
        pa.array([1_000, None, 3_000], pa.duration("ms")),
        pa.RunEndEncodedArray.from_arrays([1, 2, 3], pa.array([1, None, 3])),
    ],
)  # fmt: skip
def test_numbers_of_every_kind(series):
    assert to_table(frame_of(series)) == from_dicts([{"c": 1}, {}, {"c": 3}])


def test_categories_are_texts():
    """Whatever they look like: pandas and pyarrow call something a category because a user said so."""
    for frame in (
        pd.DataFrame({"c": pd.Series([1, None, 2], dtype="Int64").astype("category")}),
        pa.table({"c": pa.array([1, None, 2]).dictionary_encode()}),
    ):
        assert is_records(frame)
        assert list(to_table(frame).records()) == [{"c": "1"}, {}, {"c": "2"}]
    cut = pd.DataFrame({"c": pd.cut([1, 5, 9], [0, 4, 8])})
    assert to_table(cut) == from_dicts([{"c": "(0, 4]"}, {"c": "(4, 8]"}, {}])
    twice = pd.DataFrame({"c": pd.Categorical(["1", 1, b"x", None])})
    assert list(to_table(twice).records()) == [{"c": "1"}, {"c": "1"}, {"c": "x"}, {}]
    encoding = Encoder().build()
    assert encoding.encode(to_table(twice))[1] == [(0, 1), (2, 2)]
    assert encoding.encode_one({"c": 1}, grow=False).tolist() == [1.0, 0.0]  # numbers are categories now


DAYS = [dt.datetime(2024, 5, 1), None, dt.datetime(1950, 1, 1)]


@each(
    "series",
    [
        *(pd.Series(DAYS).astype(f"datetime64[{unit}]") for unit in ("s", "ms", "us", "ns")),
        pd.Series(DAYS).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        pd.Series([pd.Timestamp(2024, 5, 1), pd.NaT, dt.date(1950, 1, 1)], dtype=object),
        pd.Series(DAYS, dtype=pd.ArrowDtype(pa.timestamp("ms"))),
        pl.Series(DAYS, dtype=pl.Date),
        *(pl.Series(DAYS, dtype=pl.Datetime(unit)) for unit in ("ms", "us", "ns")),
        pl.Series(DAYS).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        *(pa.array(DAYS, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
        pa.array(DAYS, pa.timestamp("us", "UTC")),
        pa.array(DAYS, pa.date32()),
        pa.array(DAYS, pa.date64()),
    ],
)  # fmt: skip
def test_dates_of_every_kind(series):
    table = to_table(frame_of(series))
    assert table == from_dicts([{"c": day} for day in DAYS])
    assert table.columns["c"].dates.tolist() == [True, False, True]


def frame_of(series):
    """A frame with this column, of the library of the column."""
    if isinstance(series, pd.Series):
        return pd.DataFrame({"c": series})
    return pl.DataFrame({"c": series}) if isinstance(series, pl.Series) else pa.table({"c": series})


@each(
    ("frame", "got"),
    [
        (pa.table({"c": [None, [1]]}), "a list"),
        (pa.table({"c": [None, {"a": 1}]}), "a struct"),
        (pl.DataFrame({"c": [None, [1]]}), "a list"),
        (pl.DataFrame({"c": pl.Series([None, object()], dtype=pl.Object)}), "an object"),
        (pd.DataFrame({"c": [None, {1}]}), "a set"),
        (pd.DataFrame({"c": pd.Series([None, [1]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))}), "a list"),
        (pd.DataFrame({"c": pd.Series([None, pd.Interval(0, 1)])}), "an Interval"),
    ],
)
def test_refused_columns_of_frames(frame, got):
    with pytest.raises(RefusedValueError, match=f"column 'c', row 1: expected a number.*got {got}"):
        to_table(frame)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_which_frames_are_records(make):
    numbers, mixed = make({"a": [1, 2], "b": [0.5, None], "c": [True, False]}), make({"a": [1], "b": ["x"]})
    assert holds_only_numbers(make({"a": [1, 2], "c": [True, False]}))
    assert not is_records(make({"a": [1, 2], "b": [0.5, 1.5]}))
    assert not is_records(numbers)
    assert is_records(mixed)
    assert is_records(make({"a": [dt.datetime(2024, 1, 1)]}))


def test_what_else_is_records():
    assert is_records([{"a": 1}])
    assert is_records(({"a": 1},))
    assert is_records(np.array([{"a": 1}], object))
    assert is_records(from_dicts([]))
    for X in ([], {}, {"a": 1}, [[1]], np.eye(2), "text", None, pd.Series(["a"]), pl.Series(["a"]),
              pa.array(["a"]), pd.DataFrame, np.array([1], object)):  # fmt: skip
        assert not is_records(X), X
    assert not is_records(pd.DataFrame({"a": pd.Series([1, 2.5], dtype=object)}))
    assert is_records(pd.DataFrame({"a": pd.Series([1, "x"], dtype=object)}))


class Exporter:
    """A frame of a library that is not known, which exports an Arrow stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_any_arrow_stream_is_a_frame():
    table = pa.table({"a": ["x", "y"], "b": [1, None]})
    assert is_records(Exporter(table))
    assert not is_records(Exporter(pa.table({"b": [1, 2]})))
    assert to_table(Exporter(table)) == to_table(table) == from_arrow(table)


@given(records)
def test_empty_parts(rows):
    table = from_dicts(rows)
    assert list(table[:0].records()) == []
    assert to_table(table) is table
    assert isinstance(from_dicts([{} for _ in rows]), Table)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_empty_frames(make):
    assert to_table(make({})).shape == (0, 0)
    assert to_table(make({"a": ["x"]})[:0]).shape == (0, 0)
    assert to_table(make({"a": [None, None]})).shape == (2, 0)


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd, polars as pl
from budgetron.records.reading import from_dicts, is_records, to_table
rows = [{"a": 1.5, "b": "x", "c": pd.Timestamp("2024-01-01")}, {"a": None, "b": None, "c": None}]
for make in (pd.DataFrame, pl.DataFrame):
    assert to_table(make(rows)) == from_dicts(rows), make
    assert is_records(make(rows))
class Other:
    def __arrow_c_stream__(self): ...
try:
    to_table(Other())
except ImportError as error:
    assert "pip install 'pyarrow>=15'" in str(error)
else:
    raise AssertionError
"""


def test_pandas_and_polars_without_pyarrow():
    subprocess.run([sys.executable, "-c", WITHOUT_PYARROW], check=True)
