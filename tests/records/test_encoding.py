"""Encoding: the same for any batches, bounded, stable, restorable."""

import json
import math
import subprocess
import sys
import timeit
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone

from budgetron import Encoder
from budgetron.records.encoding import BLOCK, LONGEST
from budgetron.records.periods import PERIODS, place_in_period
from budgetron.records.reading import from_dicts
from budgetron.records.table import joined
from budgetron.records.values import RefusedValueError
from tests.helpers.cases import each
from tests.records.strategies import cuts, pieces, records

encoders = st.builds(
    Encoder,
    most_columns=st.sampled_from([33, 34, 36, 40, 256]),
    most_values=st.integers(1, 4),
    columns=st.sampled_from([None, None, {"amount": "text", "country": "category", "when": "date"}]),
    words=st.sampled_from([4, 8]),
    decide_after=st.sampled_from([1, 2, 3, 100]),
)


def same(a, b):
    """Whether arrays have the same shape and bits; NaN is NaN."""
    bits = [np.where(np.isnan(x), np.nan, x).tobytes() for x in (a, b)]
    return a.shape == b.shape and bits[0] == bits[1]


def in_pieces(encoding, tables):
    """The rows of each table at the last width, and all growth points, counted from the first table."""
    parts, growth, start = [], [], 0
    for table in tables:
        X, points = encoding.encode(table)
        parts.append(X)
        growth += [(start + row, width) for row, width in points]
        start += len(table)
    return parts, growth


@given(st.data())
def test_any_batches_give_the_same_slots_growth_and_numbers(data):
    encoder, rows = data.draw(encoders), data.draw(records)
    whole = encoder.build()
    X, growth = whole.encode(from_dicts(rows))
    cut = data.draw(cuts(len(rows)))
    by_slices = pieces(from_dicts(rows), cut)
    by_lists = [from_dicts(part) for part in pieces(rows, cut)]
    for tables in (by_slices, by_lists):
        encoding = encoder.build()
        parts, points = in_pieces(encoding, tables)
        assert points == growth
        assert encoding.columns == whole.columns
        assert encoding.state() == whole.state()
        start = 0
        for part in parts:
            stop = start + len(part)
            assert same(part, X[start:stop, : part.shape[1]])
            start = stop


@example(Encoder(), [{"n" * 300: "DE"}, {"amount": "t" * 300}])  # hashed, but a column to remember
@given(encoders, records)
def test_one_by_one_is_the_same(encoder, rows):
    whole, single = encoder.build(), encoder.build()
    X, growth = whole.encode(from_dicts(rows))
    widths = dict(growth)
    width = 0
    for i, row in enumerate(rows):
        width = widths.get(i, width)
        x = single.encode_one(row)
        assert len(x) == single.width == width
        assert same(x, X[i, :width])
    assert single.state() == whole.state()
    again, _ = whole.encode(from_dicts(rows), grow=False)
    for row, x in zip(rows, again, strict=True):
        assert same(single.encode_one(row, grow=False), x)
        backwards = dict(reversed(row.items()))
        assert same(single.encode_one(backwards, grow=False), x)


@given(encoders, records)
def test_a_table_that_is_decided_first_is_read_as_later(encoder, rows):
    table = from_dicts(rows)
    encoding = encoder.build().decided(table)
    settled = [name for name, kind in encoding.kinds.items() if kind.is_settled and kind.kind != "date"]
    encoding = encoding.copy()
    encoding.encode(table)
    kinds = {name: encoding.kinds[name].kind for name in settled}
    encoding.encode(table)
    assert {name: encoding.kinds[name].kind for name in settled} == kinds


@given(encoders, records, records)
def test_without_growing_the_state_stays(encoder, rows, others):
    encoding = encoder.build()
    encoding.encode(from_dicts(rows))
    state = encoding.state()
    X, growth = encoding.encode(from_dicts(others), grow=False)
    assert growth == []
    assert X.shape == (len(others), encoding.width)
    for row, x in zip(others, X, strict=True):
        assert same(encoding.encode_one(row, grow=False), x)
    assert encoding.state() == state


