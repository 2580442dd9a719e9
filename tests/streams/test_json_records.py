"""Bodies of messages to rows."""

import json

import numpy as np
import pytest

from budgetron.streams.brokers.broker import Message
from budgetron.streams.json_records import RecordReader, RefusedMessageError, labelled
from tests.helpers.cases import each


def read(bodies, reader=None, **more):
    bodies = [body if isinstance(body, bytes | None) else json.dumps(body).encode() for body in bodies]
    made = reader or RecordReader(**{"target": "label"} | more)
    return made.rows([Message("s", i, body) for i, body in enumerate(bodies)], 10)


def test_a_message_is_a_record():
    found = read([{"a": 1, "b": "x", "c": True, "d": None, "label": "in"}, {"label": "out", "e": 2.5}])
    assert list(found.block.X.records()) == [{"a": 1.0, "b": "x", "c": 1.0}, {"e": 2.5}]
    assert found.block.y.tolist() == ["in", "out"]
    assert (found.block.start, found.places, found.reasons) == (10, [0, 1], {})


def test_members_that_are_not_features():
    body = {"a": 1, "b": 2, "w": 2, "t": "2024-03-01 10:00", "n": 7, "label": 3}
    block = read([body], drop=["b"], weight="w", time="t", id="n").block
    assert {*block.X.columns} == {"a", "t"}  # a date is a feature too
    assert (block.weights.tolist(), block.ids.tolist(), block.y.tolist()) == ([2.0], ["7"], [3.0])
    assert block.times.tolist() == [1709287200.0]
    assert [*read([body], only=["b"]).block.X.columns] == ["b"]
    assert read([body | {"t": 5}], time="t").block.times.tolist() == [5.0]


BAD = [
    (None, "got a message without a body"),
    (b"", "expected a JSON object"),
    (b"\xff\xfe", "expected a JSON object"),
    (b"[" * 100_000, "expected a JSON object"),
    (b'{"a": NaN, "label": "in"}', "NaN is no JSON"),
    (b"9" * 5000, "expected a JSON object"),
    ([1], "expected a JSON object, got [1]"),
    ({"a": 1, "label": [1]}, "expected a number or a text, got [1]"),
    ({"a": 1, "label": 3}, "expected a text, as the first label, got 3"),
    ({"a": 1, "label": "a\nb"}, "without control characters"),
    ({"a": [1], "label": "in"}, "column 'a': expected a number"),
    ({"a": {"b": [1]}, "label": "in"}, "column 'a.b': expected a number"),
    ({"a": {"b": 1}, "a.b": 2, "label": "in"}, "column 'a.b': expected one value, got two"),
    (b'{"a": 1e400, "w": 1, "t": 1, "label": "in"}', "column 'a': expected a number up to 1e150, got inf"),
    ({"a": 10**400, "label": "in"}, "column 'a': expected a number up to 1e150, got a larger one"),
    ({"a": 10**200, "label": "in"}, "column 'a': expected a number up to 1e150, got 1e+200"),
    ({"a": 1e200, "label": "in"}, "column 'a': expected a number up to 1e150, got 1e+200"),
    ({"a": 1, "w": -1, "label": "in"}, "column 'w': expected a weight of 0 or more, got -1"),
    ({"a": 1, "w": "x", "label": "in"}, "column 'w': expected a weight of 0 or more, got 'x'"),
    ({"a": 1, "t": "soon", "label": "in"}, "column 't': expected a date or a number, got 'soon'"),
    ({"a": 1, "t": [], "label": "in"}, "column 't': expected a date or a number, got []"),
]


@each(("body", "reason"), BAD, ids=range(len(BAD)))
def test_a_bad_message_between_good_ones(body, reason):
    good = {"a": 1, "w": 1, "t": 1, "label": "in"}
    if isinstance(body, dict):
        body = {"w": 1, "t": 1} | body
    found = read([good, body, good], weight="w", time="t")
    assert found.places == [0, 2]
    assert len(found.block) == 2
    assert list(found.block.X.records()) == [{"a": 1.0}] * 2
    assert [*found.reasons] == [1]
    assert reason in found.reasons[1]


def test_members_of_inner_objects_have_dots():
    found = read([{"a": {"b": 1, "c": {"d": "x"}}, "e": {}, "f.g": 2, "label": "in"}, {"y": {"label": 1}}])
    assert next(iter(found.block.X.records())) == {"a.b": 1.0, "a.c.d": "x", "f.g": 2.0}
    assert read([{"a": 1, "y": {"is": "in"}}], target="y.is").block.y.tolist() == ["in"]


def test_a_message_without_a_label_is_a_row_without_one():
    late = [{"a": 1}, {"a": 1, "label": None}, {"a": 1, "label": ""}]
    found = read([*late, {"a": 2, "label": 3}])
    assert found.block.unlabelled.tolist() == [True, True, True, False]
    assert (found.block.y[3], found.reasons) == (3.0, {})
    assert read(late).block.unlabelled.all()


def test_labels_that_are_numbers():
    found = read([{"a": 1, "label": v} for v in (1, 2.0, True, 0.5, 2**53, 1e160, "x")])
    assert found.block.y.tolist() == [1.0, 2.0, 1.0]
    assert [*found.reasons] == [3, 4, 5, 6]
    assert "--regression" in found.reasons[3]
    targets = read([{"a": 1, "label": v} for v in (0.5, 1)], numeric=True, regression=True)
    assert targets.block.y.dtype == np.float64


def test_labels_that_are_not_among_the_classes_are_bad():
    found = read([{"a": 1, "label": v} for v in ("in", "no", "out")], classes=["in", "out"], numeric=False)
    assert found.reasons == {1: "column 'label': expected one of the classes, got 'no'"}


def test_the_first_label_counts_for_all_batches():
    reader = RecordReader("label")
    assert not read([{"a": 1, "label": 1}], reader).reasons
    assert [*read([{"a": 1, "label": "x"}], reader).reasons] == [0]


@each(
    "bad",
    [{"a": [1], "label": "x"}, {"a": 1, "w": -1, "label": "x"}, {"a": 1e200, "label": "x"}, {"label": []}],
)
def test_a_bad_message_does_not_say_what_labels_are(bad):
    reader = RecordReader("label", weight="w")
    assert not read([{"w": 1} | bad], reader).places
    found = read([{"w": 1} | bad, {"a": 1, "w": 1, "label": 3}], reader)
    assert (found.places, found.block.y.tolist()) == ([1], [3.0])
    assert [*read([{"a": 1, "w": 1, "label": "x"}], reader).reasons] == [0]  # now they are numbers


def test_a_batch_of_bad_messages_has_no_rows():
    found = read([b"", b"{"])
    assert (len(found.block), len(found.block.y), [*found.reasons]) == (0, 0, [0, 1])


def test_lines_of_the_service():
    line = Message("s", 0, b'{"x": {"a": 1}, "y": true}')
    assert labelled(line, None) == ({"a": 1}, True)
    for body in (b'{"x": {}}', b'{"x": 1, "y": 2}', b'{"x": {}, "y": 1, "z": 1}'):
        with pytest.raises(RefusedMessageError, match=r'expected {"x": ..., "y": ...}, got'):
            labelled(Message("s", 0, body), None)
