"""The normal form: slices, joins, files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetron.records.reading import from_dicts
from budgetron.records.table import Table, joined
from tests.helpers.cases import each
from tests.records.strategies import cuts, pieces, records

RECORDS = [
    {"n": 1, "t": "a"},
    {"n": None, "t": "b", "m": 2},
    {},
    {"t": 4.5},
    {"n": np.datetime64("2020-01-01")},
]


@given(st.data())
def test_slices_and_index_arrays_are_those_of_the_records(data):
    rows = data.draw(records)
    table = from_dicts(rows)
    assert len(table) == table.shape[0] == len(rows)
    part = data.draw(st.slices(len(rows)))
    assert table[part] == from_dicts(rows)[part]
    assert [*table[part].records()] == [*table.records()][part]
    if rows:
        index = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1)))
        assert [*table[np.array(index, int)].records()] == [[*table.records()][i] for i in index]
        mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
        assert [*table[mask].records()] == [r for r, m in zip(table.records(), mask, strict=True) if m]


@given(st.data())
def test_joined_pieces_are_the_whole(data):
    rows = data.draw(records)
    parts = pieces(rows, data.draw(cuts(len(rows))))
    assert joined([from_dicts(part) for part in parts]) == from_dicts(rows)
    table = from_dicts(rows)
    assert joined(pieces(table, data.draw(cuts(len(rows))))) == table


@given(records)
def test_files(rows):
    table = from_dicts(rows)
    arrays = table.as_arrays()
    assert {a.dtype.str.lstrip("<|") for a in arrays.values()} <= {"i8", "u1", "b1", "f8", "i4"}
    back = Table.from_arrays(arrays)
    assert back == table
    assert list(back.columns) == list(table.columns)


def test_a_join_forgets_what_no_row_has():
    """A buffer of rows that come and go keeps neither old texts nor old columns."""
    table = from_dicts([{"a": str(i), f"c{i}": 1} for i in range(100)])
    kept = joined([table[99:], table[:0]])
    assert kept.columns["a"].texts == ["99"]
    assert list(kept.columns) == ["a", "c99"]


def test_equality_sees_every_kind_of_difference():
    table = from_dicts(RECORDS)
    assert table == from_dicts(RECORDS)
    assert table != from_dicts(RECORDS[:-1])
    assert table != from_dicts([*RECORDS[:-1], {"n": 1577836800.0}])  # a number is not a date
    assert table != from_dicts([{"n": 2, "t": "a"}, *RECORDS[1:]])
    assert table != from_dicts([{"n": 1, "t": "c"}, *RECORDS[1:]])
    assert table != from_dicts([{"t": "a", "n": 1}, *RECORDS[1:]])
    assert table != "table"


@each("index", [3, [[0]], [0.5], "a"])
def test_other_indices_are_refused(index):
    with pytest.raises(TypeError, match="a slice or an array of row numbers"):
        from_dicts(RECORDS)[index]


def damaged():
    """Arrays of a table, each with one part changed, and what the error says."""
    good = from_dicts(RECORDS).as_arrays()
    for name in good:
        yield {**good, name: good[name].astype(np.float32)}, "no valid"
        yield {**good, name: good[name][None]}, "no valid"
        yield {k: v for k, v in good.items() if k != name}, "no valid"
        if name not in ("names", "texts", "numbers"):
            yield {**good, name: good[name][:-1]}, "table"
            yield {**good, name: np.concatenate([good[name], good[name]])}, "table"
    for rows in (-1, 3, 2**62):
        yield {**good, "rows": np.array([rows])}, "table"
    names = good["names"].copy()
    names[1] = names[0]
    yield {**good, "names": names}, "do not match their names"
    yield {**good, "names": np.full_like(names, 0xFF)}, "UTF-8"
    for ends in ([0, 0, 0], [3, 2, 3], [-1, 1, 3], [1, 2, 2**62], [2**63 - 1, -(2**63), 3]):
        yield {**good, "name_ends": np.array(ends)}, "table"
    for code in (-2, 2, 2**31 - 1):
        codes = good["codes"].copy()
        codes[0, 2] = code
        yield {**good, "codes": codes}, "inconsistent"
    for sizes in ([-1], [3], [2**62], [1, 1], []):
        yield {**good, "text_counts": np.array(sizes, np.int64)}, "texts of a table"
    both = good["numbers"].copy()
    both[:] = 1.0
    yield {**good, "numbers": both}, "inconsistent"
    yield {**good, "dates": np.ones_like(good["dates"])}, "inconsistent"


@each(("arrays", "message"), [*damaged()])
def test_damaged_files_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        Table.from_arrays(arrays)