@given(st.data())
def test_saved_and_restored_in_between(data):
    encoder, rows = data.draw(encoders), data.draw(records)
    cut = data.draw(st.integers(0, len(rows)))
    through, before, after = encoder.build(), encoder.build(), encoder.build()
    X, _ = through.encode(from_dicts(rows))
    before.encode(from_dicts(rows[:cut]))
    after.restore(json.loads(json.dumps(before.state())))
    assert same(after.encode(from_dicts(rows[cut:]))[0], X[cut:])
    assert after.state() == through.state()
    assert same(after.encode_one({}), through.encode_one({}))


@given(st.data())
def test_shuffled_rows_do_not_depend_on_batches(data):
    """Rows that leave a buffer in another order: joins may have dropped columns in between."""
    encoder, rows = data.draw(encoders), data.draw(records)
    orders = data.draw(st.permutations(range(len(rows))))
    whole, other = encoder.build(), encoder.build()
    table = from_dicts(rows)
    _, growth = whole.encode(table[np.array(orders, int)])
    cut = data.draw(cuts(len(rows)))
    held = joined(pieces(table, cut))
    _, points = in_pieces(other, [held[np.array(part, int)] for part in pieces(orders, cut)])
    assert points == growth
    assert other.state() == whole.state()


@given(encoders, records)
def test_bounds(encoder, rows):
    encoding = encoder.build()
    X, growth = encoding.encode(from_dicts(rows))
    assert X.shape[1] == encoding.width == len(encoding.columns) <= encoder.most_columns + 4 * encoder.words
    assert [w for _, w in growth] == sorted({w for _, w in growth})
    assert [r for r, _ in growth] == sorted({r for r, _ in growth})
    assert all(len(c["values"]) <= encoder.most_values for c in encoding.state()["columns"])
    assert "" not in encoding.columns or any("" in row for row in rows)


def test_slots():
    encoding = Encoder().build()
    night, day = np.datetime64("1970-01-01T00:00"), np.datetime64("1970-01-01T06:00")
    rows = [{"n": 2, "t": "a", "d": night}, {"t": 5}, {"t": "b", "d": day}, {"d": 3, "n": None}]
    X, growth = encoding.encode(from_dicts(rows))
    assert encoding.columns == ["n", "t=a", "t", "t=b", "d (sine of day)", "d (cosine of day)", "d"]
    assert growth == [(0, 2), (1, 3), (2, 6), (3, 7)]
    nan = math.nan
    expected = [
        [2, 1, nan, 0, 0, 1, nan],
        [nan, 0, 5, 0, nan, nan, nan],
        [nan, 0, nan, 1, 1, 0, nan],
        [nan, 0, nan, 0, nan, nan, 3],
    ]
    np.testing.assert_allclose(X, expected, atol=1e-15)
    assert encoding.describe() == "7 columns: 3 of numbers, 2 of times, 2 indicators of 1 column."


@each(
    ("part", "moment", "place"),
    [
        ("day", "2024-05-01T12:00", 0.5),
        ("week", "2024-04-29", 0.0),  # a Monday
        ("week", "2024-05-05T12:00", 6.5 / 7),
        ("year", "2024-01-01", 0.0),
        ("year", "2024-07-01", 0.5),
    ],
)
def test_parts_of_time(part, moment, place):
    [sine], [cosine] = place_in_period(np.array([np.datetime64(moment, "s").astype(float)]), part)
    error = 0.03 if part == "year" else 1e-9  # years are 365.2425 days
    angle = 2 * math.pi * place
    assert (sine, cosine) == pytest.approx((math.sin(angle), math.cos(angle)), abs=error)


def test_values_beyond_the_limit_are_hashed():
    encoding = Encoder(most_values=3, columns={"user": "category"}).build()
    rows = [{"user": f"u{i}"} for i in range(1000)]
    X, growth = encoding.encode(from_dicts(rows))
    assert encoding.columns == [*(f"user=u{i}" for i in range(3)), *(f"hashed {i}" for i in range(BLOCK))]
    assert growth == [(0, 1), (1, 2), (2, 3), (3, 3 + BLOCK)]
    np.testing.assert_array_equal(X[:3, :3], np.eye(3))
    assert not X[:3, 3:].any()
    assert not X[3:, :3].any()
    np.testing.assert_array_equal(np.abs(X[3:]).sum(axis=1), 1)
    used = np.abs(X[3:, 3:]).sum(axis=0)
    assert used.min() > 10  # 31 a place on average
    assert used.max() < 60
    assert 400 < (X[3:] < 0).sum() < 600
    assert "Partly hashed: 'user'" in encoding.describe()
    memory = encoding.memory_bytes
    encoding.encode(from_dicts([{"user": f"v{i}"} for i in range(1000)]))
    assert encoding.memory_bytes == memory


