"""Cells of CSV files mean the same wherever a batch was cut."""

import datetime as dt
import re

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from budgetron import _core
from budgetron.records.arrow import column_of_texts
from budgetron.records.reading import from_arrow
from budgetron.records.table import Column, Table, joined
from budgetron.records.texts import meaning
from budgetron.records.values import coded
from tests.helpers.cases import each

YEAR = dt.datetime(2024, 1, 1, tzinfo=dt.UTC).timestamp()

MEANINGS = {
    "1": 1.0, "-1.5": -1.5, "+2": 2.0, ".5": 0.5, "5.": 5.0, "1e3": 1000.0, "1E-3": 0.001, " 7 ": 7.0,
    "007": "007", "01234": "01234", "0.5": 0.5, "00": 0.0, "0e3": 0.0, "-05": -5.0,
    "1e999": float("inf"), "-inf": -float("inf"), "Infinity": float("inf"), "1e-999": 0.0,
    "0.1": 0.1, "123456789012345678901234567890": 123456789012345678901234567890.0,
    "nan": None, "NaN": None, "": None, " ": None, "\t": None, "NA": None, "n/a": None, "-": None,
    "null": None, "None": None, "?": None, "#N/A": None, " - ": None,
    "true": 1.0, "True": 1.0, "FALSE": 0.0,
    "2024-01-01": (YEAR,), "2024-01-01 00:00": (YEAR,), "2024-01-01T00:00:00": (YEAR,),
    "2024-01-01 01": (YEAR + 3600,), " 2024-01-01 ": (YEAR,), "1900-01-01": (-2208988800.0,),
    "2024-01-01T00:00:00Z": (YEAR,), "2024-01-01T02:00:00+02:00": (YEAR,), "2024-01-01T02:00+0200": (YEAR,),
    "2023-12-31T22:30-0130": (YEAR,), "2024-01-01T00:00:00.25": (YEAR + 0.25,),
    "2024-01-01T00:00:00.000000001": (YEAR + 1e-9,), " DE ": "DE",
}  # fmt: skip
TEXTS = [
    "DE", "1,5", "1_000", "0x1A", "１", "e5", ".", "1 2", "nan(1)", "not", "--1", "+", "12:30", "2024-1-1",
    "2024-02-30", "0000-01-01", "2024-01-01T24:00", "2024-01-01T00:00:60", "2024-01-01T00:00+24:00",
]  # fmt: skip
MEANINGS |= {text: text for text in TEXTS}


def read(cells):
    return Table(len(cells), {"c": column_of_texts(pa.array(cells, pa.string()))})


def one_by_one(cells):
    """The same by definition."""
    parts = []
    for cell in cells:
        value = None if cell is None else meaning(cell)
        if isinstance(value, str):
            column = coded(np.zeros(1, np.int32), [value])
        elif isinstance(value, tuple):
            column = Column(np.array(value), np.ones(1, bool))
        else:
            column = Column(np.array([np.nan if value is None else value]))
        parts.append(Table(1, {"c": column}))
    return joined(parts)


@each(("cell", "value"), MEANINGS.items())
def test_meanings(cell, value):
    assert meaning(cell) == value
    assert read([cell]) == one_by_one([cell])


CELLS = st.sampled_from([*MEANINGS, None])


@given(text=st.text('0015,; \t\n\r"a.', max_size=60))
def test_codes_in_csv_are_found(text):
    cell = re.search(r'(?:\A|[,\n\r"]|(?:\A|[,\n\r" \t])[ \t])0[0-9]', text)
    assert _core.may_have_codes(text.encode(), ",") == (cell is not None)


NUMBER_LIKE = st.text("0123456789+-.eE xinfa_()", max_size=6) | st.floats().map(repr)
DATE_LIKE = st.builds(
    "{}-{:02}-{:02}{}".format,
    st.sampled_from(["0000", "0001", "1969", "2024", "9999"]),
    st.integers(0, 13),
    st.integers(0, 32),
    st.text("T Z+-:0123456789.", max_size=4)
    | st.builds(
        "{}{:02}:{:02}{}{}".format,
        st.sampled_from("T tx"),
        st.integers(0, 25),
        st.integers(0, 61),
        st.sampled_from(["", ":00", ":59", ":60", ":00.5", ":00.123456", ":00.123456789", ":00,5", ":00."]),
        st.sampled_from(["", "Z", "z", "+02:00", "-0330", "+02", "+24:00", "+00:60", " UTC"]),
    ),
)


@given(st.lists(NUMBER_LIKE, max_size=4) | st.lists(DATE_LIKE, max_size=4) | st.lists(CELLS, max_size=6))
@example(["1", "nan(1)"])
@example(["1", ""])
def test_columns_mean_what_their_cells_mean(cells):
    assert read(cells) == one_by_one(cells)


@given(NUMBER_LIKE | DATE_LIKE)
def test_a_cell_means_the_same_alone(cell):
    """The grammar has every number and date that pyarrow reads, with the same value."""
    assert read([cell]) == one_by_one([cell])


def test_batches_cut_anywhere_give_the_same_table():
    columns = {
        "numbers": ["1", "2.5", "", "4", " 5", "x", "7", "1e3", "-0", "nan"],
        "dates": ["2024-01-01", "2024-01-02", "", "2024-01-01T00Z", "soon", "5", "2024-02-29", "", "", ""],
        "texts": ["a", "b", "a", "", "true", "12", "c", "a", "2024-01-01", " b"],
    }  # fmt: skip
    arrow = pa.table(columns)
    whole = from_arrow(arrow, cells=columns)
    assert whole == Table(10, {name: one_by_one(cells).columns["c"] for name, cells in columns.items()})
    for i in range(11):
        for j in range(i, 11):
            cut = [arrow[:i], arrow[i:j], arrow[j:]]
            assert joined([from_arrow(part, cells=columns) for part in cut]) == whole
    assert from_arrow(arrow) == whole  # a text means the same wherever it comes from
    chunked = pa.concat_tables([arrow[:3], arrow[3:]])
    assert from_arrow(chunked, cells=columns) == whole
