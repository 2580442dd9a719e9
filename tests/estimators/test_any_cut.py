"""However records are cut into calls, the model is the same, bit for bit: 100 streams of ``fuzz.any_cut``.

The campaign has 10,000: ``python -m fuzz.any_cut``. Below are the shortest streams that it has found.
"""

import numpy as np
import pytest

from budgetron import Encoder, OnlineClassifier, RefusedRow, auto
from tests.helpers.cases import each
from tests.helpers.random_records import Row, Step, Stream, differences, drawn

pytest.importorskip("pandas")  # some cuts are frames

LONG = "x" * 300


@pytest.mark.filterwarnings("ignore")  # of labels that are a column, and the like
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_random_streams(first):
    found = {number: differences(drawn(number)) for number in range(first, first + 10)}
    assert {number: kinds for number, kinds in found.items() if kinds} == {}


def rows(*said):
    """Rows of (record, label) or (record, label, weight)."""
    return [Row(*row) for row in said]


FOUND = {
    "an empty record first": rows(({}, "a"), ({"t": "g"}, "b"), ({"t": "h"}, "a")),
    "a record of nulls first": rows(({"t": None}, "a"), ({"t": "g"}, "b")),
    "an empty record before a number": rows(({}, "a"), ({"v": 1.0}, "b"), ({"v": 2.0}, "a")),
    "an empty record before a date": rows(({}, "a"), ({"v": np.datetime64("2024-01-01")}, "b")),
    "an empty record before a hashed number": rows(({}, "a"), ({LONG: 1.0}, "b")),
    "weight 0 first": rows(
        ({"w": 1.0}, "a", 0.0), ({"b": 1.0, "w": 2.0}, "a"), ({"b": 2.0, "w": 1.0}, "b")
    ),
    "weight 0 before a new column": rows(
        ({"a": 1.0}, "a"), ({"w": 1.0}, "a", 0.0), ({"b": 1.0, "w": 2.0}, "b")
    ),
    "weight 0 before a new text": rows(({"t": "p"}, "a"), ({"t": "q"}, "a", 0.0), ({"t": "q"}, "b")),
    "nulls before values": rows(({"a": None, "b": None, "c": 1.0}, "a"), ({"b": 1.0, "a": 2.0}, "b")),
    "keys in another order": rows(
        ({"a": 1.0}, "a"), ({"c": 1.0, "b": 2.0}, "b"), ({"b": 1.0, "c": 2.0}, "a")
    ),
    "1 and 1.0": rows(({"a": 1.0}, np.int64(1)), ({"a": 2.0}, 1.0), ({"a": 3.0}, 0)),
    "true and 1": rows(({"a": 1.0}, True), ({"a": 2.0}, 1), ({"a": 3.0}, False)),
    "the label of a row of weight 0": rows(({"a": 1.0}, 1), ({"a": 2.0}, 3.0, 0.0), ({"a": 2.0}, 2)),
    "a long name, then a long text": rows(({LONG: 1.0}, "a"), ({"d": LONG}, "a"), ({"d": "p"}, "b")),
    "a label of another kind": rows(({"a": 1.0}, 1), ({"a": 2.0}, "x"), ({"a": 2.0}, 2)),
}
NEEDS_ALL = ("an empty record before a number", "weight 0 first", "an empty record before a hashed number")


def cuts(n):
    """Row by row in two ways, in one batch, and in every two batches."""
    every = tuple(range(n))
    one, single = ([Step(way, (i,)) for i in every] for way in ("one", "batch"))
    halves = [[Step("batch", every[:k]), Step("batch", every[k:])] for k in every[1:]]
    saved = [[Step("batch", every[:k]), Step("save"), Step("batch", every[k:])] for k in every[1:]]
    return [one, single, [Step("batch", every)], [Step("table", every)], *halves, *saved]


def stream(name, learner="auto", **more):
    said = FOUND[name]
    probes = [{}, *(row.x for row in said)]
    return Stream(-1, learner, said, probes, cuts(len(said)), encoder=Encoder(), **more)


@each("name", FOUND)
def test_found_before(name):
    assert differences(stream(name)) == []


@each("name", [name for name in FOUND if "1" not in name and "label" not in name])
def test_found_before_with_targets(name):
    numbers = {"a": 1.0, "b": 2.0}
    given = [row._replace(y=numbers[row.y]) for row in FOUND[name]]
    one = stream(name)
    assert differences(Stream(-1, "auto", given, one.probes, one.cuts, regression=True)) == []


@each("name", NEEDS_ALL)
def test_found_before_by_a_learner_that_needs_all_values(name):
    assert differences(stream(name, "rbp")) == []


@each("name", ["an empty record first", "weight 0 first", "1 and 1.0", "the label of a row of weight 0"])
def test_found_before_with_balanced_weights(name):
    assert differences(stream(name, balanced=True)) == []


NULS = [("a", "a\0"), ("a\0", "a"), ("\0", "\0\0")]


@pytest.mark.parametrize("kind", [str, np.str_, type("Text", (str,), {})])
@pytest.mark.parametrize("labels", NULS, ids=repr)
def test_labels_that_end_with_a_nul_are_refused(labels, kind):
    """NumPy would drop the NUL, and merge two labels."""
    with pytest.raises(RefusedRow, match="NUL"):
        OnlineClassifier(auto(size=3)).partial_fit([{"a": 1.0}, {"a": 2.0}], list(map(kind, labels)))


def test_only_texts_of_the_first_row_are_expected_to_become_columns():
    stream = rows(({"g": 3.0, "h": 1.0}, "a"), ({"g": "p", "h": 2.0}, "b"), ({"g": "q", "h": 1.0}, "a"))
    assert differences(Stream(-1, "auto", stream, [{"g": "p"}], cuts(3), encoder=Encoder())) == []