def test_columns_beyond_the_limit_are_hashed():
    encoding = Encoder(most_columns=BLOCK + 4).build()
    rows = [{f"c{i}": 1.0 + i for i in range(100)}]
    X, growth = encoding.encode(from_dicts(rows))
    assert growth == [(0, BLOCK + 4)]
    assert X[0, :4].tolist() == [1, 2, 3, 4]
    assert X[0, 4:].any()
    assert "columns that came later" in encoding.describe()
    assert encoding.encode(from_dicts(rows), grow=True)[1] == []


def test_long_names_and_texts_are_hashed():
    encoding = Encoder().build()
    encoding.encode(
        from_dicts([{"n" * (LONGEST + 1): 1.0}, {"t": "t" * (LONGEST + 1)}, {"t": "t" * LONGEST}])
    )
    assert encoding.columns == [*(f"hashed {i}" for i in range(BLOCK)), "t=" + "t" * LONGEST]


STABLE = """
import numpy as np
from budgetron import Encoder
from budgetron.records.periods import PERIODS, place_in_period
from budgetron.records.reading import from_dicts
encoding = Encoder(most_columns=40, most_values=2).build()
rows = [{f"c{i % 17}": f"v{i}", "n": i, "w\\u00df": 0.1 * i} for i in range(200)]
X, _ = encoding.encode(from_dicts(rows))
print(np.nan_to_num(X).tobytes().hex(), encoding.columns)
"""


