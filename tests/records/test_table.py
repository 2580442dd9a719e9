"""The normal form: slices, joins, files."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetron.records.reading import from_dicts, to_table
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


def alike(one, other):
    """Equal tables, whose records are equal to the last bit, and the order of the columns as well."""
    assert one == other
    assert list(one.columns) == list(other.columns)
    assert str([*one.records()]) == str([*other.records()])


@given(st.data())
def test_slices_and_index_arrays_are_those_of_the_records(data):
    rows = data.draw(records)
    table = from_dicts(rows)
    assert len(table) == table.shape[0] == len(rows)
    part = data.draw(st.slices(len(rows)))
    alike(table[part], from_dicts(rows[part]))
    if rows:
        index = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1)))
        alike(table[np.array(index, int)], from_dicts([rows[i] for i in index]))
        mask = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
        alike(table[np.array(mask)], from_dicts([r for r, m in zip(rows, mask, strict=True) if m]))


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
    alike(back, table)
    alike(back[1:], from_dicts(rows[1:]))  # also the order of the values within the rows is kept


@given(st.data())
def test_frames_in_parts(data):
    rows = data.draw(records)
    names = data.draw(st.permutations(sorted({str(name) for row in rows for name in row})))
    frame = pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})
    part = data.draw(st.slices(len(rows)))
    alike(to_table(frame)[part], to_table(frame.iloc[part]))


def test_a_missing_value_does_not_fix_the_order():
    rows = [{"c": None, "a": 1}, {"a": 1, "b": 2, "c": 3}]
    assert list(from_dicts(rows).columns) == ["a", "b", "c"]


def test_rows_that_are_left_out_do_not_change_the_order():
    """As rows of weight 0: what is learned of the others is what is learned of them alone."""
    rows = [{"a": 1, "b": 2}, {"b": 3, "a": 4, "c": 5}, {"d": 1, "c": 2}]
    assert list(from_dicts(rows)[1:].columns) == ["b", "a", "c", "d"]
    frame = pd.DataFrame({"c": [None, 1.0], "a": [1.0, 2.0]})
    assert list(to_table(frame).columns) == ["a", "c"]
    assert list(to_table(frame)[1:].columns) == ["c", "a"]


def test_columns_that_few_rows_have_need_the_memory_of_their_values():
    rows = [{f"c{i}": i, f"d{i}": "t", "n": i} for i in range(20_000)]
    tracemalloc.start()
    try:
        table = from_dicts(rows)[::-1]
        assert joined([table[:10_000], table[10_000:]]).shape == (20_000, 40_001)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60e6
    assert [*table[:1].records()] == [{"c19999": 19999.0, "d19999": "t", "n": 19999.0}]
    assert table.columns["c5"].first() == 19_994


def test_a_join_forgets_what_no_row_has():
    """A buffer of rows that come and go keeps neither old texts nor old columns."""
    table = from_dicts([{"a": f"t{i}", f"c{i}": 1} for i in range(100)])
    kept = joined([table[99:], table[:0]])
    assert kept.columns["a"].texts == ["t99"]
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
    yield {**good, "names": names}, "the same name"
    yield {**good, "names": np.full_like(names, 0xFF)}, "UTF-8"
    for ends in ([0, 0, 0], [3, 2, 3], [-1, 1, 3], [1, 2, 2**62], [2**63 - 1, -(2**63), 3]):
        yield {**good, "name_ends": np.array(ends)}, "table"
        yield {**good, "layout_ends": np.array([*ends, 0])}, "layout"
    for name, wrong, message in (
        ("codes", (-2, 2, 2**31 - 1), "inconsistent"),
        ("cell_rows", (-1, 5, 2**31 - 1), "outside"),
        ("cell_columns", (-1, 3, 2**31 - 1), "outside"),
        ("layouts", (-1, 3, 2**31 - 1), "names no column"),
        ("layout_of_row", (-1, 5, 2**31 - 1), "has no layout"),
    ):
        for number in wrong:
            changed = good[name].copy()
            changed[1] = number
            yield {**good, name: changed}, message
    yield {**good, "cell_rows": good["cell_rows"][::-1].copy()}, "not in order"
    yield {**good, "cell_columns": np.zeros_like(good["cell_columns"])}, "not in order"
    yield {**good, "codes": np.full_like(good["codes"], -1)}, "inconsistent"
    yield {**good, "numbers": np.ones_like(good["numbers"])}, "inconsistent"
    yield {**good, "dates": np.ones_like(good["dates"])}, "inconsistent"


@each(("arrays", "message"), [*damaged()])
def test_damaged_files_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        Table.from_arrays(arrays)