def test_hashes_do_not_depend_on_the_process():
    runs = [
        subprocess.run(
            [sys.executable, "-c", STABLE], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("0", "1", "2")
    ]
    assert runs[0] == runs[1] == runs[2]
    assert b"hashed 31" in runs[0]


def test_the_hash_is_fixed():
    """Saved models rely on it."""
    encoding = Encoder(most_columns=33, most_values=1).build()
    encoding.encode_one({"a": 1.0})
    rows = [encoding.encode_one({"user": text})[1:] for text in ("DE", "FR", "ß")]
    assert [(int(np.argmax(np.abs(row))), row.sum()) for row in rows] == [(30, 1.0), (20, 1.0), (11, 1.0)]


def test_refused_records_change_nothing():
    encoding = Encoder().build()
    encoding.encode_one({"a": 1.0})
    for grow in (True, False):
        with pytest.raises(RefusedValueError, match="column 'b', row 0: expected a number"):
            encoding.encode_one({"c": 1, "b": []}, grow)
        with pytest.raises(RefusedValueError, match="column 'a', row 0: expected a number that a double"):
            encoding.encode_one({"a": 10**400}, grow)
        with pytest.raises(TypeError, match="must be a dict"):
            encoding.encode_one([1], grow)
    assert encoding.columns == ["a"]


def test_a_copy_grows_separately():
    encoding = Encoder().build()
    encoding.encode_one({"a": 1.0, "b": "x"})
    other = encoding.copy()
    other.encode_one({"c": 1.0, "b": "y"})
    assert encoding.columns == ["a", "b=x"]
    assert other.columns == ["a", "b=x", "b=y", "c"]
    assert encoding.encode_one({"b": "y"}, grow=False).tolist()[1:] == [0.0]


@each(
    ("encoder", "message"),
    [
        (Encoder(most_columns=32), "most_columns must be above 32, got 32"),
        (Encoder(most_columns=0), "most_columns must be a whole number above 0"),
        (Encoder(most_values=1.5), "most_values must be a whole number above 0"),
        (Encoder(columns={"a": "txt"}), r"columns\['a'\] must be one of .*, got 'txt'; did you mean text"),
        (Encoder(columns={"a": 3}), r"columns\['a'\] must be one of .*, got 3"),
        (Encoder(words=5), "words must be a power of two from 4 to 65536, got 5"),
        (Encoder(decide_after=0), "decide_after must be a whole number above 0"),
    ],
)
def test_bad_parameters(encoder, message):
    with pytest.raises(ValueError, match=f"^Encoder: {message}"):
        encoder.build()


def test_the_encoder_is_a_description():
    assert clone(Encoder(most_values=3)) == Encoder(most_values=3)
    text = "Encoder(most_columns=256, most_values=32, columns=None, words=512, decide_after=100)"
    assert repr(Encoder()) == text
    with pytest.raises(TypeError, match="columns must be a dict"):
        Encoder(columns="text").build()


def forged():
    encoding = Encoder(most_values=2, words=4, columns={"w": "text"}).build()
    days = zip("abc", ("2020-01-01", "2020-01-02T03", "2020-01-01T09"), strict=True)
    encoding.encode(from_dicts([{"n": 1, "t": t, "d": np.datetime64(d), "w": "to be"} for t, d in days]))
    good = json.dumps(encoding.state())
    yield None
    yield []
    for key in json.loads(good):
        yield {k: v for k, v in json.loads(good).items() if k != key or key == "block"} | {key: "x"}
    for value in (None, -1, 3, 2**62, True, 1.0):
        yield json.loads(good) | {"block": value}
    for i, column in enumerate(json.loads(good)["columns"]):
        for key in column:
            for value in (None, -1, 0, 99, 2**70, "n", [], ["a"], ["a", "a"], [0, 1], [[]], 1.5, {}):
                if (key in ("kind", "times") and value == {}) or (
                    value == column[key] and type(value) is type(column[key])
                ):
                    continue
                state = json.loads(good)
                state["columns"][i][key] = value
                yield state
        state = json.loads(good)
        del state["columns"][i]["name"]
        yield state
    yield json.loads(good) | {"columns": json.loads(good)["columns"] * 100}


@each("state", [*forged()])
def test_forged_states_are_refused(state):
    encoding = Encoder(most_values=2, words=4).build()
    encoding.encode_one({"a": 1})
    with pytest.raises(ValueError, match="encoder"):
        encoding.restore(state)
    assert encoding.columns == ["a"]
    assert len(encoding.encode_one({"a": 1})) == 1


@pytest.mark.timing
def test_one_record_is_quick():
    """A record of 20 numbers whose names are known takes 10 microseconds, 20 on a busy machine."""
    record = {f"n{i}": 1.5 * i for i in range(20)}
    encoding = settled(record)
    seconds = min(timeit.repeat(lambda: encoding.encode_one(record), number=1000, repeat=20)) / 1000
    assert seconds < 20e-6


# ---- records without anything new


def settled(*rows):
    """An encoding that knows what the columns are."""
    encoding = Encoder(decide_after=1).build()
    for row in [*rows, *rows]:
        encoding.encode_one(row)
    return encoding


def test_the_reader_reads_what_has_a_slot():
    """Numbers, texts and missing values under known names, as a table of one record would be read."""
    encoding = settled({"a": 1.0, "2": 3, "t": "x", "c": True})
    encoding.encode_one({"t": "y"})
    for record in (
        {"a": 1, "2": False, "c": -1.0},
        {"c": np.float32(2.0), "t": "y", "a": np.int64(-1)},
        {2: 1.0},
        {"a": None, "t": None},
        {},
    ):
        expected = encoding.encode(from_dicts([record]), grow=False)[0][0]
        for _ in range(2):  # the text of a name that is an integer is kept
            assert same(encoding.reader.row(record), expected)
        assert same(encoding.known_one(record), expected)
    assert same(encoding.known_one({"a": 1.0, 2: 3}), encoding.known_one({"a": 1.0, "2": 3}))


def test_the_reader_does_not_depend_on_the_records_before():
    """Names come, go and change places; some are integers, and values in between are texts or missing."""
    encoding, rng = settled({"a": 1.0, "b": 2.0, "2": 3.0, "300": 4.0, "t": "x"}), np.random.default_rng(0)
    encoding.encode_one({"a": "x"})
    for _ in range(500):
        integers = rng.random() < 0.3
        known = ["2", "300"] if integers else ["a", "b", "2", "300", "t", "new"]
        names = rng.permutation(known)[: rng.integers(len(known) + 1)].tolist()
        values = {"t": ["x", None], "a": [1.5, 7, "x", None]}
        texts = {name: rng.choice(np.array(values.get(name, [2.5, -3, None]), object)) for name in names}
        record = {int(name) if integers else name: value for name, value in texts.items()}
        row = encoding.reader.row(record)
        if texts.get("new") is not None:
            assert row is None
        else:
            assert same(row, encoding.encode(from_dicts([record]), grow=False)[0][0])


def test_the_reader_leaves_the_rest_to_others():
    encoding = settled({"a": 1.0, "t": "x", "2": 1.0})
    values = ({"a": "x"}, {"t": "z"}, {"a": 10**400}, {"a": [1.0]})
    assert encoding.reader.row({2: 1.0}) is not None
    names = ({"b": 1.0}, {"a": 1.0, 2: 1.0}, {3: 1.0}, {2.0: 1.0}, {True: 1.0}, {("a",): 1.0})
    for other in (*values, *names, [1.0], None, 7):
        assert encoding.reader.row(other) is None
    with pytest.raises(ValueError, match="more than one column '2'"):
        encoding.known_one({"2": 1.0, 2: 2.0})


def test_a_reader_does_not_outlive_its_columns():
    encoding = settled({"a": 1.0})
    old = encoding.reader
    encoding.encode_one({"a": 1.0, "b": 2.5})
    assert len(encoding.reader.row({"a": 1.0})) == 2
    assert old.row({"a": 1.0, "b": 2.0}) is None  # its rows have one column


def test_absent_numbers_may_be_zero():
    encoding = Encoder().build()
    encoding.absent = 0.0
    rows = [{"a": 1.0, "t": "x"}, {"b": 2.0}, {"a": 3.0, "b": 4.0, "t": "y"}, {}]
    X, _ = encoding.copy().encode(from_dicts(rows))
    assert X.tolist() == [[1, 1, 0, 0], [0, 0, 2, 0], [3, 0, 4, 1], [0, 0, 0, 0]]
    for row in rows:
        encoding.encode_one(row)
    for row, x in zip(rows, X, strict=True):
        for _ in range(2):
            assert same(encoding.encode_one(row), x)
    assert same(encoding.copy().encode_one({}), np.zeros(4))


def test_names_that_are_seen_once_need_the_memory_of_the_records():
    """4,000 rows with a column each: as 4,000 columns of 4,000 rows they would take 128 MB."""
    rows = [{f"c{i}": i, f"t{i}": "text"} for i in range(4000)]
    small, large = Encoder().build(), Encoder(most_columns=300).build()
    small.encode(from_dicts([{"a": 1}]))
    tracemalloc.start()
    try:
        assert small.encode(from_dicts(rows), grow=False)[0].shape == (4000, 1)
        X, growth = large.encode(from_dicts(rows))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6
    assert (X.shape, len(growth)) == ((4000, 300), 135)
    single = Encoder(most_columns=300).build()
    assert all(same(x := single.encode_one(row), X[i, : len(x)]) for i, row in enumerate(rows[:200]))


@given(encoders, records, st.data())
def test_rows_that_are_not_learned_do_not_change_the_order_of_columns(encoder, rows, data):
    """As those of weight 0."""
    learned = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), bool)
    whole, single = encoder.build(), encoder.build()
    whole.encode(from_dicts(rows)[np.flatnonzero(learned)])
    for row, is_learned in zip(rows, learned, strict=True):
        if is_learned:
            single.encode_one(row)
    assert whole.state() == single.state()


@pytest.mark.parametrize("part", ["day", "week", "year"])
def test_equal_places_have_equal_bits(part):
    moments = np.arange(1_772_000_000 // 3600, 1_772_000_000 // 3600 + 9000) * 3600.0
    length, start = PERIODS[part]
    place = np.mod(moments + start, length)
    angle = place * (2 * np.pi / length)
    waves = place_in_period(moments, part)
    np.testing.assert_allclose(waves, [np.sin(angle), np.cos(angle)], rtol=0, atol=1e-15)
    _, first, where = np.unique(place, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(waves, waves[:, first][:, where])
